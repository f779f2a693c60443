"""Retention: what is too old is out of sight at once, and the engine drops it by itself."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import date
from pathlib import Path

from clickhouse_engine import ADDRESSES, make_store
from turnlog.store.clickhouse.blob_upkeep import expire_blobs
from turnlog.store.clickhouse.retention import keep_for
from turnlog.store.clickhouse.schema import TABLES
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL
from turnlog.store.marks import MarkChange
from turnlog.store.search.parsing import parse_query
from turnlog.testing.builders import make_batch, make_lines

_DAY_NS = 86_400_000_000_000
_AGES = {"old": 100, "young": 3}


def test_old_sessions_are_out_of_sight_and_then_gone(tmp_path: Path) -> None:
    now = time.time_ns()
    with closing(make_store(tmp_path)) as store:
        keys = {name: _keep(store, name, now - age * _DAY_NS) for name, age in _AGES.items()}
        _settle(store)
        assert _see(store) == {*_AGES}
        before = _count(store)
        store._retention_days = 30  # nothing was told to the engine yet
        assert _see(store) == {"young"}
        assert store.count_deliveries(LOCAL) == 1
        assert store.find_marks(LOCAL, keys["old"]) is None
        assert _count(store) == before
        # A machine that still has the file does not know that it was kept.
        files = {"old.jsonl": make_lines(4, session_id="old")}
        store.apply([make_batch(files, session_id="old")])
        assert _count(store)["lines"] == before["lines"]
    with closing(_open(tmp_path, 30)) as store:
        assert _see(store) == {"young"}
        _settle(store)
        assert _see(store) == {"young"}
        after = _count(store)
        assert {name for name, count in before.items() if 0 < after[name] < count} == {
            name for name, count in before.items() if count
        }
        assert store.list_flaws(LOCAL) == []
        assert expire_blobs(store, date.today()) > 0
        [known] = store.list_known(LOCAL)
        [source] = known.sources
        assert b"".join(store.archive.read_all(LOCAL, source.source, 0)) == make_lines(3, session_id="young")
    with closing(_open(tmp_path, None)) as store:
        assert _see(store) == {"young"}
        marked = store._control.read(lambda execute: execute("SELECT DISTINCT session FROM @marks"))
        assert marked == [(keys["young"],)]


def test_days_that_change_are_told_to_the_engine_once(tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        assert _list_ttl(store) == {""}
    for days, told in ((30, "toIntervalDay(30)"), (7, "toIntervalDay(7)"), (None, "")):
        with closing(_open(tmp_path, days)) as store:
            assert _list_ttl(store) == {told}
            assert keep_for(store._engine, days) == []


def _open(folder: Path, days: int | None) -> ClickHouseStore:
    return ClickHouseStore.open(
        ADDRESSES[folder], control=folder / "control.db", blobs=str(folder / "blobs"), retention_days=days
    )


def _keep(store: ClickHouseStore, name: str, seen_ns: int) -> str:
    files = {f"{name}.jsonl": make_lines(3, session_id=name)}
    batch = make_batch(files, session_id=name, seen_ns=seen_ns)
    store.apply([batch])
    store.mark(LOCAL, [batch.key], MarkChange(name=f"named {name}"))
    told = HookDelivery(delivery_id=name, received_ns=seen_ns, payload=b'{"message":"tell"}', session_id=name)
    store.add_deliveries(LOCAL, [told])
    return batch.key


def _see(store: ClickHouseStore) -> set[str]:
    """Return the sessions that lists, the search and what is known tell of."""
    known = {each.key: each.session_id for each in store.list_known(LOCAL)}
    assert {each.key for each in store.list_sessions(LOCAL).sessions} == {*known}
    hits = store.search(LOCAL, parse_query("*e*"), limit=100).hits
    assert {hit.session for hit in hits if hit.delivery_id is None} == {*known}
    told = {each.session_id for each in store.list_hook_sessions(LOCAL, 0)}
    assert told == {hit.delivery_id for hit in hits if hit.delivery_id is not None}
    assert told == {*known.values()}
    return told


def _settle(store: ClickHouseStore) -> None:
    for table in TABLES:
        store._engine.command(f"OPTIMIZE TABLE {table.name} FINAL")


def _count(store: ClickHouseStore) -> dict[str, int]:
    """Return how many rows tables have in their files."""
    names = [table.name for table in TABLES if table.expires and table.name != "words"]
    return {name: store._engine.query(f"SELECT count() FROM {name}")[0][0] for name in names}


def _list_ttl(store: ClickHouseStore) -> set[str]:
    """Return what tables say of how long rows are kept."""
    names = [table.name for table in TABLES if table.expires]
    query = """
    SELECT extract(engine_full, 'TTL born \\\\+ (\\\\w+\\\\(\\\\d+\\\\))') FROM system.tables
    WHERE database = currentDatabase() AND name IN {names:Array(String)}
    """
    return {told.decode() for (told,) in store._engine.query(query, {"names": names})}
