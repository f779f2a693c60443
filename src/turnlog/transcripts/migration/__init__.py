"""Correcting stored messages with the parents of old (spec 003)."""

__all__: list[str] = []
