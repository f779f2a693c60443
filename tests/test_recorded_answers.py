"""turnlog answers as it did when its answers were recorded, and what compares them can fail."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from asked_archive import SCRUBBED, Answers, find_engines, scrub
from recorded_answers import (
    Compared,
    Explained,
    check,
    compare,
    describe,
    digest,
    explain,
    merge,
    read_explained,
    read_recorded,
    split,
)

WAS, IS_NOW = (
    '200 application/json\n{"items":[{"title":"tea"}]}',
    '200 application/json\n{"items":[{"title":"mate"}]}',
)


def test_answers_about_the_demo_are_as_recorded(report: Callable[[str], None]) -> None:
    compared, told = check("demo", find_engines())
    report(told)
    _expect_nothing(compared)


def test_answers_about_the_corpus_are_as_recorded(corpus: Path, report: Callable[[str], None]) -> None:
    """On SQLite; `make answers` asks the other engine, too."""
    compared, told = check("corpus", ["sqlite"], corpus)
    report(told)
    _expect_nothing(compared)


def _expect_nothing(compared: Compared) -> None:
    if compared.unexplained or compared.stale:
        pytest.fail("\n".join(describe(compared)), pytrace=False)


def test_of_the_corpus_only_digests_are_recorded() -> None:
    recorded = read_recorded("corpus")
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in recorded.values())
    assert not [name for name in recorded if re.search("[0-9a-f]{8}-[0-9a-f]{4}|[0-9a-f]{32}(?<!c{32})", name)]


def test_every_listed_difference_has_a_reason() -> None:
    assert all(each.reason.strip() for each in read_explained())


def test_a_difference_is_shown_with_its_digests_and_what_changed() -> None:
    compared = _compare(IS_NOW)
    assert [each.question for each in compared.unexplained] == ["ada /tea"]
    [first, *lines] = describe(compared)
    assert first == f"demo on sqlite: ada /tea: {digest(WAS)} became {digest(IS_NOW)}"
    assert {line.strip() for line in lines} >= {'-      "title": "tea"', '+      "title": "mate"'}


@pytest.mark.parametrize("new", [None, IS_NOW])
def test_a_listed_difference_passes(new: str | None) -> None:
    assert _compare(new, _list(new=digest(new))) == Compared([], [])


@pytest.mark.parametrize("wrong", [{"old": None}, {"new": "0" * 16}, {"reason": " "}, {"about": "corpus"}])
def test_an_entry_for_another_difference_does_not_help(wrong: dict[str, str | None]) -> None:
    entry = msgspec.convert(msgspec.to_builtins(_list()) | wrong, Explained)
    assert len(_compare(IS_NOW, entry).unexplained) == 1


def test_an_entry_for_what_does_not_differ_is_stale() -> None:
    assert _compare(WAS, _list()).stale == [_list()]
    assert _compare(IS_NOW, _list(), _list(reason="Another.")).stale == [_list()]
    assert _compare(IS_NOW, _list(), _list(answer="ada /never")).stale == [_list(answer="ada /never")]


def test_an_engine_that_is_missing_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _compare(WAS, _list(answer="postgres ada /tea")) == Compared([], [])
    for name in ("postgres_server", "clickhouse_engine"):
        monkeypatch.setitem(sys.modules, name, None)
    assert find_engines() == ("sqlite",)


def test_answers_that_engines_share_are_recorded_once() -> None:
    found = {"sqlite": {"a": "1", "b": "2", "c": "3"}, "postgres": {"a": "1", "b": "4"}}
    merged = merge(found)
    assert merged == {"a": "1", "sqlite b": "2", "postgres b": "4", "sqlite c": "3"}
    assert {engine: split(merged, engine) for engine in found} == found


def test_explaining_lists_what_a_pattern_matches_and_removes_what_is_stale() -> None:
    recorded: Answers = {"ada /tea": "1", "sqlite ada /milk": "2", "postgres ada /milk": "3"}
    found = {"sqlite": {"ada /tea": "4", "ada /milk": "5"}, "postgres": {"ada /tea": "4", "ada /milk": "3"}}
    stale = _list(answer="ada /teapot")
    compared = compare("demo", recorded, found, [stale])
    one = explain([stale], [compared], "Stronger.", "tea", 2)
    assert one == [_list(old=digest("1"), new=digest("4"), reason="Stronger.")]
    both = explain(one, [compare("demo", recorded, found, one)], "Warmer.", "", 2)
    assert [each.answer for each in both] == ["ada /tea", "sqlite ada /milk"]
    assert compare("demo", recorded, found, both) == Compared([], [])


def test_scrubbing_takes_out_numbers_that_are_not_promised_and_leaves_every_other_byte() -> None:
    left = '{"kind":"hook","hook":{"id":%s,"context":{"id":1e5,"next":"x","a":1,"a":2}}}'
    page = '{"items":[%s,{"revision":%s}],"next":%s,"revision":%s,"total":1.0}'
    given = page % (left % 7, 3, '"abc"', 4)
    assert scrub(given.encode(), SCRUBBED).decode() == page % (left % '"…"', '"…"', '"…"', '"…"')
    assert json.loads(scrub(b'{"next":null}', SCRUBBED)) == {"next": None}


def _compare(new: str | None, *explained: Explained) -> Compared:
    found = {} if new is None else {"ada /tea": new}
    return compare("demo", {"ada /tea": WAS}, {"sqlite": found}, explained)


def _list(
    answer: str = "ada /tea",
    old: str | None = digest(WAS),
    new: str | None = digest(IS_NOW),
    reason: str = "It was time.",
) -> Explained:
    return Explained(about="demo", answer=answer, old=old, new=new, reason=reason)
