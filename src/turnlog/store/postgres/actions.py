"""The action log in SQL: three lists, each in order by an index of its own, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from turnlog.store.actions import (
    EVERY_ACTION,
    ActionFilter,
    ActionKind,
    ActionOutline,
    ActionPoint,
    ActionTally,
)
from turnlog.store.identity import Scope
from turnlog.store.packing import Cells, pack_text, unpack_text
from turnlog.store.postgres.action_parts import (
    COLUMNS,
    NOTHING_TOLD,
    ORDER,
    PARTS,
    TOLD,
    TOLD_OF_PAGE,
    Part,
    build_wanted,
)
from turnlog.store.postgres.chapters import ChapterQueries
from turnlog.store.tallies import ActionCount, build_tally
from turnlog.transcripts.actions.states import ActionState

__all__ = ["Actions"]

_BEHIND = f"({ORDER}) > (%(at)s, %(rank)s, %(place)s, %(line)s, %(part)s)"
_FAILED = ActionState.FAILED.value
_EVERY = " UNION ALL ".join(f"SELECT {COLUMNS} FROM ({part.build(is_whole=True)}) AS each" for part in PARTS)
_TALLY = f"""
WITH {TOLD}, bounds AS MATERIALIZED (
    SELECT coalesce(min(min), 0) AS first,
        greatest((coalesce(max(max) - min(min), 0) + %(spans)s) / %(spans)s, 1) AS width
    FROM ({" UNION ALL ".join(part.times for part in PARTS)}) AS times
)
SELECT first, width, category, title, CASE WHEN at > 0 THEN (at - first) / width ELSE -1 END, count(*),
    count(*) FILTER (WHERE state = '{_FAILED}'), count(*) FILTER (WHERE {{wanted}})
FROM bounds, ({_EVERY}) AS every
GROUP BY 1, 2, 3, 4, 5
"""
_Told = dict[int, tuple[bool, int | None]]
"""Deliveries by their numbers: whether lines tell that they failed, and how long they took."""


class Actions(ChapterQueries):
    """What `PostgresStore` tells of what was done and what happened."""

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
        wanted = where.categories
        parts = [part for part in PARTS if wanted is None or not part.categories.isdisjoint(wanted)]
        if not parts:
            return []
        query, values = _build_page(parts, where, after is not None, slowest)
        values |= {"count": count, "after_ms": after_ms}
        if after is not None:
            values |= {"at": after.at, "rank": after.rank, "place": pack_text(after.name)}
            values |= {"line": after.line, "part": after.part}
        page = list(map(_build, self._select(scope, key, None, query, values, session_id)))
        if _is_whole(where, slowest):
            return page
        told = self._find_told(scope, key, session_id, page)
        return [_add_told(each, told) for each in page] if told else page

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
        wanted, values = build_wanted(where)
        query = _TALLY.format(wanted=wanted)
        rows = self._select(scope, key, None, query, values | {"spans": spans}, session_id)
        first, width = rows[0][:2] if rows else (0, 1)
        counts = (
            ActionCount(category, unpack_text(title), *numbers) for _, _, category, title, *numbers in rows
        )
        return build_tally(counts, first, width)

    def _find_told(self, scope: Scope, key: str, session_id: str, page: Sequence[ActionOutline]) -> _Told:
        """Return what lines tell of the deliveries on a page."""
        numbers = [each.number for each in page if each.kind is ActionKind.HOOK]
        if not numbers:
            return {}
        rows = self._select(scope, key, None, TOLD_OF_PAGE, {"numbers": numbers}, session_id)
        return {delivery: (failed, took) for delivery, failed, took in rows}


def _is_whole(where: ActionFilter, slowest: bool) -> bool:
    """Tell whether what is wanted depends on what lines tell of deliveries."""
    return slowest or where.states is not None or where.min_ms is not None


def _build_page(
    parts: Sequence[Part], where: ActionFilter, is_behind: bool, slowest: bool
) -> tuple[str, dict[str, Any]]:
    wanted, values = build_wanted(where)
    is_whole, order, clauses = _is_whole(where, slowest), ORDER, [wanted]
    if slowest:
        order = f"took DESC, {ORDER}"
        clauses.append("took IS NOT NULL")
    if is_behind:
        clauses.append(f"(took < %(after_ms)s OR (took = %(after_ms)s AND {_BEHIND}))" if slowest else _BEHIND)
    lists = []
    for part in parts:
        entered = f" AND {part.from_here}" if is_behind and not slowest else ""
        # In the order of an index, and no more than that, no more rows are looked at than are wanted.
        end = "" if slowest else f"ORDER BY {part.order} FETCH FIRST (%(count)s) ROWS WITH TIES"
        lists.append(
            f"(SELECT '{part.kind}' AS kind, {COLUMNS} FROM ({part.build(is_whole)}{entered}) AS each "
            f"WHERE {' AND '.join(clauses)} {end})"
        )
    query = f"""
    WITH {TOLD if is_whole else NOTHING_TOLD} SELECT * FROM ({" UNION ALL ".join(lists)}) AS every
    ORDER BY {order} LIMIT %(count)s
    """
    return query, values


def _build(cells: Cells) -> ActionOutline:
    kind, at, rank, place, line, part, number, category, title, state, took = cells
    return ActionOutline(
        kind=ActionKind(kind),
        point=ActionPoint(at, rank, unpack_text(place), line, part),
        number=number,
        category=category,
        state=state,
        name=unpack_text(title),
        duration_ms=took,
    )


def _add_told(action: ActionOutline, told: _Told) -> ActionOutline:
    if action.kind is not ActionKind.HOOK or action.number not in told:
        return action
    failed, took = told[action.number]
    return replace(action, duration_ms=took, state=_FAILED if failed else action.state)
