"""A small database beside a large engine without transactions: who writes, and what happened in which order."""

__all__: list[str] = []
