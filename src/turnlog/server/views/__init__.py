"""From records and lines of sessions to what the API answers."""

__all__: list[str] = []
