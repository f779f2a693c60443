"""Writing batches: what follows on what is there is added, what is there already changes nothing.

The files of a session are locked first, so writers of one session come one behind the other, and those of
others don't wait. What a batch is based on is then compared with what is there. Last of all, under the feed's
lock, follow the rows of the sessions, and what they have in common: who sees them, which answers count, and the
feed itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct, msgpack

from turnlog.errors import ArchiveError, StoreError
from turnlog.store.batch import Derived, Frame, IndexedTexts, SessionBatch, SourceBatch, TextFact
from turnlog.store.catalogue.archive import CatalogueArchive, TailWriter
from turnlog.store.catalogue.database import Connection, pack_text, unpack_text
from turnlog.store.catalogue.feed import add_change, add_revisions, find_last, lock_feed, lock_sessions
from turnlog.store.catalogue.lists import compare_row, write_summary
from turnlog.store.catalogue.people import add_machine, refresh_access
from turnlog.store.catalogue.segments import delete_segments, write_outline, write_segments
from turnlog.store.catalogue.usage import UsageKeeper
from turnlog.store.interface import ChangeKind
from turnlog.store.model import Scope
from turnlog.store.search.index import IndexSharding, TextIndex
from turnlog.transcripts.session_files import Change, Checkpoint

_NOTHING = (0, 0, 0, 0, 0, None, None)
"""The progress of a generation that is not there."""
_FIND_SOURCE = """
SELECT s.id, s.session, s.kind, s.agent_id, s.run_id, s.copied_from, s.path, s.is_present, g.id, g.generation,
    g.length, g.sealed, g.consumed, g.in_array, g.lines, g.checkpoint, g.tail_start,
    CAST(g.tail AS @@bytes), g.tail_digest
FROM sources AS s JOIN generations AS g ON g.id = s.newest WHERE s.owner = ? AND s.source = ? @@lock(s)
"""
_INSERT_SOURCE = """
INSERT INTO sources (owner, source, session, kind, agent_id, run_id, copied_from, path, is_present)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1) RETURNING id
"""
_CHANGE_SOURCE = """
UPDATE sources SET session = ?, kind = ?, agent_id = ?, run_id = ?, copied_from = ? WHERE id = ?
"""
_INSERT_GENERATION = """
INSERT INTO generations (source, generation, length, sealed, consumed, in_array, lines)
VALUES (?, ?, 0, 0, 0, 0, 0) RETURNING id
"""
_GO_ON = """
UPDATE generations SET length = ?, sealed = ?, consumed = ?, in_array = ?, lines = ?, checkpoint = ?,
    tail_start = ?, tail_digest = ?, tail = ? WHERE id = ?
"""


class _Source(Struct, frozen=True, gc=False):
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


class _Session(Struct, frozen=True, gc=False):
    """What is there of a session."""

    id: int
    revision: int
    names: tuple[bytes, bytes]
    """Its id and its project's folder."""
    derivation: int


class _Written(Struct, frozen=True, gc=False):
    """A session that is another one now, for the feed."""

    session: int
    batch: SessionBatch
    kind: ChangeKind
    revision: int


