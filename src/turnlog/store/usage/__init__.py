"""Reports of tokens and money: pure, and quick to load; no SQL, no types of lines."""

__all__: list[str] = []
