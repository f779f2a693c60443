"""Months: rows lie in partitions by the time of their sessions, and who knows the session looks at one."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from postgres_server import make_database, start_server
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL
from turnlog.store.postgres.migrations import MIGRATIONS, migrate
from turnlog.store.postgres.opening import make_current
from turnlog.store.postgres.partitions import choose_month, list_months, month_of
from turnlog.store.postgres.store import PostgresStore
from turnlog.store.postgres.wire import connect
from turnlog.testing.builders import make_batch, make_line, make_lines

_MICROSECOND = 1
_SECOND = 1_000_000 * _MICROSECOND
_YEAR_2026 = 1_767_225_600 * _SECOND
_TABLES = [
    "agents",
    "calls",
    "frames",
    "hook_deliveries",
    "lines",
    "messages",
    "placements",
    "tail_frames",
    "texts",
    "turns",
]


@pytest.mark.parametrize(
    ("microseconds", "month"),
    [
        (_YEAR_2026, 202601),
        (_YEAR_2026 - 1, 202512),
        (_YEAR_2026 + 31 * 86_400 * _SECOND, 202602),
        (0, 202401),
        (-(1 << 63), 202401),
        ((1 << 63) - 1, 209912),
    ],
)
def test_an_instant_is_in_a_month(microseconds: int, month: int) -> None:
    assert month_of(microseconds) == month


def test_a_session_is_of_the_month_of_its_first_line_but_of_none_to_come() -> None:
    assert choose_month(_YEAR_2026 - 1, _YEAR_2026) == 202512
    assert choose_month(None, _YEAR_2026) == 202601
    now = time.time_ns() // 1000
    assert month_of(now) <= choose_month(1 << 62, 1 << 62) <= month_of(time.time_ns() // 1000)


def test_partitions_are_made_for_the_months_of_sessions_and_deliveries() -> None:
    with closing(PostgresStore.open(_make_bare())) as store:
        assert store._database.ask(list_months) == []
        for date in ("2025-11-30T23:59:59.999Z", "2025-12-01T00:00:00.000Z", "2025-12-31T00:00:00.000Z"):
            _keep(store, date)
        store.add_deliveries(LOCAL, [_deliver("early", 1), _deliver("late", (_YEAR_2026 - 1) * 1000 + 999)])
        assert store._database.ask(list_months) == [202401, 202511, 202512]
        rows = _execute(store, "SELECT tableoid::regclass::text, count(*) FROM lines GROUP BY 1 ORDER BY 1")
        assert rows == [("lines_202511", 1), ("lines_202512", 2)]
        rows = _execute(store, "SELECT tableoid::regclass::text FROM hook_deliveries ORDER BY received_ns")
        assert rows == [("hook_deliveries_202401",), ("hook_deliveries_202512",)]
        _execute(store, "SELECT 1 FROM hook_events")
        assert [hook.delivery_id for hook in store.list_deliveries(LOCAL)] == ["early", "late"]


def test_a_session_stays_in_its_month() -> None:
    with closing(PostgresStore.open(_make_bare())) as store:
        key = _keep(store, "2025-11-30T10:00:00.000Z")
        known = store.find_known(LOCAL, key)
        lines = make_line(0, timestamp="2026-02-03T10:00:00.000Z") * 2
        store.apply([make_batch({"2025-11-30.jsonl": lines}, session_id="2025-11-30", known=known)])
        assert len(store.list_lines(LOCAL, key, 1)) == 2
        assert store._database.ask(list_months) == [202511]


def test_nothing_is_written_in_vain_for_want_of_a_month() -> None:
    batches = [
        make_batch(
            {f"{month}.jsonl": make_line(0, timestamp=f"2025-{month}-01T00:00:00.000Z")}, session_id=month
        )
        for month in ("07", "08", "09", "10")
    ]
    with closing(PostgresStore.open(_make_bare())) as store:
        store.apply(batches)
        assert store._database.ask(list_months) == [202507, 202508, 202509, 202510]
        # Numbers that were taken by what was rolled back are not given again.
        assert _execute(store, "SELECT last_value FROM sessions_id_seq") == [(4,)]


def test_writers_that_need_a_new_month_at_once_make_it_once() -> None:
    address = _make_bare()
    stores = [PostgresStore.open(address) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        dates = [f"2025-{month}-01T00:00:00.000Z" for month in ("10", "11")] * 2
        under_way = [
            pool.submit(_keep, store, date, f"session-{number}")
            for number, (store, date) in enumerate(zip(stores, dates, strict=True))
        ]
    for each in under_way:
        each.result()
    assert stores[0]._database.ask(list_months) == [202510, 202511]
    assert len(list(stores[0].list_known(LOCAL))) == 4
    for store in stores:
        store.close()


def test_all_tables_that_grow_have_partitions() -> None:
    with closing(PostgresStore.open(make_database())) as store:
        query = (
            "SELECT relname::text FROM pg_class WHERE relkind = 'p' AND relnamespace = 'turnlog'::regnamespace"
        )
        found = [name for (name,) in _execute(store, f"{query} ORDER BY 1")]
        assert found == _TABLES


def test_a_table_that_comes_later_gets_partitions_for_the_months_that_there_are() -> None:
    address = make_database()

    def add_something(connection: psycopg.Connection) -> None:
        connection.execute(
            "CREATE TABLE more (month integer NOT NULL, value bigint) PARTITION BY RANGE (month)"
        )

    with closing(connect(address)) as connection:
        connection.execute("DELETE FROM migrations WHERE name = %s", (MIGRATIONS[-1].__name__,))
        migrate(connection, [add_something])
        months = list_months(connection)
        assert len(months) == 2
        connection.execute("INSERT INTO more SELECT unnest(%s::integer[]), 1", (months,))


@pytest.mark.parametrize(
    "name", ["messages", "calls", "placements", "agents", "turns", "lines", "bytes", "apply"]
)
def test_who_knows_the_session_looks_at_one_month(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    execute = psycopg.Cursor.execute

    def note(cursor: psycopg.Cursor, *given: Any, **named: Any) -> psycopg.Cursor:
        asked.append(given)
        return execute(cursor, *given, **named)

    with closing(PostgresStore.open(make_database())) as store:
        keys = [_keep(store, f"{date}T10:00:00.000Z") for date in ("2025-10-02", "2025-11-02", "2025-12-02")]
        with monkeypatch.context() as patched:
            patched.setattr(psycopg.Cursor, "execute", note)
            _ask(store, keys[1], name)
        plans = [plan for statement in asked for plan in store._database.ask(_explain, *statement)]
        assert set(re.findall(r"_(20\d{4})\b", "\n".join(plans))) == {"202511"}


def _ask(store: PostgresStore, key: str, name: str) -> None:
    match name:
        case "messages":
            store.list_messages(LOCAL, key)
        case "calls":
            store.list_calls(LOCAL, key)
        case "placements":
            store.list_placements(LOCAL, key, key)
        case "agents":
            store.list_agents(LOCAL, key)
        case "turns":
            store.list_turns(LOCAL, key)
        case "lines":
            store.list_lines(LOCAL, key, 0)
        case "bytes":
            list(store.archive.read_all(LOCAL, key, 0))
        case _:
            known = store.find_known(LOCAL, key)
            files = {"2025-11-02.jsonl": make_lines(5)}
            store.apply([make_batch(files, session_id="2025-11-02", known=known)])


def _explain(connection: psycopg.Connection, query: str, values: Any = None) -> list[str]:
    """Return how a statement is carried out, if it is one that looks for something."""
    if not query.lstrip("(\n ").startswith(("SELECT", "WITH", "UPDATE", "DELETE", "INSERT")):
        return []
    return [line for (line,) in connection.execute(f"EXPLAIN {query}", values).fetchall()]


def _make_bare() -> str:
    """Return the address of a database without any month."""
    server = start_server()
    address = server.address(server.create())
    make_current(address)
    return address


def _keep(store: PostgresStore, date: str, session_id: str | None = None) -> str:
    name = session_id or date[:10]
    batch = make_batch({f"{name}.jsonl": make_line(0, timestamp=date)}, session_id=name)
    store.apply([replace(batch, seen_ns=_YEAR_2026 * 1000)])
    return batch.key


def _deliver(name: str, received_ns: int) -> HookDelivery:
    return HookDelivery(delivery_id=name, received_ns=received_ns, payload=b"{}", event_name="Stop")


def _execute(store: PostgresStore, query: str) -> list[tuple[object, ...]]:
    return store._database.ask(lambda connection: list(connection.execute(query).fetchall()))
