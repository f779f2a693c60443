"""Which rules rows are derived by; apart from the rules, so that it can be asked without loading them."""

from __future__ import annotations

DERIVATION = 7
"""Raised when the rules change: the next sync derives what follows older ones again."""
