"""Who may ask, from where, and how much."""

__all__: list[str] = []
