"""Tables that fit the screen, times as people say them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from turnlog.cli.plain_text import (
    Column,
    age_text,
    cell_width,
    cut_cell,
    length_text,
    parse_moment,
    render_csv,
    render_table,
)

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
COLUMNS = (
    Column("id", dim=True),
    Column("title", least=6),
    Column("path", least=4, tail=True, optional=1),
    Column("cost", right=True, optional=2),
)
ROWS = [["a1", "Which tea is best", "/home/ada/tea", "$1.00"], ["b2", "茶を飲む", "/c", "$10.00"]]


@pytest.fixture(autouse=True)
def _in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_without_a_width_nothing_is_cut() -> None:
    assert list(render_table(COLUMNS, ROWS, None)) == [
        "id  title              path             cost",
        "a1  Which tea is best  /home/ada/tea   $1.00",
        "b2  茶を飲む           /c             $10.00",
    ]


def test_what_does_not_fit_is_cut_where_it_tells_least() -> None:
    assert list(render_table(COLUMNS, ROWS, 32)) == [
        "id  title      path         cost",
        "a1  Which te…  …/ada/tea   $1.00",
        "b2  茶を飲む   /c         $10.00",
    ]


@pytest.mark.parametrize("width", range(4, 60))
def test_a_table_is_as_wide_as_the_screen_or_as_narrow_as_it_can_be(width: int) -> None:
    lines = list(render_table(COLUMNS, ROWS, width))
    assert max(map(cell_width, lines)) <= max(width, 10)
    assert ("cost" in lines[0]) == (width >= 24)
    assert ("path" in lines[0]) == (width >= 16)


def test_colours_do_not_count_as_width() -> None:
    painted = list(render_table(COLUMNS, ROWS, 32, color=True))
    assert painted[1] == "\x1b[2ma1\x1b[0m  Which te…  …/ada/tea   $1.00"
    assert painted[0].startswith("\x1b[1mid\x1b[0m")


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("tea", 3, "tea"),
        ("teas", 3, "te…"),
        ("茶茶", 3, "茶…"),
        ("茶茶", 2, "…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
        ("x", 0, ""),
    ],
)
def test_cells_are_cut_by_what_they_take_on_a_screen(text: str, width: int, cut: str) -> None:
    assert cut_cell(text, width) == cut


def test_values_in_csv_are_for_programs() -> None:
    values = (("a", "b"), datetime(2026, 3, 1, tzinfo=UTC), Decimal("1E-7"), True, None, 'x,"y')
    assert render_csv("abcdef", [values]) == ('a,b,c,d,e,f\na b,2026-03-01T00:00:00Z,0.0000001,true,,"x,""y"\n')


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=59), "59 min ago"),
        (timedelta(hours=23), "23 h ago"),
        (timedelta(days=6, hours=23), "6 d ago"),
        (timedelta(days=7), "2026-03-03"),
        (timedelta(days=-1), "2026-03-11"),
    ],
)
def test_what_is_recent_is_told_by_its_age(ago: timedelta, text: str) -> None:
    assert age_text(NOW - ago, NOW) == text


def test_lengths_have_one_unit() -> None:
    assert [length_text(each) for each in (5, 90, 5400, 200_000)] == ["5 s", "2 min", "1.5 h", "2.3 d"]


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2026-03-09", "2026-03-08T23:00", "2026-03-09T23:00"),
        ("2026-03-29", "2026-03-28T23:00", "2026-03-29T22:00"),  # 23 hours: clocks are changed
        ("2026-12", "2026-11-30T23:00", "2026-12-31T23:00"),
        ("2026-02", "2026-01-31T23:00", "2026-02-28T23:00"),
        ("2025", "2024-12-31T23:00", "2025-12-31T23:00"),
        ("today", "2026-03-09T23:00", "2026-03-10T23:00"),
        ("Yesterday", "2026-03-08T23:00", "2026-03-09T23:00"),
        ("2026-03-09T14:00Z", "2026-03-09T14:00", "2026-03-09T14:00"),
        ("12h", "2026-03-10T00:00", "2026-03-10T00:00"),
    ],
)
def test_times_begin_and_end(text: str, begin: str, end: str) -> None:
    for ending, expected in ((False, begin), (True, end)):
        moment = datetime.fromisoformat(expected).replace(tzinfo=UTC).timestamp()
        assert parse_moment(text, ending=ending, now=NOW) == round(moment * 1e6)


@pytest.mark.parametrize("text", ["", "soon", "2026-02-30", "7 parsecs", "9999999y", "9999-12-31"])
def test_what_is_no_time_is_said(text: str) -> None:
    with pytest.raises((ValueError, OverflowError)):
        parse_moment(text, ending=True, now=NOW)
