"""Dates in queries: days, moments, and how long ago."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo

from turnlog.instants import to_microseconds

__all__ = ["Clock"]

_AGO = re.compile(r"(\d{1,6})(min|h|d|w|mo|y)", re.ASCII)
_UNITS = {
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}
_DAY = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:[Zz]|[+-]\d{2}:\d{2})?", re.ASCII
)
_NAMED = {"today": 0, "yesterday": 1}


class Clock:
    """What time it is, and where: days begin at midnight in `zone`, by default that of the machine."""

    def __init__(self, now: datetime | None = None, zone: tzinfo | None = None) -> None:
        self._now = datetime.now(UTC) if now is None else now
        self._zone = zone

    def find_instant(self, text: str) -> int | None:
        """Return when something begins, in microseconds since 1970; None if the text names no time.

        Texts are `2026`, `2026-03`, `2026-03-14`, `2026-03-14T15:09`, `today`, `yesterday` and `7d`: ago, in
        `min`, `h`, `d`, `w`, `mo` (30 days) and `y` (365 days).
        """
        try:
            moment = self._find(text.lower())
        except (ValueError, OverflowError):  # as the 30th of February, or before there were years
            return None
        return None if moment is None else to_microseconds(moment)

    def _find(self, text: str) -> datetime | None:
        if text in _NAMED:
            today = self._now.astimezone(self._zone).date()
            return self._midnight(today - timedelta(days=_NAMED[text]))
        if (ago := _AGO.fullmatch(text)) is not None:
            return self._now - int(ago[1]) * _UNITS[ago[2]]
        if (day := _DAY.fullmatch(text)) is not None:
            return self._midnight(date(int(day[1]), int(day[2] or 1), int(day[3] or 1)))
        if _MOMENT.fullmatch(text) is None:
            return None
        moment = datetime.fromisoformat(text.upper())
        return moment if moment.tzinfo is not None else self._local(moment)

    def _midnight(self, day: date) -> datetime:
        return self._local(datetime(day.year, day.month, day.day))

    def _local(self, moment: datetime) -> datetime:
        return moment.astimezone() if self._zone is None else moment.replace(tzinfo=self._zone)
