"""Writing what is new of one file, if it follows on what is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from psycopg import Connection

from turnlog.store import tails
from turnlog.store.batch import Frame, SourceBatch
from turnlog.store.checkpoints import encode_checkpoint
from turnlog.store.identity import Scope
from turnlog.store.packing import Cells, pack_text, pack_uuid, unpack_text
from turnlog.store.postgres.derived import delete_chapter
from turnlog.store.postgres.ledger import Ledger
from turnlog.store.postgres.texts import delete_texts, write_texts
from turnlog.store.postgres.wire import copy_rows
from turnlog.store.rows import LineFact
from turnlog.store.search.packing import unpack_texts
from turnlog.transcripts.files.fingerprints import Change

__all__ = ["SourceWriter", "StoredSource", "write_lines"]

_FIND = """
SELECT s.source, s.id, s.session, s.kind, s.agent_id, s.run_id, s.copied_from, s.path, s.present, g.id, g.month,
    g.generation, g.length, g.sealed, g.consumed, g.in_array, g.lines, g.checkpoint
FROM sources AS s JOIN generations AS g ON g.id = s.newest
WHERE s.owner = %s AND s.source = ANY(%s) ORDER BY s.id FOR UPDATE OF s
"""
_INSERT_SOURCE = """
INSERT INTO sources (owner, source, session, kind, agent_id, run_id, copied_from, path, present)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, true) RETURNING id
"""
_CHANGE_SOURCE = """
UPDATE sources SET session = %s, kind = %s, agent_id = %s, run_id = %s, copied_from = %s WHERE id = %s
"""
_INSERT_GENERATION = """
INSERT INTO generations (source, generation, month, length, sealed, consumed, in_array, lines, checkpoint)
VALUES (%s, %s, %s, 0, 0, 0, false, 0, NULL) RETURNING id
"""
_GO_ON = """
UPDATE generations
SET length = %s, sealed = %s, consumed = %s, in_array = %s, lines = %s, checkpoint = %s WHERE id = %s
"""
_FRAME = {
    "month": "int4",
    "generation": "int8",
    "start": "int8",
    "length": "int8",
    "digest": "bytea",
    "data": "bytea",
}
_LINE = {
    "month": "int4",
    "generation": "int8",
    "number": "int8",
    "start": "int8",
    "length": "int8",
    "dialect": "bytea",
    "type": "bytea",
    "uuid": "bytea",
    "parent": "bytea",
    "session_id": "bytea",
    "agent_id": "bytea",
    "message_id": "bytea",
    "time": "int8",
    "sidechain": "bool",
    "problems": "int8",
}
_NOTHING = (0, 0, 0, False, 0, None)


class StoredSource(Struct, frozen=True, gc=False):
    """What is there of a file."""

    id: int
    session: int
    description: Cells
    """Kind, agent, run, and the source of which it is a copy."""
    path: str
    present: bool
    generation: int
    """The row of its newest."""
    month: int
    """Of that."""
    number: int
    """Which one that is."""
    progress: Cells
    """Length, sealed, consumed, whether in an array, lines, checkpoint."""

    @property
    def ends(self) -> tuple[int, int]:
        """The number and the length of the newest generation."""
        return self.number, int(self.progress[0])


class SourceWriter:
    """Writes files of one owner's sessions."""

    def __init__(self, connection: Connection, owner: str, ledger: Ledger) -> None:
        self._connection = connection
        self._scope = Scope(owner)
        self._ledger = ledger

    def find(self, sources: Sequence[str]) -> dict[str, StoredSource]:
        """Return what is there of files, and let nobody else write to them meanwhile."""
        rows = self._connection.execute(_FIND, (self._scope.owner, list(sources))).fetchall()
        return {
            row[0]: StoredSource(
                row[1], row[2], row[3:7], unpack_text(row[7]), row[8], row[9], row[10], row[11], row[12:]
            )
            for row in rows
        }

    def write(
        self, session: int, month: int, batch: SourceBatch, known: StoredSource | None, at_ns: int
    ) -> bool:
        """Write what is new; return whether anything is, besides how the file was looked at."""
        if batch.change is Change.UNREADABLE:
            return False
        if batch.change is Change.VANISHED:
            if known is not None and known.number == batch.generation:
                self._write_texts(known.generation, known.month, batch)
            return known is not None and known.present and self._write_path(known.id, known.path, False, at_ns)
        source, changed = self._write_source(session, batch, known)
        if known is None or known.path != batch.path or not known.present:
            changed = self._write_path(source, batch.path, True, at_ns)
        changed = self._write_content(source, month, batch, known) or changed
        return changed or bool(batch.lines)

    def _write_source(self, session: int, batch: SourceBatch, known: StoredSource | None) -> tuple[int, bool]:
        description = str(batch.kind), pack_text(batch.agent_id), pack_text(batch.run_id), batch.copied_from
        if known is None:
            cells = self._scope.owner, batch.source, session, *description, pack_text(batch.path)
            [(number,)] = self._connection.execute(_INSERT_SOURCE, cells).fetchall()
            return int(number), True
        # A later look may not know any more what the first one found.
        merged = tuple(
            old if new is None else new for old, new in zip(known.description, description, strict=True)
        )
        if (session, merged) == (known.session, known.description):
            return known.id, False
        if session != known.session:
            query = "SELECT month FROM sessions WHERE id = %s"
            for (month,) in self._connection.execute(query, (known.session,)).fetchall():
                delete_chapter(self._connection, known.session, month, known.id, self._ledger)
        self._connection.execute(_CHANGE_SOURCE, (session, *merged, known.id))
        return known.id, True

    def _write_path(self, source: int, path: str, present: bool, at_ns: int) -> bool:
        cells = source, pack_text(path), present, at_ns
        self._connection.execute(
            "INSERT INTO source_paths (source, path, present, at_ns) VALUES (%s, %s, %s, %s)", cells
        )
        self._connection.execute(
            "UPDATE sources SET path = %s, present = %s WHERE id = %s", (pack_text(path), present, source)
        )
        return True

    def _write_content(self, source: int, month: int, batch: SourceBatch, known: StoredSource | None) -> bool:
        before: Cells = _NOTHING
        if known is not None and known.number == batch.generation:
            generation, month, before, is_new = known.generation, known.month, known.progress, False
        else:
            generation, is_new = self._add_generation(source, month, batch), True
        tail = _TailWriter(self._connection, generation, month, before[1])
        tail.append(batch.frames, batch.sealed)
        write_lines(self._connection, generation, month, batch.lines)
        if known is not None and is_new:
            delete_texts(self._connection, [known.generation], month=known.month)  # only the newest is searched
        self._write_texts(generation, month, batch)
        after = (
            batch.length,
            tail.sealed,
            batch.consumed,
            batch.in_array,
            before[4] + len(batch.lines),
            encode_checkpoint(batch.checkpoint),
        )
        if after != before:
            self._connection.execute(_GO_ON, (*after, generation))
        return bool(batch.frames) or is_new

    def _write_texts(self, generation: int, month: int, batch: SourceBatch) -> None:
        if batch.texts_from == 0:
            delete_texts(self._connection, [generation], month=month)
        if batch.texts_from is not None:
            texts = unpack_texts(batch.texts)
            write_texts(self._connection, self._scope.owner, month, generation, texts)

    def _add_generation(self, source: int, month: int, batch: SourceBatch) -> int:
        cells = source, batch.generation, month
        [(number,)] = self._connection.execute(_INSERT_GENERATION, cells).fetchall()
        self._connection.execute("UPDATE sources SET newest = %s WHERE id = %s", (number, source))
        return int(number)


