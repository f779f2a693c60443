"""Numbers, sizes, times and durations as people read and write them.

Times are shown as the reader's clock shows them. What exports say, too, is in `export.plain_text`.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Decimal

from turnlog.export.plain_text import plural
from turnlog.store.search.language import Clock

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class LocalTime(tzinfo):
    """The time zone of this machine (`TZ`), summer time included."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        """Return how far the zone is ahead of UTC."""
        return None if dt is None else dt.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, dt: datetime | None) -> timedelta | None:
        """Return nothing: what part of the offset is summer time does not matter here."""
        return None

    def tzname(self, dt: datetime | None) -> str | None:
        """Return the zone's name at a time."""
        return None if dt is None else dt.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, dt: datetime) -> datetime:
        """Return the local time of a time in UTC."""
        return dt.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)


LOCAL = LocalTime()


def local_time(time: datetime) -> datetime:
    """Return a time in the local zone; one at the edge of the calendar stays as it is."""
    try:
        return time.astimezone()
    except (OverflowError, ValueError, OSError):
        return time


def duration_text(seconds: float) -> str:
    """Return a duration in its two largest units."""
    whole = round(seconds)
    if seconds < 0:
        return f"-{duration_text(-seconds)}"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


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


_RECENT = 7
"""Days for which an age says more than a date."""
_STRETCH = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
_NAMED = {"today": 0, "yesterday": 1}


def age_text(moment: datetime, now: datetime) -> str:
    """Return how long ago something was; what is long ago by its date."""
    seconds = (now - moment).total_seconds()
    if 0 <= seconds < _MINUTE:
        return "just now"
    if 0 <= seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min ago"
    if 0 <= seconds < _DAY:
        return f"{int(seconds // _HOUR)} h ago"
    if 0 <= seconds < _RECENT * _DAY:
        return f"{int(seconds // _DAY)} d ago"
    return f"{local_time(moment):%Y-%m-%d}"


def length_text(seconds: float) -> str:
    """Return a duration in one unit."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < _DAY else f"{seconds / _DAY:.1f} d"


def parse_moment(text: str, *, ending: bool = False, now: datetime | None = None) -> int:
    """Return the time that is meant, in microseconds since 1970; raises `ValueError`.

    A day, a month or a year begins, or (`ending`) ends, with the next one's first moment.
    """
    now = datetime.now(UTC) if now is None else now
    words = text.strip().lower()
    clock = Clock(now)
    found = clock.find_instant(words)
    if found is not None and ending:
        found = clock.find_instant(_name_next(words, local_time(now).date()))
    if found is None:
        forms = "a date (2026-03-01), a time (2026-03-01T14:00) or how long ago (7d, 12h, 2w)"
        raise ValueError(f"expected {forms}, got {text!r}")
    return found


def _name_next(words: str, today: date) -> str:
    """Return the stretch of time that follows another; what is none is its own end."""
    if words in _NAMED:
        return (today + timedelta(days=1 - _NAMED[words])).isoformat()
    stretch = _STRETCH.fullmatch(words)
    if stretch is None:
        return words
    year, month, day = stretch.groups()
    if day is not None:
        return (date.fromisoformat(words) + timedelta(days=1)).isoformat()
    if month is None or month == "12":
        return f"{int(year) + 1:04}"
    return f"{year}-{int(month) + 1:02}"
