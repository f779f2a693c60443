"""From what a machine pushed to the same batch that a sync of its files would give.

A stretch is a visit to a file that somebody else made: what it says of the file is held against what is known,
the bytes before it come from the archive, and so does the fingerprint that the next one is held against. What
does not follow on what is known is refused, and the machine looks again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from turnlog.errors import UploadError
from turnlog.ingest.contents import ROOM
from turnlog.ingest.hot import HotSession
from turnlog.ingest.kinds import Match
from turnlog.ingest.looking import Looker
from turnlog.ingest.looks import Look, conclude, is_outdated
from turnlog.ingest.uploads.protocol import SessionUpload, Stretch, name_text
from turnlog.ingest.visits import Visit
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import Archive, KnownSession, KnownSource
from turnlog.store.model import Place, Scope, name_source
from turnlog.transcripts.files.fingerprints import Change, Checkpoint, Windows, read_windows

_ANEW = frozenset({Change.TRUNCATED, Change.REWRITTEN, Change.REPLACED})
_SAID = frozenset({Change.NEW, Change.UNCHANGED, Change.APPENDED}) | _ANEW
_LARGEST_NUMBER = (1 << 63) - 1
_LONGEST = 8 << 10
"""How many bytes the name of anything has at most."""


def find_key(upload: SessionUpload, origin: str) -> str:
    """Return the session that an upload of a machine is about."""
    return upload.key or name_source(origin, name_text(upload.transcript))


def look_at_upload(
    upload: SessionUpload,
    known: KnownSession | None,
    archive: Archive,
    hot: HotSession | None = None,
    *,
    origin: str,
    owner: str,
    now_ns: int,
    is_last: bool = False,
    room: int = ROOM,
) -> Look:
    """Return what is new of a session by an upload, on top of what is `known` of it.

    It is as if the files of the machine were looked at here. Raises `UploadError` with the code `mismatch` for
    an upload that does not follow on what is known, `damaged` for one that makes no sense.
    """
    _check_session(upload, known, origin)
    scope = Scope(owner)
    outdated = known is None or is_outdated(known)
    hot = None if outdated else hot
    asked = Looker(archive, scope, origin, None, room, retold=outdated, is_last=is_last, hot=hot)
    sources = {source.source: source for source in known.sources} if known is not None else {}
    given = [_open(stretch, sources, origin, archive, scope) for stretch in upload.sources]
    _check_gone(upload, sources)
    seen = asked.take_given(given, frozenset(upload.gone), known)
    begun = SessionBatch(
        key=find_key(upload, origin),
        owner=owner,
        origin=origin,
        session_id=name_text(upload.session_id),
        project_folder=name_text(upload.project_folder),
        seen_ns=now_ns,
        sources=(),
    )
    return conclude(asked, seen, known, begun, hot)


def _check_session(upload: SessionUpload, known: KnownSession | None, origin: str) -> None:
    if known is not None and known.origin != origin:
        raise UploadError("damaged", "The session comes from another machine")
    revision = 0 if known is None else known.revision
    if upload.revision != revision or (upload.key and known is None):
        raise _mismatch(f"revision {upload.revision} of the session", f"revision {revision}")
    texts = (upload.transcript, upload.session_id, upload.project_folder)
    has_place = bool(upload.key) or os.path.isabs(name_text(upload.transcript))
    if max(map(len, texts)) > _LONGEST or not has_place:
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
) -> tuple[Match, Visit]:
    path = name_text(stretch.path)
    known = _find_known(stretch, path, sources, origin)
    _check_stretch(stretch, path, known)
    name = name_source(origin, path) if known is None else known.source
    windows = Windows()
    if known is not None and stretch.change in (Change.APPENDED, Change.UNCHANGED):
        windows = _read_windows(known, archive, scope)
    match = Match(path, stretch.kind, _text(stretch.agent_id), _text(stretch.run_id), known)
    return match, _GivenVisit(stretch, known, windows, name)


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
    is_sound = os.path.isabs(path) and "\0" not in path and longest <= _LONGEST
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


class _GivenVisit(Visit):
    """A visit that was made on another machine."""

    def __init__(self, stretch: Stretch, known: KnownSource | None, windows: Windows, name: str) -> None:
        super().__init__(stretch.change, known)
        self.generation = stretch.generation
        self.start = self.length = stretch.start
        self._stretch = stretch
        self._windows = windows
        self._name = name
        self.checkpoint = self._take_checkpoint()

    @property
    def has_more(self) -> bool:
        return self.length < self.start + len(self._stretch.data)

    @property
    def size(self) -> int:
        return len(self._stretch.data)

    def __iter__(self) -> Iterator[bytes]:
        if self.has_more:
            self._windows.add(self._stretch.data)
            self.length += len(self._stretch.data)
            self.checkpoint = self._take_checkpoint()
            yield self._stretch.data

    def _take_checkpoint(self) -> Checkpoint:
        return Checkpoint(
            source=self._name,
            offset=self.length,
            size=self._stretch.size,
            fingerprint=self._windows.fingerprint,
            inode=self._stretch.inode,
            device=self._stretch.device,
            modified_ns=self._stretch.modified_ns,
            generation=self.generation,
        )


def _fingerprint(known: KnownSource) -> str:
    return "" if known.checkpoint is None else known.checkpoint.fingerprint


def _text(data: bytes | None) -> str | None:
    return None if data is None else name_text(data)


def _mismatch(found: str, expected: str) -> UploadError:
    return UploadError("mismatch", f"Got {found}, expected {expected}")