class Writer:
    """Writes through one transaction."""

    def __init__(
        self, connection: Connection, archive: CatalogueArchive, index: TextIndex, usage: UsageKeeper
    ) -> None:
        self._connection = connection
        self._archive = archive
        self._index = index
        self._usage = usage
        self._changes: dict[tuple[int, int], dict[str, Any]] = {}
        """Columns of sessions that are still to be written, by their numbers and the revisions they were in."""
        self._texts: list[tuple[int, int, Iterable[TextFact] | IndexedTexts | None]] = []
        """What is still to be written of generations from a line on; None for one whose texts are to be
        deleted."""
        self.sealed: list[str] = []
        """Sources with bytes that the database had already, and that are in frames of full size now."""

    def write(self, batches: Sequence[SessionBatch]) -> int:
        """Write batches, with their entries in the feed, and return its last number.

        Of a session that was forgotten nothing is written: it may have been looked at before.
        Raises `StoreError` if one does not follow on what is there.
        """
        keys: dict[str, list[str]] = {}
        for batch in batches:
            keys.setdefault(batch.owner, []).append(batch.key)
        for owner in sorted(keys):
            lock_sessions(self._connection, owner, keys[owner])
        written = [done for batch in batches if (done := self._write_batch(batch)) is not None]
        self._write_texts(batches)
        self._write_sessions()
        add_revisions(
            self._connection,
            (
                (each.batch.owner, each.kind, each.batch.key, each.revision, each.batch.seen_ns)
                for each in written
            ),
        )
        new = [each.batch for each in written if each.revision == 1]
        for (owner, origin), at_ns in {
            (each.owner, each.origin): each.seen_ns for each in reversed(new)
        }.items():
            add_machine(self._connection, owner, origin, at_ns)
        refresh_access(self._connection, [each.session for each in written], self._usage.affect)
        self._usage.settle()
        return find_last(self._connection)

    def rewrite(
        self,
        scope: Scope,
        key: str,
        revision: int,
        derived: Derived | None,
        derivation: int,
        lines: Mapping[str, int],
        texts: Mapping[tuple[str, int], Iterable[TextFact]],
    ) -> int:
        """Write what follows from a session's bytes anew, and return the new revision."""
        execute = self._connection.execute
        lock_sessions(self._connection, scope.owner, [key])
        query = "SELECT id, derivation FROM sessions WHERE owner = ? AND key = ? AND revision = ?"
        found = execute(query, (scope.owner, key, revision))
        if not found:
            raise StoreError(f"Expected revision {revision} of the session {key}; it has changed, or is gone")
        [(session, former)] = found
        for source, count in lines.items():
            query = (
                "UPDATE generations SET lines = ? "
                "WHERE id = (SELECT newest FROM sources WHERE owner = ? AND source = ?)"
            )
            execute(query, (count, scope.owner, source))
        for (source, generation), facts in texts.items():
            query = """
            SELECT g.id FROM sources AS s JOIN generations AS g ON g.source = s.id
            WHERE s.owner = ? AND s.source = ? AND g.generation = ?
            """
            for (number,) in execute(query, (scope.owner, source, generation)):
                self._texts += (number, 0, None), (number, 0, facts)
        self._write_texts()
        if derived is not None:
            for (number,) in execute("SELECT id FROM sources WHERE session = ?", (session,)):
                delete_segments(self._connection, number)
            execute("DELETE FROM outlines WHERE session = ?", (session,))
            execute("DELETE FROM summaries WHERE session = ?", (session,))
            self._write_derived(session, revision, derived, is_new=False)
        self._change(
            session, revision, revision=revision + 1, derivation=former if derived is None else derivation
        )
        self._write_sessions()
        add_change(self._connection, scope.owner, ChangeKind.SESSION_CHANGED, key, revision + 1, time.time_ns())
        refresh_access(self._connection, [session], self._usage.affect)
        self._usage.settle()
        return revision + 1

    def _write_batch(self, batch: SessionBatch) -> _Written | None:
        # Its files are locked: whoever forgets the session has done so, or comes later.
        session = self._find_session(batch)
        query = "SELECT 1 FROM tombstones WHERE owner = ? AND key = ?"
        if self._connection.execute(query, (batch.owner, batch.key)):
            return None
        files = [(source, self._find_source(batch.owner, source.source)) for source in batch.sources]
        files = [(source, known) for source, known in files if self._follows(source, batch.owner, known)]
        if batch.sources and not files:
            # Applied before; its derived rows may be older than those that are there by now.
            return None
        if session is None:
            if batch.derived is None and all(_is_nothing(source, known) for source, known in files):
                return None
            session = self._add_session(batch)
        if batch.derived is not None and batch.derived.is_partial:
            _check_base(batch, session.revision)
        changed = session.revision == 0 or session.names != _name(batch)
        is_new = session.revision == 0 and all(known is None for _, known in files)
        for source, known in files:
            changed = self._write_source(batch.owner, session.id, source, known) or changed
        if batch.derived is not None:
            derived = batch.derived
            changed = self._write_derived(session.id, session.revision, derived, is_new=is_new) or changed
        return self._finish(batch, session, is_changed=changed)

    def _finish(self, batch: SessionBatch, session: _Session, *, is_changed: bool) -> _Written | None:
        """Give a session that changed its new revision."""
        derivation = session.derivation if batch.derived is None else batch.derivation
        revision = session.revision
        if is_changed:
            # A batch that changes nothing was applied before, whatever it is based on.
            if batch.base_revision is not None:
                _check_base(batch, session.revision)
            revision += 1
        elif derivation == session.derivation:
            return None
        names = dict(zip(("file_id", "project_folder"), _name(batch), strict=True))
        self._change(
            session.id,
            session.revision,
            **names,
            origin=pack_text(batch.origin),
            revision=revision,
            derivation=derivation,
        )
        if not is_changed:
            return None
        query = "SELECT 1 FROM sources WHERE session = ? AND is_present = 1 LIMIT 1"
        is_present = bool(self._connection.execute(query, (session.id,)))
        self._change(session.id, session.revision, is_present=int(is_present))
        vanished = any(source.change is Change.VANISHED for source in batch.sources)
        kind = ChangeKind.SESSION_GONE if vanished and not is_present else ChangeKind.SESSION_CHANGED
        return _Written(session.id, batch, ChangeKind.SESSION_ADDED if revision == 1 else kind, revision)

    def _find_session(self, batch: SessionBatch) -> _Session | None:
        query = """
        SELECT id, revision, file_id, project_folder, derivation FROM sessions WHERE owner = ? AND key = ?
        """
        rows = self._connection.execute(query, (batch.owner, batch.key))
        if rows and any(number == rows[0][0] for number, _ in self._changes):  # by a batch before
            self._write_sessions()
            rows = self._connection.execute(query, (batch.owner, batch.key))
        for number, revision, name, folder, derivation in rows:
            return _Session(number, revision, (name, folder), derivation)
        return None

    def _change(self, session: int, former: int, **columns: object) -> None:
        """Note what becomes of the row of a session that is in some revision."""
        self._changes.setdefault((session, former), {}).update(columns)

    def _write_sessions(self) -> None:
        """Write the rows of sessions that are others now, from now on under the feed's lock."""
        if self._changes:
            lock_feed(self._connection)
        for (session, revision), columns in self._changes.items():
            names = ", ".join(f"{name} = ?" for name in columns)
            query = f"UPDATE sessions SET {names} WHERE id = ? AND revision = ?"
            if not self._connection.change(query, (*columns.values(), session, revision)):
                raise StoreError("A session is not as it was any more: another writer was faster")
        self._changes.clear()

    def _add_session(self, batch: SessionBatch) -> _Session:
        query = """
        INSERT INTO sessions (owner, key, origin, file_id, project_folder) VALUES (?, ?, ?, ?, ?) RETURNING id
        """
        cells = batch.owner, batch.key, pack_text(batch.origin), *_name(batch)
        [(number,)] = self._connection.execute(query, cells)
        return _Session(number, 0, _name(batch), 0)

    def _write_derived(self, session: int, revision: int, derived: Derived, *, is_new: bool) -> bool:
        """Replace what differs of what follows from a session's lines; return whether anything does.

        Of a session that `is_new`, and so are its files, there is nothing to compare with.
        """
        query = "SELECT source, id FROM sources WHERE session = ?"
        sources: dict[str, int] = dict(self._connection.execute(query, (session,)))
        differing = compare_row(self._connection, session, derived.session, is_new=is_new)
        if differing:
            self._change(session, revision, **differing)
        wrote = [
            bool(differing),
            write_summary(self._connection, session, derived.session),
            *(write_outline(self._connection, session, each, is_new=is_new) for each in derived.outline),
            *(write_segments(self._connection, sources, each, is_new=is_new) for each in derived.chapters),
        ]
        if any(wrote):
            self._usage.note(session, derived.usage, is_whole=not derived.is_partial and not is_new)
            self._usage.report(session, derived.session.summary, is_new=is_new)
        return any(wrote)

    def _find_source(self, owner: str, source: str) -> _Source | None:
        for row in self._connection.execute(_FIND_SOURCE, (owner, source)):
            start, data, digest = row[16:]
            newest = None if data is None else Frame(start, row[10] - start, data, digest)
            path, progress = unpack_text(row[6]), (*row[10:16], newest)
            return _Source(row[0], row[1], row[2:6], path, bool(row[7]), row[8], row[9], progress)
        return None

    def _follows(self, batch: SourceBatch, owner: str, known: _Source | None) -> bool:
        """Return whether a batch goes on where the store ends; False if it is what the store ends with.

        Raises `StoreError` for any other.
        """
        if batch.change in (Change.VANISHED, Change.UNREADABLE):
            return True
        _check_frames(batch)
        number, length = (-1, 0) if known is None else (known.number, int(known.progress[0]))
        if (batch.generation, batch.start) in ((number, length), (number + 1, 0)):
            return True
        if (batch.generation, batch.length) == (number, length) and self._has(batch, owner):
            return False
        raise StoreError(
            f"Expected bytes of {batch.path} from {length} of generation {number} on, "
            f"found those from {batch.start} of generation {batch.generation}: another writer was faster"
        )

    def _has(self, batch: SourceBatch, owner: str) -> bool:
        """Return whether the archive has the same bytes, however they are cut by now."""
        spans = [(frame.start, frame.length) for frame in batch.frames]
        place = Scope(owner), batch.source, batch.generation
        try:
            found = self._archive.read_spans(self._connection, *place, spans)
        except (KeyError, ArchiveError):
            return False
        digests = [blake2b(data, digest_size=16).digest() for data in found]
        return digests == [frame.digest for frame in batch.frames]

    def _write_source(self, owner: str, session: int, batch: SourceBatch, known: _Source | None) -> bool:
        """Write what is new of a file; return whether anything is, besides how it was looked at."""
        if batch.change is Change.UNREADABLE:
            return False
        if batch.change is Change.VANISHED:
            if known is None:
                return False
            if known.number == batch.generation:
                self._note_texts(known.generation, batch)
            if known.present:
                self._connection.execute("UPDATE sources SET is_present = 0 WHERE id = ?", (known.id,))
            return known.present
        description = (str(batch.kind), pack_text(batch.agent_id), pack_text(batch.run_id), batch.copied_from)
        if known is None:
            cells = owner, batch.source, session, *description, pack_text(batch.path)
            [(source,)] = self._connection.execute(_INSERT_SOURCE, cells)
            changed = True
        else:
            source, changed = known.id, self._describe(session, description, known)
            if known.path != batch.path or not known.present:
                query = "UPDATE sources SET path = ?, is_present = 1 WHERE id = ?"
                self._connection.execute(query, (pack_text(batch.path), source))
                changed = True
        changed = self._write_content(source, batch, known) or changed
        return changed or bool(batch.lines)

    def _describe(self, session: int, description: tuple[Any, ...], known: _Source) -> bool:
        # A later look may not know any more what the first one found.
        merged = tuple(
            old if new is None else new for old, new in zip(known.description, description, strict=True)
        )
        if (session, merged) == (known.session, known.description):
            return False
        if session != known.session:
            delete_segments(self._connection, known.id)
        self._connection.execute(_CHANGE_SOURCE, (session, *merged, known.id))
        return True

    def _write_content(self, source: int, batch: SourceBatch, known: _Source | None) -> bool:
        goes_on = known is not None and known.number == batch.generation
        before: tuple[Any, ...] = known.progress if known is not None and goes_on else _NOTHING
        generation = known.generation if known is not None and goes_on else self._add_generation(source, batch)
        tail = TailWriter(self._connection, generation, before[1], before[6], is_new=not goes_on)
        tail.append(batch.frames, batch.sealed, is_live=goes_on)
        if tail.has_sealed:
            self.sealed.append(batch.source)
        if known is not None and not goes_on:
            self._texts.append((known.generation, 0, None))  # only the newest generation is searched
        self._note_texts(generation, batch, is_new=not goes_on)
        after = (
            batch.length,
            tail.sealed,
            batch.consumed,
            int(batch.in_array),
            before[4] + batch.lines,
            encode_checkpoint(batch.checkpoint),
            tail.newest,
        )
        if after != before:
            *progress, newest = after
            cells = (None, None, None) if newest is None else (newest.start, newest.digest, newest.data)
            self._connection.execute(_GO_ON, (*progress, *cells, generation))
        return bool(batch.frames) or not goes_on

    def _note_texts(self, generation: int, batch: SourceBatch, *, is_new: bool = False) -> None:
        if batch.texts_from == 0 and not is_new:
            self._texts.append((generation, 0, None))
        if batch.texts_from is not None:
            self._texts.append((generation, batch.texts_from, batch.indexed or batch.texts))

    def _write_texts(self, batches: Sequence[SessionBatch] = ()) -> None:
        """Write the texts of all batches, one behind the other: an index takes many at once best."""
        for batch in batches:
            if batch.shard is not None:
                self._get_sharding().take_over(self._connection, batch.shard)
        sources = (source for batch in batches for source in batch.sources)
        unwanted = {id(each.indexed): each.indexed for each in sources if each.indexed is not None}
        for generation, start, texts in self._texts:
            if texts is None:
                self._index.delete(self._connection, [generation])
            elif isinstance(texts, IndexedTexts):
                self._get_sharding().write(self._connection, generation, texts)
                del unwanted[id(texts)]
            else:
                self._index.write(self._connection, generation, texts, start=start)
        for indexed in unwanted.values():  # of files that were not written
            self._get_sharding().discard(self._connection, indexed)
        self._texts.clear()
        self._index.flush(self._connection)

    def _get_sharding(self) -> IndexSharding:
        if self._index.sharding is None:
            raise StoreError("This store takes no shards of an index")
        return self._index.sharding

    def _add_generation(self, source: int, batch: SourceBatch) -> int:
        [(number,)] = self._connection.execute(_INSERT_GENERATION, (source, batch.generation))
        self._connection.execute("UPDATE sources SET newest = ? WHERE id = ?", (number, source))
        return int(number)


