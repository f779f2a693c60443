"""How time is divided for an engine that adds up: each quarter of an hour as reports name it one by one."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnlog.store.usage.grouping import PERIODS, UsageQuery
from turnlog.store.usage.periods import Days, Span, find_zone
from turnlog.store.usage.report import Grouping
from turnlog.store.usage.segments import DAY, divide

EPOCH = date(1970, 1, 1)
# Newfoundland put its clocks back at one minute past midnight: it was the day before once more.
TURNS = {
    "UTC": date(2026, 1, 1),
    "Asia/Kathmandu": date(1985, 12, 31),
    "America/St_Johns": date(1995, 10, 29),
    "Europe/Berlin": date(2026, 3, 29),
    "Australia/Lord_Howe": date(2026, 4, 4),
    "Pacific/Apia": date(2011, 12, 30),
    "Africa/Monrovia": date(1972, 1, 7),
}


ALWAYS = Span()


def ask(zone: str, by: Grouping, span: Span = ALWAYS) -> UsageQuery:
    return UsageQuery(zone=find_zone(zone), now=datetime(2026, 1, 1, tzinfo=UTC), by=by, span=span)


def number(day: date) -> int:
    return (day - EPOCH).days


@pytest.mark.parametrize("zone", TURNS)
@settings(max_examples=20)
@given(st.lists(st.integers(-4, 4), min_size=1, unique=True), st.sampled_from([*PERIODS]), st.data())
def test_a_segment_has_one_name_and_ranges_what_counts(
    zone: str, near: list[int], by: str, data: st.DataObject
) -> None:
    about = number(TURNS[zone])
    ends = st.one_of(st.none(), st.integers(-5, 5).map(lambda days: TURNS[zone] + timedelta(days=days)))
    span = Span(data.draw(ends), data.draw(ends))
    days = [about + each for each in near]
    found = divide(days, ask(zone, Grouping(by), span))
    assert list(found.starts) == sorted(found.starts)
    known, name = Days(find_zone(zone)), PERIODS[by]
    for slot in (slot for day in days for slot in range(day * DAY, (day + 1) * DAY)):
        start = found.starts[bisect_right(found.starts, slot) - 1]
        mine, its = known[slot], known[start]
        assert mine is not None
        assert its is not None
        assert name(mine) == name(its)
        counts = found.ranges is None or any(first <= slot <= last for first, last in found.ranges)
        assert counts == span.has(mine)


def test_the_first_and_the_last_day_that_there_is_can_be_divided() -> None:
    for day in (date.min, date.max):
        for zone in ("Pacific/Auckland", "America/Los_Angeles"):
            found = divide([number(day)], ask(zone, Grouping.DAILY, Span(day, day)))
            assert found.starts[0] == number(day) * DAY


def test_what_is_not_by_time_is_not_divided() -> None:
    found = divide([1, 2], ask("UTC", Grouping.MODEL))
    assert (found.starts, found.ranges) == ((), None)
    assert divide([], ask("UTC", Grouping.DAILY, Span(EPOCH, None))).ranges == ()


def test_days_without_a_gap_make_one_range() -> None:
    found = divide([3, 1, 2], ask("UTC", Grouping.MODEL, Span(EPOCH + timedelta(days=2), None)))
    assert found.ranges == ((2 * DAY, 4 * DAY - 1),)
    starts = divide([1, 2, 3], ask("UTC", Grouping.DAILY)).starts
    assert all(later - earlier == DAY for earlier, later in pairwise(starts))
