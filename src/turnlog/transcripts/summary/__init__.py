"""A session at a glance, kept up to date line by line."""

__all__: list[str] = []
