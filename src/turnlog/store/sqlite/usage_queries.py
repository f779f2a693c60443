"""What can be asked about usage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import apsw
from msgspec import json

from turnlog.store.identity import Scope
from turnlog.store.interface import AnswerUse
from turnlog.store.sqlite.connection import reading, translate
from turnlog.store.sqlite.segments import SegmentCache
from turnlog.store.sqlite.values import unpack_text
from turnlog.store.usage.cells import Home, UsageCell
from turnlog.store.usage.report import ReportedCost
from turnlog.store.usage.stored import (
    UsageGroup,
    build_answer,
    build_stored_cell,
    choose_reported,
)
from turnlog.store.usage.tools import AnswerCell, CallUse, build_call_use
from turnlog.transcripts.usage.price_list import PriceTable

__all__ = ["ANSWERS_OF", "IS_NEW", "SqliteUsage", "find_answers", "find_usage_version"]

_GROUPS = """
SELECT g.id, e.key, e.origin, x.person, t.project, t.title, w.word, m.word, a.word, k.word, c.word, g.terms
FROM usage_groups AS g JOIN sessions AS e ON e.id = g.session
LEFT JOIN summaries AS t ON t.session = g.session
LEFT JOIN access AS x ON x.session = g.session
LEFT JOIN words AS w ON w.id = g.session_id
LEFT JOIN words AS m ON m.id = g.model
LEFT JOIN words AS a ON a.id = g.agent
LEFT JOIN words AS k ON k.id = g.skill
LEFT JOIN words AS c ON c.id = g.mcp_server
WHERE e.owner = ? AND g.audience <> 2
"""
_CELLS = """
SELECT grp, slot, messages, incomplete, unpriced, input, output, cache_read, cache_write_5m, cache_write_1h,
    web_searches, cost, saved, first, last
FROM usage_rollup
"""
_ANSWERS = """
SELECT grp, message_id, time, flags, input, output, cache_read, cache_write_5m, cache_write_1h, web_searches,
    cost, saved
