"""Days, weeks and months, as they are in a time zone."""

from __future__ import annotations

from datetime import date, datetime, tzinfo
from zoneinfo import ZoneInfo

from msgspec import Struct

from turnlog.instants import from_microseconds
from turnlog.store.usage.cells import QUARTER

__all__ = ["Days", "Span", "find_day", "find_zone", "name_day", "name_month", "name_week"]


class Span(Struct, frozen=True, gc=False):
    """From one day to another, both included; what is left open has no end."""

    since: date | None = None
    until: date | None = None

    def has(self, day: date | None) -> bool:
        """Tell whether a day is in it; what bears no time is only in a span that is open on both sides."""
        if day is None:
            return self.since is None and self.until is None
        return (self.since is None or self.since <= day) and (self.until is None or day <= self.until)


class Days(dict[int | None, date | None]):
    """The day of each quarter of an hour, as days are in a time zone."""

    def __init__(self, zone: tzinfo) -> None:
        super().__init__({None: None})
        self._zone = zone

    def __missing__(self, slot: int | None) -> date | None:
        assert slot is not None
        try:
            moment = from_microseconds(slot * QUARTER)
        except OverflowError:  # before the first or behind the last day that there is
            day = date.min if slot < 0 else date.max
        else:
            day = find_day(moment, self._zone)
        self[slot] = day
        return day


def find_zone(name: str) -> tzinfo:
    """Return a time zone by its name, as `Europe/Berlin`; raises `ValueError` for one that nobody knows."""
    try:
        return ZoneInfo(name)
    except (OSError, LookupError, ValueError):  # no such name, or one that no file can have
        raise ValueError(f"expected the name of a time zone, such as Europe/Berlin, got {name!r}") from None


def name_day(day: date) -> str:
    """Return a day as ISO 8601 has it."""
    return day.isoformat()


def name_week(day: date) -> str:
    """Return the week of a day as ISO 8601 has it: it begins on Monday, and belongs to its Thursday's year."""
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def name_month(day: date) -> str:
    """Return the month of a day."""
    return f"{day.year:04}-{day.month:02}"


def find_day(moment: datetime, zone: tzinfo) -> date:
    """Return the day of a moment in a time zone."""
    try:
        return moment.astimezone(zone).date()
    except OverflowError:  # on the first or the last day that there is
        return moment.date()
