"""What the store on ClickHouse shows of a session: what is published, each row once, by few statements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clickhouse_engine import make_store
from turnlog.store.actions import ActionFilter
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL
from turnlog.store.windows import MessageFilter
from turnlog.testing.builders import make_lines
from turnlog.testing.contracts.base import keep

_ID = "session-1"
_FILES = {
    "session-1.jsonl": make_lines(30),
    "session-1/subagents/agent-a1.jsonl": make_lines(12, agent_id="a1"),
}
_STAGE_ALL_AS_GONE = """
INSERT INTO rows SELECT * REPLACE (revision + 1 AS revision, write + 1 AS write, true AS gone) FROM rows
"""
_REPEAT = ("INSERT INTO rows SELECT * FROM rows", "INSERT INTO lines SELECT * FROM lines")


@pytest.mark.parametrize("statements", [(_STAGE_ALL_AS_GONE,), _REPEAT], ids=["staged", "repeated"])
def test_rows_are_shown_as_published_and_once(tmp_path: Path, statements: tuple[str, ...]) -> None:
    store = make_store(tmp_path)
    key = keep(store, _FILES).key
    store.add_deliveries(LOCAL, [_deliver(1), _deliver(2)])
    before = _ask_everything(store, key)
    assert all(before.values())
    for statement in statements:
        store._engine.command(statement)
    assert _ask_everything(store, key) == before
    store.close()


def test_a_window_is_one_statement(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    key = keep(store, _FILES).key
    asked: list[Callable[[], object]] = [
        lambda: store.list_messages(LOCAL, key, first=10, count=5),
        lambda: store.list_after(LOCAL, key, first=10, count=5),
        lambda: store.list_after(LOCAL, key, count=5, where=MessageFilter(roles=("user",))),
        lambda: store.list_before(LOCAL, key, last=10, count=5),
        lambda: store.list_at(LOCAL, key, [3, 4]),
        lambda: store.list_calls_of(LOCAL, key, [3, 5]),
        lambda: store.count_messages(LOCAL, key),
        lambda: store.list_turns(LOCAL, key, first=1, count=2),
        lambda: store.list_hooks_under(LOCAL, key, _ID, range(10)).hooks == (),
    ]
    for ask in asked:
        before = store._engine.statements
        assert ask()
        assert store._engine.statements == before + 1
    store.close()


def test_lines_are_measured_once_and_not_read_once_they_are_forgotten(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    key = keep(store, _FILES).key
    places = [place for row in store.list_messages(LOCAL, key) for place in row.lines]
    lines = store.read_lines(LOCAL, places)
    assert [len(line) for line in lines] == store.measure_lines(LOCAL, places)
    before = store._engine.statements
    assert store.read_lines(LOCAL, places) == lines
    assert store._engine.statements - before <= 3
    store.forget(LOCAL, [key])
    with pytest.raises(KeyError):
        store.read_lines(LOCAL, places)
    store.close()


def test_what_hooks_tell_of_lines_is_remembered_until_one_more_comes(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    key = keep(store, _FILES).key
    store.add_deliveries(LOCAL, [_deliver(1)])
    first = store.list_actions(LOCAL, key, _ID, count=1000)
    before = store._engine.statements
    assert store.list_actions(LOCAL, key, _ID, count=1000) == first
    again = store._engine.statements - before
    store.add_deliveries(LOCAL, [_deliver(2)])
    before = store._engine.statements
    assert len(store.list_actions(LOCAL, key, _ID, count=1000)) == len(first) + 1
    assert store._engine.statements - before > again
    store.close()


def _deliver(number: int) -> HookDelivery:
    return HookDelivery(
        delivery_id=f"delivery-{number}",
        received_ns=1_767_312_000_000_000_000 + number,
        payload=b"{}",
        session_id=_ID,
        event_name="Stop",
    )


def _ask_everything(store: ClickHouseStore, key: str) -> dict[str, object]:
    """Return what the rows and lines of a session are shown as."""
    rows = store.list_messages(LOCAL, key)
    return {
        "messages": rows,
        "filtered": store.list_after(LOCAL, key, where=MessageFilter(roles=("user",))),
        "count": store.count_messages(LOCAL, key),
        "found": store.find_message(LOCAL, key, rows[3].id),
        "outline": store.list_outline(LOCAL, key),
        "branches": store.list_branches(LOCAL, key),
        "calls": store.list_calls(LOCAL, key),
        "calls of messages": store.list_calls_of(LOCAL, key, range(30)),
        "page of calls": store.find_calls(LOCAL, key, count=5).calls,
        "total of calls": store.find_calls(LOCAL, key, count=5).total,
        "turns": store.list_turns(LOCAL, key),
        "count of turns": store.count_turns(LOCAL, key),
        "calls of turns": store.list_turn_calls(LOCAL, key),
        "agents": store.list_agents(LOCAL, key),
        "sightings": [*store.list_sightings(LOCAL, key), *store.list_sightings(LOCAL)],
        "placements": store.list_placements(LOCAL, key, key),
        "lengths": store.measure_lines(LOCAL, [place for row in rows for place in row.lines]),
        "hooks": store.list_hooks_under(LOCAL, key, _ID, range(30), above=True).hooks,
        "actions": store.list_actions(LOCAL, key, _ID, count=1000),
        "slowest": store.list_actions(LOCAL, key, _ID, slowest=True, count=1000),
        "failed": store.tally_actions(LOCAL, key, _ID, ActionFilter(states=("note",))).total,
        "turn": store.find_turns(LOCAL, key, [1 << 60]),
    }
