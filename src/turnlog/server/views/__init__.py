"""From rows of the store and lines of the archive to what the API answers."""

__all__: list[str] = []
