"""Numbers as people read them; what exports say, too, is made beside it."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from turnlog.export.plain import plural

_CENT = Decimal("0.01")


def count_text(count: int) -> str:
    """Return a count with its thousands apart."""
    return f"{count:,}"


def cents_text(amount: Decimal) -> str:
    """Return dollars and cents, where there is no room for more."""
    return f"<${_CENT}" if 0 < amount < _CENT else f"${amount.quantize(_CENT, ROUND_HALF_UP):,}"


def size_text(size: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return plural(size, "byte")