class _TailWriter(tails.TailWriter):
    """Writes the bytes of one generation behind those that it has."""

    def __init__(self, connection: Connection, generation: int, month: int, sealed: int) -> None:
        super().__init__(sealed)
        self._connection = connection
        self._place = month, generation

    def _measure_tail(self) -> Iterable[tuple[int, int]]:
        query = "SELECT start, length FROM tail_frames WHERE month = %s AND generation = %s ORDER BY start DESC"
        return [(start, length) for start, length in self._connection.execute(query, self._place)]

    def _take_tail(self, start: int) -> list[Frame]:
        query = """
        DELETE FROM tail_frames WHERE month = %s AND generation = %s AND start >= %s
        RETURNING start, length, data, digest
        """
        return sorted(
            (Frame(*row) for row in self._connection.execute(query, (*self._place, start))),
            key=lambda frame: frame.start,
        )

    def _insert(self, table: str, frames: Iterable[Frame]) -> None:
        rows = ((*self._place, frame.start, frame.length, frame.digest, frame.data) for frame in frames)
        copy_rows(self._connection, table, _FRAME, rows)


def write_lines(connection: Connection, generation: int, month: int, lines: Sequence[LineFact]) -> None:
    """Add lines to a generation."""
    if lines:
        copy_rows(connection, "lines", _LINE, _pack_lines(generation, month, lines))


def _pack_lines(generation: int, month: int, lines: Iterable[LineFact]) -> Iterator[tuple[Any, ...]]:
    for line in lines:
        yield (
            month,
            generation,
            line.number,
            line.offset,
            line.length,
            pack_text(line.dialect),
            pack_text(line.type),
            pack_uuid(line.uuid),
            pack_uuid(line.parent_uuid),
            pack_text(line.session_id),
            pack_text(line.agent_id),
            pack_text(line.message_id),
            line.time,
            line.is_sidechain,
            line.problems,
        )
