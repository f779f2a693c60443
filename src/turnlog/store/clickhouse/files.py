"""Writing what is new of files: bytes, lines and texts are gathered or staged, all else is published."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.batch import SourceBatch
from turnlog.store.blobs.interface import Blobs
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.moving import move_file
from turnlog.store.clickhouse.publication import Staged
from turnlog.store.clickhouse.record import Session
from turnlog.store.clickhouse.schema import FRAMES, GENERATIONS, LINES, PATHS, SOURCES
from turnlog.store.clickhouse.sources import File, Generation, Source, describe, go_on, list_files, pack_lines
from turnlog.store.clickhouse.staging import Staging
from turnlog.store.clickhouse.tails import NewBytes
from turnlog.store.clickhouse.texts import TextWriter
from turnlog.store.packing import Cells
from turnlog.store.search.packing import unpack_texts
from turnlog.transcripts.files.fingerprints import Change

__all__ = ["FileWriter"]

_PUT_AT_ONCE = 8
"""How many blobs are put at once."""


class _Texts(Struct, frozen=True):
    """Texts that are to be staged."""

    session: Session
    batch: SourceBatch
    anew: bool


class FileWriter:
    """Writes files of one owner's sessions."""

    def __init__(self, engine: Engine, blobs: Blobs, staging: Staging, owner: str) -> None:
        self._engine = engine
        self._blobs = blobs
        self._staging = staging
        self._owner = owner
        self._files: dict[int, File] = {}
        self._by_session: dict[int, set[int]] = {}
        self._bytes: dict[int, NewBytes] = {}
        self._texts: list[_Texts] = []
        self._paths: list[list[Any]] = []
        self._new_sources: set[int] = set()
        self._new_generations: dict[tuple[int, int], Generation] = {}
        self._moved: set[int] = set()

    def load(self, sessions: Iterable[int], sources: Iterable[str]) -> None:
        """Read what is there of all files of sessions, and of some others."""
        names = {number(self._owner, source) for source in sources}
        for source, file in list_files(self._engine, sorted(sessions), sorted(names)).items():
            self._put(source, file)

    def find(self, source: str) -> File | None:
        """Return what is there of a file."""
        return self._files.get(number(self._owner, source))

    def list_own(self, session: int) -> set[int]:
        """Return the files of a session."""
        return self._by_session.get(session, set())

    def is_present(self, session: int) -> bool:
        """Tell whether any file of a session is still outside."""
        return any(self._files[source].source.present for source in self.list_own(session))

    def write(self, session: Session, batch: SourceBatch, at_ns: int) -> bool:
        """Write what is new; return whether anything is, besides how the file was looked at."""
        if batch.change is Change.UNREADABLE:
            return False
        source = number(self._owner, batch.source)
        known = self._files.get(source)
        if batch.change is Change.VANISHED:
            return known is not None and self._vanish(session, batch, known, at_ns)
        if known is not None and known.source.session != session.id:
            known = self._move(known, session)
        described = describe(session.id, session.born, source, batch, known)
        changed = (
            known is None
            or source in self._moved
            or replace(described, write=known.source.write) != known.source
        )
        if known is None or known.source.path != described.path or not known.source.present:
            self._note_path(described, at_ns)
        newest = go_on(session.id, session.born, source, batch, known, self._get_bytes(session))
        is_new = known is None or known.newest.generation != batch.generation
        self._staging.add(LINES, pack_lines(self._owner, newest, batch.lines))
        file = File(described if changed or known is None else known.source, newest)
        if changed:
            self._new_sources.add(source)
        if is_new or known is None or newest != known.newest:
            self._new_generations[source, newest.generation] = newest
        self._put(source, file)
        self._note_texts(session, batch, file, anew=not is_new)
        return changed or is_new or bool(batch.frames) or bool(batch.lines)

    def finish(self) -> None:
        """Keep the bytes, stage what is left, and have the rows of files published."""
        for rows in self._keep_bytes():
            self._staging.add(FRAMES, map(list, rows))
        if self._texts:
            texts = TextWriter(self._staging.write)
            for each in self._texts:
                batch = each.batch
                found = unpack_texts(batch.texts)
                texts.add(each.session, batch.source, batch.generation, found, anew=each.anew)
            texts.close()
        self._publish()

    def _keep_bytes(self) -> list[list[Cells]]:
        """Keep the bytes of all sessions, several at once: what takes time is waiting for each."""
        added = [*self._bytes.values()]
        if len(added) < 2:
            return [each.finish() for each in added]
        with ThreadPoolExecutor(_PUT_AT_ONCE) as pool:
            return list(pool.map(NewBytes.finish, added))

    def _publish(self) -> None:
        write = self._staging.write
        if self._new_sources:
            rows = (self._files[source].source for source in sorted(self._new_sources))
            write.publish(SOURCES, (replace(row, write=write.number).cells for row in rows))
        if self._paths:
            at = PATHS.names.index("write")
            for row in self._paths:
                row[at] = write.number
            write.publish(PATHS, self._paths)
        if self._new_generations:
            newest = (self._new_generations[place] for place in sorted(self._new_generations))
            write.publish(GENERATIONS, (replace(row, write=write.number).cells for row in newest))

    def _vanish(self, session: Session, batch: SourceBatch, known: File, at_ns: int) -> bool:
        if known.newest.generation == batch.generation:
            self._note_texts(session, batch, known, anew=True)
        if not known.source.present:
            return False
        gone = replace(known.source, present=False)
        self._new_sources.add(gone.source)
        self._put(gone.source, File(gone, known.newest))
        self._note_path(gone, at_ns)
        return True

    def _move(self, file: File, session: Session) -> File:
        """Have all that is kept of a file under this session from now on."""
        moved = move_file(self._engine, self._staging, self._get_bytes(session), file, session)
        source = file.source.source
        self._moved.add(source)
        self._paths += moved.paths
        for generation in moved.generations:
            self._new_generations[source, generation.generation] = generation
        self._put(source, moved.file)
        return moved.file

    def _note_path(self, source: Source, at_ns: int) -> None:
        self._paths.append([source.session, source.source, at_ns, 0, source.born, source.path, source.present])

    def _note_texts(self, session: Session, batch: SourceBatch, file: File, *, anew: bool) -> None:
        if batch.texts_from is None or not (batch.texts or (anew and batch.texts_from == 0)):
            return
        self._texts.append(_Texts(session, batch, anew and batch.texts_from == 0))
        # Texts count when the row of their generation is by the same write.
        self._new_generations.setdefault((file.source.source, file.newest.generation), file.newest)

    def _get_bytes(self, session: Session) -> NewBytes:
        found = self._bytes.get(session.id)
        if found is None:
            staged = Staged(session.id, session.born)
            found = self._bytes[session.id] = NewBytes(self._staging.write, self._blobs, staged)
        return found

    def _put(self, source: int, file: File) -> None:
        former = self._files.get(source)
        if former is not None:
            self._by_session[former.source.session].discard(source)
        self._files[source] = file
        self._by_session.setdefault(file.source.session, set()).add(source)
