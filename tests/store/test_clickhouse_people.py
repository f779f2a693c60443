"""Access that many sessions follow, and lists, on ClickHouse: what the contracts do not reach."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from clickhouse_engine import make_store, reopen
from turnlog.errors import StoreError
from turnlog.store.batch import DerivedRows, SessionBatch
from turnlog.store.care import CaredStore
from turnlog.store.clickhouse import access, people
from turnlog.store.identity import LOCAL, Scope, Viewer
from turnlog.store.interface import ChangeKind
from turnlog.store.lists import SessionFilter
from turnlog.store.people import Visibility
from turnlog.testing.builders import make_batch, make_line
from turnlog.testing.row_builders import make_session_row

_BOB = Scope(LOCAL.owner, Viewer(person="bob", team=True))
_NAMES = [f"session-{number}" for number in range(5)]


def _build(name: str, **row: object) -> SessionBatch:
    rows = DerivedRows(session=make_session_row(name, **row))
    return make_batch({f"{name}.jsonl": make_line(session_id=name)}, session_id=name, rows=rows)


def _fill(store: CaredStore, **row: object) -> list[str]:
    """Put sessions into a store, and return their keys."""
    batches = [_build(name, **row) for name in _NAMES]
    store.apply(batches)
    return [batch.key for batch in batches]


def test_a_rule_for_more_sessions_than_one_write_settles_is_followed_by_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "AT_ONCE", 2)
    with closing(make_store(tmp_path)) as store:
        keys = _fill(store, project="/srv/tea")
        after = store.find_last_change(LOCAL)
        assert store.weigh_rule(LOCAL, "/srv/*", Visibility.TEAM) == 5
        assert store.set_rule(LOCAL, "/srv/*", Visibility.TEAM) == 5
        assert {each.key for each in store.list_sessions(_BOB).sessions} == {*keys}
        told = store.list_changes(_BOB, after)
        assert sorted((each.kind, each.session) for each in told) == sorted(
            (ChangeKind.SESSION_ACCESS, key) for key in keys
        )
        assert store.set_rule(LOCAL, "/srv/*", None) == 5
        assert store.list_sessions(_BOB).sessions == ()


def test_whoever_opens_the_store_goes_on_with_a_rule_that_only_some_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "AT_ONCE", 2)
    asked: list[int] = []
    list_members = access.list_members

    def fail(*args: object) -> list[access.Settled]:
        asked.append(1)
        if len(asked) == 2:
            raise StoreError("the lights go out")
        return list_members(*args)  # type: ignore[arg-type]

    with closing(make_store(tmp_path)) as store:
        keys = _fill(store, project="/srv/tea")
        monkeypatch.setattr(people, "list_members", fail)
        with pytest.raises(StoreError, match="lights"):
            store.set_rule(LOCAL, "/srv/*", Visibility.TEAM)
        assert store.list_sessions(_BOB).total == 2
    with closing(reopen(tmp_path)) as store:
        assert {each.key for each in store.list_sessions(_BOB).sessions} == {*keys}
        entries = [each for each in store.list_changes(LOCAL) if each.kind is ChangeKind.SESSION_ACCESS]
        assert len(entries) == 5
        before = store.writes
        store._recover_all()
        assert store.writes == before


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        (("0.10", "0.2", "3", None, "1E-7"), "3.3000001"),
        (
            ("1E-30", "123456789012345678901234567890.5", "0.1", "-0.1", "2.50"),
            f"123456789012345678901234567893.{'0' * 29}1",
        ),
        (("1E-45", "0.5", "0", None, None), f"0.5{'0' * 43}1"),
        ((None,) * 5, None),
    ],
)
def test_costs_are_added_up_to_the_last_digit(
    tmp_path: Path, amounts: tuple[str | None, ...], expected: str | None
) -> None:
    with closing(make_store(tmp_path)) as store:
        store.apply(
            [_build(name, project="/tea", cost=cost) for name, cost in zip(_NAMES, amounts, strict=True)]
        )
        [project] = store.list_projects(LOCAL)
        assert project.unpriced == amounts.count(None)
        assert project.cost == (None if expected is None else Decimal(expected))
        assert expected is None or str(project.cost) == expected


def test_a_page_takes_two_questions_however_many_sessions_there_are(tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        _fill(store)
        for asked in (SessionFilter(), SessionFilter(text="title", persons=("",), until=1 << 62)):
            before = store._engine.statements
            assert store.list_sessions(LOCAL, asked, limit=3).total == 5
            assert store._engine.statements - before == 2
