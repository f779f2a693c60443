"""Taking uploads into a store: the same batches that a sync of the machine's files would give.

Several sessions are stored at once, each acknowledged when it is on the disk. A chunk is a scan of a file that
was made elsewhere: what it says about the file is compared with what is known, and the bytes before it and
their fingerprint come from the archive. A chunk that does not continue what is known is refused, and the
machine scans again. What the store has is read again for each session, so it does not matter which process
stored what came before; what another writer has changed meanwhile is compared again.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from turnlog.errors import BusyStoreError, LostStoreError, NewerStoreError, StoreError, UploadError
from turnlog.ingest.change_check import Match
from turnlog.ingest.copies import mark_copies
from turnlog.ingest.file_scan import FileScan
from turnlog.ingest.machine import KnownMachines, list_forgotten
from turnlog.ingest.session_scan import CachedSession, SessionCache, SessionScan, SessionScanner
from turnlog.ingest.upload_protocol import (
    FileChunk,
    Outcome,
    ServerSession,
    SessionAnswer,
    SessionUpload,
    Upload,
    decode_name,
    decode_upload,
    to_server_session,
)
from turnlog.store.interface import Archive, KnownSession, KnownSource, MaintainedStore, find_known
from turnlog.store.model import LOCAL, Place, Scope, Viewer, name_source
from turnlog.transcripts.session_files import Change, Checkpoint, Windows, read_windows

_ANEW = frozenset({Change.TRUNCATED, Change.REWRITTEN, Change.REPLACED})
_SAID = frozenset({Change.NEW, Change.UNCHANGED, Change.APPENDED}) | _ANEW
_LARGEST_NUMBER = (1 << 63) - 1
_LONGEST_PATH = 8 << 10
"""How many bytes the name of anything has at most."""


def find_key(upload: SessionUpload, origin: str) -> str:
    """Return the session that an upload of a machine is about."""
    return upload.key or name_source(origin, decode_name(upload.transcript))


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
    given = [_open(chunk, sources, origin, archive, Scope(owner)) for chunk in upload.sources]
    _check_gone(upload, sources)
    seen = scanner.take_scans(given, frozenset(upload.gone))
    session_id, project_folder = decode_name(upload.session_id), decode_name(upload.project_folder)
    return scanner.build_scan(seen, find_key(upload, origin), session_id, project_folder, now_ns)


def _check_session(upload: SessionUpload, known: KnownSession | None, origin: str) -> None:
    if known is not None and known.origin != origin:
        raise UploadError("damaged", "The session comes from another machine")
    revision = 0 if known is None else known.revision
    if upload.revision != revision or (upload.key and known is None):
        raise _mismatch(f"revision {upload.revision} of the session", f"revision {revision}")
    texts = (upload.transcript, upload.session_id, upload.project_folder)
    has_place = bool(upload.key) or os.path.isabs(decode_name(upload.transcript))
    if max(map(len, texts)) > _LONGEST_PATH or not has_place:
        raise UploadError("damaged", "The session has an invalid name")
    names = [chunk.source or chunk.path for chunk in upload.sources]
    if len(set(names)) < len(names):
        raise UploadError("damaged", "A file is in the upload twice")


def _check_gone(upload: SessionUpload, sources: Mapping[str, KnownSource]) -> None:
    told = {chunk.source for chunk in upload.sources}
    for name in upload.gone:
        if name not in sources or name in told:
            raise _mismatch("a file as gone", "one that is known, reported once")


def _open(
    chunk: FileChunk, sources: Mapping[str, KnownSource], origin: str, archive: Archive, scope: Scope
) -> tuple[Match, FileScan]:
    path = decode_name(chunk.path)
    known = _find_known(chunk, path, sources, origin)
    _check_chunk(chunk, path, known)
    name = name_source(origin, path) if known is None else known.source
    windows = Windows()
    if known is not None and chunk.change in (Change.APPENDED, Change.UNCHANGED):
        windows = _read_windows(known, archive, scope)
    match = Match(path, chunk.kind, _text(chunk.agent_id), _text(chunk.run_id), known)
    return match, _UploadedScan(chunk, known, windows, name)


def _find_known(
    chunk: FileChunk, path: str, sources: Mapping[str, KnownSource], origin: str
) -> KnownSource | None:
    known = sources.get(chunk.source or name_source(origin, path))
    if (known is None) != (not chunk.source):
        raise _mismatch(f"a {'known' if chunk.source else 'new'} file", "one that is not")
    return known


def _check_chunk(chunk: FileChunk, path: str, known: KnownSource | None) -> None:
    """Raise `UploadError` unless a stretch says what a visit to the file could have found."""
    end = chunk.start + len(chunk.data)
    numbers = (chunk.start, chunk.size, chunk.inode, chunk.device)
    longest = max(len(chunk.path), len(chunk.agent_id or b""), len(chunk.run_id or b""))
    is_sound = os.path.isabs(path) and "\0" not in path and longest <= _LONGEST_PATH
    is_sound = is_sound and chunk.change in _SAID and end <= chunk.size
    # Times may well be before 1970, where a clock is wrong; inodes and devices may have all bits set.
    if not is_sound or min(numbers) < 0 or max(chunk.size, abs(chunk.modified_ns)) > _LARGEST_NUMBER:
        raise UploadError("damaged", "A chunk contradicts itself")
    if (known is None) != (chunk.change is Change.NEW):
        raise _mismatch(f"a file that is {chunk.change}", "another change")
    if chunk.change is Change.UNCHANGED and chunk.data:
        raise UploadError("damaged", "A file that did not change has new bytes")
    expected = (0, 0)
    if known is not None:
        anew = chunk.change in _ANEW
        expected = (known.generation + 1, 0) if anew else (known.generation, known.length)
        if not anew and chunk.follows != _fingerprint(known):
            raise _mismatch("bytes that follow different ones", "bytes that follow those stored here")
    if (chunk.generation, chunk.start) != expected:
        found = f"bytes from {chunk.start} of generation {chunk.generation} on"
        raise _mismatch(found, f"those from {expected[1]} of generation {expected[0]} on")


def _read_windows(known: KnownSource, archive: Archive, scope: Scope) -> Windows:
    def read_at(start: int, size: int) -> bytes:
        return archive.read(scope, Place(known.source, known.generation, start), size) if size else b""

    return read_windows(known.length, read_at)


class _UploadedScan(FileScan):
    """A scan that was made on another machine."""

    def __init__(self, chunk: FileChunk, known: KnownSource | None, windows: Windows, name: str) -> None:
        self._data = chunk.data
        self._windows = windows
        about = Checkpoint(name, 0, chunk.size, "", chunk.inode, chunk.device, chunk.modified_ns)
        super().__init__(chunk.change, known, end=chunk.start + len(chunk.data), about=about)

    def _read(self) -> bytes:
        self._windows.add(self._data)
        return self._data

    def _find_fingerprint(self) -> str:
        return self._windows.fingerprint


def _fingerprint(known: KnownSource) -> str:
    return "" if known.checkpoint is None else known.checkpoint.fingerprint


def _text(data: bytes | None) -> str | None:
    return None if data is None else decode_name(data)


def _mismatch(found: str, expected: str) -> UploadError:
    return UploadError("mismatch", f"Got {found}, expected {expected}")


logger = logging.getLogger("turnlog.ingest")
_WORTH_SETTLING = 64 << 20
"""After so many new bytes the store may have something to put in order."""


class ReceivedUpload(Struct, frozen=True, gc=False):
    """What came from a machine."""

    origin: str
    body: bytes
    person: str | None = None
    """Whose token it came with; None for the server's own."""


