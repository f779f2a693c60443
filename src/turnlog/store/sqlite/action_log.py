"""The action log in SQL: three lists, each in order by an index of its own, put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice

import apsw
from msgspec import json
from msgspec.structs import replace

from turnlog.store.actions import (
    ActionFilter,
    ActionKind,
    ActionOutline,
    ActionPoint,
    ActionTally,
)
from turnlog.store.identity import Scope
from turnlog.store.sqlite.action_parts import LIVE_STATES, PARTS, TIMED_HOOKS, TOLD, Part, build_wanted
from turnlog.store.sqlite.chapters import SESSION, Values
from turnlog.store.sqlite.kinds import UnpackContext
from turnlog.store.sqlite.timelines import Timelines
from turnlog.store.tallies import ActionCount, build_tally
from turnlog.transcripts.actions.states import CALL_STATES, ActionState
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.hooks.matching import match_lines

__all__ = ["ActionLog"]

_ORDER = "at, rank, place, line, part"
_BEHIND = f"({_ORDER}) > (:at, :rank, :place, :line, :part)"
_FAILED = ActionState.FAILED
_Told = dict[int, tuple[bool, int | None]]
"""Deliveries by their numbers: whether lines tell that they failed, and how long they took."""


class ActionLog:
    """Asks one connection."""

    def __init__(self, connection: apsw.Connection, context: UnpackContext) -> None:
        self._connection = connection
        self._context = context
        self._hooks = Timelines(connection, context)

    def list_actions(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        where: ActionFilter,
        after: ActionPoint | None,
        after_ms: int | None,
        slowest: bool,
        count: int,
    ) -> list[ActionOutline]:
        """Return a page of actions."""
        values = self._name(scope, key, session_id) | {"count": count}
        if after is not None:
            values |= {"at": after.at, "rank": after.rank, "place": after.name, "line": after.line}
            values |= {"part": after.part, "after_ms": after_ms}
        told: _Told = {}
        is_whole = slowest or where.states is not None or where.min_ms is not None
        if is_whole:
            told = self._list_told(values)
        values |= _name_told(told, where.min_ms)
        lists = [
            [self._build(part, cells) for cells in self._list(part, where, values, after, slowest)]
            for part in ((*PARTS[:2], TIMED_HOOKS) if slowest else PARTS)
            if where.categories is None or not part.categories.isdisjoint(where.categories)
        ]
        page = list(islice(merge(*lists, key=_rank_slowest if slowest else _rank), count))
        if not is_whole:
            told = self._find_told(scope, key, session_id, page)
        return [_add_told(each, told) for each in page] if told else page

    def tally_actions(
        self, scope: Scope, key: str, session_id: str, where: ActionFilter, spans: int
    ) -> ActionTally:
        """Return all actions at a glance."""
        values = self._name(scope, key, session_id)
        values |= _name_told(self._list_told(values), where.min_ms)
        first, last = self._find_bounds(values)
        width = max(-(-(last - first + 1) // spans), 1)
        counts: list[ActionCount] = []
        for part in PARTS:
            wanted, given = build_wanted(part, where)
            query = f"""
            SELECT category, title, iif(at = 0, -1, (at - :first) / :width), count(*), sum(ifnull(failed, 0)),
                sum(ifnull({wanted}, 0))
            FROM ({part.rows}) GROUP BY 1, 2, 3
            """
            for category, title, *numbers in self._connection.execute(
                query, values | given | {"first": first, "width": width}
            ):
                counts.append(ActionCount(self._say(category), self._say(title), *numbers))
        return build_tally(counts, first, width)

    def _list(
        self, part: Part, where: ActionFilter, values: Values, after: ActionPoint | None, slowest: bool
    ) -> Iterator[tuple[object, ...]]:
        wanted, given = build_wanted(part, where)
        clauses = [wanted]
        rows, order = part.rows, part.order
        if slowest:
            order = f"took DESC, {_ORDER}"
            clauses.append("took IS NOT NULL")
            if after is not None:
                clauses.append(f"(took < :after_ms OR (took = :after_ms AND {_BEHIND}))")
        elif after is not None:
            rows += f" AND {part.at} >= :at * {part.scale}"  # so that the index is entered there
            clauses.append(_BEHIND)
        query = f"SELECT * FROM ({rows}) AS d WHERE {' AND '.join(clauses)} ORDER BY {order} LIMIT :count"
        return iter(self._connection.execute(query, values | given))

    def _build(self, part: Part, cells: Sequence[object]) -> ActionOutline:
        at, rank, place, line, position, number, category, title, state, live, took, failed, *_ = cells
        return ActionOutline(
            kind=part.kind,
            point=ActionPoint(at, rank, place, line, position),  # type: ignore[arg-type]
            number=number,  # type: ignore[arg-type]
            category=self._say(category),
            state=self._tell_state(part, state, live, failed),
            name=self._say(title),
            duration_ms=took,  # type: ignore[arg-type]
        )

    def _tell_state(self, part: Part, state: object, live: object, failed: object) -> str:
        if part.kind is ActionKind.HOOK:
            return (_FAILED if failed else ActionState.NOTE).value
        if isinstance(live, int):
            return LIVE_STATES[live].value
        word = self._say(state)
        return word if part.kind is ActionKind.EVENT else CALL_STATES[CallState(word)].value

    def _list_told(self, values: Values) -> _Told:
        """Return what lines tell of all deliveries of a session."""
        return {
            delivery: (bool(failed), took) for delivery, failed, took in self._connection.execute(TOLD, values)
        }

    def _find_told(self, scope: Scope, key: str, session_id: str, page: Sequence[ActionOutline]) -> _Told:
        """Return what lines tell of the deliveries on a page."""
        ids = [each.number for each in page if each.kind is ActionKind.HOOK]
        facts = self._hooks.list_at(scope, session_id, ids) if ids else []
        lines = self._hooks.list_hook_lines(scope, key, [fact.told for fact in facts]) if facts else []
        near = self._hooks.list_near(scope, session_id, [line.told for line in lines]) if lines else []
        told: _Told = {}
        for at, delivery in match_lines([line.told for line in lines], [fact.told for fact in near]).items():
            row, number = lines[at].row, near[delivery].id
            failed, took = told.get(number, (False, None))
            times = [each for each in (took, row.duration_ms) if each is not None]
            told[number] = failed or row.state == _FAILED, max(times, default=None)
        return told

    def _find_bounds(self, values: Values) -> tuple[int, int]:
        """Return when the first and the last action was, of those whose time is known."""
        found: list[int] = []
        for part in PARTS:
            for end in ("", "DESC"):
                query = f"SELECT {part.at} FROM {part.table} AND {part.at} > 0 ORDER BY {part.at} {end} LIMIT 1"
                found += [int(at) // part.scale for (at,) in self._connection.execute(query, values)]
        return min(found, default=0), max(found, default=0)

    def _name(self, scope: Scope, key: str, session_id: str) -> Values:
        query = f"SELECT {SESSION}"
        [(session,)] = self._connection.execute(query, {"owner": scope.owner, "key": key})
        return {"owner": scope.owner, "session": session, "id": session_id}

    def _say(self, word: object) -> str:
        return word if isinstance(word, str) else str(self._context.words[word])  # type: ignore[index]


def _rank(action: ActionOutline) -> ActionPoint:
    return action.point


def _rank_slowest(action: ActionOutline) -> tuple[int, ActionPoint]:
    return -(action.duration_ms or 0), action.point


def _name_told(told: _Told, min_ms: int | None) -> Values:
    failed = [number for number, (is_failed, _) in told.items() if is_failed]
    timed = [(number, took) for number, (_, took) in told.items() if took is not None]
    long = [number for number, took in timed if min_ms is not None and took >= min_ms]
    lists = {"failed": failed, "timed": timed, "long": long}
    values: Values = {name: json.encode(each).decode() for name, each in lists.items()}
    return values | {"min_ms": min_ms}


def _add_told(action: ActionOutline, told: _Told) -> ActionOutline:
    if action.kind is not ActionKind.HOOK or action.number not in told:
        return action
    failed, took = told[action.number]
    return replace(action, duration_ms=took, state=_FAILED.value if failed else action.state)
