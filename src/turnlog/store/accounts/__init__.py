"""Who may come in, by what, and what they did: in a database of its own, apart from the sessions."""

__all__: list[str] = []
