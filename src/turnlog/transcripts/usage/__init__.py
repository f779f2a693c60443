"""Tokens and money, each answer counted once."""

__all__: list[str] = []
