"""Writing derived rows: only those that differ from what is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from psycopg import Connection

from turnlog.errors import StoreError
from turnlog.store import stretches
from turnlog.store.batch import ChapterRows, DerivedRows
from turnlog.store.packing import Cells, pack_row
from turnlog.store.postgres.kinds import (
    AGENTS,
    CALLS,
    KINDS,
    MESSAGES,
    PLACEMENTS,
    SIGHTINGS,
    TURNS,
    Kind,
    Sources,
)
from turnlog.store.postgres.ledger import Ledger
from turnlog.store.postgres.list_schema import SUMMARY_COLUMNS, pack_summary
from turnlog.store.postgres.wire import copy_rows
from turnlog.store.rows import DerivedRow, SessionRow
from turnlog.store.stretches import STRETCH, Stretch

__all__ = ["RowPlace", "delete_chapter", "delete_rows", "write_derived"]

_WHOLE_SESSION = 0
"""The source of rows that are of no chapter."""
_ALL = (None, None, None, None)
_AT_ONCE = 5000
"""How many rows are held before they are written."""
_DIGESTS = """
INSERT INTO digests (session, source, kind, chunk, rows, whole, digests)
SELECT %s, %s, %s, * FROM unnest(%s::bigint[], %s::bigint[], %s::bytea[], %s::bytea[])
ON CONFLICT (session, source, kind, chunk)
DO UPDATE SET rows = excluded.rows, whole = excluded.whole, digests = excluded.digests
"""
_SUMMARY = f"""
INSERT INTO summaries (session, revision, owner, {SUMMARY_COLUMNS}, row)
VALUES (%s, %s, %s, {", ".join(["%s"] * len(SUMMARY_COLUMNS.split(",")))}, %s)
"""


class RowPlace(Struct, frozen=True, gc=False):
    """Whose rows are written."""

    owner: str
    session: int
    month: int
    revision: int
    """The one that rows which differ are of."""
    sources: Sources


def write_derived(connection: Connection, place: RowPlace, rows: DerivedRows, ledger: Ledger) -> bool:
    """Replace the rows that differ, in the chapters that are named; return whether any did."""
    whole = _RowWriter(connection, place, _WHOLE_SESSION, ledger)
    turns, agents = rows.sizes or (None, None)
    wrote = [
        _write_summary(connection, place, rows.session, ledger),
        whole.write(TURNS, rows.turns, turns),
        whole.write(AGENTS, rows.agents, agents),
        *(_write_chapter(connection, place, chapter, ledger) for chapter in rows.chapters),
    ]
    return any(wrote)


def delete_chapter(connection: Connection, session: int, month: int, source: int, ledger: Ledger) -> None:
    """Delete the rows of a chapter that belongs to another session by now."""
    _delete(connection, "month = %s AND session = %s AND source = %s", (month, session, source), ledger)
    connection.execute("DELETE FROM digests WHERE session = %s AND source = %s", (session, source))


def delete_rows(connection: Connection, session: int, month: int, ledger: Ledger) -> None:
    """Delete all derived rows of a session."""
    _delete(connection, "month = %s AND session = %s", (month, session), ledger)
    connection.execute("DELETE FROM digests WHERE session = %s", (session,))
    connection.execute("DELETE FROM summaries WHERE session = %s", (session,))
    ledger.note_session(session)


def _delete(connection: Connection, where: str, values: tuple[int, ...], ledger: Ledger) -> None:
    for kind in KINDS:
        if kind is not SIGHTINGS:
            connection.execute(f"DELETE FROM {kind.table} WHERE {where}", values)
    gone = connection.execute(f"DELETE FROM sightings WHERE {where} RETURNING message_id", values)
    ledger.note_messages(message for (message,) in gone)


def _write_summary(connection: Connection, place: RowPlace, row: SessionRow, ledger: Ledger) -> bool:
    data = pack_row(row)
    found = connection.execute("SELECT row FROM summaries WHERE session = %s", (place.session,)).fetchone()
    if found == (data,):
        return False
    if found is not None:
        connection.execute("DELETE FROM summaries WHERE session = %s", (place.session,))
    cells = (place.session, place.revision, place.owner, *pack_summary(row), data)
    connection.execute(_SUMMARY, cells)
    ledger.note_session(place.session)
    return True


def _write_chapter(connection: Connection, place: RowPlace, rows: ChapterRows, ledger: Ledger) -> bool:
    source = place.sources.get(rows.source)
    if source is None:
        raise StoreError(f"Expected rows of files of the session, found some of {rows.source}")
    writer = _RowWriter(connection, place, source, ledger)
    messages, calls, placements, sightings = rows.sizes or _ALL
    return any(
        [
            writer.write(MESSAGES, rows.messages, messages),
            writer.write(CALLS, rows.calls, calls),
            writer.write(PLACEMENTS, rows.placements, placements),
            writer.write(SIGHTINGS, rows.sightings, sightings),
        ]
    )


class _RowWriter(stretches.RowWriter[Kind[Any]]):
    """Writes the rows of one chapter, or of the whole session, many of them at once."""

    def __init__(self, connection: Connection, place: RowPlace, source: int, ledger: Ledger) -> None:
        self._connection = connection
        self._place = place
        self._source = source
        self._ledger = ledger
        self._known: dict[int, Stretch] = {}
        self._gone: list[int] = []
        self._new: list[Cells] = []
        self._noted: dict[int, Stretch] = {}

    def write(self, kind: Kind[Any], rows: Sequence[DerivedRow], size: int | None = None) -> bool:
        """Replace the rows of a kind that differ; return whether any did."""
        named = [] if size is None else sorted({row.index // STRETCH for row in rows})
        self._known = self._select(kind, 0 if size is None else size // STRETCH, named)
        changed = super().write(kind, rows, size)
        self._flush(kind)
        self._write_notes(kind)
        return changed

    def _load(self, kind: Kind[Any], first: int = 0) -> dict[int, Stretch]:
        return {number: found for number, found in self._known.items() if number >= first}

    def _find(self, kind: Kind[Any], number: int) -> Stretch | None:
        return self._known.get(number)

    def _delete(self, kind: Kind[Any], indexes: Sequence[int]) -> None:
        self._gone += indexes

    def _insert(self, kind: Kind[Any], rows: Iterable[DerivedRow]) -> None:
        place, sources = self._place, self._place.sources
        before = place.month, place.session, self._source
        for row in rows:
            self._new.append((*before, row.index, place.revision, *kind.pack(row, sources)))
            if kind is SIGHTINGS:
                self._ledger.note_messages((self._new[-1][-2],))
        if len(self._new) >= _AT_ONCE:
            self._flush(kind)

    def _note(self, kind: Kind[Any], number: int, old: Stretch, new: Stretch) -> None:
        self._noted[number] = new

    def _flush(self, kind: Kind[Any]) -> None:
        if self._gone:
            place = self._place
            told = "RETURNING message_id" if kind is SIGHTINGS else ""
            cursor = self._connection.execute(
                f"DELETE FROM {kind.table} "
                f"WHERE month = %s AND session = %s AND source = %s AND idx = ANY(%s) {told}",
                (place.month, place.session, self._source, self._gone),
            )
            if told:
                self._ledger.note_messages(message for (message,) in cursor)
        if self._new:
            copy_rows(self._connection, kind.table, kind.columns, self._new)
        self._gone, self._new = [], []

    def _write_notes(self, kind: Kind[Any]) -> None:
        place = self._place.session, self._source, kind.number
        empty = [number for number, stretch in self._noted.items() if not stretch.rows]
        full = [
            (number, found.rows, found.whole, found.digests)
            for number, found in self._noted.items()
            if found.rows
        ]
        self._noted = {}
        if empty:
            where = "session = %s AND source = %s AND kind = %s AND chunk = ANY(%s)"
            self._connection.execute(f"DELETE FROM digests WHERE {where}", (*place, empty))
        if full:
            self._connection.execute(_DIGESTS, (*place, *map(list, zip(*full, strict=True))))

    def _select(self, kind: Kind[Any], first: int, named: list[int]) -> dict[int, Stretch]:
        query = """
        SELECT chunk, rows, whole, digests FROM digests
        WHERE session = %s AND source = %s AND kind = %s AND (chunk >= %s OR chunk = ANY(%s))
        """
        values = (self._place.session, self._source, kind.number, first, named)
        return {chunk: Stretch(*found) for chunk, *found in self._connection.execute(query, values)}
