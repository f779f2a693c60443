"""Instants as numbers: microseconds since 1970, which is how rows have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(moment: datetime) -> int:
    """Return an instant as a number, to the last digit, which no float has."""
    return (moment - EPOCH) // _MICROSECOND


def from_microseconds(time: int) -> datetime:
    """Return a number as an instant in UTC; raises `OverflowError` for one that no calendar has."""
    return EPOCH + timedelta(microseconds=time)


def find_moment(time: int | None) -> datetime | None:
    """Return a number as an instant in UTC; None also for one that no calendar has."""
    if time is None:
        return None
    try:
        return from_microseconds(time)
    except OverflowError:
        return None
