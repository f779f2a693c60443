"""Months: what there is much of lies in one partition for each month of sessions, and of hook deliveries.

A partition is made when the first session of its month is written, or the first delivery arrives in it. Whoever
writes looks whether it is there, and ends with `MissingMonthError` if not; it is then made in a transaction of
its own, under the lock that migrations take, and the writing begins again. A table becomes a partition by being
attached: that does not wait for readers and writers of the others, nor do they wait for it.

Times are what data says. So months before turnlog's time are one, as are those behind a far one, and a session
is of no later month than the one in which it was first kept.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from psycopg import Connection
from psycopg.sql import SQL, Identifier, Literal

__all__ = [
    "LOCKS",
    "MissingMonthError",
    "choose_month",
    "list_months",
    "lock_tables",
    "make_month",
    "month_of",
    "require_month",
]

LOCKS = 0x7475726E
"""The first half of the numbers of our advisory locks ("turn")."""
_MIGRATING = 1
_FIRST, _LAST = 202401, 209912
_SECOND = 1_000_000
_SAMPLE = "hook_deliveries"
"""All partitions of a month are made at once; this table tells whether they are there."""
_TABLES = """
SELECT c.relname, pg_get_partkeydef(c.oid) = 'RANGE (month)' FROM pg_partitioned_table AS p
JOIN pg_class AS c ON c.oid = p.partrelid WHERE c.relnamespace = current_schema()::regnamespace ORDER BY 1
"""


class MissingMonthError(Exception):
    """Something cannot be written before a month is made."""

    def __init__(self, month: int) -> None:
        self.month = month
        super().__init__(month)


def month_of(microseconds: int) -> int:
    """Return the month that an instant is in, as 202611."""
    first, last = _begin(_FIRST), _begin(_LAST)
    moment = datetime.fromtimestamp(min(max(microseconds, first), last) // _SECOND, UTC)
    return moment.year * 100 + moment.month


def choose_month(first: int | None, seen: int) -> int:
    """Return the month of a session, by the time of its first line, or when it was first seen: microseconds."""
    now = time.time_ns() // 1000
    return month_of(min(seen if first is None else first, now))


def require_month(connection: Connection, month: int) -> None:
    """Raise `MissingMonthError` if a month has no partitions yet."""
    name = f"{_SAMPLE}_{month}"
    [(found,)] = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (name,))
    if not found:
        raise MissingMonthError(month)


def lock_tables(connection: Connection) -> None:
    """Wait until nobody else changes tables, in the transaction of the caller."""
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCKS, _MIGRATING))


def list_months(connection: Connection) -> list[int]:
    """Return the months that have partitions."""
    query = """
    SELECT right(c.relname, 6)::integer FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass(%s) ORDER BY 1
    """
    return [month for (month,) in connection.execute(query, (_SAMPLE,))]


def make_month(connection: Connection, month: int) -> None:
    """Make the partitions of a month that are missing, in the transaction of the caller."""
    lock_tables(connection)
    for table, is_by_month in connection.execute(_TABLES).fetchall():
        name = f"{table}_{month}"
        [(found,)] = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (name,))
        if not found:
            first, behind = (Literal(month), Literal(month + 1)) if is_by_month else _bound(month)
            partition, parent = Identifier(name), Identifier(table)
            connection.execute(SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL)").format(partition, parent))
            connection.execute(
                SQL("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})").format(
                    parent, partition, first, behind
                )
            )


def _bound(month: int) -> tuple[Literal | SQL, Literal | SQL]:
    """Return the nanoseconds from which on and before which times are in a month."""
    first = SQL("MINVALUE") if month == _FIRST else Literal(_begin(month) * 1000)
    behind = SQL("MAXVALUE") if month == _LAST else Literal(_begin(_next(month)) * 1000)
    return first, behind


def _begin(month: int) -> int:
    """Return the first microsecond of a month."""
    return int(datetime(month // 100, month % 100, 1, tzinfo=UTC).timestamp()) * _SECOND


def _next(month: int) -> int:
    return month + 1 if month % 100 < 12 else month + 89
