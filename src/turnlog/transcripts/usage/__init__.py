"""Tokens and money, each answer counted once."""