FROM answers
"""
_CALLS = """
SELECT s.source, x.person, g.source, g.number, g.stamp FROM sources AS s
JOIN segments AS g ON g.source = s.id LEFT JOIN access AS x ON x.session = s.session
WHERE s.owner = ? AND g.calls > 0 ORDER BY s.source, g.number
"""
IS_NEW = "id > ifnull((SELECT id FROM answers WHERE is_new = 0 ORDER BY id DESC LIMIT 1), 0)"
"""Which answers are not in the index by messages yet: those behind all others."""
ANSWERS_OF = f"""
SELECT a.id FROM json_each(?1) AS m CROSS JOIN answers AS a
ON substr(a.message_id, -10) = substr(m.value, -10) AND a.message_id = m.value AND a.is_new = 0
UNION ALL SELECT id FROM answers WHERE {IS_NEW} AND message_id IN (SELECT value FROM json_each(?1))
"""
"""The answers of some messages."""
_REPORTED = """
SELECT r.session_id, r.kind, r.cost, r.computed FROM reported_costs AS r JOIN sessions AS e ON e.id = r.session
WHERE e.owner = ?
"""
_FILES = "SELECT count(*) FROM sources WHERE owner = ? AND kind IN ('transcript', 'agent')"


class SqliteUsage:
    """The usage of one owner's sessions."""

    def __init__(
        self, path: Path, connect: Callable[[], apsw.Connection], segments: SegmentCache, scope: Scope
    ) -> None:
        """Ask for a connection each time: one for viewers is used for others meanwhile."""
        self._segments = segments
        self._path = path
        self._connect = connect
        self._scope = scope

    def list_cells(self) -> list[UsageCell]:
        """Return what answers used, in quarters of an hour."""
        with self._reading():
            groups = self._load_groups()
            rows = self._connect().execute(_CELLS)
            return [
                build_stored_cell(groups[group], slot, amounts)
                for group, slot, *amounts in rows
                if group in groups
            ]

    def list_answers(self) -> list[AnswerCell]:
        """Return what each answer used."""
        with self._reading():
            groups = self._load_groups()
            rows = self._connect().execute(_ANSWERS)
            return [
                AnswerCell(message, build_answer(groups[group], time, flags, counts))
                for group, message, time, flags, *counts in rows
                if group in groups
            ]

    def list_calls(self) -> list[CallUse]:
        """Return the calls of all files."""
        with self._reading():
            connection = self._connect()
            rows: list[tuple[Any, ...]] = connection.execute(_CALLS, (self._scope.owner,)).fetchall()
            return [
                build_call_use(source, call, person)
                for source, person, *key in rows
                for call in self._segments.load(connection, tuple(key)).calls
            ]

    def list_reported(self) -> list[ReportedCost]:
        """Return what Claude Code itself says that sessions cost; of copies, the one that has run furthest."""
        rows = self._ask(_REPORTED, self._scope.owner)
        return choose_reported(
            ReportedCost(unpack_text(session), kind, Decimal(cost), Decimal(computed))
            for session, kind, cost, computed in rows
        )

    def find_prices(self) -> PriceTable | None:
        """Return by which prices the costs are."""
        query = "SELECT name, version, newest FROM usage_prices"
        for name, version, newest in self._ask(query):
            return PriceTable(name, version, date.fromisoformat(newest))
        return None

    def count_files(self) -> int:
        """Return how many files of lines there are."""
        [(count,)] = self._ask(_FILES, self._scope.owner)
        return int(count)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with translate(self._path), reading(self._connect()):
            yield

    def _ask(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with translate(self._path):
            return self._connect().execute(query, values).fetchall()

    def _load_groups(self) -> dict[int, UsageGroup]:
        groups: dict[int, UsageGroup] = {}
        homes: dict[str, Home] = {}
        for number, key, origin, person, project, title, *words, terms in self._connect().execute(
            _GROUPS, (self._scope.owner,)
        ):
            home = homes.get(key)
            if home is None:
                home = homes[key] = Home(key, unpack_text(project), title, person, unpack_text(origin))
            session, model, agent, skill, server = map(unpack_text, words)
            groups[number] = UsageGroup(home, session, model, agent, skill, server, terms)
        return groups


def find_answers(connection: apsw.Connection, scope: Scope, ids: Iterable[str]) -> list[AnswerUse]:
    """Return what answers used, those that are known, in the order of their ids."""
    query = f"""
    SELECT a.message_id, a.input, a.output, a.cache_read, a.cache_write_5m + a.cache_write_1h,
        iif(a.flags & 2, NULL, a.cost)
    FROM ({ANSWERS_OF}) AS w CROSS JOIN answers AS a ON a.id = w.id
    JOIN usage_groups AS g ON g.id = a.grp JOIN sessions AS e ON e.id = g.session
    WHERE e.owner = ?2 AND g.audience <> 2 ORDER BY a.message_id, a.output, e.key DESC
    """
    wanted = json.encode(sorted(set(ids))).decode()
    # Several people may have it: what has the most output is nearest to the truth.
    answers = {
        found: AnswerUse(
            message_id=found, input=input, output=output, cache_read=read, cache_write=write, cost=cost
        )
        for found, input, output, read, write, cost in connection.execute(query, (wanted, scope.owner))
    }
    return [*answers.values()]


def find_usage_version(connection: apsw.Connection, scope: Scope, key: str) -> int:
    """Return how often answers of a session were counted in another way, alone or with all others."""
    query = """
    SELECT ifnull(sum(version), 0) FROM usage_versions
    WHERE session IN (0, (SELECT id FROM sessions WHERE owner = ? AND key = ?))
    """
    [(version,)] = connection.execute(query, (scope.owner, key))
    return int(version)
