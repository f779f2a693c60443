"""What can be asked about usage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import apsw

from turnlog.store.identity import Scope
from turnlog.store.sqlite.connection import reading, translate
from turnlog.store.sqlite.values import unpack_text, unpack_uuid
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

__all__ = ["SqliteUsage"]

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
SELECT s.source, c.idx, c.id, n.word, z.word, c.started, c.ended, ifnull(c.at_source, c.source), c.generation,
    c.start, x.person
FROM calls AS c JOIN sessions AS e ON e.id = c.session JOIN sources AS s ON s.id = c.source
JOIN words AS n ON n.id = c.name JOIN words AS z ON z.id = c.state
LEFT JOIN access AS x ON x.session = c.session
WHERE e.owner = ? ORDER BY s.source, c.idx
"""
_LINES = """
SELECT g.source, g.generation, l.start, l.message_id, l.uuid, s.source
FROM lines AS l JOIN generations AS g ON g.id = l.generation JOIN sources AS s ON s.id = g.source
WHERE l.type = (SELECT id FROM words WHERE word = 'assistant') AND s.owner = ?
"""
_REPORTED = """
SELECT r.session_id, r.kind, r.cost, r.computed FROM reported_costs AS r JOIN sessions AS e ON e.id = r.session
WHERE e.owner = ?
"""
_FILES = "SELECT count(*) FROM sources WHERE owner = ? AND kind IN ('transcript', 'agent')"


class SqliteUsage:
    """The usage of one owner's sessions."""

    def __init__(self, path: Path, connect: Callable[[], apsw.Connection], scope: Scope) -> None:
        """Ask for a connection each time: one for viewers is used for others meanwhile."""
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
            answers = dict(self._list_places())
            return [
                CallUse(
                    message=answers.get((at_source, generation, start)),
                    id=call_id,
                    name=unpack_text(name),
                    failed=state in FAILED,
                    started=started,
                    ended=ended,
                    source=source,
                    order=index,
                    person=person,
                )
                for (
                    source, index, call_id, name, state, started, ended, at_source, generation, start, person,
                ) in self._connect().execute(_CALLS, (self._scope.owner,))
            ]  # fmt: skip

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

    def _list_places(self) -> Iterator[tuple[tuple[int, int, int], str]]:
        """Yield where lines of answers are, each with its answer as `transcripts.find_sighting` names it."""
        for source, generation, start, message, uuid, name in self._connect().execute(
            _LINES, (self._scope.owner,)
        ):
            yield (source, generation, start), name_answer(message, unpack_uuid(uuid), start, name)
