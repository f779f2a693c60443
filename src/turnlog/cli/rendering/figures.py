"""Numbers as people read them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from turnlog.transcripts.usage.pricing import Bill

__all__ = ["size_text", "bill_text", "cents_text", "cost_text", "count_text", "money_text", "plural"]

_SMALLEST = Decimal("0.0001")


def count_text(count: int) -> str:
    """Return a count with its thousands apart."""
    return f"{count:,}"


def money_text(amount: Decimal) -> str:
    """Return dollars, with four decimals: answers cost fractions of a cent."""
    if 0 < amount < _SMALLEST:
        return f"<${_SMALLEST}"
    return f"${amount.quantize(_SMALLEST, ROUND_HALF_UP):,}"


def cents_text(amount: Decimal) -> str:
    """Return dollars and cents, where there is no room for more."""
    return f"${amount.quantize(Decimal('0.01'), ROUND_HALF_UP):,}"


def cost_text(amount: Decimal, estimated: bool, floor: bool) -> str:
    """Return what something cost, marked where that is only about right, or at least so much."""
    return ("≈" if estimated else "≥" if floor else "") + money_text(amount)


def bill_text(bill: Bill) -> str:
    """Return what messages cost together; nothing if there are none."""
    if not bill.totals.messages:
        return ""
    if sum(totals.messages for totals in bill.unpriced.values()) == bill.totals.messages:
        return "unpriced"
    return cost_text(bill.cost, bool(bill.unpriced_terms), bool(bill.totals.incomplete or bill.unpriced))


def size_text(size: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return plural(size, "byte")


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
