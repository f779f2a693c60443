"""The action log: calls and events of files, and what hooks told, put together by few columns of each.

What lines and hooks tell of each other is the same for all pages, until either changes: it is remembered.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from msgspec import Struct

from turnlog.store.actions import (
    EVERY_ACTION,
    ActionFilter,
    ActionKind,
    ActionOutline,
    ActionPoint,
    ActionTally,
)
from turnlog.store.clickhouse.action_parts import (
    COLUMNS,
    EVENT_SPAN,
    FILE_SPAN,
    HOOKS_FILE,
    ORDER,
    STARTED,
    TOLD_LINES,
    ActionValues,
    build_every,
    build_wanted,
)
from turnlog.store.clickhouse.chapters import SHORTLY, ChapterQueries, Look
from turnlog.store.clickhouse.memory import Memory
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.packing import Cells, pack_text, unpack_text
from turnlog.store.tallies import ActionCount, build_tally
from turnlog.transcripts.actions.states import ActionState

__all__ = ["Actions"]

_BEHIND = f"({ORDER}) > ({{at:Int64}}, {{file:Float64}}, {{place:String}}, {{line:Int64}}, {{part:Int64}})"
_FIRST_TIME = -(1 << 63)
_REMEMBERED = 8
"""Of how many sessions."""


class _Session(Struct, frozen=True, kw_only=True):
    """A session of which actions are asked."""

    scope: Scope
    key: str
    told: bytes
    """The id by which hooks know it."""
    look: Look | None
    since: int | None
    """When the first event came, in nanoseconds; None if there is none."""
    until: int | None
    ended: int | None
    """When the last event came that ended all calls."""
    events: object
    """Which ones they are."""

    @property
    def name(self) -> object:
        """What is the same for as long as nothing changed."""
        return self.scope, self.key, self.told, self.events, None if self.look is None else self.look.revision


_MEMORY: Memory[object, ActionValues] = Memory(_REMEMBERED)


class Actions(ChapterQueries):
    """What `ClickHouseStore` tells of what was done and what happened."""

    def list_actions(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        where: ActionFilter = EVERY_ACTION,
        *,
        after: ActionPoint | None = None,
        after_ms: int | None = None,
        slowest: bool = False,
        count: int = 100,
    ) -> list[ActionOutline]:
        """Return the actions that are wanted, behind a point; the slowest first, if they are to be."""
        session = self._enter(scope, key, session_id)
        given = self._gather_values(session)
        every = build_every(given, where.categories, session.since is not None)
        if every is None:
            return []
        condition, values = build_wanted(where)
        clauses, order = [condition], ORDER
        if slowest:
            clauses.append("took IS NOT NULL")
            order = f"took DESC, {ORDER}"
        if after is not None:
            values |= _name_point(session, after) | {"after_ms": after_ms or 0}
            behind = f"(took < {{after_ms:Int64}} OR (took = {{after_ms:Int64}} AND {_BEHIND}))"
            clauses.append(behind if slowest else _BEHIND)
        query = f"""
        SELECT {COLUMNS} FROM ({every}) WHERE {" AND ".join(clauses)} ORDER BY {order} LIMIT {{count:UInt64}}
        """
        rows = self._ask(session, query, {**values, **given.values, "count": count})
        return [_build(session, row) for row in rows]

    def tally_actions(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        where: ActionFilter = EVERY_ACTION,
        *,
        spans: int = 120,
    ) -> ActionTally:
        """Return all actions at a glance, over time in no more than so many spans of the same length."""
        session = self._enter(scope, key, session_id)
        given = self._gather_values(session)
        first, last = self._find_bounds(session)
        width = max((last - first + spans) // spans, 1)
        every = build_every(given, None, session.since is not None)
        if every is None:
            return build_tally((), first, width)
        wanted, values = build_wanted(where)
        query = f"""
        SELECT category, title, if(at > 0, intDiv(at - {{first:Int64}}, {{width:Int64}}), -1) AS span, count(),
            countIf(state = '{ActionState.FAILED}'), countIf({wanted})
        FROM ({every}) GROUP BY category, title, span
        """
        values |= {**given.values, "first": first, "width": width}
        counts = (
            ActionCount(unpack_text(category), unpack_text(title), *numbers)
            for category, title, *numbers in self._ask(session, query, values)
        )
        return build_tally(counts, first, width)

    def _enter(self, scope: Scope, key: str, session_id: str) -> _Session:
        told = pack_text(session_id)
        [(since, until, ended, events)] = self._reading(scope).query(EVENT_SPAN + SHORTLY, {"told": told})
        look = self._look(scope, key)
        return _Session(
            scope=scope, key=key, told=told, look=look, since=since, until=until, ended=ended, events=events
        )

    def _ask(self, session: _Session, query: str, values: dict[str, Any]) -> list[Cells]:
        if session.look is None:
            return self._reading(session.scope).query(query, {**values, "told": session.told})
        return self._select(session.scope, session.key, query, {**values, "told": session.told}, session.look)

    def _gather_values(self, session: _Session) -> ActionValues:
        """Return what lines tell of deliveries, and these of calls."""
        if session.look is None:
            return ActionValues(sources=[], live={}, hidden=[], failed=[], took={})
        sources = [file.number for file in session.look.files]
        if session.since is None:
            return ActionValues(sources=sources, live={}, hidden=[], failed=[], took={})
        known = _MEMORY.find(self._engine, session.name)
        if known is None:
            known = self._gather_told(session, sources)
            _MEMORY.keep(self._engine, {session.name: known})
        return known

    def _gather_told(self, session: _Session, sources: list[int]) -> ActionValues:
        ended = _FIRST_TIME if session.ended is None else session.ended
        live = {
            id: ActionState.WAITING if event == b"PermissionRequest" else ActionState.RUNNING
            for id, event in self._ask(session, STARTED, {"ended": ended})
        }
        told = self._ask(session, TOLD_LINES, {})
        took: dict[int, int] = {}
        for _, _, _, each, delivery in told:
            if each is not None:
                took[delivery] = max(each, took.get(delivery, each))
        return ActionValues(
            sources=sources,
            live=live,
            hidden=[(source, line) for source, line, *_ in told],
            failed=sorted({delivery for _, _, failed, _, delivery in told if failed}),
            took=took,
        )

    def _find_bounds(self, session: _Session) -> tuple[int, int]:
        """Return the first and the last time of all actions, in microseconds; 0 if none is known."""
        [(first, last)] = self._ask(session, FILE_SPAN, {}) if session.look is not None else [(None, None)]
        found = [first, last, *(each // 1000 for each in (session.since, session.until) if each is not None)]
        known = [each for each in found if each is not None and each > 0]
        return (min(known), max(known)) if known else (0, 0)


def _name_point(session: _Session, point: ActionPoint) -> dict[str, Any]:
    """Return how a query names a point."""
    names = [] if session.look is None else [_rank(file.kind, file.name) for file in session.look.files]
    place = bisect_left(names, (point.rank, point.name))
    is_there = names[place : place + 1] == [(point.rank, point.name)]
    is_hook = point.rank > 1
    return {
        "at": point.at,
        # A file that is not there any more would be between two others.
        "file": float(HOOKS_FILE) if is_hook else place + (1 if is_there else 0.5),
        "place": pack_text(point.name) if is_hook else b"",
        "line": point.line,
        "part": point.part,
    }


def _rank(kind: str, name: str) -> tuple[int, str]:
    return (int(kind != SourceKind.TRANSCRIPT), name)


def _build(session: _Session, cells: Cells) -> ActionOutline:
    kind, at, file, place, line, part, number, category, title, state, took = cells
    rank, name = 2, unpack_text(place)
    if file != HOOKS_FILE and session.look is not None:
        found = session.look.files[file - 1]
        rank, name = _rank(found.kind, found.name)
    return ActionOutline(
        kind=ActionKind(unpack_text(kind)),
        point=ActionPoint(at, rank, name, line, part),
        number=number,
        category=unpack_text(category),
        state=unpack_text(state),
        name=unpack_text(title),
        duration_ms=took,
    )
