"""What strangers see who have the address of one session."""

__all__: list[str] = []
