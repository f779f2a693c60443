"""Writing what is new of one file, if it follows on what is there."""

from __future__ import annotations

from typing import Any

import apsw
from msgspec import Struct

from turnlog.store.batch import Frame, SourceBatch
from turnlog.store.checkpoints import encode_checkpoint
from turnlog.store.identity import Scope
from turnlog.store.interface import Archive
from turnlog.store.sequels import follows
from turnlog.store.sqlite.archive import TailWriter
from turnlog.store.sqlite.texts import delete_texts, write_texts
from turnlog.store.sqlite.values import pack_text, unpack_text
from turnlog.transcripts.files.fingerprints import Change

__all__ = ["NEWEST", "SourceWriter", "StoredSource"]

NEWEST = """
FROM sources AS s
JOIN generations AS g
    ON g.source = s.id AND g.generation = (SELECT max(generation) FROM generations WHERE source = s.id)
JOIN checkpoints AS c ON c.generation = g.id
JOIN source_paths AS p ON p.id = (SELECT max(id) FROM source_paths WHERE source = s.id)
"""
"""Sources, each with its newest generation and the place where it was last seen."""

_INSERT_SOURCE = "INSERT INTO sources VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class StoredSource(Struct, frozen=True, gc=False):
    """What is there of a file."""

    id: int
    session: int
    description: tuple[Any, ...]
    """Kind, agent, run, and the source of which it is a copy."""
    path: str
    present: bool
    generation: int
    """The row of its newest."""
    number: int
    """Which one that is."""
    progress: tuple[Any, ...]
    """Length, sealed, consumed, whether in an array, lines, checkpoint, and its newest bytes as a frame."""

    @property
    def length(self) -> int:
        """How many bytes of the newest generation there are."""
        return int(self.progress[0])


class SourceWriter:
    """Writes files of one owner's sessions."""

    def __init__(self, connection: apsw.Connection, archive: Archive, owner: str) -> None:
        self._connection = connection
        self._archive = archive
        self._scope = Scope(owner)

    def find(self, source: str) -> StoredSource | None:
        """Return what is there of a file."""
        query = f"""
        SELECT s.id, s.session, s.kind, s.agent_id, s.run_id, s.copied_from, p.path, p.present, g.id,
            g.generation, c.length, c.sealed, c.consumed, c.in_array, c.lines, c.checkpoint,
            c.tail_start, CAST(c.tail AS BLOB), c.tail_digest
        {NEWEST} WHERE s.owner = ? AND s.source = ?
        """
        for row in self._connection.execute(query, (self._scope.owner, source)):
            start, data, digest = row[16:]
            newest = None if data is None else Frame(start, row[10] - start, data, digest)
            description, progress = row[2:6], (*row[10:16], newest)
            return StoredSource(
                row[0], row[1], description, unpack_text(row[6]), bool(row[7]), row[8], row[9], progress
            )
        return None

    def follows(self, batch: SourceBatch, known: StoredSource | None) -> bool:
        """Return whether a batch goes on where the store ends; False if it is what the store ends with.

        Raises `StoreError` for any other.
        """
        ends = None if known is None else (known.number, known.length)
        return follows(batch, self._scope, ends, self._archive.read)

    def write(self, session: int, batch: SourceBatch, known: StoredSource | None, at_ns: int) -> bool:
        """Write what is new; return whether anything is, besides how the file was looked at."""
        if batch.change is Change.UNREADABLE:
            return False
        if batch.change is Change.VANISHED:
            if known is not None and known.number == batch.generation:
                self._write_texts(known.generation, batch)
            return known is not None and known.present and self._write_path(known.id, known.path, False, at_ns)
        source, changed = self._write_source(session, batch, known)
        if known is None or known.path != batch.path or not known.present:
            changed = self._write_path(source, batch.path, True, at_ns)
        changed = self._write_content(source, batch, known) or changed
        return changed or bool(batch.lines)

    def _write_source(self, session: int, batch: SourceBatch, known: StoredSource | None) -> tuple[int, bool]:
        description = (str(batch.kind), pack_text(batch.agent_id), pack_text(batch.run_id), batch.copied_from)
        if known is None:
            cells = (None, self._scope.owner, batch.source, session, *description)
            self._connection.execute(_INSERT_SOURCE, cells)
            return self._connection.last_insert_rowid(), True
        # A later look may not know any more what the first one found.
        merged = tuple(
            old if new is None else new for old, new in zip(known.description, description, strict=True)
        )
        if (session, merged) == (known.session, known.description):
            return known.id, False
        if session != known.session:
            self._connection.execute("DELETE FROM segments WHERE source = ?", (known.id,))
        self._connection.execute("DELETE FROM sources WHERE id = ?", (known.id,))
        self._connection.execute(_INSERT_SOURCE, (known.id, self._scope.owner, batch.source, session, *merged))
        return known.id, True

    def _write_path(self, source: int, path: str, present: bool, at_ns: int) -> bool:
        self._connection.execute(
            "INSERT INTO source_paths (source, path, present, at_ns) VALUES (?, ?, ?, ?)",
            (source, pack_text(path), present, at_ns),
        )
        return True

    def _write_content(self, source: int, batch: SourceBatch, known: StoredSource | None) -> bool:
        goes_on = known is not None and known.number == batch.generation
        before: tuple[Any, ...] = (
            known.progress if known is not None and goes_on else (0, 0, 0, 0, 0, None, None)
        )
        generation = known.generation if known is not None and goes_on else self._add_generation(source, batch)
        tail = TailWriter(self._connection, generation, before[1], before[6])
        tail.append(batch.frames, batch.sealed, is_live=goes_on)
        if known is not None and not goes_on:
            delete_texts(self._connection, [known.generation])  # only the newest generation is searched
        self._write_texts(generation, batch)
        after = (
            batch.length,
            tail.sealed,
            batch.consumed,
            int(batch.in_array),
            before[4] + batch.lines,
            encode_checkpoint(batch.checkpoint),
            tail.newest,
        )
        if after != before or not goes_on:
            *progress, newest = after
            cells = (None, None, None) if newest is None else (newest.start, newest.digest, newest.data)
            self._connection.execute(
                "REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (generation, *progress, *cells),
            )
        return bool(batch.frames) or not goes_on

    def _write_texts(self, generation: int, batch: SourceBatch) -> None:
        if batch.texts_from == 0:
            delete_texts(self._connection, [generation])
        if batch.texts_from is not None:
            write_texts(self._connection, generation, batch.texts)

    def _add_generation(self, source: int, batch: SourceBatch) -> int:
        self._connection.execute(
            "INSERT INTO generations (source, generation) VALUES (?, ?)", (source, batch.generation)
        )
        return self._connection.last_insert_rowid()
