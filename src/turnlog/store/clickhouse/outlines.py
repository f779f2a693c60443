"""What is asked of a whole session or chapter at once: few columns of many rows, and pages of many rows."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from turnlog.store.clickhouse.chapters import (
    CHAPTER,
    FILES,
    ChapterQueries,
    build_conditions,
    rows_of,
)
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.kinds import CALLS, MESSAGES, TURNS, WHOLE_SESSION
from turnlog.store.clickhouse.row_lists import in_range
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.packing import Cells, unpack_row, unpack_text
from turnlog.store.rows import CallRow
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

_BRANCHES = f"""
SELECT branch, min(idx), max(idx), count(), max(active), (argMin(tuple(parent), idx)).1
FROM ({rows_of(MESSAGES, "idx, branch, active, parent")}) GROUP BY branch ORDER BY branch
"""
_TURN_CALLS = f"""
SELECT m.turn, c.category, c.state, c.started, c.ended
FROM ({rows_of(CALLS, "idx, message, category, state, started, ended")}) AS c
INNER JOIN (
    {rows_of(MESSAGES, "idx, turn")} AND turn >= {{first:Int64}} AND turn < {{end:Int64}}
) AS m ON m.idx = c.message ORDER BY m.turn, c.idx
"""


class Outlines(ChapterQueries):
    """What `ClickHouseStore` tells of all messages, calls and turns of a session."""

    def list_outline(
        self, scope: Scope, key: str, *, source: str | None = None, first: int = 0, count: int | None = None
    ) -> list[MessageOutline]:
        """Return how the messages of a chapter belong together, from an index on."""
        within, values = in_range(first, count)
        rows = self._select_chapter(
            scope, key, source, rows_of(MESSAGES, "idx, role, lane, parent", within), values
        )
        return [
            MessageOutline(at, unpack_text(role), unpack_text(lane), parent)
            for at, role, lane, parent in sorted(rows, key=itemgetter(0))
        ]

    def list_call_outline(self, scope: Scope, key: str, *, source: str | None = None) -> list[CallOutline]:
        """Return what is counted of a chapter's calls."""
        query = rows_of(CALLS, "idx, message, category, state, started, ended")
        return [
            CallOutline(at, message, *_unpack_outcome(outcome))
            for at, message, *outcome in sorted(
                self._select_chapter(scope, key, source, query), key=itemgetter(0)
            )
        ]

    def list_branches(self, scope: Scope, key: str, *, source: str | None = None) -> list[BranchRange]:
        """Return the branches of a chapter, by their numbers."""
        return [
            BranchRange(
                index=branch, first=first, last=last, parent=parent, messages=count, active=bool(active)
            )
            for branch, first, last, count, active, parent in self._select_chapter(
                scope, key, source, _BRANCHES
            )
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
        wanted = {"category": where.categories, "state": where.states, "name": where.name}
        conditions, values = build_conditions(wanted)
        columns = ", ".join(("source", "idx", *(name for name, value in wanted.items() if value is not None)))
        if source is not None:
            values["chapter"] = number(scope.owner, source)
        narrow = rows_of(CALLS, columns, None if source is None else CHAPTER)
        narrow = f"SELECT source, idx FROM ({narrow}) WHERE {conditions or 'true'}"
        sizes = self._select(scope, key, _count_chapters(narrow), values)
        total = sum(size for _, size in sizes)
        before, sources = _choose_chapters(sizes, first, first + count)
        if not sources:
            return CallRange((), total)
        values |= {"sources": sources, "count": count, "skipped": first - before}
        found = self._select(scope, key, _page(narrow), values)
        rows = [(sources.index(each), unpack_row(CallRow, row)) for each, row in found]
        rows.sort(key=lambda each: (each[0], each[1].index))
        return CallRange(tuple(row for _, row in rows), total)

    def count_turns(self, scope: Scope, key: str) -> int:
        """Return how many turns a session has."""
        return self._count(scope, key, TURNS, WHOLE_SESSION)

    def list_turn_calls(self, scope: Scope, key: str, *, first: int = 0, count: int = 100) -> list[TurnCall]:
        """Return the calls that the transcript's messages of some turns made: by turn, and then in order."""
        rows = self._select_chapter(scope, key, None, _TURN_CALLS, {"first": first, "end": first + count})
        return [TurnCall(turn, *_unpack_outcome(outcome)) for turn, *outcome in rows]


def _count_chapters(narrow: str) -> str:
    """Return the query for the number of calls in each chapter, in the order of chapters."""
    return f"""
    SELECT source, size FROM (SELECT source, count() AS size FROM ({narrow}) GROUP BY source) AS c
    INNER JOIN ({FILES}) AS f USING (source) ORDER BY f.kind != '{SourceKind.TRANSCRIPT}', f.name
    """


def _page(narrow: str) -> str:
    """Return the query for some of the calls of chapters that are named in order."""
    places = f"""
    SELECT source, idx FROM ({narrow}) WHERE source IN {{sources:Array(UInt128)}}
    ORDER BY indexOf({{sources:Array(UInt128)}}, source), idx LIMIT {{count:UInt64}} OFFSET {{skipped:UInt64}}
    """
    return rows_of(CALLS, "source, row", f"(source, idx) IN ({places})")


def _choose_chapters(sizes: Sequence[Cells], first: int, end: int) -> tuple[int, list[int]]:
    """Return the chapters that a page has calls of, and how many calls there are before them."""
    chosen: list[int] = []
    at = before = 0
    for source, size in sizes:
        if at < end and at + size > first:
            before = before if chosen else at
            chosen.append(source)
        at += size
    return before, chosen


def _unpack_outcome(cells: Sequence[Any]) -> tuple[str, str, int | None, int | None]:
    category, state, started, ended = cells
    return unpack_text(category), unpack_text(state), started, ended
