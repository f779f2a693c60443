"""Where the files are, and the lines in them."""

__all__: list[str] = []
