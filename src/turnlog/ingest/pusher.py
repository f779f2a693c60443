"""Bringing a server up to date with the sessions of this machine: newest first, a stretch at a time.

Files are compared by the rules of any sync. Of what is new no more than a stretch is read; the rest is for the
next upload, which is compared anew. So a file that changes between two of them is noticed as always, and
between two stretches whatever is newer goes first.

What the server has is kept in memory, as the server reported it, and each answer brings it up to date. If it
was not so after all, the server says that a stretch does not follow; then it is asked what it has, and the
files are compared anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import PushError
from turnlog.ingest import upload_protocol as protocol
from turnlog.ingest.change_check import Match, find_transcript, key_of, list_kinds, match_known
from turnlog.ingest.file_scan import FileScan, scan_file
from turnlog.ingest.machine import Exclusion
from turnlog.ingest.push_client import PushClient, SessionResult
from turnlog.ingest.sync_plan import KnownSessions, Task, build_plan
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.model import LOCAL, Scope, name_source
from turnlog.transcripts.session_files import Change, Obstacle, ObstacleKind, SessionFiles, locate_sessions

ScanFile = Callable[[Match, str, int], FileScan]
"""Compares a file, by the name of its source, with what is known of it, to read so many bytes at once."""

_MOST_FILES = 500
"""How many files are in one upload at most."""


class SessionIdentity(Struct, frozen=True):
    """Which session it is."""

    transcript: str
    session_id: str
    project_folder: str


class SessionChanges(Struct, frozen=True):
    """What is new of a session."""

    upload: protocol.SessionUpload | None
    """None if nothing is."""
    size: int = 0
    """How many bytes of files are in it."""
    obstacles: tuple[Obstacle, ...] = ()


def scan_in_place(match: Match, source: str, limit: int) -> FileScan:
    """Visit a file where it is."""
    return scan_file(match.path, source, match.known, chunk=limit)


def identify_session(files: SessionFiles) -> SessionIdentity:
    """Return which session some files are of."""
    return SessionIdentity(find_transcript(files), files.session_id, files.project_folder)


def collect_changes(
    identity: SessionIdentity,
    matches: Sequence[Match],
    missing: Sequence[KnownSource],
    known: KnownSession | None,
    *,
    origin: str,
    limit: int = protocol.CHUNK,
    reports_deletions: bool = True,
    scan_one: ScanFile = scan_in_place,
) -> SessionChanges:
    """Return what is new of a session, up to about `limit` bytes.

    `matches` are its files, and `missing` are sources that none of them is (`match_known`). Those are told of
    as gone with the last part, unless that is left to a later look.
    """
    collector = _ChangeCollector(origin, limit, scan_one)
    has_more = not collector.take(matches)
    gone = [*collector.gone, *(source.source for source in missing if source.present)]
    gone = gone if reports_deletions and not has_more else []
    if not collector.chunks and not gone:
        return SessionChanges(None, 0, tuple(collector.obstacles))
    upload = protocol.SessionUpload(
        revision=0 if known is None else known.revision,
        key="" if known is None else known.key,
        transcript=protocol.encode_name(identity.transcript),
        session_id=protocol.encode_name(identity.session_id),
        project_folder=protocol.encode_name(identity.project_folder),
        sources=tuple(collector.chunks),
        gone=tuple(gone),
        has_more=has_more,
    )
    return SessionChanges(upload, collector.size, tuple(collector.obstacles))


def build_deletion(known: KnownSession) -> protocol.SessionUpload:
    """Return that all files of a session are gone."""
    home = next((source.path for source in known.sources if source.source == known.key), "")
    return protocol.SessionUpload(
        revision=known.revision,
        key=known.key,
        transcript=protocol.encode_name(home),
        session_id=protocol.encode_name(known.session_id),
        project_folder=protocol.encode_name(known.project_folder),
        gone=tuple(source.source for source in known.sources if source.present),
    )


class _ChangeCollector:
    def __init__(self, origin: str, limit: int, scan_one: ScanFile) -> None:
        self._origin = origin
        self._limit = limit
        self._scan_one = scan_one
        self.chunks: list[protocol.FileChunk] = []
        self.gone: list[str] = []
        self.obstacles: list[Obstacle] = []
        self.size = 0

    def take(self, matches: Sequence[Match]) -> bool:
        """Visit files until there is enough; tell whether all that is new was read."""
        for match in matches:
            if self.size >= self._limit or len(self.chunks) >= _MOST_FILES:
                return False
            if not self._visit(match):
                return False
        return True

    def _visit(self, match: Match) -> bool:
        known, name = match.known, name_source(self._origin, match.path)
        limit = self._limit - self.size
        found = self._scan_one(match, name if known is None else known.source, limit)
        if known is not None and match.moved and found.generation != known.generation:
            found.close()
            if known.present:
                self.gone.append(known.source)  # another file has its inode by now
            known = None
            found = self._scan_one(_forget(match), name, limit)
        with closing(found):
            return self._read(match, known, found)

    def _read(self, match: Match, known: KnownSource | None, found: FileScan) -> bool:
        """Take a stretch of one file; tell whether that is all that is new of it."""
        if found.change is Change.VANISHED:
            if known is not None and known.present:
                self.gone.append(known.source)
            return True
        if found.change is Change.UNREADABLE:
            self.obstacles.append(Obstacle(Path(match.path), ObstacleKind.UNREADABLE, found.reason))
            return True
        if found.change is Change.UNCHANGED and known is not None and _is_same(match, known):
            return True
        status, start, is_whole = found.checkpoint, found.start, True
        data = b""
        if found.change is not Change.UNCHANGED:
            data = next(iter(found), b"")
            is_whole = not found.has_more or not data
        assert status is not None
        if found.reason:
            self.obstacles.append(Obstacle(Path(match.path), ObstacleKind.UNREADABLE, found.reason))
        self.size += len(data)
        self.chunks.append(
            protocol.FileChunk(
                path=protocol.encode_name(match.path),
                kind=match.kind,
                change=found.change,
                generation=found.generation,
                start=start,
                data=data,
                digest=protocol.digest_of(data),
                size=status.size,
                modified_ns=status.modified_ns,
                inode=status.inode,
                device=status.device,
                source="" if known is None else known.source,
                follows=_find_fingerprint(known, found),
                agent_id=None if match.agent_id is None else protocol.encode_name(match.agent_id),
                run_id=None if match.run_id is None else protocol.encode_name(match.run_id),
            )
        )
        return is_whole


def _is_same(match: Match, known: KnownSource) -> bool:
    return known.present and known.path == match.path and known.kind is match.kind


def _forget(match: Match) -> Match:
    return Match(match.path, match.kind, match.agent_id, match.run_id, None)


def _find_fingerprint(known: KnownSource | None, found: FileScan) -> str:
    if known is None or known.checkpoint is None or found.generation != known.generation:
        return ""
    return known.checkpoint.fingerprint


OnTrouble = Callable[[str, str], None]
"""Takes a path, and why it is not pushed."""

_ATTEMPTS = 5
"""How often a session is compared anew before it is left for later."""
_SECONDS = 10.0
"""How long a stretch may take on a slow line; servers wait no longer than half a minute for one."""
_SMALLEST = 64 << 10
_TOGETHER = 64
"""How many sessions are in an upload."""


class PushCounts(Struct):
    """What was done since the start."""

    uploads: int = 0
    bytes: int = 0
    """Of files."""
    deliveries: int = 0
    gone: int = 0
    refused: int = 0
    """Sessions that the server did not take."""


MatchFiles = Callable[[KnownSession | None], tuple[list[Match], list[KnownSource]]]
"""Takes what is known of a session, and returns its files and the sources that none of them is."""


class _PendingSession(Struct, frozen=True):
    """A session of which something may be new."""

    identity: SessionIdentity
    key: str
    match: MatchFiles
    scan_one: ScanFile
    time: float
    """When it was last written to."""
    reports_deletions: bool
    size: int = 0
    attempts: int = 0


class _UploadPart(Struct, frozen=True):
    """A session's part of an upload."""

    name: str
    """Of what is to be done; empty for a session that is gone."""
    key: str
    upload: protocol.SessionUpload
    size: int