class UploadAnswer(Struct, frozen=True, gc=False, omit_defaults=True):
    """The answer to an upload."""

    code: str = ""
    """Empty if it could be read; then each session has an answer of its own, in their order."""
    reason: str = ""
    sessions: tuple[SessionAnswer, ...] = ()
    size: int = 0
    """How many bytes of files were taken."""


class _UploadedSession(Struct, frozen=True):
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
        return sum(len(chunk.data) for chunk in self.upload.sources)


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
        self._scanned: list[tuple[_UploadedSession, SessionScan]] = []
        self._answers: dict[int, SessionAnswer] = {}
        """By the identity of what was asked, which lives as long as `take`."""

    def take(self, given: Sequence[ReceivedUpload]) -> list[UploadAnswer]:
        """Store uploads, each session completely or not at all, and return the answers when that is durable.

        Uploads of the same session are taken in their order. Raises `NewerStoreError`.
        """
        self._cache.drop(list_forgotten(self._store, self._scope))
        opened = [self._open(each) for each in given]
        forgotten = {person: self._list_forgotten(person) for person in {each.person for each in given}}
        uploaded = [
            []
            if isinstance(upload, UploadAnswer)
            else [_UploadedSession(one, upload.origin, forgotten[each.person]) for one in upload.sessions]
            for upload, each in zip(opened, given, strict=True)
        ]
        for each in (each for several in uploaded for each in several):
            self._scan_session(each)
        self._write()
        answers = [
            each if isinstance(each, UploadAnswer) else self._answer(several)
            for each, several in zip(opened, uploaded, strict=True)
        ]
        self._answers.clear()
        return answers

    def rest(self) -> None:
        """Maintain the store after much writing, and drop idle sessions from memory."""
        self._cache.drop_idle()
        if self._unsettled >= _WORTH_SETTLING:
            self._unsettled = 0
            self._store.maintain()

    def _open(self, given: ReceivedUpload) -> Upload | UploadAnswer:
        """Return an upload that can be read, and may come from who sent it."""
        try:
            upload = decode_upload(given.body, given.origin)
            self._machines.register(given.origin, given.person, upload.machine.host, upload.machine.user)
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

    def _scan_session(self, uploaded: _UploadedSession) -> None:
        key, forgotten = uploaded.key, uploaded.forgotten
        if any(key == other.key for other, _ in self._scanned):
            self._write()
        try:
            if key in forgotten or (
                not uploaded.upload.key and decode_name(uploaded.upload.session_id) in forgotten
            ):
                raise UploadError(Outcome.FORGOTTEN, "The session was forgotten here")
            self._scanned.append((uploaded, self._scan(uploaded)))
        except Exception as error:  # noqa: BLE001  whatever is wrong with one, the others are taken
            self._answers[id(uploaded)] = self._explain(error, uploaded)

    def _scan(self, uploaded: _UploadedSession) -> SessionScan:
        known = self._find_known(uploaded)
        return scan_upload(
            uploaded.upload,
            known,
            self._store.archive,
            self._cache.take(known),
            origin=uploaded.origin,
            owner=self._scope.owner,
            now_ns=time.time_ns(),
            # Of many that are new and whole, hardly any is being written to.
            is_last=known is None and not uploaded.upload.has_more,
        )

    def _write(self) -> None:
        """Write what was scanned, all at once or, where somebody was faster, one by one; and forget it."""
        scanned, self._scanned = self._scanned, []
        try:
            self._apply([scan for _, scan in scanned])
        except NewerStoreError:
            raise
        except (BusyStoreError, LostStoreError) as error:
            for uploaded, _ in scanned:
                self._answers[id(uploaded)] = self._explain(error, uploaded)
        except StoreError:
            for uploaded, _ in scanned:
                self._answers[id(uploaded)] = self._write_again(uploaded)
        else:
            for uploaded, _ in scanned:
                self._answers[id(uploaded)] = self._acknowledge(uploaded)

    def _write_again(self, uploaded: _UploadedSession) -> SessionAnswer:
        try:
            self._apply([self._scan(uploaded)])
        except (UploadError, StoreError) as error:
            return self._explain(error, uploaded)
        return self._acknowledge(uploaded)

    def _apply(self, scans: list[SessionScan]) -> None:
        batches = [scan.batch for scan in scans if scan.batch is not None]
        if batches:
            self._store.apply(mark_copies(self._store, batches))
            if self._flush is not None:
                self._flush()
        for scan in scans:
            self._cache.put(scan.cached)

    def _acknowledge(self, uploaded: _UploadedSession) -> SessionAnswer:
        self._unsettled += uploaded.size
        return SessionAnswer(outcome=Outcome.TAKEN, session=self._describe_stored(uploaded))

    def _find_known(self, uploaded: _UploadedSession) -> KnownSession | None:
        """Return what there is of a session; for a machine there is nothing that comes from another one."""
        known = find_known(self._store, self._scope, uploaded.key)
        return known if known is not None and known.origin == uploaded.origin else None

    def _describe_stored(self, uploaded: _UploadedSession) -> ServerSession | None:
        known = self._find_known(uploaded)
        return None if known is None else to_server_session(known)

    def _explain(self, error: Exception, uploaded: _UploadedSession) -> SessionAnswer:
        match error:
            case NewerStoreError():
                raise error
            case UploadError(code=Outcome.MISMATCH):
                return SessionAnswer(
                    outcome=Outcome.MISMATCH, session=self._describe_stored(uploaded), reason=error.reason
                )
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

    def _answer(self, several: Sequence[_UploadedSession]) -> UploadAnswer:
        answers = [self._answers[id(uploaded)] for uploaded in several]
        taken = zip(several, answers, strict=True)
        size = sum(uploaded.size for uploaded, answer in taken if answer.outcome is Outcome.TAKEN)
        return UploadAnswer(sessions=tuple(answers), size=size)
