"""Sessions multiplied within a store: rows are copied there, each copy as sessions of its own.

Copies are spread over some days, in their order, and have the figures of what they were copied from. So what
reports of usage should say is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import apsw

DAYS = 730
"""Over how many days the copies are spread."""
DAY_US = 86_400_000_000
SLOTS = 96
"""Quarters of an hour in a day."""

# Sums are copied, and what reports look up beside them; not the answers themselves, which no such report reads.
_TIMES = {name: f"a.{name} + {DAY_US} * n.day" for name in ("first_time", "last_time")}
_SUMS = {
    "grp": "a.grp + n.copy * {usage_groups}",
    "slot": f"a.slot + {SLOTS} * n.day",
    "first": f"a.first + {DAY_US} * n.day",
    "last": f"a.last + {DAY_US} * n.day",
}
_COPIED = {
    "sessions": {
        "id": "a.id + n.copy * {sessions}",
        "key": "a.key || '-' || n.copy",
        **{name: f"CAST(a.{name} || '-' || n.copy AS BLOB)" for name in ("file_id", "session_id")},
        **_TIMES,
    },
    "summaries": {"session": "a.session + n.copy * {sessions}"},
    "usage_groups": {
        "id": "a.id + n.copy * {usage_groups}",
        "session": "a.session + n.copy * {sessions}",
        "session_id": "CAST(a.session_id || '-' || n.copy AS BLOB)",
    },
    "usage_rollup": _SUMS,
}
_Ask = Callable[[str], Sequence[tuple[object, ...]]]


def multiply(path: Path, copies: int) -> None:
    """Add copies of sessions and sums to a store that nobody has open."""
    with closing(apsw.Connection(str(path))) as connection:

        def ask(statement: str) -> Sequence[tuple[object, ...]]:
            return connection.execute(statement).fetchall()

        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -1000000"):
            ask(f"PRAGMA {pragma}")
        columns = {name: [str(row[1]) for row in ask(f"PRAGMA table_info({name})")] for name in _COPIED}
        ask("BEGIN")
        for statement in _list_statements(ask, columns, copies):
            ask(statement)
        ask("COMMIT")
        ask("ANALYZE")
        ask("PRAGMA journal_mode = WAL")


def _list_statements(ask: _Ask, columns: Mapping[str, Sequence[str]], copies: int) -> Iterator[str]:
    """Yield the statements that copy the rows of tables; numbers of copies are beyond all that are there."""
    yield (
        "CREATE TEMP TABLE copies AS WITH RECURSIVE each (copy) AS "
        f"(SELECT 1 UNION ALL SELECT copy + 1 FROM each WHERE copy < {copies}) "
        "SELECT CAST(copy AS bigint) AS copy, "
        f"CAST(copy * CAST({DAYS} AS bigint) / {copies + 1} AS bigint) AS day FROM each"
    )
    beyond = {
        name: int(str(ask(f"SELECT max(id) + 1 FROM {name}")[0][0]))
        for name in _COPIED
        if "id" in columns[name]
    }
    for name in _COPIED:
        yield f"CREATE TEMP TABLE {name}_once AS SELECT * FROM {name}"
    for name, cells in _COPIED.items():
        listed = ", ".join(cells.get(column, f"a.{column}").format(**beyond) for column in columns[name])
        yield (
            f"INSERT INTO {name} ({', '.join(columns[name])}) SELECT {listed} "
            f"FROM copies AS n CROSS JOIN {name}_once AS a"
        )
