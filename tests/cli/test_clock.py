"""Times and durations as people read them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from turnlog.cli.plain_text import LOCAL, duration_text, local_time


@pytest.fixture(params=["UTC", "America/New_York", "Pacific/Kiritimati", "Europe/Berlin"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize("month", [1, 3, 7, 11])
def test_the_local_zone_is_the_system_s_summer_and_winter(month: int) -> None:
    moment = datetime(2026, month, 29, 1, 30, tzinfo=UTC)
    local = moment.astimezone(LOCAL)
    assert local == moment
    assert local.replace(tzinfo=None) == moment.astimezone().replace(tzinfo=None)
    assert local.utcoffset() == moment.astimezone().utcoffset()
    assert local.tzname() == moment.astimezone().tzname()
    assert local.dst() is None
    assert local_time(moment) == moment


@pytest.mark.usefixtures("_zone")
def test_the_ends_of_the_calendar_are_no_trap() -> None:
    for moment in (datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)):
        assert abs(local_time(moment).replace(tzinfo=None) - moment.replace(tzinfo=None)) <= timedelta(days=1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (2.34, "2.3 s"),
        (59.4, "59 s"),
        (60, "1 min 0 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 0 min"),
        (90000, "1 d 1 h"),
        (-75, "-1 min 15 s"),
    ],
)
def test_durations_are_in_their_two_largest_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
