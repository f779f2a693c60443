"""Taking uploads into a store: the same batches that a sync of the machine's files would give.

Several sessions are taken at once, each acknowledged when it is on the disk. A stretch is a scan of a file that
was made elsewhere: what it says of the file is held against what is known, the bytes before it come from the
archive, and so does the fingerprint that the next one is held against. What does not follow on what is known is
refused, and the machine scans again. What the store has is asked anew for each session, so it does not matter
which process took what came before; what another writer has changed meanwhile is compared once more.

A machine that nobody knows becomes the person's who pushes from it. One that has sessions already does not:
whoever learned its name could take them for their own, so an admin has to say whose it is. That is asked of the
store at most twice a minute for each machine, since machines push all the time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from turnlog.errors import (
    BusyStoreError,
    LostStoreError,
    NewerStoreError,
    StoreError,
    TakenMachineError,
    UploadError,
)
from turnlog.ingest.change_check import Match
from turnlog.ingest.copies import mark_copies
from turnlog.ingest.file_scan import FileScan
from turnlog.ingest.machine import list_forgotten
from turnlog.ingest.session_scan import (
    CachedSession,
    SessionCache,
    SessionScan,
    SessionScanner,
)
from turnlog.ingest.upload_protocol import (
    Machine,
    ServerSession,
    SessionUpload,
    Stretch,
    Upload,
    decode_upload,
    name_text,
    tell_session,
)
from turnlog.store import model
from turnlog.store.interface import Archive, KnownSession, KnownSource, MaintainedStore, find_known
from turnlog.store.model import LOCAL, Place, Scope, Viewer, name_source
from turnlog.transcripts.session_files import Change, Checkpoint, Windows, read_windows

MACHINE_TAKEN = "machine_taken"
"""What a machine is told whose sessions are another person's."""
MACHINE_UNASSIGNED = "machine_unassigned"
"""What a machine is told that has sessions which are nobody's."""
_SECONDS = 30.0
_MOST = 10_000
_LONGEST_NAME = 200
"""Characters of what a machine is called."""


class _Noted(Struct, frozen=True, gc=False):
    person: str | None
    host: str
    user: str
    at: float


