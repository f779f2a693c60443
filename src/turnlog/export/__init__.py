"""Giving it back: raw files, and later pages and documents."""

__all__: list[str] = []
