"""Plain lists of derived rows: of a chapter, of a session, and sightings of all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from turnlog.store.clickhouse.chapters import CHAPTER, ChapterQueries, rows_of, unpack_rows
from turnlog.store.clickhouse.kinds import (
    AGENTS,
    CALLS,
    MESSAGES,
    PLACEMENTS,
    SIGHTINGS,
    TURNS,
    WHOLE_SESSION,
    Kind,
)
from turnlog.store.clickhouse.reading import see_sessions
from turnlog.store.identity import Scope
from turnlog.store.packing import pack_text, unpack_row
from turnlog.store.rows import (
    AgentRow,
    CallRow,
    DerivedRow,
    MessageRow,
    PlacementRow,
    SightingRow,
    TurnRow,
)

__all__ = ["RowLists", "in_range"]

R = TypeVar("R", bound=DerivedRow)

_AT_ONCE = 200
"""How many sessions are asked at once for their sightings."""
_SESSIONS = "SELECT id FROM sessions FINAL ORDER BY key"
_EVERY_SIGHTING = f"""
SELECT session, source, row FROM (
    SELECT session, source, idx, row, gone FROM rows
    INNER JOIN (
        SELECT id, revision AS shown FROM sessions FINAL
        WHERE owner = {{owner:String}} AND id IN {{sessions:Array(UInt128)}}
    ) AS s ON s.id = session
    WHERE session IN {{sessions:Array(UInt128)}} AND kind = {SIGHTINGS.number} AND revision <= shown
    ORDER BY session, source, idx, revision DESC, write DESC LIMIT 1 BY session, source, idx
) WHERE NOT gone ORDER BY session, source, idx
"""


class RowLists(ChapterQueries):
    """What `ClickHouseStore` gives back of what was derived."""

    def list_messages(
        self, scope: Scope, key: str, *, source: str | None = None, first: int = 0, count: int | None = None
    ) -> list[MessageRow]:
        """Return a window of the messages of a chapter: without `source`, of the transcript."""
        return self._list_chapter(MESSAGES, scope, key, source, first, count)

    def list_placements(
        self, scope: Scope, key: str, source: str, *, first: int = 0, count: int | None = None
    ) -> list[PlacementRow]:
        """Return where lines of a chapter went, from a line's number on."""
        return self._list_chapter(PLACEMENTS, scope, key, source, first, count)

    def list_calls(self, scope: Scope, key: str, *, source: str | None = None) -> list[CallRow]:
        """Return the calls of a chapter; without `source`, of all: the transcript's first, then by source."""
        if source is None:
            return self._list_session(CALLS, scope, key)
        return self._list_chapter(CALLS, scope, key, source)

    def list_turns(self, scope: Scope, key: str, *, first: int = 0, count: int | None = None) -> list[TurnRow]:
        """Return a session's turns, from one on."""
        return self._list_whole(TURNS, scope, key, first, count)

    def list_agents(self, scope: Scope, key: str) -> list[AgentRow]:
        """Return a session's agents."""
        return self._list_whole(AGENTS, scope, key)

    def list_sightings(
        self, scope: Scope, key: str | None = None, *, source: str | None = None
    ) -> Iterator[SightingRow]:
        """Yield what files say about usage: of a chapter, of one session, or of all."""
        if key is None:
            yield from self._list_every_sighting(scope)
        elif source is not None:
            yield from self._list_chapter(SIGHTINGS, scope, key, source)
        else:
            yield from self._list_session(SIGHTINGS, scope, key)

    def _list_chapter(
        self,
        kind: Kind[R],
        scope: Scope,
        key: str,
        source: str | None,
        first: int = 0,
        count: int | None = None,
    ) -> list[R]:
        within, values = in_range(first, count)
        query = rows_of(kind, "row", within)
        rows = self._select_chapter(scope, key, source, query, values)
        return unpack_rows(kind, (row for (row,) in rows))

    def _list_whole(
        self, kind: Kind[R], scope: Scope, key: str, first: int = 0, count: int | None = None
    ) -> list[R]:
        within, values = in_range(first, count)
        rows = self._select(scope, key, rows_of(kind, "row", within), {**values, "chapter": WHOLE_SESSION})
        return unpack_rows(kind, (row for (row,) in rows))

    def _list_session(self, kind: Kind[R], scope: Scope, key: str) -> list[R]:
        """Return rows of all chapters, the transcript's first."""
        found = self._select(scope, key, rows_of(kind, "source, row", None))
        look = self._look(scope, key) if len({source for source, _ in found}) > 1 else None
        places = {} if look is None else {file.number: place for place, file in enumerate(look.files)}
        rows = [(places.get(source, 0), unpack_row(kind.type, row)) for source, row in found]
        return [row for _, row in sorted(rows, key=lambda each: (each[0], each[1].index))]

    def _list_every_sighting(self, scope: Scope) -> Iterator[SightingRow]:
        """Yield the sightings of all sessions, by their keys; they are not all in memory at once."""
        reading = self._reading(scope)
        sessions = [session for (session,) in reading.query(_SESSIONS)]
        # Rows are joined with sessions that may be seen: not all of these need be looked up each time.
        seen = {"sessions": see_sessions(scope, reading.retention_days)}
        for at in range(0, len(sessions), _AT_ONCE):
            asked = sessions[at : at + _AT_ONCE]
            values = {"owner": pack_text(scope.owner), "sessions": asked}
            rows = self._engine.query(_EVERY_SIGHTING, values, seen)
            found = {session: list(group) for session, group in groupby(rows, itemgetter(0))}
            for session in asked:
                yield from (unpack_row(SightingRow, row) for _, _, row in found.get(session, ()))


def in_range(first: int, count: int | None) -> tuple[str, dict[str, Any]]:
    """Return the condition for rows of a chapter from an index on, and its values; there are no gaps."""
    within, values = f"{CHAPTER} AND idx >= {{first:Int64}}", {"first": first}
    if count is None:
        return within, values
    return f"{within} AND idx < {{end:Int64}}", {**values, "end": first + count}
