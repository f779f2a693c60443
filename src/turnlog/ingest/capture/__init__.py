"""Sessions that turnlog writes down itself: streams, and mirrors of the Agent SDK."""

__all__: list[str] = []
