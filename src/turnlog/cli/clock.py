"""Times as the reader's clock shows them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

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
