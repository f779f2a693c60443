"""What is asked of a whole session or chapter at once: few columns of many rows, and pages of many rows."""

from __future__ import annotations

from turnlog.store.identity import Scope, SourceKind
from turnlog.store.packing import unpack_row
from turnlog.store.postgres.chapters import CHAPTER, SESSION, ChapterQueries, build_conditions, look_up
from turnlog.store.rows import CallRow, TurnRow
from turnlog.store.windows import (
    EVERY_CALL,
    BranchRange,
    CallFilter,
    CallOutline,
    CallRange,
    MessageOutline,
    TurnCall,
)

__all__ = ["Outlines"]


class Outlines(ChapterQueries):
    """What `PostgresStore` tells of all messages, calls and turns of a session."""

    def list_outline(
        self, scope: Scope, key: str, *, source: str | None = None, first: int = 0, count: int | None = None
    ) -> list[MessageOutline]:
        """Return how the messages of a chapter belong together, from an index on."""
        query = f"""
        SELECT t.idx, t.role, t.lane, t.parent FROM messages AS t WHERE {CHAPTER} AND t.idx >= %(first)s
        ORDER BY t.idx LIMIT %(count)s
        """
        rows = self._select(scope, key, source, query, {"first": first, "count": count})
        return [MessageOutline(*row) for row in rows]

    def list_call_outline(self, scope: Scope, key: str, *, source: str | None = None) -> list[CallOutline]:
        """Return what is counted of a chapter's calls."""
        query = f"""
        SELECT t.idx, t.message, t.category, t.state, t.started, t.ended FROM calls AS t WHERE {CHAPTER}
        ORDER BY t.idx
        """
        return [CallOutline(*row) for row in self._select(scope, key, source, query)]

    def list_branches(self, scope: Scope, key: str, *, source: str | None = None) -> list[BranchRange]:
        """Return the branches of a chapter, by their numbers."""
        query = f"""
        SELECT b.*, t.parent FROM (
            SELECT t.branch, min(t.idx) AS first, max(t.idx), count(*), bool_or(t.active)
            FROM messages AS t WHERE {CHAPTER} GROUP BY t.branch
        ) AS b JOIN messages AS t ON {CHAPTER} AND t.idx = b.first ORDER BY b.branch
        """
        return [
            BranchRange(index=branch, first=first, last=last, parent=parent, messages=count, active=active)
            for branch, first, last, count, active, parent in self._select(scope, key, source, query)
        ]

    def find_calls(
        self,
        scope: Scope,
        key: str,
        where: CallFilter = EVERY_CALL,
        *,
        source: str | None = None,
        first: int = 0,
        count: int = 100,
    ) -> CallRange:
        """Return some of the calls that are wanted; without `source`, of all chapters."""
        wanted, values = build_conditions(
            {"category": where.categories, "state": where.states, "name": where.name}
        )
        # Each chapter is entered at its own offset, so that no more than one is gone through in vain.
        query = f"""
        WITH chapters AS (
            SELECT t.source, count(*) AS size FROM calls AS t
            WHERE {SESSION if source is None else CHAPTER}{wanted} GROUP BY t.source
        ), places AS (
            SELECT c.source, c.size, row_number() OVER before AS place, sum(c.size) OVER before - c.size AS at
            FROM chapters AS c JOIN sources AS s ON s.id = c.source
            WINDOW before AS (ORDER BY s.kind <> '{SourceKind.TRANSCRIPT}', s.source)
        ), page AS (
            SELECT p.place, c.idx, c.row FROM places AS p CROSS JOIN LATERAL (
                SELECT t.idx, t.row FROM calls AS t WHERE {SESSION} AND t.source = p.source{wanted}
                ORDER BY t.idx
                OFFSET greatest(%(first)s - p.at, 0)::bigint LIMIT least(%(count)s, %(end)s - p.at)::bigint
            ) AS c WHERE p.at < %(end)s AND p.at + p.size > %(first)s
        )
        SELECT w.total, page.row FROM (SELECT coalesce(sum(size), 0) AS total FROM chapters) AS w
        LEFT JOIN page ON true ORDER BY page.place, page.idx
        """
        values |= {"first": first, "count": count, "end": first + count}
        rows = self._select(scope, key, source, query, values)
        calls = tuple(unpack_row(CallRow, row) for _, row in rows if row is not None)
        return CallRange(calls, int(rows[0][0]))

    def list_turns(self, scope: Scope, key: str, *, first: int = 0, count: int | None = None) -> list[TurnRow]:
        """Return a session's turns, from one on."""
        query = f"""
        SELECT t.row FROM turns AS t WHERE {SESSION} AND t.source = 0 AND t.idx >= %(first)s
        ORDER BY t.idx LIMIT %(count)s
        """
        rows = self._select(scope, key, None, query, {"first": first, "count": count})
        return [unpack_row(TurnRow, row) for (row,) in rows]

    def count_turns(self, scope: Scope, key: str) -> int:
        """Return how many turns a session has; they are counted from 0 without gaps."""
        query = f"""
        SELECT t.idx + 1 FROM turns AS t WHERE {SESSION} AND t.source = 0 ORDER BY t.idx DESC LIMIT 1
        """
        return next((int(count) for (count,) in self._select(scope, key, None, query)), 0)

    def list_turn_calls(self, scope: Scope, key: str, *, first: int = 0, count: int = 100) -> list[TurnCall]:
        """Return the calls that the transcript's messages of some turns made: by turn, and then in order."""
        query = f"""
        SELECT m.turn, c.category, c.state, c.started, c.ended FROM (
            SELECT t.turn, t.idx FROM messages AS t
            WHERE {CHAPTER} AND t.turn >= %(first)s AND t.turn < %(end)s ORDER BY t.turn, t.idx OFFSET 0
        ) AS m CROSS JOIN LATERAL ({look_up("t.*", "calls", "message", "m.idx")}) AS c ORDER BY m.turn, c.idx
        """
        rows = self._select(scope, key, None, query, {"first": first, "end": first + count})
        return [TurnCall(*row) for row in rows]
