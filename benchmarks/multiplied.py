"""Sessions multiplied within an engine: rows are copied there, each copy as sessions of its own.

Copies are spread over some days, in their order, and have the figures of what they were copied from. So what
reports of usage should say is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import apsw

from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.session_schema import SESSIONS
from turnlog.store.clickhouse.tables import Table
from turnlog.store.clickhouse.usage_schema import ANSWERS
from turnlog.store.postgres.wire import connect

__all__ = ["multiply_clickhouse", "multiply_postgres", "multiply_sqlite"]

DAYS = 730
"""Over how many days the copies are spread."""
DAY_US = 86_400_000_000
SLOTS = 96
"""Quarters of an hour in a day."""
AT_ONCE = 2_000_000
"""About how many rows are made by one statement."""

_LOW = f"toUInt128('{1 << 96}')"
_COPY = f"bitShiftLeft(toUInt128(n.copy), 96) + a.{{}} % {_LOW}"
"""The number of a copy: in the order of copies, so that rows need not be sorted."""
_DAY = "toInt64(intDiv(n.copy * {days:UInt64}, {copies:UInt64} + 1))"
_OF_ANSWERS = {
    "session": _COPY.format("session"),
    "slot": f"a.slot + {SLOTS} * {_DAY}",
    "born": f"a.born + {_DAY}",
    "time": f"a.time + {DAY_US} * {_DAY}",
    "message_id": "concat(a.message_id, '-', toString(n.copy))",
    "session_id": "concat(a.session_id, '-', toString(n.copy))",
}
_OF_SESSIONS = {
    "id": _COPY.format("id"),
    "born": f"a.born + {_DAY}",
    "first_time": f"a.first_time + {DAY_US} * {_DAY}",
    "last_time": f"a.last_time + {DAY_US} * {_DAY}",
    "key": "concat(a.key, '-', toString(n.copy))",
    "session_id": "concat(a.session_id, '-', toString(n.copy))",
    "told_id": "concat(a.told_id, '-', toString(n.copy))",
}


def multiply_clickhouse(engine: Engine, copies: int) -> None:
    """Add copies of all sessions and answers; sums and summaries follow by the engine's own views."""
    _multiply_table(engine, ANSWERS, _OF_ANSWERS, copies)
    _multiply_table(engine, SESSIONS, _OF_SESSIONS, copies)