class KnownMachines:
    """Remembers whose machines are; for several threads."""

    def __init__(
        self, store: MaintainedStore, scope: Scope = LOCAL, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._scope = scope
        self._clock = clock
        self._noted: dict[str, _Noted] = {}
        self._known: dict[str, model.Machine] = {}
        self._known_at = 0.0
        self._lock = threading.Lock()

    def note(self, origin: str, person: str | None, told: Machine) -> None:
        """Note that something comes from a machine; raises `UploadError` if it may not come from this person.

        Without `person`, it is nobody's or whoever's it was. Raises `StoreError`.
        """
        host, user = told.host[:_LONGEST_NAME], told.user[:_LONGEST_NAME]
        with self._lock:
            now, last = self._clock(), self._noted.get(origin)
            is_fresh = last is not None and now - last.at < _SECONDS
            if is_fresh and last is not None and (last.person, last.host, last.user) == (person, host, user):
                return
            if person is not None:
                self._check(origin, now)
            try:
                self._store.save_machine(self._scope, origin, person=person, host=host, user=user)
            except TakenMachineError:
                self._noted.pop(origin, None)
                reason = "This machine belongs to another person; an admin can reassign it"
                raise UploadError(MACHINE_TAKEN, reason) from None
            self._noted[origin] = _Noted(person, host, user, now)
            while len(self._noted) > _MOST:
                del self._noted[next(iter(self._noted))]

    def forget(self, origin: str) -> None:
        """Ask anew when something next comes from a machine: somebody said whose it is."""
        with self._lock:
            self._noted.pop(origin, None)
            self._known_at = 0.0

    def _check(self, origin: str, now: float) -> None:
        """Raise `UploadError` for a machine with sessions that are nobody's."""
        if origin not in self._known or not self._known_at or now - self._known_at >= _SECONDS:
            self._known = {machine.origin: machine for machine in self._store.list_machines(self._scope)}
            self._known_at = now
        known = self._known.get(origin)
        if known is not None and known.person is None and known.sessions:
            reason = "This machine has sessions here without an owner; an admin has to assign it first"
            raise UploadError(MACHINE_UNASSIGNED, reason)


_ANEW = frozenset({Change.TRUNCATED, Change.REWRITTEN, Change.REPLACED})
_SAID = frozenset({Change.NEW, Change.UNCHANGED, Change.APPENDED}) | _ANEW
_LARGEST_NUMBER = (1 << 63) - 1
_LONGEST_PATH = 8 << 10
"""How many bytes the name of anything has at most."""


def find_key(upload: SessionUpload, origin: str) -> str:
    """Return the session that an upload of a machine is about."""
    return upload.key or name_source(origin, name_text(upload.transcript))


def scan_upload(
    upload: SessionUpload,
    known: KnownSession | None,
    archive: Archive,
    cached: CachedSession | None = None,
    *,
    origin: str,
    owner: str,
    now_ns: int,
    is_last: bool = False,
) -> SessionScan:
    """Return what is new of a session by an upload, on top of what is `known` of it.

    It is as if the files of the machine were scanned here. Raises `UploadError` with the code `mismatch` for
    an upload that does not follow on what is known, `damaged` for one that makes no sense.
    """
    _check_session(upload, known, origin)
    scanner = SessionScanner(known, archive, cached, owner=owner, origin=origin, is_last=is_last)
    sources = {source.source: source for source in known.sources} if known is not None else {}
    given = [_open(stretch, sources, origin, archive, Scope(owner)) for stretch in upload.sources]
    _check_gone(upload, sources)
    seen = scanner.take_given(given, frozenset(upload.gone))
    session_id, project_folder = name_text(upload.session_id), name_text(upload.project_folder)
    return scanner.conclude(seen, find_key(upload, origin), session_id, project_folder, now_ns)


def _check_session(upload: SessionUpload, known: KnownSession | None, origin: str) -> None:
    if known is not None and known.origin != origin:
        raise UploadError("damaged", "The session comes from another machine")
    revision = 0 if known is None else known.revision
    if upload.revision != revision or (upload.key and known is None):
        raise _mismatch(f"revision {upload.revision} of the session", f"revision {revision}")
    texts = (upload.transcript, upload.session_id, upload.project_folder)
    has_place = bool(upload.key) or os.path.isabs(name_text(upload.transcript))
    if max(map(len, texts)) > _LONGEST_PATH or not has_place:
        raise UploadError("damaged", "The session has an invalid name")
    names = [stretch.source or stretch.path for stretch in upload.sources]
    if len(set(names)) < len(names):
        raise UploadError("damaged", "A file is in the upload twice")


def _check_gone(upload: SessionUpload, sources: Mapping[str, KnownSource]) -> None:
    told = {stretch.source for stretch in upload.sources}
    for name in upload.gone:
        if name not in sources or name in told:
            raise _mismatch("a file as gone", "one that is known, reported once")


def _open(
    stretch: Stretch, sources: Mapping[str, KnownSource], origin: str, archive: Archive, scope: Scope
) -> tuple[Match, FileScan]:
    path = name_text(stretch.path)
    known = _find_known(stretch, path, sources, origin)
    _check_stretch(stretch, path, known)
    name = name_source(origin, path) if known is None else known.source
    windows = Windows()
    if known is not None and stretch.change in (Change.APPENDED, Change.UNCHANGED):
        windows = _read_windows(known, archive, scope)
    match = Match(path, stretch.kind, _text(stretch.agent_id), _text(stretch.run_id), known)
    return match, _UploadedScan(stretch, known, windows, name)


def _find_known(
    stretch: Stretch, path: str, sources: Mapping[str, KnownSource], origin: str
) -> KnownSource | None:
    known = sources.get(stretch.source or name_source(origin, path))
    if (known is None) != (not stretch.source):
        raise _mismatch(f"a {'known' if stretch.source else 'new'} file", "one that is not")
    return known


def _check_stretch(stretch: Stretch, path: str, known: KnownSource | None) -> None:
    """Raise `UploadError` unless a stretch says what a visit to the file could have found."""
    end = stretch.start + len(stretch.data)
    numbers = (stretch.start, stretch.size, stretch.inode, stretch.device)
    longest = max(len(stretch.path), len(stretch.agent_id or b""), len(stretch.run_id or b""))
    is_sound = os.path.isabs(path) and "\0" not in path and longest <= _LONGEST_PATH
    is_sound = is_sound and stretch.change in _SAID and end <= stretch.size
    # Times may well be before 1970, where a clock is wrong; inodes and devices may have all bits set.
    if not is_sound or min(numbers) < 0 or max(stretch.size, abs(stretch.modified_ns)) > _LARGEST_NUMBER:
        raise UploadError("damaged", "A chunk contradicts itself")
    if (known is None) != (stretch.change is Change.NEW):
        raise _mismatch(f"a file that is {stretch.change}", "another change")
    if stretch.change is Change.UNCHANGED and stretch.data:
        raise UploadError("damaged", "A file that did not change has new bytes")
    expected = (0, 0)
    if known is not None:
        anew = stretch.change in _ANEW
        expected = (known.generation + 1, 0) if anew else (known.generation, known.length)
        if not anew and stretch.follows != _fingerprint(known):
            raise _mismatch("bytes that follow different ones", "bytes that follow those stored here")
    if (stretch.generation, stretch.start) != expected:
        found = f"bytes from {stretch.start} of generation {stretch.generation} on"
        raise _mismatch(found, f"those from {expected[1]} of generation {expected[0]} on")


def _read_windows(known: KnownSource, archive: Archive, scope: Scope) -> Windows:
    def read_at(start: int, size: int) -> bytes:
        return archive.read(scope, Place(known.source, known.generation, start), size) if size else b""

    return read_windows(known.length, read_at)


class _UploadedScan(FileScan):
    """A scan that was made on another machine."""

    def __init__(self, stretch: Stretch, known: KnownSource | None, windows: Windows, name: str) -> None:
        self._data = stretch.data
        self._windows = windows
        about = Checkpoint(name, 0, stretch.size, "", stretch.inode, stretch.device, stretch.modified_ns)
        super().__init__(stretch.change, known, end=stretch.start + len(stretch.data), about=about)

    def _read(self) -> bytes:
        self._windows.add(self._data)
        return self._data

    def _find_fingerprint(self) -> str:
        return self._windows.fingerprint


def _fingerprint(known: KnownSource) -> str:
    return "" if known.checkpoint is None else known.checkpoint.fingerprint


def _text(data: bytes | None) -> str | None:
    return None if data is None else name_text(data)


def _mismatch(found: str, expected: str) -> UploadError:
    return UploadError("mismatch", f"Got {found}, expected {expected}")


logger = logging.getLogger("turnlog.ingest")

_WORTH_SETTLING = 64 << 20
"""After so many new bytes the store may have something to put in order."""


class Outcome(StrEnum):
    """The result for a session in an upload."""

    TAKEN = "taken"
    """It is on the disk."""
    MISMATCH = "mismatch"
    """It does not follow on what is here, which is told."""
    FORGOTTEN = "forgotten"
    """The session was forgotten here, and is not taken any more."""
    DAMAGED = "damaged"
    """It says what cannot be."""
    BUSY = "busy"
    """It may be tried again."""
    FAILED = "failed"
    """It could not be stored; the server's log says why."""


class Given(Struct, frozen=True, gc=False):
    """What came from a machine."""

    origin: str
    body: bytes
    person: str | None = None
    """Whose token it came with; None for the server's own."""


class SessionAnswer(Struct, frozen=True, gc=False, kw_only=True):
    """The result for a session, and what the server has of it now."""

    outcome: Outcome
    session: ServerSession | None = None
    """null if there is nothing of it."""
    reason: str = ""


class UploadAnswer(Struct, frozen=True, gc=False, omit_defaults=True):
    """What became of an upload."""

    code: str = ""
    """Empty if it could be read; then each session has an answer of its own, in their order."""
    reason: str = ""
    sessions: tuple[SessionAnswer, ...] = ()
    size: int = 0
    """How many bytes of files were taken."""


class _Asked(Struct, frozen=True):
    """A session in one of the uploads."""

    upload: SessionUpload
    origin: str
    forgotten: frozenset[str]
    """What its person forgot."""

    @property
    def key(self) -> str:
        return find_key(self.upload, self.origin)

    @property
    def size(self) -> int:
        return sum(len(stretch.data) for stretch in self.upload.sources)


class UploadReceiver:
    """Takes what machines push; for one thread at a time."""

    def __init__(
        self, store: MaintainedStore, scope: Scope = LOCAL, flush: Callable[[], None] | None = None
    ) -> None:
        """Take a store, and what makes that which was applied to it outlast a loss of power."""
        self._store = store
        self._scope = scope
        self._flush = flush
        self._machines = KnownMachines(store, scope)
        self._cache = SessionCache()
        self._unsettled = 0
        self._scanned: list[tuple[_Asked, SessionScan]] = []
        self._answers: dict[int, SessionAnswer] = {}
        """By the identity of what was asked, which lives as long as `take`."""

    def take(self, given: Sequence[Given]) -> list[UploadAnswer]:
        """Take uploads, each session whole or not at all, and return what became of them when it is durable.

        Uploads of the same session are taken in their order. Raises `NewerStoreError`.
        """
        self._cache.drop(list_forgotten(self._store, self._scope))
        opened = [self._open(each) for each in given]
        forgotten = {person: self._list_forgotten(person) for person in {each.person for each in given}}
        asked = [
            []
            if isinstance(upload, UploadAnswer)
            else [_Asked(one, upload.origin, forgotten[each.person]) for one in upload.sessions]
            for upload, each in zip(opened, given, strict=True)
        ]
        for each in (each for several in asked for each in several):
            self._take_in(each)
        self._write()
        answers = [
            each if isinstance(each, UploadAnswer) else self._answer(several)
            for each, several in zip(opened, asked, strict=True)
        ]
        self._answers.clear()
        return answers

    def rest(self) -> None:
        """Put in order what much writing left behind, and let go of what nobody has written to for a while."""
        self._cache.drop_idle()
        if self._unsettled >= _WORTH_SETTLING:
            self._unsettled = 0
            self._store.maintain()

    def _open(self, given: Given) -> Upload | UploadAnswer:
        """Return an upload that can be read, and may come from who sent it."""
        try:
            upload = decode_upload(given.body, given.origin)
            self._machines.note(given.origin, given.person, upload.machine)
        except UploadError as error:
            return UploadAnswer(error.code, error.reason)
        except NewerStoreError:
            raise
        except StoreError as error:
            logger.warning("the owner of a machine cannot be recorded: %s", error)
            return UploadAnswer("busy", "The archive is being written; try again")
        return upload

    def _list_forgotten(self, person: str | None) -> frozenset[str]:
        """Return what a person forgot: what others did is no business of theirs."""
        scope = self._scope if person is None else Scope(self._scope.owner, Viewer(person=person))
        return list_forgotten(self._store, scope)

    def _take_in(self, asked: _Asked) -> None:
        key, forgotten = asked.key, asked.forgotten
        if any(key == other.key for other, _ in self._scanned):
            self._write()
        try:
            if key in forgotten or (not asked.upload.key and name_text(asked.upload.session_id) in forgotten):
                raise UploadError(Outcome.FORGOTTEN, "The session was forgotten here")
            self._scanned.append((asked, self._scan(asked)))
        except Exception as error:  # noqa: BLE001  whatever is wrong with one, the others are taken
            self._answers[id(asked)] = self._explain(error, asked)

    def _scan(self, asked: _Asked) -> SessionScan:
        known = self._find_known(asked)
        return scan_upload(
            asked.upload,
            known,
            self._store.archive,
            self._cache.take(known),
            origin=asked.origin,
            owner=self._scope.owner,
            now_ns=time.time_ns(),
            # Of many that are new and whole, hardly any is being written to.
            is_last=known is None and not asked.upload.has_more,
        )

    def _write(self) -> None:
        """Write what was scanned, all at once or, where somebody was faster, one by one; and forget it."""
        scanned, self._scanned = self._scanned, []
        try:
            self._apply([scan for _, scan in scanned])
        except NewerStoreError:
            raise
        except (BusyStoreError, LostStoreError) as error:
            for asked, _ in scanned:
                self._answers[id(asked)] = self._explain(error, asked)
        except StoreError:
            for asked, _ in scanned:
                self._answers[id(asked)] = self._write_again(asked)
        else:
            for asked, _ in scanned:
                self._answers[id(asked)] = self._acknowledge(asked)

    def _write_again(self, asked: _Asked) -> SessionAnswer:
        try:
            self._apply([self._scan(asked)])
        except (UploadError, StoreError) as error:
            return self._explain(error, asked)
        return self._acknowledge(asked)

    def _apply(self, scans: list[SessionScan]) -> None:
        batches = [scan.batch for scan in scans if scan.batch is not None]
        if batches:
            self._store.apply(mark_copies(self._store, batches))
            if self._flush is not None:
                self._flush()
        for scan in scans:
            self._cache.put(scan.cached)

    def _acknowledge(self, asked: _Asked) -> SessionAnswer:
        self._unsettled += asked.size
        return SessionAnswer(outcome=Outcome.TAKEN, session=self._tell(asked))

    def _find_known(self, asked: _Asked) -> KnownSession | None:
        """Return what there is of a session; for a machine there is nothing that comes from another one."""
        known = find_known(self._store, self._scope, asked.key)
        return known if known is not None and known.origin == asked.origin else None

    def _tell(self, asked: _Asked) -> ServerSession | None:
        known = self._find_known(asked)
        return None if known is None else tell_session(known)

    def _explain(self, error: Exception, asked: _Asked) -> SessionAnswer:
        match error:
            case NewerStoreError():
                raise error
            case UploadError(code=Outcome.MISMATCH):
                return SessionAnswer(outcome=Outcome.MISMATCH, session=self._tell(asked), reason=error.reason)
            case UploadError():
                return SessionAnswer(outcome=Outcome(error.code), reason=error.reason)
            case BusyStoreError():
                return SessionAnswer(outcome=Outcome.BUSY, reason="The archive is being written; try again")
            case LostStoreError():
                logger.warning("an upload was not stored yet: %s", error)
                return SessionAnswer(outcome=Outcome.BUSY, reason="The archive cannot be reached; try again")
            case StoreError():
                logger.error("an upload was not stored: %s", error)
            case _:
                logger.exception("an upload was not stored", exc_info=error)
        return SessionAnswer(outcome=Outcome.FAILED, reason="It could not be stored; the server's log says why")

    def _answer(self, several: Sequence[_Asked]) -> UploadAnswer:
        answers = [self._answers[id(asked)] for asked in several]
        taken = zip(several, answers, strict=True)
        size = sum(asked.size for asked, answer in taken if answer.outcome is Outcome.TAKEN)
        return UploadAnswer(sessions=tuple(answers), size=size)
