"""Small databases that are the same on every engine: in a file of their own, or on a PostgreSQL server."""

__all__: list[str] = []
