"""Capturing what a program and its host say to each other, line by line, and archiving it at the end.

Each session has a file of its own; what names no session belongs to the one that was last named. Lines wait
until it is known where a session's file belongs: the first message says in which directory the program works.
When `feed` returns, all lines that do not wait are on the disk. While another process keeps the archive up to
date, archiving is left to that one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import msgspec
from msgspec import Struct

from turnlog.errors import BusyStoreError
from turnlog.ingest.captured_files import append_lines, identify, is_file_name
from turnlog.ingest.change_check import SyncReport
from turnlog.ingest.lease import hold_lease
from turnlog.ingest.machine import Exclusion, find_origin, list_forgotten
from turnlog.ingest.pipeline import sync
from turnlog.ingest.session_scan import SessionCache
from turnlog.store.interface import KnownSession, MaintainedStore, find_known, find_sessions
from turnlog.store.model import LOCAL, StorePlace, home_of
from turnlog.store.opening import open_store
from turnlog.transcripts.session_files import (
    CaptureKind,
    SessionFiles,
    locate_path,
    name_capture,
    project_folder_name,
)

_PROJECTS = "projects"
_UNCLAIMED = "unclaimed"
_MOST_WAITING = 1000
_HAS_ID = b'"uuid"'


class _LineHeader(Struct, gc=False):
    """What a line says about where it belongs."""

    session_id: str | None = None
    sessionId: str | None = None  # noqa: N815  as session files spell it
    type: str | None = None
    subtype: str | None = None
    cwd: str | None = None


_decode = msgspec.json.Decoder(_LineHeader).decode


class Captured(Struct, kw_only=True):
    """What was captured of one session so far."""

    session_id: str | None
    """None for lines that no session was named for."""
    path: Path | None = None
    """Where it is kept; None while its lines wait."""
    lines: int = 0
    """How many were kept."""
    known: int = 0
    """How many were kept before, and are left out."""
    broken: int = 0
    """How many of those kept are no JSON objects."""


def find_stream_file(captured_dir: Path, session_id: str) -> Path | None:
    """Return where the stream of a session is kept already."""
    found = sorted((captured_dir / _PROJECTS).glob(f"*/{_escape(session_id)}.{CaptureKind.STREAM}.jsonl"))
    return found[0] if found else None


class StreamCapture:
    """Keeps the lines of one stream."""

    def __init__(self, captured_dir: Path, *, folder: str, is_file: bool = False) -> None:
        """Take where sessions go that never say where they work: a project's `folder`.

        Of a stream that `is_file`, lines that were kept before are left out, of any other those with an id.
        """
        self._captured_dir = captured_dir
        self._folder = folder
        self._is_file = is_file
        self._sessions: dict[str, _Session] = {}
        self._current: _Session | None = None
        self._unclaimed: list[tuple[bytes, _LineHeader | None]] = []

    @property
    def captured(self) -> list[Captured]:
        """What was kept, in the order in which sessions were named."""
        return [session.captured for session in self._sessions.values()]

    def feed(self, lines: Iterable[bytes]) -> None:
        """Take the next lines, with or without their newlines; raises `OSError`."""
        for line in lines:
            if not line.strip():
                continue
            head = _read_header(line)
            session = self._choose(head)
            if session is None:
                self._unclaimed.append((line, head))
                continue
            for earlier in (*self._unclaimed, (line, head)):
                session.add(*earlier)
            self._unclaimed.clear()
        for session in self._sessions.values():
            session.flush()

    def finish(self) -> list[Captured]:
        """Keep what still waits, and return all that was kept; raises `OSError`."""
        for session in self._sessions.values():
            session.flush(last=True)
        if not self._unclaimed:
            return self.captured
        path = self._captured_dir / _UNCLAIMED / f"{time.strftime('%Y%m%dT%H%M%S')}-{uuid4().hex[:8]}.jsonl"
        append_lines(path, [_with_newline(line) for line, _ in self._unclaimed])
        broken = sum(head is None for _, head in self._unclaimed)
        return [
            *self.captured,
            Captured(session_id=None, path=path, lines=len(self._unclaimed), broken=broken),
        ]

    def _choose(self, head: _LineHeader | None) -> _Session | None:
        """Return the session that a line belongs to: the one that it names, else the last."""
        name = None if head is None else head.session_id or head.sessionId
        if name and is_file_name(name):
            if name not in self._sessions:
                self._sessions[name] = _Session(self._captured_dir, name, self._folder, self._is_file)
            self._current = self._sessions[name]
        return self._current


class _Session:
    def __init__(self, captured_dir: Path, session_id: str, folder: str, is_file: bool) -> None:
        self._projects = captured_dir / _PROJECTS
        self._folder = folder
        self._is_file = is_file
        self._waiting: list[bytes] = []
        self._before: Counter[bytes] = Counter()
        """Lines that were kept before this stream came."""
        self.captured = Captured(session_id=session_id, path=find_stream_file(captured_dir, session_id))
        if self.captured.path is not None:
            self._before.update(self.captured.path.read_bytes().split(b"\n"))

    def add(self, line: bytes, head: _LineHeader | None) -> None:
        bare = line.rstrip(b"\r\n")
        if self._before[bare] > 0 and (self._is_file or _HAS_ID in bare):
            self._before[bare] -= 1
            self.captured.known += 1
            return
        self._waiting.append(_with_newline(line))
        self.captured.broken += head is None
        if self.captured.path is None and head is not None and head.subtype == "init" and head.cwd:
            self._set_path(project_folder_name(head.cwd))

    def flush(self, last: bool = False) -> None:
        if self.captured.path is None and self._waiting and (last or len(self._waiting) > _MOST_WAITING):
            self._set_path(self._folder)
        if self.captured.path is not None and self._waiting:
            append_lines(self.captured.path, self._waiting)
            self.captured.lines += len(self._waiting)
            self._waiting.clear()

    def _set_path(self, folder: str) -> None:
        assert self.captured.session_id is not None
        self.captured.path = name_capture(self._projects / folder, self.captured.session_id, CaptureKind.STREAM)


def _read_header(line: bytes) -> _LineHeader | None:
    """Return what a line says; None for what is no object. One that says it wrongly says nothing."""
    try:
        return _decode(line)
    except msgspec.ValidationError:
        return _LineHeader() if line.lstrip().startswith(b"{") else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _with_newline(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n"


def _escape(name: str) -> str:
    return "".join(f"[{each}]" if each in "*?[" else each for each in name)


def archive_paths(
    place: StorePlace,
    paths: Iterable[Path],
    *,
    exclude: tuple[str, ...] = (),
    cache: SessionCache | None = None,
    wait_seconds: float = 0.0,
) -> SyncReport | None:
    """Archive what is new of the sessions at some paths; None if another process is about to do that.

    Raises `StoreError` and `OSError`.
    """
    exclusion = Exclusion(exclude)
    located = [files for path in paths if path.exists() for files in locate_path(path).sessions]
    sessions = [files for files in located if not exclusion.excludes(files)]
    if not sessions:
        return SyncReport()
    try:
        with (
            closing(open_store(place)) as store,
            hold_lease(place, lambda: None, wait_seconds=wait_seconds),
        ):
            origin = find_origin(home_of(place))
            return sync(
                store,
                place,
                sessions,
                origin=origin,
                known=_find_known(store, origin, sessions),
                forgotten=list_forgotten(store),
                cache=cache,
            )
    except BusyStoreError:
        return None


def _find_known(store: MaintainedStore, origin: str, sessions: Iterable[SessionFiles]) -> list[KnownSession]:
    """Return what is known of some sessions; all that is known, where one of them is new."""
    found: dict[str, KnownSession] = {}
    for files in sessions:
        keys = [each.key for each in find_sessions(store, LOCAL, files.session_id)]
        known = [session for key in keys if (session := find_known(store, LOCAL, key)) is not None]
        wanted = identify(files.session_id, files.project_folder)
        if not any(identify(each.session_id, each.project_folder) == wanted for each in known):
            return list(store.list_known(LOCAL, origin))
        found |= {session.key: session for session in known}
    return list(found.values())
