"""Writing batches: what follows on what is there is added, what is there already changes nothing.

All batches of a call share what is asked and what is inserted. Whoever writes has the locks of the machines
that sessions are of, so what was read holds until all is published. Several batches of one session are written
one behind the other; what the first one made of it is held here until the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.batch import SessionBatch, SourceBatch
from turnlog.store.changes import NewChange
from turnlog.store.clickhouse.access_states import AccessStates, settle_access
from turnlog.store.clickhouse.derived import Part, Present, RowPlace, list_parts, list_present, write_part
from turnlog.store.clickhouse.files import FileWriter
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.publication import Staged
from turnlog.store.clickhouse.record import COLUMNS, Session, with_summary
from turnlog.store.clickhouse.retention import is_past
from turnlog.store.clickhouse.session_schema import SESSIONS
from turnlog.store.clickhouse.sources import File
from turnlog.store.clickhouse.staging import Staging
from turnlog.store.clickhouse.transaction import Connected, Write
from turnlog.store.frames import open_frame
from turnlog.store.identity import Place, Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.packing import as_word, pack_row, pack_text, unpack_text
from turnlog.store.portable.database import Execute, Row
from turnlog.store.sequels import ReadBytes, check_base, follows, is_nothing
from turnlog.transcripts.files.fingerprints import Change

__all__ = ["write_batches"]

_FIND = f"""
SELECT {COLUMNS} FROM sessions WHERE owner = {{owner:String}} AND id IN {{sessions:Array(UInt128)}}
ORDER BY write DESC LIMIT 1 BY id
"""
_FORGOTTEN = "SELECT session FROM @tombstones WHERE owner = ? AND kind = 'session-key' AND session IN ({})"
_AT_ONCE = 500
_DAY_NS = 86_400_000_000_000
_FIRST_DAY = date(1970, 1, 1).toordinal()


def write_batches(parts: Connected, read: ReadBytes, write: Write, batches: Sequence[SessionBatch]) -> None:
    """Write batches of one owner, which are published with `write`; the caller has the locks of their machines.

    Of a session that was forgotten nothing is written: it may have been looked at before.
    Raises `StoreError` if one does not follow on what is there.
    """
    if batches:
        writer = _BatchWriter(parts, read, write, batches[0].owner)
        writer.load(batches)
        for some in _split(batches):
            writer.write(some)
        writer.finish()


class _Task(Struct):
    """A batch that is being written."""

    batch: SessionBatch
    before: Session
    """As it is there, or as it begins."""
    changed: bool
    parts: list[Part] = []


class _BatchWriter:
    """Writes batches of one owner."""

    def __init__(self, parts: Connected, read: ReadBytes, write: Write, owner: str) -> None:
        self._engine, self._control = parts._engine, parts._control
        self._retention_days = parts._retention_days
        self._read = read
        self._write = write
        self._owner = owner
        self._staging = Staging(write)
        self._files = FileWriter(self._engine, parts._blobs, self._staging, owner)
        self._sessions: dict[int, Session] = {}
        self._forgotten: set[str] = set()
        self._written: dict[int, SessionBatch] = {}
        """The last batch of each session that is another one by now."""
        self._told: set[int] = set()
        """Sessions of which only the derivation is new."""
        self._answers: set[int] = set()
        self._taken: dict[tuple[str, int], list[SourceBatch]] = {}

    def load(self, batches: Sequence[SessionBatch]) -> None:
        """Read what is there of sessions and their files."""
        born = {number(self._owner, each.key): _find_day(each.seen_ns) for each in reversed(batches)}
        sources = {source.source for batch in batches for source in batch.sources}
        for row in self._engine.query(_FIND, {"owner": self._owner, "sessions": sorted(born)}):
            session = Session(**dict(zip(Session.__struct_fields__, row, strict=True)))
            self._sessions[session.id] = session
            born[session.id] = session.born
        self._write.concern([Staged(session, day) for session, day in born.items()])
        self._files.load(born, sources)
        self._forgotten = self._list_forgotten({batch.key for batch in batches})
        # Nobody is told of what is about to be dropped, so nobody can go on with it.
        past = (each for each in self._sessions.values() if is_past(each.born, self._retention_days))
        self._forgotten |= {unpack_text(each.key) for each in past}

    def write(self, batches: Iterable[SessionBatch]) -> None:
        """Write batches of different sessions."""
        self._staging.flush()  # what an earlier batch made of a session has to be there
        tasks = [task for batch in batches for task in self._begin(batch)]
        # What was not there has no rows.
        asked = [(task.before.id, part) for task in tasks if task.before.revision for part in task.parts]
        present = list_present(self._engine, asked)
        for task in tasks:
            self._write_rows(task, present)
            self._end(task)

    def finish(self) -> None:
        """Stage what is left, and have the rows of sessions and files published."""
        self._files.finish()
        self._staging.flush()
        if self._written:
            self._settle_access()
        changed = sorted({*self._written, *self._told})
        rows = [replace(self._sessions[session], write=self._write.number) for session in changed]
        self._write.publish(SESSIONS, (row.cells for row in rows))
        self._write.note_stale(self._answers)

    def _begin(self, batch: SessionBatch) -> Iterable[_Task]:
        """Write the files of a batch, and yield it if there is more to do."""
        if batch.key in self._forgotten:
            return
        known = {source.source: self._files.find(source.source) for source in batch.sources}
        named = [
            source
            for source in batch.sources
            if follows(source, Scope(self._owner), _end(known[source.source]), self._read_frame)
        ]
        if batch.sources and not named:
            # Applied before; its derived rows may be older than those that are there by now.
            return
        id = number(self._owner, batch.key)
        session = self._sessions.get(id)
        if session is None:
            unknown = (is_nothing(source, is_known=known[source.source] is not None) for source in named)
            if batch.derived is None and all(unknown):
                return
            session = self._make_session(id, batch)
        if batch.derived is not None and batch.derived.is_partial:
            check_base(batch, session.revision)
        task = _Task(batch, session, session.revision == 0 or not _has_names(session, batch))
        for source in named:
            task.changed = self._files.write(session, source, batch.seen_ns) or task.changed
            self._taken.setdefault((source.source, source.generation), []).append(source)
        if batch.derived is not None:
            task.parts = list_parts(self._owner, batch.derived, self._files.list_own(id))
        yield task

    def _write_rows(self, task: _Task, present: dict[tuple[int, int, int], Present]) -> None:
        derived, before = task.batch.derived, task.before
        if derived is None:
            return
        place = RowPlace(self._owner, before.id, before.born, before.revision + 1)
        for part in task.parts:
            there = present.get((before.id, part.kind.number, part.source), _NOTHING)
            changed, answers = write_part(self._staging, place, part, there)
            task.changed = task.changed or changed
            self._answers |= answers
        task.changed = task.changed or before.row != pack_row(derived.session)

    def _end(self, task: _Task) -> None:
        """Give a session that changed its new revision, and the feed its entry."""
        batch, before = task.batch, task.before
        derivation = before.derivation if batch.derived is None else batch.derivation
        if not task.changed:
            if derivation != before.derivation:
                self._sessions[before.id] = replace(before, derivation=derivation)
                self._told.add(before.id)
            return
        # A batch that changes nothing was applied before, whatever it is based on.
        if batch.base_revision is not None:
            check_base(batch, before.revision)
        after = self._follow(before, batch, derivation)
        self._sessions[before.id] = after
        self._written[before.id] = batch
        if before.revision == 0:
            kind = ChangeKind.SESSION_ADDED
        else:
            vanished = any(source.change is Change.VANISHED for source in batch.sources)
            kind = ChangeKind.SESSION_GONE if vanished and not after.present else ChangeKind.SESSION_CHANGED
        self._write.note_change(NewChange(self._owner, kind, batch.key, after.revision, batch.seen_ns))

    def _follow(self, before: Session, batch: SessionBatch, derivation: int) -> Session:
        """Return the row of a session as it follows from a batch."""
        transcript = self._files.find(batch.key)
        after = replace(
            before,
            origin=pack_text(batch.origin),
            session_id=pack_text(batch.session_id),
            project_folder=pack_text(batch.project_folder),
            revision=before.revision + 1,
            derivation=derivation,
            present=self._files.is_present(before.id),
            path=b"" if transcript is None else transcript.source.path,
            transcript_present=transcript is not None and transcript.source.present,
            copied_from=None if transcript is None else transcript.source.copied_from,
        )
        return after if batch.derived is None else with_summary(after, batch.derived.session)

    def _settle_access(self) -> None:
        """Find out who may see the sessions that were written."""
        seen = {batch.origin: batch.seen_ns for batch in self._written.values()}
        states = AccessStates(self._control, self._owner, seen)
        if states.has_unknown(seen):
            self._write.also(lambda execute: states.make_known(execute, seen))
        written = [self._sessions[id] for id in self._written]
        for after in settle_access(self._engine, self._write, states, written):
            self._sessions[after.id] = after

    def _read_frame(self, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes that are there, or that a batch before brought, as it had them."""
        for source in self._taken.get((at.source, at.generation), ()):
            for frame in source.frames:
                if (frame.start, frame.length) == (at.offset, length):
                    return open_frame(frame)
        return self._read(scope, at, length)

    def _make_session(self, id: int, batch: SessionBatch) -> Session:
        return Session(
            owner=pack_text(self._owner),
            id=id,
            write=0,
            born=_find_day(batch.seen_ns),
            key=pack_text(batch.key),
            origin=pack_text(batch.origin),
            session_id=pack_text(batch.session_id),
            project_folder=pack_text(batch.project_folder),
        )

    def _list_forgotten(self, keys: Iterable[str]) -> set[str]:
        words = [key for key in sorted(keys) if as_word(key) is not None]
        found: set[str] = set()
        for at in range(0, len(words), _AT_ONCE):
            some = words[at : at + _AT_ONCE]
            query = _FORGOTTEN.format(", ".join("?" * len(some)))
            found.update(key for (key,) in self._control.read(_ask(query, (self._owner, *some))))
        return found


_NOTHING = Present()


def _ask(query: str, values: tuple[str, ...]) -> Callable[[Execute], list[Row]]:
    return lambda execute: execute(query, values)


def _split(batches: Sequence[SessionBatch]) -> list[list[SessionBatch]]:
    """Return batches so that those of one session come one behind the other."""
    rounds: list[list[SessionBatch]] = []
    counts: dict[str, int] = {}
    for batch in batches:
        at = counts[batch.key] = counts.get(batch.key, -1) + 1
        if at == len(rounds):
            rounds.append([])
        rounds[at].append(batch)
    return rounds


def _end(known: File | None) -> tuple[int, int] | None:
    return None if known is None else known.ends


def _has_names(session: Session, batch: SessionBatch) -> bool:
    names = pack_text(batch.session_id), pack_text(batch.project_folder)
    return (session.session_id, session.project_folder) == names


def _find_day(at_ns: int) -> date:
    return date.fromordinal(_FIRST_DAY + at_ns // _DAY_NS)
