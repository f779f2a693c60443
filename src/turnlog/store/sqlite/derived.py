"""Writing derived rows: only those that differ from what is there."""

from __future__ import annotations

import apsw

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterRows, DerivedRows
from turnlog.store.sqlite.derived_kinds import (
    AGENTS,
    CALLS,
    DERIVED_TABLES,
    MESSAGES,
    PLACEMENTS,
    SESSIONS,
    SIGHTINGS,
    TURNS,
)
from turnlog.store.sqlite.kinds import PackContext
from turnlog.store.sqlite.stretches import RowWriter

__all__ = ["delete_chapter", "write_derived"]

_WHOLE_SESSION = 0
"""The source of rows that are of no chapter."""
_ALL = (None, None, None, None)


def write_derived(
    connection: apsw.Connection, session: int, revision: int, rows: DerivedRows, to: PackContext
) -> bool:
    """Replace the rows that differ, in the chapters that are named; return whether any did."""
    whole = RowWriter(connection, session, _WHOLE_SESSION, revision, to)
    turns, agents = rows.sizes or (None, None)
    wrote = [
        whole.write(SESSIONS, (rows.session,)),
        whole.write(TURNS, rows.turns, turns),
        whole.write(AGENTS, rows.agents, agents),
        *(_write_chapter(connection, session, revision, chapter, to) for chapter in rows.chapters),
    ]
    return any(wrote)


def delete_chapter(connection: apsw.Connection, session: int, source: int) -> None:
    """Delete the rows of a chapter that belongs to another session by now."""
    for table in ("digests", *DERIVED_TABLES):
        connection.execute(f"DELETE FROM {table} WHERE session = ? AND source = ?", (session, source))


def _write_chapter(
    connection: apsw.Connection, session: int, revision: int, rows: ChapterRows, to: PackContext
) -> bool:
    source = to.sources.get(rows.source)
    if source is None:
        raise StoreError(f"Expected rows of files of the session, found some of {rows.source}")
    writer = RowWriter(connection, session, source, revision, to)
    messages, calls, placements, sightings = rows.sizes or _ALL
    return any(
        [
            writer.write(MESSAGES, rows.messages, messages),
            writer.write(CALLS, rows.calls, calls),
            writer.write(PLACEMENTS, rows.placements, placements),
            writer.write(SIGHTINGS, rows.sightings, sightings),
        ]
    )
