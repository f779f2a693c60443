"""Times and money as the API tells them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from turnlog.instants import find_moment


def moment(microseconds: int | None) -> datetime | None:
    """Return an instant; None also for one that no calendar has."""
    return find_moment(microseconds)


def took_ms(started: int | None, ended: int | None) -> int | None:
    """Return how long something took, in milliseconds; None if that is not known or runs backwards."""
    if started is None or ended is None or ended < started:
        return None
    return (ended - started) // 1000


def dollars(amount: str | Decimal | None) -> float | None:
    """Return money as a JSON number; sums are made before, digit for digit."""
    return None if amount is None else float(amount)
