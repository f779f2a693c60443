"""Writing to ClickHouse: how many statements it takes, and what contracts do not reach."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from clickhouse_engine import make_store
from turnlog.errors import StoreError
from turnlog.store.batch import DerivedRows, SessionBatch
from turnlog.store.clickhouse import staging
from turnlog.store.clickhouse.derived import list_parts
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.schema import TABLES
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.rows import TurnRow
from turnlog.store.search.parsing import parse_query
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.contracts.base import expect_rows, keep
from turnlog.testing.row_builders import make_session_row

_TRANSCRIPT = "session-1.jsonl"
_AGENT = "session-1/subagents/agent-a1.jsonl"
_MOST = 20
"""How many statements a write may take, whatever it brings."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ClickHouseStore]:
    with closing(make_store(tmp_path)) as store:
        yield store


def test_all_sessions_of_a_call_share_its_statements(store: ClickHouseStore) -> None:
    one = _count(store, [_make("first")])
    many = _count(store, [_make(f"session-{each}") for each in range(12)])
    assert one <= many <= one + 2 <= _MOST
    longer = [_make(f"session-{each}", 6, store) for each in range(12)]
    assert _count(store, longer) <= _MOST


def test_what_was_applied_before_is_only_looked_at(store: ClickHouseStore) -> None:
    batches = [_make(f"session-{each}") for each in range(3)]
    store.apply(batches)
    written, inserted = store.writes, list(store._control.list_unfinished())
    store.apply(batches)
    assert (store.writes, list(store._control.list_unfinished())) == (written, inserted)


@pytest.mark.parametrize(
    ("named", "size", "asked"),
    [
        ((), 0, (0, (), None)),
        ((), 9, (8, (), 8)),
        ((8,), 9, (7, (), 7)),
        ((6, 7, 8), 9, (5, (), 5)),
        ((0, 1, 2), 3, (0, (), None)),
        ((4,), 9, (8, (4,), 8)),
        ((1, 2, 4, 7, 8), 9, (6, (1, 2, 4), 6)),
        ((7, 8, 9), 9, (6, (), 6)),
    ],
)
def test_only_what_must_be_known_is_asked(
    named: tuple[int, ...], size: int, asked: tuple[int, tuple[int, ...], int | None]
) -> None:
    """From where on, which rows before that, and which must be there so that none is missing."""
    rows = DerivedRows(session=make_session_row(), turns=tuple(map(_make_turn, named)), sizes=(size, 0))
    turns, _ = list_parts(LOCAL.owner, rows, ())
    assert (turns.first, turns.named, turns.required) == asked


def test_a_line_more_writes_the_last_rows_alone(store: ClickHouseStore) -> None:
    keep(store, {_TRANSCRIPT: make_lines(3000)})
    known = store.find_known(LOCAL, make_key())
    assert known is not None
    batch = make_batch({_TRANSCRIPT: make_lines(3001)}, known=known)
    rows = batch.derived
    assert rows is not None
    [chapter] = rows.chapters
    last = replace(
        chapter,
        messages=chapter.messages[2990:],
        calls=chapter.calls[-2:],
        placements=chapter.placements[2990:],
        sightings=chapter.sightings[-2:],
        sizes=(len(chapter.messages), len(chapter.calls), len(chapter.placements), len(chapter.sightings)),
    )
    news = replace(rows, chapters=(last,))
    before = store.writes
    store.apply([replace(batch, derived=news, base_revision=1)])
    assert 0 < store.writes - before < 60
    expect_rows(store, batch.key, rows)


def test_a_batch_may_come_twice_in_one_call(store: ClickHouseStore) -> None:
    batch = make_batch({_TRANSCRIPT: make_lines(6), _AGENT: make_lines(4, agent_id="a1")})
    assert store.apply([batch, batch]) == 1
    assert batch.derived is not None
    expect_rows(store, batch.key, batch.derived)


def test_more_rows_than_are_held_come_in_several_inserts(
    store: ClickHouseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "_MOST", 64)
    batch = keep(store, {_TRANSCRIPT: make_lines(300)})
    assert batch.derived is not None
    expect_rows(store, batch.key, batch.derived)
    assert store.list_lines(LOCAL, batch.key, 0) == [*batch.sources[0].lines]
    wrong = replace(_make("session-2", 300), base_revision=7)
    before = store._engine.query("SELECT count() FROM rows")
    with pytest.raises(StoreError):
        store.apply([wrong])
    assert store._engine.query("SELECT count() FROM rows") == before, "what was staged is gone"


def test_a_file_that_is_another_sessions_takes_all_along(store: ClickHouseStore) -> None:
    one = make_batch({_TRANSCRIPT: make_lines(2), _AGENT: make_lines(40, agent_id="a1")})
    two = _make("session-2")
    store.apply([one, two])
    known = store.find_known(LOCAL, one.key)
    longer = make_batch({_TRANSCRIPT: make_lines(2), _AGENT: make_lines(42, agent_id="a1")}, known=known)
    [agent] = longer.sources
    assert longer.derived is not None
    assert two.derived is not None
    named = tuple(each for each in longer.derived.chapters if each.source == agent.source)
    rows = replace(two.derived, chapters=(*two.derived.chapters, *named))
    store.apply([replace(two, sources=(agent,), derived=rows, base_revision=1)])
    expect_rows(store, two.key, rows)
    assert len(store.list_lines(LOCAL, agent.source, 0)) == 42
    data = b"".join(store.archive.read_all(LOCAL, agent.source, 0))
    assert data == make_lines(42, agent_id="a1")
    found = store.search(LOCAL, parse_query("line"), limit=100).hits
    assert [hit.session for hit in found if hit.source == agent.source] == [two.key] * 42
    values = {"session": number(LOCAL.owner, one.key), "source": number(LOCAL.owner, agent.source)}
    where = "session = {session:UInt128} AND source = {source:UInt128}"
    for table in TABLES:
        if {"session", "source"} <= set(table.columns):
            query = f"SELECT count() FROM {table.name} WHERE {where}"
            assert store._engine.query(query, values) == [(0,)], table.name


def test_batches_of_several_owners_are_refused(store: ClickHouseStore) -> None:
    other = make_batch({_TRANSCRIPT: make_lines(2)}, owner="somebody else")
    with pytest.raises(StoreError):
        store.apply([_make("session-1"), other])
    assert list(store.list_known(LOCAL)) == list(store.list_known(Scope("somebody else"))) == []


def _make(name: str, lines: int = 4, store: ClickHouseStore | None = None) -> SessionBatch:
    known = None if store is None else store.find_known(LOCAL, make_key(name))
    return make_batch({f"{name}.jsonl": make_lines(lines, session_id=name)}, session_id=name, known=known)


def _make_turn(index: int) -> TurnRow:
    return TurnRow(index=index, prompt=0, messages=1, calls=0, agents=0, files_changed=0)


def _count(store: ClickHouseStore, batches: list[SessionBatch]) -> int:
    before = store._engine.statements
    store.apply(batches)
    return store._engine.statements - before
