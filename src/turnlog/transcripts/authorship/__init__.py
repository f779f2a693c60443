"""Which edit wrote a line of a file."""

__all__: list[str] = []