class _ServerSessions:
    """What a server has, as a store tells it."""

    def __init__(self) -> None:
        self.sessions: dict[str, KnownSession] = {}

    def list_known(
        self, scope: Scope, origin: str | None = None, *, key: str | None = None
    ) -> Iterator[KnownSession]:
        found = self.sessions.values() if key is None else filter(None, [self.sessions.get(key)])
        return iter(list(found))


class Pusher:
    """Pushes sessions of some config dirs to one server."""

    def __init__(
        self,
        client: PushClient,
        config_dirs: Iterable[Path],
        *,
        origin: str,
        machine: protocol.Machine,
        exclusion: Exclusion,
        forgotten: Callable[[], Collection[str]] = tuple,
        on_trouble: OnTrouble = lambda path, reason: None,
    ) -> None:
        self.client = client
        self.counts = PushCounts()
        self.origin = origin
        self.machine = machine
        self._config_dirs = tuple(config_dirs)
        self._exclusion = exclusion
        self._forgotten = forgotten
        self._forgotten_there: set[str] = set()
        self._on_trouble = on_trouble
        self._state = _ServerSessions()
        self.known = KnownSessions(self._state, LOCAL, origin)
        self._todo: dict[str, _PendingSession] = {}
        self._gone: list[KnownSession] = []
        self._missed: set[str] = set()
        """Sessions that were gone at the last look, and may come again."""
        self._limit = protocol.CHUNK

    @property
    def sessions(self) -> Mapping[str, KnownSession]:
        """What the server has, by key."""
        return self._state.sessions

    @property
    def waiting(self) -> int:
        """How many sessions are to be pushed."""
        return len(self._todo) + len(self._gone)

    @property
    def waiting_bytes(self) -> int:
        """How many bytes those have, about."""
        return sum(todo.size for todo in self._todo.values())

    def connect(self) -> None:
        """Ask the server what it has; raises `PushError`."""
        found = self.client.fetch_state()
        self._state.sessions = {session.key: session for session in found.sessions}
        self._forgotten_there = set(found.forgotten)
        self.known.load()

    def locate(self) -> list[SessionFiles]:
        """Return all sessions that there are and that may be pushed."""
        there = [path for path in self._config_dirs if path.is_dir()]
        return self._filter_excluded(locate_sessions(there).sessions)

    def plan_all(self, *, at_once: bool = False) -> bool:
        """Note all that is new or gone; tell whether something was missed for the first time.

        Nothing counts as gone in the moment it is missed, unless it must be told `at_once`: files are moved and
        replaced in two steps.
        """
        there = [path for path in self._config_dirs if path.is_dir()]
        plan = build_plan(
            self.locate(), self._state.sessions.values(), self.origin, there, self._list_forgotten()
        )
        self._todo = {}
        for task in plan.tasks:
            self._add(task, reports_deletions=at_once or self._was_missed(task))
        missed = {session.key for session in plan.gone}
        missed |= {task.known.key for task in plan.tasks if task.known is not None and _misses(task.known)}
        self._gone = [each for each in plan.gone if at_once or each.key in self._missed]
        is_first = not at_once and not missed <= self._missed
        self._missed = missed
        return is_first

    def plan_some(self, targets: Mapping[Path, Iterable[SessionFiles]]) -> bool:
        """Note what is new of the targets of changes; tell whether a look at everything may find it gone."""
        admitted = self._filter_excluded(files for sessions in targets.values() for files in sessions)
        known = {each.key: each for files in admitted for each in self.known.find(files)}
        present = {each.key: each for target in targets for each in self.known.find_present(target)}
        plan = build_plan(admitted, known.values(), self.origin, (), self._list_forgotten())
        for task in plan.tasks:
            self._add(task, reports_deletions=False)
        return any(map(_misses, {**known, **present}.values()))

    def add(
        self, name: str, identity: SessionIdentity, key: str, match: MatchFiles, scan_one: ScanFile, size: int
    ) -> None:
        """Note a session some of whose bytes are not where its files were, under a name of its own."""
        self._todo[name] = _PendingSession(identity, key, match, scan_one, 0.0, False, size)

    def is_refused(self, known: KnownSession) -> bool:
        """Tell whether a session was forgotten, here or there."""
        return not self._list_forgotten().isdisjoint((known.key, known.session_id))

    def push_next(self) -> bool:
        """Push about a stretch of the newest sessions; tell whether there is more. Raises `PushError`.

        Only problems with the server or the connection are raised: those with one session are reported, and the
        others continue.
        """
        part = self._pack()
        if part:
            upload = protocol.Upload(
                protocol=protocol.PROTOCOL,
                origin=self.origin,
                machine=self.machine,
                sessions=tuple(each.upload for each in part),
            )
            try:
                results = self.client.send(upload)
            except PushError as error:
                self._shrink(error, part)
                return True
            self.counts.uploads += 1
            self._limit = min(2 * self._limit, protocol.CHUNK)
            for each, result in zip(part, results, strict=True):
                self._apply_result(each, result)
        return self.waiting > 0

    def _pack(self) -> list[_UploadPart]:
        """Return what is new of the newest sessions, as much as goes at once; drop those that have nothing."""
        limit, part = self.client.rate_limit.find_limit(self._limit, _SECONDS), list[_UploadPart]()
        for name, todo in sorted(self._todo.items(), key=lambda each: -each[1].time):
            is_full = bool(part) and limit < _SMALLEST
            if is_full or len(part) >= _TOGETHER or any(each.key == todo.key for each in part):
                break
            changes = self._collect(todo, limit)
            if changes.upload is None:
                del self._todo[name]
            else:
                part.append(_UploadPart(name, todo.key, changes.upload, changes.size))
                limit -= changes.size
        for known in [] if self._todo else self._gone[:_TOGETHER]:
            current = self._state.sessions.get(known.key)
            upload = None if current is None else build_deletion(current)
            if upload is not None and upload.gone:
                part.append(_UploadPart("", known.key, upload, 0))
            else:
                self._drop_gone(known.key)
        return part

    def _collect(self, todo: _PendingSession, limit: int) -> SessionChanges:
        known = self._state.sessions.get(todo.key)
        changes = collect_changes(
            todo.identity,
            *todo.match(known),
            known,
            origin=self.origin,
            limit=limit,
            reports_deletions=todo.reports_deletions,
            scan_one=todo.scan_one,
        )
        for obstacle in changes.obstacles:
            self._on_trouble(os.fspath(obstacle.path), obstacle.reason)
        return changes

    def _shrink(self, error: PushError, part: list[_UploadPart]) -> None:
        """Make the best of an upload that the server did not take as a whole; raises what cannot be helped."""
        if error.status in (408, 413) and self._limit > _SMALLEST:
            self._limit = max(self._limit // 2, _SMALLEST)
            return
        if error.status not in (413, 422):
            raise error
        for each in part:
            self._refuse(each, str(error))

    def _apply_result(self, part: _UploadPart, result: SessionResult) -> None:
        """Apply the server's result for a session."""
        known = None if result.session is None else protocol.from_server_session(result.session, self.origin)
        todo = self._todo.get(part.name)
        match result.outcome:
            case "taken":
                self._note(part.key, known)
                self.counts.bytes += part.size
                if todo is None:
                    self._drop_gone(part.key)
                    self.counts.gone += 1
                elif part.upload.has_more:
                    self._todo[part.name] = replace(todo, size=max(todo.size - part.size, 0), attempts=0)
                else:
                    del self._todo[part.name]
            case "mismatch" if todo is not None and todo.attempts < _ATTEMPTS:
                self._note(part.key, known)
                self._todo[part.name] = replace(todo, attempts=todo.attempts + 1)
            case "forgotten":
                self._forgotten_there.add(part.key)
                self._todo.pop(part.name, None)
                self._drop_gone(part.key)
            case "busy":
                raise PushError(f"{self.client.name}: {result.reason}", status=503, code="busy")
            case _:
                self._refuse(part, f"{self.client.name}: {result.reason or result.outcome}")

    def _refuse(self, part: _UploadPart, reason: str) -> None:
        """Leave a session alone until all are looked at again."""
        todo = self._todo.pop(part.name, None)
        self._drop_gone(part.key)
        if todo is not None:
            self.counts.refused += 1
            self._on_trouble(todo.identity.transcript, reason)

    def _drop_gone(self, key: str) -> None:
        self._gone = [each for each in self._gone if each.key != key]

    def _note(self, key: str, known: KnownSession | None) -> None:
        if known is None:
            self._state.sessions.pop(key, None)
        else:
            self._state.sessions[key] = known
        self.known.refresh([key])

    def _add(self, task: Task, *, reports_deletions: bool) -> None:
        if task.files is None:
            return
        files, identity = task.files, identify_session(task.files)
        key = key_of(files, self.origin) if task.known is None else task.known.key
        self._todo[identity.transcript] = _PendingSession(
            identity,
            key,
            lambda known: match_known(files, known),
            scan_in_place,
            _find_time(files),
            reports_deletions,
            task.size,
        )

    def _was_missed(self, task: Task) -> bool:
        return task.known is not None and task.known.key in self._missed

    def _filter_excluded(self, sessions: Iterable[SessionFiles]) -> list[SessionFiles]:
        return [files for files in sessions if not self._exclusion.excludes(files)]

    def _list_forgotten(self) -> frozenset[str]:
        return frozenset(self._forgotten()) | self._forgotten_there


def _misses(known: KnownSession) -> bool:
    """Tell whether a file of a session is no longer where it was."""
    return not all(os.path.lexists(source.path) for source in known.sources if source.present)


def _find_time(files: SessionFiles) -> float:
    """Return when a session was last written to; 0 if that cannot be told."""
    times = [0.0]
    for path, *_ in list_kinds(files):
        try:
            times.append(os.stat(path).st_mtime)
        except OSError:
            continue
    return max(times)
