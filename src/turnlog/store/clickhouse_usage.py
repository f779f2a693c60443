"""Usage added up by ClickHouse, and held against PostgreSQL before it is told.

A session has one row, with what its answers come to in quarters of an hour; a later one takes its place. What
the outbox still has of a session is left out there and taken from the catalogue, in the same state of it. A row
of a session that is newer than that state is left out and taken likewise. So each sum is what PostgreSQL would
say, whatever the index has missed, and nobody's are in it who may not be seen any more. Where the index is
away, or too far behind, PostgreSQL adds up all of it itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import Any

from turnlog.errors import LostStoreError
from turnlog.store.catalogue.database import Connection
from turnlog.store.catalogue.outbox import list_uncounted, read_state
from turnlog.store.catalogue.usage import Limits, build_period, sum_cells
from turnlog.store.clickhouse import AMOUNTS, USAGE, ClickHouse, Row
from turnlog.store.model import Scope
from turnlog.store.usage_cells import Detail
from turnlog.store.usage_report import NO_SLOT

_FIRST_CELL = 6
"""Which column of `outbox.list_session_usage` is the first that each cell has."""


def build_usage_rows(found: Iterable[Row], version: int) -> Iterator[Row]:
    """Return rows as the columns of `USAGE` have them, from `outbox.list_session_usage`."""
    for session, cells in groupby(found, itemgetter(0)):
        rows = [*cells]
        told = [row[_FIRST_CELL:] for row in rows if row[_FIRST_CELL + 7] is not None]  # else it used nothing
        columns = [[*column] for column in zip(*told, strict=True)] or [[] for _ in rows[0][_FIRST_CELL:]]
        yield (session, version, *rows[0][1:_FIRST_CELL], *columns)


_MOST_LEFT_OUT = 5000
"""From how many sessions on that the index knows too little of, PostgreSQL adds up everything."""
_TRIES = 3
_TOLD = 200
"""How many sessions with newer rows are told at once."""
_COLUMNS = {
    "home": "session", "project": "project", "person": "person", "machine": "origin",
    "session": "session_id", "model": "model", "agent": "agent", "skill": "skill",
    "mcp_server": "mcp_server", "terms": "terms",
}  # fmt: skip
_JOINED = ", ".join(name for name, kind in USAGE.columns.items() if kind.startswith("Array("))
_SUMS = ", ".join(f"sum(toInt128({name}))" for name in AMOUNTS)
_SLOTS = f"""
SELECT min(slot), max(slot), count() FROM (SELECT arrayJoin(slot) AS slot FROM @usage) WHERE slot != {NO_SLOT}
"""


class ClickHouseUsage:
    """Adds up answers in an index; see `catalogue.usage.sum_cells`."""

    def __init__(self, server: ClickHouse) -> None:
        self._server = server

    def sum_cells(self, connection: Connection, scope: Scope, detail: Detail) -> list[Row]:
        """Return what answers come to, in as few rows as `detail` can do with."""
        state = read_state(connection)
        apart = list_uncounted(connection, _MOST_LEFT_OUT) if state.is_filled else None
        found = None
        if apart is not None:
            with suppress(LostStoreError):
                found = self._sum(connection, scope, detail, state.counted, apart)
        return sum_cells(connection, scope, detail) if found is None else found

    def _sum(
        self, connection: Connection, scope: Scope, detail: Detail, counted: int, apart: list[int]
    ) -> list[Row] | None:
        """Return the same without PostgreSQL, but for some sessions; None if others change all the time."""
        [(first, last, count)] = self._server.query(_SLOTS)
        limits = (first, last) if count else (None, None)
        for _ in range(_TRIES):
            *rows, newer = self._ask(scope, detail, limits, counted, apart)
            if not newer:
                return [*rows, *(sum_cells(connection, scope, detail, apart) if apart else ())]
            if len(newer) == _TOLD:
                return None
            apart = [*apart, *newer]
        return None

    def _ask(
        self, scope: Scope, detail: Detail, limits: Limits, counted: int, apart: Sequence[int]
    ) -> list[Any]:
        """Return the rows, and behind them the sessions of which there are newer rows than those counted."""
        period, numbers = build_period(detail, limits, "slot", "intDiv({} + {}, {})")
        for number in numbers:
            period = period.replace("?", f"{number:d}", 1)
        told_apart = detail.fields | {"model", "terms"}
        columns = [period, *(column if name in told_apart else "NULL" for name, column in _COLUMNS.items())]
        groups = [str(at) for at, column in enumerate(columns, 1) if column != "NULL"]
        condition, values = _see(scope)
        query = f"""
        SELECT {", ".join(columns)}, min(slot), {_SUMS}, min(first), max(last),
            groupUniqArrayIf({_TOLD})(session, version > {{counted:UInt64}})
        FROM @usage FINAL ARRAY JOIN {_JOINED}
        WHERE owner = {{owner:String}} AND session NOT IN {{apart:Array(Int64)}} AND {condition}
        GROUP BY {", ".join(groups)}
        """
        values |= {"owner": scope.owner, "apart": [*apart], "counted": counted}
        found = self._server.query(query, values)
        newer = sorted({session for row in found for session in row[-1]})[:_TOLD]
        rows = ((*row[:3], row[3] and row[3].decode(), *row[4:-1]) for row in found)  # people have plain names
        return [*rows, newer]


def _see(scope: Scope) -> tuple[str, dict[str, Any]]:
    """Return the condition for what a scope may see, as `catalogue.schema.list_views` has it."""
    viewer = scope.viewer
    if viewer is None:
        return "audience != 2", {}
    is_own = "ifNull(person = {person:String} AND person != '', 0)"
    seen = f"({is_own} OR is_shared = 1)" if viewer.team else f"({is_own})"
    return f"{seen} AND audience IN (0, if({is_own}, 1, 2))", {"person": viewer.person or ""}