def _multiply_table(engine: Engine, table: Table, changed: Mapping[str, str], copies: int) -> None:
    order = ", ".join(f"{name} % {_LOW}" if "128" in table.columns[name] else name for name in table.key)
    once = f"{table.name}_once"
    engine.command(f"CREATE TABLE {once} ENGINE = Memory AS SELECT * FROM {table.name} FINAL ORDER BY {order}")
    [(rows,)] = engine.query(f"SELECT count() FROM {once}")
    names = ", ".join(table.names)
    columns = ", ".join(f"{changed.get(name, f'a.{name}')} AS {name}" for name in table.names)
    step = max(AT_ONCE // max(rows, 1), 1)
    for first in range(1, copies + 1, step):
        count = min(step, copies + 1 - first)
        statement = f"""
        INSERT INTO {table.name} ({names}) SELECT {columns}
        FROM (SELECT {{first:UInt64}} + number AS copy FROM numbers({{count:UInt64}})) AS n
        CROSS JOIN {once} AS a
        SETTINGS min_insert_block_size_rows = {AT_ONCE}
        """
        engine.command(statement, {"first": first, "count": count, "copies": copies, "days": DAYS})
    engine.command(f"DROP TABLE {once}")


# What follows copies sums, and what reports look up beside them. The answers themselves, which no such report
# reads, are not copied.
_TIMES = {name: f"a.{name} + {DAY_US} * n.day" for name in ("first_time", "last_time")}
_SUMS = {
    "grp": "a.grp + n.copy * {usage_groups}",
    "slot": f"a.slot + {SLOTS} * n.day",
    "first": f"a.first + {DAY_US} * n.day",
    "last": f"a.last + {DAY_US} * n.day",
}
_IN_SQLITE = {
    "words": {"id": "a.id + n.copy * {words}", "word": "a.word || '-' || n.copy"},
    "sessions": {
        "id": "a.id + n.copy * {sessions}",
        "key": "a.key || '-' || n.copy",
        "session_id": "a.session_id || '-' || n.copy",
    },
    "summaries": {"session": "a.session + n.copy * {sessions}", **_TIMES},
    "access": {"session": "a.session + n.copy * {sessions}"},
    "usage_groups": {
        "id": "a.id + n.copy * {usage_groups}",
        "session": "a.session + n.copy * {sessions}",
        "session_id": "a.session_id + n.copy * {words}",
    },
    "usage_rollup": _SUMS,
}
_IN_POSTGRES = {
    "sessions": {
        "id": "a.id + n.copy * {sessions}",
        "key": "a.key || '-' || n.copy",
        "session_id": "a.session_id || convert_to('-' || n.copy, 'UTF8')",
    },
    "summaries": {"session": "a.session + n.copy * {sessions}", **_TIMES},
    "usage_groups": {
        "id": "a.id + n.copy * {usage_groups}",
        "session": "a.session + n.copy * {sessions}",
        "session_id": "a.session_id || convert_to('-' || n.copy, 'UTF8')",
    },
    "usage_rollup": _SUMS,
}
"""Who may see a session is added by a trigger."""
_Ask = Callable[[str], Sequence[tuple[object, ...]]]


def multiply_sqlite(path: Path, copies: int) -> None:
    """Add copies of sessions and sums to a store that nobody has open."""
    with closing(apsw.Connection(str(path))) as connection:

        def ask(statement: str) -> Sequence[tuple[object, ...]]:
            return connection.execute(statement).fetchall()

        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -1000000"):
            ask(f"PRAGMA {pragma}")
        columns = {name: [str(row[1]) for row in ask(f"PRAGMA table_info({name})")] for name in _IN_SQLITE}
        ask("BEGIN")
        for statement in _list_statements(ask, columns, _IN_SQLITE, copies):
            ask(statement)
        ask("COMMIT")
        ask("ANALYZE")
        ask("PRAGMA journal_mode = WAL")


def multiply_postgres(address: str, copies: int) -> None:
    """Add copies of sessions and sums to a store that nobody has open."""
    with closing(connect(address)) as connection:

        def ask(statement: str) -> Sequence[tuple[object, ...]]:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

        columns = {
            name: [
                each.name
                for each in connection.execute(f"SELECT * FROM {name} LIMIT 0".encode()).description or ()
            ]
            for name in _IN_POSTGRES
        }
        for statement in _list_statements(ask, columns, _IN_POSTGRES, copies):
            ask(statement)
        ask("ANALYZE")


def _list_statements(
    ask: _Ask,
    columns: Mapping[str, Sequence[str]],
    changed: Mapping[str, Mapping[str, str]],
    copies: int,
) -> Iterator[str]:
    """Yield the statements that copy the rows of tables; numbers of copies are beyond all that are there."""
    yield (
        "CREATE TEMP TABLE copies AS WITH RECURSIVE each (copy) AS "
        f"(SELECT 1 UNION ALL SELECT copy + 1 FROM each WHERE copy < {copies}) "
        "SELECT CAST(copy AS bigint) AS copy, "
        f"CAST(copy * CAST({DAYS} AS bigint) / {copies + 1} AS bigint) AS day FROM each"
    )
    beyond = {
        name: int(str(ask(f"SELECT max(id) + 1 FROM {name}")[0][0]))
        for name in changed
        if "id" in columns[name]
    }
    for name in changed:
        only = " WHERE id IN (SELECT session_id FROM usage_groups)" if name == "words" else ""
        yield f"CREATE TEMP TABLE {name}_once AS SELECT * FROM {name}{only}"
    for name, cells in changed.items():
        listed = ", ".join(cells.get(column, f"a.{column}").format(**beyond) for column in columns[name])
        overriding = " OVERRIDING SYSTEM VALUE" if changed is _IN_POSTGRES else ""
        yield (
            f"INSERT INTO {name} ({', '.join(columns[name])}){overriding} SELECT {listed} "
            f"FROM copies AS n CROSS JOIN {name}_once AS a"
        )
