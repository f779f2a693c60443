"""What can be asked about usage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from psycopg import Connection

from turnlog.store.identity import Scope
from turnlog.store.packing import Cells, unpack_row, unpack_text, unpack_uuid
from turnlog.store.postgres.connection import Connected, Database
from turnlog.store.rows import CallRow
from turnlog.store.usage.cells import Home, UsageCell
from turnlog.store.usage.report import ReportedCost
from turnlog.store.usage.stored import (
    UsageGroup,
    build_answer,
    build_stored_cell,
    choose_reported,
    name_answer,
)
from turnlog.store.usage.tools import FAILED, AnswerCell, CallUse
from turnlog.transcripts.usage.price_list import PriceTable

__all__ = ["PostgresUsage"]

_GROUPS = """
SELECT g.id, e.key, g.session_id, g.model, g.agent, g.skill, g.mcp_server, g.terms
FROM usage_groups AS g JOIN sessions AS e ON e.id = g.session WHERE e.owner = %s AND g.audience <> 2
"""
_HOMES = """
SELECT e.key, t.project, t.title, a.person, e.origin FROM sessions AS e JOIN access AS a ON a.session = e.id
LEFT JOIN summaries AS t ON t.session = e.id WHERE e.owner = %s AND e.id IN (SELECT session FROM usage_groups)
"""
_OF_OWNER = """
JOIN usage_groups AS g ON g.id = u.grp JOIN sessions AS e ON e.id = g.session
WHERE e.owner = %s AND g.audience <> 2
"""
_CELLS = f"""
SELECT u.grp, u.slot, u.messages, u.incomplete, u.unpriced, u.input, u.output, u.cache_read, u.cache_write_5m,
    u.cache_write_1h, u.web_searches, u.cost, u.saved, u.first, u.last
FROM usage_rollup AS u {_OF_OWNER}
"""
_ANSWERS = f"""
SELECT u.grp, u.message_id, u.time, u.flags, u.input, u.output, u.cache_read, u.cache_write_5m,
    u.cache_write_1h, u.web_searches, u.cost, u.saved
FROM answers AS u {_OF_OWNER}
"""
_CALLS = """
SELECT s.source, c.idx, c.id, c.name, c.state, c.started, c.ended, a.person, l.number IS NOT NULL, l.message_id,
    l.uuid, c.start, p.source, CASE WHEN c.at_source = 0 THEN c.row END
FROM calls AS c JOIN sessions AS e ON e.id = c.session JOIN access AS a ON a.session = c.session
JOIN sources AS s ON s.id = c.source
LEFT JOIN sources AS p ON p.id = coalesce(c.at_source, c.source)
LEFT JOIN generations AS g ON g.source = p.id AND g.generation = c.generation
LEFT JOIN lines AS l
    ON l.month = g.month AND l.generation = g.id AND l.start = c.start AND l.type = 'assistant'::bytea
WHERE e.owner = %s ORDER BY s.source, c.idx
"""
_LINE = """
SELECT l.message_id, l.uuid FROM sources AS s JOIN generations AS g ON g.source = s.id
JOIN lines AS l ON l.month = g.month AND l.generation = g.id
WHERE s.owner = %s AND s.source = %s AND g.generation = %s AND l.start = %s AND l.type = 'assistant'::bytea
"""
_REPORTED = """
SELECT r.session_id, r.kind, r.cost, r.computed FROM reported_costs AS r JOIN sessions AS e ON e.id = r.session
WHERE e.owner = %s
"""
_FILES = "SELECT count(*) FROM sources WHERE owner = %s AND kind IN ('transcript', 'agent')"


class PostgresUsage(Connected):
    """The usage of one owner's sessions."""

    def __init__(self, database: Database, scope: Scope) -> None:
        self._database = database
        self._scope = scope
        self._owner = scope.owner

    def list_cells(self) -> list[UsageCell]:
        """Return what answers used, in quarters of an hour."""
        return self._read(self._scope, _list_cells, self._owner)

    def list_answers(self) -> list[AnswerCell]:
        """Return what each answer used."""
        return self._read(self._scope, _list_answers, self._owner)

    def list_calls(self) -> list[CallUse]:
        """Return the calls of all files."""
        return self._read(self._scope, _list_calls, self._owner)

    def list_reported(self) -> list[ReportedCost]:
        """Return what Claude Code itself says that sessions cost; of copies, the one that has run furthest."""
        return choose_reported(
            ReportedCost(unpack_text(session), kind, cost, computed)
            for session, kind, cost, computed in self._read(self._scope, _ask, _REPORTED, self._owner)
        )

    def find_prices(self) -> PriceTable | None:
        """Return by which prices the costs are."""
        for name, version, newest in self._read(
            self._scope, _ask, "SELECT name, version, newest FROM usage_prices"
        ):
            return PriceTable(name, version, date.fromisoformat(newest))
        return None

    def count_files(self) -> int:
        """Return how many files of lines there are."""
        [(count,)] = self._read(self._scope, _ask, _FILES, self._owner)
        return int(count)