def _name(batch: SessionBatch) -> tuple[bytes, bytes]:
    return pack_text(batch.session_id), pack_text(batch.project_folder)


def _check_base(batch: SessionBatch, revision: int) -> None:
    """Raise `StoreError` if a session is not in the revision that a batch is based on."""
    if batch.base_revision != revision:
        raise StoreError(
            f"Expected revision {batch.base_revision} of the session {batch.key}, "
            f"found {revision}: another writer was faster"
        )


def _is_nothing(source: SourceBatch, known: _Source | None) -> bool:
    """Tell whether there is nothing to say of a file: it was never seen, and is not there."""
    return known is None and source.change in (Change.VANISHED, Change.UNREADABLE)


def _check_frames(batch: SourceBatch) -> None:
    position = batch.start
    for frame in batch.frames:
        if frame.start != position:
            break
        position += frame.length
    if position != batch.length:
        raise StoreError(
            f"Expected frames of {batch.path} from {batch.start} to {batch.length}, they end at {position}"
        )


_decode_checkpoint = msgpack.Decoder(tuple[bytes, int, int, str, int, int, int, int, bool]).decode


def encode_checkpoint(checkpoint: Checkpoint | None) -> bytes | None:
    """Return how far a file was read, as bytes: it is only ever read as a whole."""
    if checkpoint is None:
        return None
    return msgpack.encode(
        (
            checkpoint.source.encode("utf-8", "surrogateescape"),
            checkpoint.offset,
            checkpoint.size,
            checkpoint.fingerprint,
            checkpoint.inode,
            checkpoint.device,
            checkpoint.modified_ns,
            checkpoint.generation,
            checkpoint.in_array,
        )
    )


def decode_checkpoint(data: bytes | None) -> Checkpoint | None:
    """Return what `encode_checkpoint` was given."""
    if data is None:
        return None
    cells: tuple[Any, ...] = _decode_checkpoint(data)
    return Checkpoint(cells[0].decode("utf-8", "surrogateescape"), *cells[1:])
