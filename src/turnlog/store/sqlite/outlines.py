"""What is asked of a whole session or chapter at once: few columns of many rows, and pages of many rows."""

from __future__ import annotations

import apsw

from turnlog.store.identity import Scope, SourceKind
from turnlog.store.rows import CallRow, TurnRow
from turnlog.store.sqlite.chapters import SESSION, SOURCE, Values, build_conditions, build_values, name_chapter
from turnlog.store.sqlite.derived_kinds import CALLS, TURNS
from turnlog.store.sqlite.kinds import UnpackContext
from turnlog.store.sqlite.sources import NEWEST
from turnlog.store.windows import (
    BranchRange,
    CallFilter,
    CallOutline,
    CallRange,
    FileCounts,
    MessageOutline,
    TurnCall,
)

__all__ = ["Outlines"]

_ALL = -1
"""A limit that is none, for SQLite."""
_WHOLE = 0
"""The source of rows of the whole session."""


class Outlines:
    """Asks one connection."""

    def __init__(self, connection: apsw.Connection, context: UnpackContext) -> None:
        self._connection = connection
        self._context = context

    def list_outline(
        self, scope: Scope, key: str, source: str | None, first: int, count: int | None
    ) -> list[MessageOutline]:
        """Return how messages belong together."""
        query = f"""
        SELECT idx, role, lane, parent FROM messages
        WHERE session = {SESSION} AND source = {name_chapter(source)} AND idx >= :first
        ORDER BY idx LIMIT :count
        """
        limit = _ALL if count is None else count
        values = build_values(scope, key, source) | {"first": first, "count": limit}
        word = self._context.words
        return [
            MessageOutline(index, word[role], word[lane], parent)
            for index, role, lane, parent in self._connection.execute(query, values)
        ]

    def list_call_outline(self, scope: Scope, key: str, source: str | None) -> list[CallOutline]:
        """Return what is counted of calls."""
        query = f"""
        SELECT idx, message, category, state, started, ended FROM calls
        WHERE session = {SESSION} AND source = {name_chapter(source)} ORDER BY idx
        """
        word = self._context.words
        return [
            CallOutline(index, message, word[category], word[state], started, ended)
            for index, message, category, state, started, ended in self._connection.execute(
                query, build_values(scope, key, source)
            )
        ]

    def list_branches(self, scope: Scope, key: str, source: str | None) -> list[BranchRange]:
        """Return the branches of a chapter."""
        query = f"""
        SELECT b.*, m.parent FROM (
            SELECT session, source, branch, min(idx) AS first, max(idx), count(*), max(active) FROM messages
            WHERE session = {SESSION} AND source = {name_chapter(source)} GROUP BY branch
        ) AS b JOIN messages AS m ON m.session = b.session AND m.source = b.source AND m.idx = b.first
        ORDER BY b.branch
        """
        return [
            BranchRange(
                index=branch, first=first, last=last, parent=parent, messages=count, active=bool(active)
            )
            for _, _, branch, first, last, count, active, parent in self._connection.execute(
                query, build_values(scope, key, source)
            )
        ]

    def find_calls(
        self, scope: Scope, key: str, where: CallFilter, source: str | None, first: int, count: int
    ) -> CallRange:
        """Return some calls: the transcript's, then by source."""
        names = None if where.name is None else (where.name,)
        wanted, given = build_conditions(
            {"category": where.categories, "state": where.states, "name": names}, {}
        )
        chosen = f"t.session = {SESSION}{wanted}" + ("" if source is None else f" AND t.source = {SOURCE}")
        values = build_values(scope, key, source) | given
        query = f"SELECT t.source, count(*) FROM calls AS t WHERE {chosen} GROUP BY t.source"
        counts = dict(self._connection.execute(query, values))
        found: list[CallRow] = []
        for chapter in self._list_chapters(values):
            if first < counts.get(chapter, 0) and len(found) < count:
                here = f"{chosen} AND t.source = :chapter"
                page = f"{CALLS.select} WHERE {here} ORDER BY t.idx LIMIT :count OFFSET :first"
                given = {"chapter": chapter, "count": count - len(found), "first": first}
                rows = self._connection.execute(page, values | given)
                found += (CALLS.unpack(row, self._context) for row in rows)
            first = max(first - counts.get(chapter, 0), 0)
        return CallRange(tuple(found), sum(counts.values()))

    def _list_chapters(self, values: Values) -> list[int]:
        """Return the numbers of a session's files, the transcript's first."""
        query = f"""
        SELECT id FROM sources WHERE session = {SESSION} ORDER BY kind <> '{SourceKind.TRANSCRIPT}', source
        """
        wanted = {name: values[name] for name in ("owner", "key")}
        return [number for (number,) in self._connection.execute(query, wanted)]

    def list_turns(self, scope: Scope, key: str, first: int, count: int | None) -> list[TurnRow]:
        """Return turns, from one on."""
        query = f"""
        {TURNS.select} WHERE t.session = {SESSION} AND t.source = {_WHOLE} AND t.idx >= :first
        ORDER BY t.idx LIMIT :count
        """
        limit = _ALL if count is None else count
        values = build_values(scope, key, None) | {"first": first, "count": limit}
        return [TURNS.unpack(row, self._context) for row in self._connection.execute(query, values)]

    def count_turns(self, scope: Scope, key: str) -> int:
        """Return how many turns there are; they are counted from 0 without gaps."""
        query = f"SELECT ifnull(max(idx) + 1, 0) FROM turns WHERE session = {SESSION} AND source = {_WHOLE}"
        [(count,)] = self._connection.execute(query, build_values(scope, key, None))
        return int(count)

    def list_turn_calls(self, scope: Scope, key: str, first: int, count: int) -> list[TurnCall]:
        """Return the calls of some turns."""
        query = f"""
        SELECT m.turn, c.category, c.state, c.started, c.ended
        FROM messages AS m INDEXED BY messages_by_turn CROSS JOIN calls AS c INDEXED BY calls_by_message
            ON c.session = m.session AND c.source = m.source AND c.message = m.idx
        WHERE m.session = {SESSION} AND m.source = {name_chapter(None)} AND m.turn >= :first AND m.turn < :end
        ORDER BY m.turn, c.idx
        """
        values = build_values(scope, key, None) | {"first": first, "end": first + count}
        word = self._context.words
        return [
            TurnCall(turn, word[category], word[state], started, ended)
            for turn, category, state, started, ended in self._connection.execute(query, values)
        ]

    def count_files(self, scope: Scope) -> FileCounts:
        """Return how much there is."""
        query = f"""
        SELECT count(*), ifnull(sum(present = 0), 0), ifnull(sum(files), 0), ifnull(sum(bytes), 0),
            ifnull(sum(lines), 0)
        FROM (
            SELECT max(p.present) AS present, count(*) AS files, sum(c.length) AS bytes, sum(c.lines) AS lines
            {NEWEST} WHERE s.owner = ? GROUP BY s.session
        )
        """
        [(sessions, only_here, files, size, lines)] = self._connection.execute(query, (scope.owner,))
        return FileCounts(sessions=sessions, only_here=only_here, files=files, bytes=size, lines=lines)