def _ask(connection: Connection, query: str, *values: str) -> list[Cells]:
    return connection.execute(query, values).fetchall()


def _list_cells(connection: Connection, owner: str) -> list[UsageCell]:
    groups = _load_groups(connection, owner)
    return [
        build_stored_cell(groups[group], slot, [*counts, *map(int, amounts), first, last])
        for group, slot, *rest in connection.execute(_CELLS, (owner,))
        for counts, amounts, (first, last) in [(rest[:3], rest[3:11], rest[11:])]
    ]


def _list_answers(connection: Connection, owner: str) -> list[AnswerCell]:
    groups = _load_groups(connection, owner)
    return [
        AnswerCell(unpack_text(message), build_answer(groups[group], time, flags, list(map(int, counts))))
        for group, message, time, flags, *counts in connection.execute(_ANSWERS, (owner,))
    ]


def _load_groups(connection: Connection, owner: str) -> dict[int, UsageGroup]:
    homes = {
        key: Home(key, unpack_text(project), unpack_text(title), person, unpack_text(origin))
        for key, project, title, person, origin in connection.execute(_HOMES, (owner,))
    }
    groups: dict[int, UsageGroup] = {}
    for number, key, *words in connection.execute(_GROUPS, (owner,)):
        groups[number] = UsageGroup(homes[key], *map(unpack_text, words))
    return groups


def _list_calls(connection: Connection, owner: str) -> list[CallUse]:
    # All are asked for: a server that has not counted rows yet would look up line by line.
    connection.execute("SET LOCAL enable_nestloop TO off")
    rows = connection.execute(_CALLS, (owner,)).fetchall()
    connection.execute("SET LOCAL enable_nestloop TO on")
    return list(_unpack_calls(connection, owner, rows))


def _unpack_calls(connection: Connection, owner: str, rows: Iterable[Cells]) -> Iterator[CallUse]:
    for source, index, call_id, name, state, started, ended, person, is_line, *line, elsewhere in rows:
        message = _name(*line) if is_line else None
        if elsewhere is not None:
            message = _find_elsewhere(connection, owner, unpack_row(CallRow, elsewhere))
        yield CallUse(
            message=message,
            id=unpack_text(call_id),
            name=unpack_text(name),
            failed=state in FAILED,
            started=started,
            ended=ended,
            source=source,
            order=index,
            person=person,
        )


def _name(message: bytes | None, uuid: bytes | None, offset: int, source: Any) -> str:
    return name_answer(unpack_text(message), unpack_uuid(uuid), offset, source)


def _find_elsewhere(connection: Connection, owner: str, call: CallRow) -> str | None:
    """Return the answer of a call whose line is in a file of another session."""
    at = call.at
    values = owner, at.source, at.generation, at.offset
    for message, uuid in connection.execute(_LINE, values).fetchall():
        return _name(message, uuid, at.offset, at.source)
    return None
