"""Quarters of an hour next to each other that a report does not tell apart.

An engine that adds up by itself need not know time zones: it is told where days, weeks or months begin, and
which quarters count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta, tzinfo

from msgspec import Struct

from turnlog.instants import from_microseconds
from turnlog.store.usage.cells import QUARTER
from turnlog.store.usage.grouping import PERIODS, UsageQuery
from turnlog.store.usage.periods import Days, Span

__all__ = ["DAY", "Segments", "divide"]

DAY = 96
"""Quarters of an hour in a day of UTC."""


class Segments(Struct, frozen=True, gc=False):
    """How time is divided for a report."""

    starts: tuple[int, ...]
    """The first quarters of segments whose rows have one name, in order; empty if rows are not by time."""
    ranges: tuple[tuple[int, int], ...] | None
    """From which to which quarter all count, both included; None if all do, and also what bears no time."""


def divide(days: Iterable[int], query: UsageQuery) -> Segments:
    """Return how a report divides time; `days` are those of UTC in which there is something, since 1970."""
    name = PERIODS.get(query.by)
    if name is None and query.span == Span():
        return Segments((), None)
    known = Days(query.zone)
    parts = [part for day in sorted(days) for part in _divide_day(day, known, query.zone)]
    starts = () if name is None else tuple(_list_starts(parts, name))
    return Segments(starts, None if query.span == Span() else tuple(_list_ranges(parts, query.span)))


_Part = tuple[int, int, date]
"""The first and the last quarter of a part of a day of UTC, and the day that it is in a time zone."""


def _divide_day(day: int, days: Days, zone: tzinfo) -> Iterator[_Part]:
    slots = range(day * DAY, (day + 1) * DAY)
    offset = _find_offset(slots[0], zone)
    # No clock is put on and back within a day.
    if offset is not None and offset == _find_offset(slots[-1], zone):
        first, last = _day_of(slots[0], days), _day_of(slots[-1], days)
        at = bisect_left(slots, True, key=lambda slot: _day_of(slot, days) > first)
        yield slots[0], slots[at - 1], first
        if at < len(slots):
            yield slots[at], slots[-1], last
    else:
        yield from ((slot, slot, _day_of(slot, days)) for slot in slots)


def _day_of(slot: int, days: Days) -> date:
    day = days[slot]
    assert day is not None
    return day


def _find_offset(slot: int, zone: tzinfo) -> timedelta | None:
    try:
        return from_microseconds(slot * QUARTER).astimezone(zone).utcoffset()
    except OverflowError:  # on the first or the last day that there is
        return None


def _list_starts(parts: Iterable[_Part], name: Callable[[date], str]) -> Iterator[int]:
    last: str | None = None
    for start, _, day in parts:
        named = name(day)
        if named != last:
            yield start
        last = named


def _list_ranges(parts: Iterable[_Part], span: Span) -> Iterator[tuple[int, int]]:
    begun: tuple[int, int] | None = None
    for start, end, day in parts:
        if span.has(day):
            begun = (start if begun is None else begun[0]), end
        elif begun is not None:
            yield begun
            begun = None
    if begun is not None:
        yield begun
