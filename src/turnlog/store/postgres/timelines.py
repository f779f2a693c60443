"""Hook events between messages: found by the index of calls and by time, never by going through a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import Connection

from turnlog.store.identity import Place, Scope
from turnlog.store.packing import Cells, pack_text, unpack_row, unpack_text
from turnlog.store.postgres.chapters import CHAPTER, SESSION, ChapterQueries, find_chapter, is_at, select
from turnlog.store.postgres.hook_spans import name_events
from turnlog.store.postgres.timeline_parts import (
    FACT,
    FACT_NAMES,
    LINES_ASKED,
    LINES_NEAR,
    NEAR_LINES,
    NUMBERED,
    PLACES,
    build_under,
)
from turnlog.store.rows import PlacementRow
from turnlog.store.timeline import EventFact, HookFact, HookPlace, HooksUnder, rank_hook
from turnlog.transcripts.hooks.matching import Told

__all__ = ["Timelines"]

_TURNS = f"""
SELECT w.at, found.turn FROM unnest(%(times)s::bigint[]) AS w (at) CROSS JOIN LATERAL (
    SELECT t.turn FROM messages AS t
    WHERE {CHAPTER} AND coalesce(t.reached, 0) <= w.at AND t.turn IS NOT NULL
    ORDER BY coalesce(t.reached, 0) DESC, t.idx DESC LIMIT 1
) AS found
"""
_EVENTS = f"""
SELECT g.generation, l.start, t.row FROM ({{found}}) AS w
JOIN sources AS s ON s.id = w.source JOIN generations AS g ON g.id = s.newest
CROSS JOIN LATERAL (
    SELECT t.row FROM placements AS t
    WHERE {SESSION} AND t.source = w.source AND {is_at("t.idx", "w.idx")} AND t.category IS NOT NULL
    ORDER BY t.idx OFFSET 0
) AS t
CROSS JOIN LATERAL (
    SELECT l.start FROM lines AS l
    WHERE l.month = %(month)s AND l.generation = g.id AND {is_at("l.number", "w.idx")}
    ORDER BY l.number OFFSET 0
) AS l
ORDER BY s.source, w.idx
"""


class Timelines(ChapterQueries):
    """What `PostgresStore` tells of hook events."""

    def list_hooks_under(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        messages: Sequence[int],
        *,
        source: str | None = None,
        above: bool = False,
        count: int = 1000,
    ) -> HooksUnder:
        """Return the hook events under messages of a chapter; with `above`, also those before the first."""

        def ask(connection: Connection) -> list[Cells]:
            chapter = find_chapter(connection, scope, key, source)
            query = build_under(chapter.source == chapter.main, above)
            values = chapter.values | name_events(connection, scope, session_id)
            return select(connection, query, values | {"numbers": sorted(set(messages)), "count": count})

        rows = self._ask(scope, ask)
        kept = [(at, of_call, _build(cells)) for _, at, of_call, *cells in rows if cells[0] is not None]
        kept.sort(key=lambda each: (-1 if each[0] is None else each[0], rank_hook(each[2], each[1])))
        return HooksUnder(tuple((at, fact) for at, _, fact in kept), rows[0][0])

    def list_hooks_at(self, scope: Scope, session_id: str, ids: Sequence[int]) -> list[HookFact]:
        """Return hook events of a session by their numbers, in the order of these."""
        query = f"SELECT {FACT} FROM {NUMBERED} ORDER BY d.id"
        return self._list_facts(scope, session_id, query, {"numbers": sorted(set(ids))})

    def find_hook_places(
        self, scope: Scope, key: str, session_id: str, ids: Sequence[int]
    ) -> dict[int, HookPlace]:
        """Return where hook events stand, by their numbers."""
        rows = self._select(scope, key, None, PLACES, {"numbers": sorted(set(ids))}, session_id)
        return {number: HookPlace(source, message) for number, source, message in rows}

    def list_hooks_near(self, scope: Scope, session_id: str, lines: Sequence[Told]) -> list[HookFact]:
        """Return the hook events that lines may tell of: about the same call, or near in time."""
        return self._list_facts(scope, session_id, NEAR_LINES, _pack_told(lines))

    def list_hook_lines(self, scope: Scope, key: str, hooks: Sequence[Told]) -> list[EventFact]:
        """Return the lines of a session that may tell of hook events, by file and number."""
        return self._list_events(scope, key, LINES_NEAR, _pack_told(hooks))

    def list_events_at(self, scope: Scope, key: str, lines: Sequence[tuple[str, int]]) -> list[EventFact]:
        """Return lines of a session by file and number, in the order of these; only those that are events."""
        wanted = sorted(set(lines))
        values = {"names": [name for name, _ in wanted], "numbers": [number for _, number in wanted]}
        return self._list_events(scope, key, LINES_ASKED, values)

    def find_turns(self, scope: Scope, key: str, times: Sequence[int]) -> dict[int, int]:
        """Return the turn that was under way at times, in microseconds."""
        return dict(self._select(scope, key, None, _TURNS, {"times": sorted(set(times))}))

    def _list_facts(
        self, scope: Scope, session_id: str, query: str, values: Mapping[str, Any]
    ) -> list[HookFact]:
        def ask(connection: Connection) -> list[Cells]:
            return select(connection, query, {**name_events(connection, scope, session_id), **values})

        return list(map(_build, self._ask(scope, ask)))

    def _list_events(self, scope: Scope, key: str, found: str, values: Mapping[str, Any]) -> list[EventFact]:
        rows = self._select(scope, key, None, _EVENTS.format(found=found), values)
        events = ((generation, start, unpack_row(PlacementRow, row)) for generation, start, row in rows)
        return [EventFact(row, Place(row.source, generation, start)) for generation, start, row in events]


def _build(cells: Cells | list[Any]) -> HookFact:
    return HookFact(
        **{
            name: unpack_text(cell) if isinstance(cell, bytes) else cell
            for name, cell in zip(FACT_NAMES, cells, strict=True)
        }
    )


def _pack_told(told: Sequence[Told]) -> dict[str, Any]:
    """Return what is looked for, as three columns."""
    wanted = sorted({(each.event, each.tool_use_id, each.at) for each in told}, key=str)
    return {
        "events": [pack_text(event) for event, _, _ in wanted],
        "calls": [pack_text(call) for _, call, _ in wanted],
        "times": [at for _, _, at in wanted],
    }
