"""The collector: pushes all there is, and then what is written, for as long as somebody wants it.

A server that cannot be reached is tried again, ever less often and never by all machines at once; meanwhile
changes are noted, and what Claude Code might delete is held. When it is there again, it is asked what it has:
it may be another one, or an older state. How the collector is doing stands in a small file, for `turnlog push
--status`.

Where there is an archive, hook deliveries are taken into it first, as any sync does, and its feed says what is
new. The server is offered their names, and gets those that it does not have. Without an archive they are pushed
out of the spool, and stay there until the server has them. What happened in excluded projects is never sent.

Claude Code deletes files after a while, pushed or not. While the server cannot be reached, each file that is
not pushed gets a hard link in turnlog's own directory (`HeldFiles`). That takes no space until the original is
deleted, and follows what is appended. Where links are impossible, as on another file system, files are copied,
up to a limit, those first that are deleted first. What only this machine's archive has is pushed from there.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from enum import StrEnum
from hashlib import blake2b
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnlog.atomic_files import write_file
from turnlog.errors import BusyStoreError, PushError, StoreError
from turnlog.ingest.change_check import Match, key_of, list_kinds, match_known
from turnlog.ingest.file_scan import FileScan, scan_file
from turnlog.ingest.machine import Exclusion, find_host, find_user, list_forgotten
from turnlog.ingest.push_client import Backoff, PushClient
from turnlog.ingest.pusher import OnTrouble, PushCounts, Pusher, SessionIdentity, identify_session
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.ingest.spool_import import import_spool
from turnlog.ingest.upload_protocol import CHUNK, PROTOCOL, HookUpload, Machine, UploadedDelivery
from turnlog.ingest.watchers import Watcher, find_target, locate_target
from turnlog.store.interface import Archive, ChangeKind, KnownSession, KnownSource, MaintainedStore, Store
from turnlog.store.model import LOCAL, Place
from turnlog.store.opening import open_store
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery, find_text
from turnlog.transcripts.session_files import Change, SessionFiles, compare, is_untouched, locate_sessions

HELD = "push-held"
"""What the folder is called in turnlog's own."""
_MOST_COPIED = 1 << 30


class HeldFiles:
    """Hard links to files, in a folder that mirrors the whole file system."""

    def __init__(
        self,
        folder: Path,
        config_dirs: Iterable[Path],
        store: Store | None = None,
        most_copied: int = _MOST_COPIED,
    ) -> None:
        """Take where to hold what, and the archive of this machine, if there is one."""
        self._folder = folder
        self._archived = None if store is None else _ArchivedSessions(store)
        self._config_dirs = tuple(Path(os.path.abspath(path)) for path in config_dirs)
        self._most_copied = most_copied

    def hold(self, pusher: Pusher) -> int:
        """Hold what is not pushed yet, and return how many bytes were copied for it."""
        known = {source.path: source for each in pusher.sessions.values() for source in each.sources}
        copied = 0
        for status, path in sorted(_list_files(pusher.locate()), key=lambda each: each[0].st_mtime_ns):
            source = known.get(path)
            last = None if source is None else source.checkpoint
            if last is None or not is_untouched(last, status):
                copied += self._hold(path, status, self._most_copied - copied)
        return copied

    def plan(self, pusher: Pusher) -> None:
        """Plan to push held or archived data of deleted files, and delete what is not needed any more."""
        if self._folder.is_dir():
            self._plan_held(pusher)
        if self._archived is not None:
            self._archived.plan(pusher)

    def _plan_held(self, pusher: Pusher) -> None:
        sessions = [known for known in pusher.sessions.values() if known.origin == pusher.origin]
        sources = {source.path: (known.key, source) for known in sessions for source in known.sources}
        mirrors = [mirror for path in self._config_dirs if (mirror := self._find(path)).is_dir()]
        for held in locate_sessions(mirrors).sessions:
            files = self._select_unpushed(held, sources)
            if files is not None:
                self._add(pusher, files, sources)
        self._remove_empty_folders()

    def _add(self, pusher: Pusher, files: SessionFiles, sources: dict[str, tuple[str, KnownSource]]) -> None:
        paths = [os.path.abspath(path) for path, *_ in list_kinds(files)]
        keys = [sources[path][0] for path in paths if path in sources]
        key = keys[0] if keys else key_of(files, pusher.origin)
        size = sum(self._find(Path(path)).stat().st_size for path in paths)

        def match(known: KnownSession | None) -> tuple[list[Match], list[KnownSource]]:
            return match_known(files, known)[0], []

        pusher.add(f"held:{paths[0]}", identify_session(files), key, match, self._visit, size)

    def _visit(self, match: Match, source: str, limit: int) -> FileScan:
        """Visit what is held of a file; if the server has all of it, the file is just gone."""
        # It may be a copy, with another inode: its bytes tell what it is.
        known = None if match.known is None else replace(match.known, present=False)
        found = scan_file(self._find(Path(match.path)), source, known, chunk=limit)
        if found.change is not Change.UNCHANGED:
            return found
        found.close()
        return FileScan(Change.VANISHED, match.known)

    def _select_unpushed(
        self, held: SessionFiles, sources: dict[str, tuple[str, KnownSource]]
    ) -> SessionFiles | None:
        """Return the files of a session that are gone and not pushed, as they were called; release others."""
        kept: set[Path] = set()
        for mirror, *_ in list_kinds(held):
            path = self._name(mirror)
            _, source = sources.get(os.fspath(path), ("", None))
            if not os.path.lexists(path) and not self._is_pushed(mirror, source):
                kept.add(mirror)
            else:
                with suppress(OSError):
                    mirror.unlink()
        found = _rebase(held, kept, self._name)
        return found if kept and isinstance(found, SessionFiles) else None

    def _is_pushed(self, mirror: Path, source: KnownSource | None) -> bool:
        if source is None:
            return False
        found = scan_file(mirror, source.source, replace(source, present=False))
        found.close()
        return found.change in (Change.UNCHANGED, Change.VANISHED)

    def _hold(self, path: str, status: os.stat_result, room: int) -> int:
        """Hold a file, and return how many bytes that took."""
        mirror = self._find(Path(path))
        try:
            there = mirror.lstat()
            if (there.st_ino, there.st_dev) == (status.st_ino, status.st_dev):
                return 0
            if (there.st_size, there.st_mtime_ns) == (status.st_size, status.st_mtime_ns):
                return there.st_size  # a copy that is up to date
        except FileNotFoundError:
            pass
        except OSError:
            return 0
        new = mirror.with_name(f".{mirror.name}.new")
        try:
            mirror.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.unlink(missing_ok=True)
            return _link_or_copy(path, new, mirror, status, room)
        except OSError:  # it stays where it is, as long as it does
            return 0

    def _remove_empty_folders(self) -> None:
        """Remove folders in which nothing is held any more."""
        for folder, _, _ in os.walk(self._folder, topdown=False):
            with suppress(OSError):  # those that are not empty stay
                os.rmdir(folder)

    def _find(self, path: Path) -> Path:
        return self._folder.joinpath(*path.parts[1:])

    def _name(self, mirror: Path) -> Path:
        return Path(os.path.abspath(os.sep)).joinpath(mirror.relative_to(self._folder))


def _link_or_copy(path: str, new: Path, mirror: Path, status: os.stat_result, room: int) -> int:
    """Make a hard link to a file, or copy it if there is room; return how many bytes were copied."""
    copied = 0
    try:
        os.link(path, new, follow_symlinks=False)
    except OSError:
        if status.st_size > room:
            return 0
        shutil.copy2(path, new)
        copied = status.st_size
    os.replace(new, mirror)
    return copied


def _list_files(sessions: Iterable[SessionFiles]) -> Iterator[tuple[os.stat_result, str]]:
    for files in sessions:
        for path, *_ in list_kinds(files):
            with suppress(OSError):
                yield os.stat(path), os.path.abspath(path)


def _rebase(value: object, kept: set[Path], name: object) -> object:
    """Return what stands in a struct of paths with those that are kept, as they were called."""
    if isinstance(value, SessionFiles):
        folder = name(value.folder)  # type: ignore[operator]
        moved = {each: _rebase(getattr(value, each), kept, name) for each in value.__struct_fields__}
        return SessionFiles(**{**moved, "own_folder": folder})
    if isinstance(value, Path):
        return name(value) if value in kept else None  # type: ignore[operator]
    if isinstance(value, tuple):
        moved_all = (_rebase(each, kept, name) for each in value)
        return tuple(each for each in moved_all if each is not None)
    if isinstance(value, Struct):
        return type(value)(
            **{each: _rebase(getattr(value, each), kept, name) for each in value.__struct_fields__}
        )
    return value


class _ArchivedSessions:
    """What an archive has of files that are gone."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def plan(self, pusher: Pusher) -> None:
        """Plan to push archived data of deleted files that the server does not have."""
        there = {
            source.path: (known.key, source) for known in pusher.sessions.values() for source in known.sources
        }
        for known in self._store.list_known(LOCAL, pusher.origin):
            gone = [source for source in known.sources if not source.present and source.checkpoint is not None]
            new = [source for source in gone if not _has(there.get(source.path), source)]
            if new and not pusher.is_refused(known):
                self._add(
                    pusher, known, new, [there[each.path][0] for each in known.sources if each.path in there]
                )

    def _add(self, pusher: Pusher, session: KnownSession, sources: list[KnownSource], keys: list[str]) -> None:
        home = next((each.path for each in session.sources if each.source == session.key), sources[0].path)
        by_path = {source.path: source for source in sources}

        def match(known: KnownSession | None) -> tuple[list[Match], list[KnownSource]]:
            there = {source.path: source for source in known.sources} if known is not None else {}
            return [
                Match(each.path, each.kind, each.agent_id, each.run_id, there.get(each.path))
                for each in sources
            ], []

        def scan_one(match: Match, source: str, limit: int) -> FileScan:
            return _scan_archived(self._store.archive, by_path[match.path], match.known, limit)

        pusher.add(
            f"archived:{session.key}",
            SessionIdentity(home, session.session_id, session.project_folder),
            keys[0] if keys else session.key,
            match,
            scan_one,
            sum(source.length for source in sources),
        )


def _has(there: tuple[str, KnownSource] | None, source: KnownSource) -> bool:
    """Tell whether a server has as much of a file as an archive does, at a glance."""
    if there is None:
        return False
    known = there[1]
    return known.length >= source.length or known.generation > source.generation


def _scan_archived(archive: Archive, source: KnownSource, known: KnownSource | None, limit: int) -> FileScan:
    """Compare what an archive has of a file with what is known of it."""

    def read_at(start: int, size: int) -> bytes:
        at = Place(source.source, source.generation, start)
        return archive.read(LOCAL, at, min(size, source.length - start)) if size else b""

    last = source.checkpoint
    assert last is not None
    numbers = (0o100600, last.inode, last.device, 1, 0, 0, source.length, 0, 0, 0)
    status = os.stat_result(numbers, {"st_mtime_ns": last.modified_ns})
    change = Change.NEW
    if known is not None and known.checkpoint is not None:
        change, _ = compare(replace(known.checkpoint, inode=0), status, read_at)
        if change is Change.APPENDED and known.length == source.length:
            return FileScan(Change.VANISHED, known)
    return _ArchivedScan(change, known, source, archive, limit)


class _ArchivedScan(FileScan):
    """A file that is only in an archive, with bytes that are new elsewhere."""

    def __init__(
        self, change: Change, known: KnownSource | None, source: KnownSource, archive: Archive, limit: int
    ) -> None:
        super().__init__(change, known, end=source.length)
        self._source = source
        self._archive = archive
        self._limit = limit
        assert source.checkpoint is not None
        self.checkpoint = replace(source.checkpoint, size=source.length, generation=self.generation)

    def _read(self) -> bytes:
        at = Place(self._source.source, self._source.generation, self.length)
        return self._archive.read(LOCAL, at, min(self._limit, self._end - self.length))


_NAMES = 500
"""How many files of the spool, and how many deliveries, are looked at together."""
_LARGE = CHUNK
"""What is larger goes alone, as a hook itself would send it."""
_HOUR = 3600 * 10**9


class _HookSender:
    """Sends hook deliveries, from wherever they are on this machine."""

    def __init__(
        self, client: PushClient, spool: Spool, origin: str, machine: Machine, exclusion: Exclusion
    ) -> None:
        self._client = client
        self._spool = spool
        self._origin = origin
        self._machine = machine
        self._exclusion = exclusion

    def _is_allowed(self, delivery: HookDelivery) -> bool:
        if not self._exclusion:
            return True
        names = "cwd", "transcript_path", "agent_transcript_path"
        told = (find_text(delivery.fields, name) for name in names)
        return not self._exclusion.excludes_paths([path for path in told if path])

    def _offer(self, names: Sequence[str]) -> frozenset[str]:
        """Return which of some deliveries the server does not have; raises `PushError`."""
        return self._client.send_hooks(self._build(offered=tuple(names)))

    def _send(self, deliveries: Iterable[HookDelivery]) -> int:
        """Push deliveries, and return how many; raises `PushError`."""
        sent, together, size = 0, list[UploadedDelivery](), 0
        for delivery in deliveries:
            sent += 1
            if len(delivery.payload) > _LARGE:
                self._client.send_hook(delivery.delivery_id, delivery.payload)
                continue
            if together and size + len(delivery.payload) > CHUNK:
                self._client.send_hooks(self._build(deliveries=tuple(together)))
                together, size = [], 0
            together.append(UploadedDelivery(delivery.delivery_id, delivery.received_ns, delivery.payload))
            size += len(delivery.payload)
        if together:
            self._client.send_hooks(self._build(deliveries=tuple(together)))
        return sent

    def _build(
        self, offered: tuple[str, ...] = (), deliveries: tuple[UploadedDelivery, ...] = ()
    ) -> HookUpload:
        return HookUpload(
            protocol=PROTOCOL,
            origin=self._origin,
            machine=self._machine,
            offered=offered,
            deliveries=deliveries,
        )


class SpooledHooks(_HookSender):
    """Deliveries of a machine that has no archive."""

    def __init__(
        self, client: PushClient, spool: Spool, origin: str, machine: Machine, exclusion: Exclusion
    ) -> None:
        super().__init__(client, spool, origin, machine, exclusion)
        self._left: set[str] = set()
        """Files that are not to be sent, or cannot be read."""

    def push(self) -> int:
        """Push what lies in the spool, and return how many deliveries; raises `PushError`."""
        sent = 0
        while True:
            names = sorted(
                islice((name for name in self._spool.list_names() if name not in self._left), _NAMES)
            )
            if not names:
                return sent
            for name in names:
                sent += self._push(name)

    def _push(self, name: str) -> int:
        try:
            found = self._spool.read(name)
        except OSError:
            self._left.add(name)
            return 0
        if found is None:
            self._spool.put_aside(name)
            return 0
        chosen = [each for each in found if self._is_allowed(each)]
        if len(chosen) < len(found):
            self._left.add(name)
        for each in chosen:
            if not each.is_readable:
                self._spool.write_aside(each.delivery_id, each.payload)
        sent = self._send(each for each in chosen if each.is_readable)
        if name not in self._left:
            self._spool.remove(name)
        return sent


class StoredHooks(_HookSender):
    """Deliveries of a machine that has an archive."""

    def __init__(
        self,
        client: PushClient,
        spool: Spool,
        origin: str,
        machine: Machine,
        exclusion: Exclusion,
        store: MaintainedStore,
        *,
        after: int = 0,
        on_done: Callable[[int], None] = lambda seq: None,
    ) -> None:
        """Go on `after` an entry of the store's feed; `on_done` gets the last entry that is pushed."""
        super().__init__(client, spool, origin, machine, exclusion)
        self._store = store
        self._after = after
        self._on_done = on_done
        self._done: dict[str, set[str]] = {}
        """What the server has of each session, as far as this process knows."""
        self._newest: dict[str, int] = {}

    def push(self) -> int:
        """Push what is new in the archive, and return how many deliveries; raises `PushError`."""
        with suppress(BusyStoreError):  # it stays in the spool until the next time
            import_spool(self._spool, self._store)
        sent = 0
        while changes := self._store.read_feed(LOCAL, self._after, 1000).entries:
            told = (entry.session for entry in changes if entry.kind is ChangeKind.HOOK_DELIVERED)
            for session_id in dict.fromkeys(told):
                sent += self._push(session_id)
            self._after = changes[-1].seq
            self._on_done(self._after)
        return sent

    def _push(self, session_id: str) -> int:
        done = self._done.setdefault(session_id, set())
        since = self._newest.get(session_id, 0) - _HOUR
        which = DeliveryFilter(session_id=session_id, since_ns=since, count=_NAMES)
        found = self._store.list_deliveries(LOCAL, which)
        new = [each for each in found if each.delivery_id not in done]
        total = self._store.count_deliveries(LOCAL, session_id)
        if len(done) + len(new) == total and len(found) < _NAMES:
            return self._send_new(session_id, new)
        # Late ones may be older than any that are done; or there are simply many.
        sent, first = 0, 0
        which = DeliveryFilter(session_id=session_id, count=_NAMES)
        while page := self._store.list_deliveries(LOCAL, replace(which, first=first)):
            sent += self._send_new(session_id, [each for each in page if each.delivery_id not in done])
            first += len(page)
        return sent

    def _send_new(self, session_id: str, deliveries: Sequence[HookDelivery]) -> int:
        if not deliveries:
            return 0
        chosen = [each for each in deliveries if self._is_allowed(each)]
        missing = self._offer([each.delivery_id for each in chosen]) if chosen else frozenset()
        sent = self._send(each for each in chosen if each.delivery_id in missing)
        self._done[session_id].update(each.delivery_id for each in deliveries)
        self._newest[session_id] = max(
            self._newest.get(session_id, 0), max(each.received_ns for each in deliveries)
        )
        return sent


_STATUS = "push.json"
_SECONDS = 1.0
"""How often the file is written at most, unless something happened."""


class PushPhase(StrEnum):
    """What a collector is at."""

    CONNECTING = "connecting"
    PUSHING = "pushing"
    WATCHING = "watching"
    """All is there; what is written is pushed as it comes."""
    OFFLINE = "offline"
    STOPPED = "stopped"


class PushStatus(Struct, frozen=True, kw_only=True):
    """How a collector is doing."""

    server: str
    pid: int
    phase: PushPhase
    started_at: float
    """Times are in seconds since 1970."""
    at: float
    """When this was so."""
    last_success_at: float | None = None
    reason: str = ""
    """Why it is offline."""
    again_at: float | None = None
    waiting: int = 0
    """Sessions that are to be pushed."""
    waiting_bytes: int = 0
    held_bytes: int = 0
    """Of files that are kept until they are pushed, whatever becomes of them."""
    counts: PushCounts = msgspec.field(default_factory=PushCounts)


class StatusFile:
    """The file of one collector."""

    def __init__(self, home: Path, server: str, clock: Callable[[], float] = time.time) -> None:
        self._path = home / _STATUS
        self._clock = clock
        self._written = 0.0
        self.status = PushStatus(
            server=server, pid=os.getpid(), phase=PushPhase.CONNECTING, started_at=clock(), at=clock()
        )

    def note(self, **news: object) -> None:
        """Note what is new; how far it is alone is written about once a second."""
        now = self._clock()
        before, self.status = self.status, msgspec.structs.replace(self.status, at=now, **news)
        changed = any(getattr(before, name) != getattr(self.status, name) for name in ("phase", "again_at"))
        if changed or not 0.0 <= now - self._written < _SECONDS:
            self._written = now
            with suppress(OSError):  # it is informational
                write_file(self._path, msgspec.json.encode(self.status))


def read_status(home: Path) -> PushStatus | None:
    """Return what the last collector said; None if there was none."""
    try:
        return msgspec.json.decode((home / _STATUS).read_bytes(), type=PushStatus)
    except (OSError, msgspec.DecodeError):
        return None


class _Progress(Struct, frozen=True):
    epoch: str
    seq: int


def load_progress(home: Path, server: str, epoch: str) -> int:
    """Return up to where the feed of the archive was pushed to a server; 0 if that is not known."""
    try:
        found = msgspec.json.decode(_find_path(home, server).read_bytes(), type=_Progress)
    except (OSError, msgspec.DecodeError):
        return 0
    return found.seq if found.epoch == epoch else 0


def save_progress(home: Path, server: str, epoch: str, seq: int) -> None:
    """Remember up to where the feed was pushed; if that is lost, the server is offered all of it again."""
    with suppress(OSError):
        write_file(_find_path(home, server), msgspec.json.encode(_Progress(epoch, seq)))


def _find_path(home: Path, server: str) -> Path:
    return home / f"push-{blake2b(server.encode(), digest_size=8).hexdigest()}.json"


FULL_SECONDS = 600.0
"""How often everything is looked at."""
_RELOAD = 6
"""In every so many of those, the server is asked what it has."""
_RECHECK = 2.0
"""After how many seconds to look again at what only seemed to be gone."""
_ATTENTION = 1.0
"""How often the spool of hook deliveries is looked at."""
_HOLD_SECONDS = 10.0
"""How often files are held anew at most while the server cannot be reached."""
_LONG = frozenset({401, 403, 404, 405})
"""What does not get better by itself soon."""
_LONG_SECONDS = 60.0
_FINAL = frozenset({"another_machine", "machine_taken", "machine_unassigned"})
"""What stays so until somebody does something about it, here or at the server."""
_BUSY_SECONDS = 30.0
"""How long to wait at most for a server that is there and asks to be tried again."""


class Collector(Struct, frozen=True):
    """All that pushes."""

    pusher: Pusher
    hooks: SpooledHooks | StoredHooks
    held: HeldFiles


OnNews = Callable[[StatusFile], None]


def push_once(collector: Collector, status: StatusFile, on_news: OnNews) -> None:
    """Push all there is, once; raises `PushError`."""
    pusher, held = collector.pusher, collector.held
    pusher.connect()
    for _ in range(2):  # held data is pushed first; then the files are reported as deleted
        held.plan(pusher)
        _push_all(pusher, status, on_news)
        pusher.plan_all(at_once=True)
        _push_all(pusher, status, on_news)
    pusher.counts.deliveries += collector.hooks.push()
    held.plan(pusher)
    status.note(phase=PushPhase.STOPPED, last_success_at=time.time(), waiting=pusher.waiting)
    on_news(status)


def _push_all(pusher: Pusher, status: StatusFile, on_news: OnNews) -> None:
    while pusher.waiting:
        status.note(
            phase=PushPhase.PUSHING,
            waiting=pusher.waiting,
            waiting_bytes=pusher.waiting_bytes,
            counts=pusher.counts,
        )
        on_news(status)
        pusher.push_next()


class PushLoop:
    """Pushes until the watcher is stopped."""

    def __init__(
        self,
        collector: Collector,
        watcher: Watcher,
        status: StatusFile,
        on_news: OnNews,
        *,
        backoff: Backoff | None = None,
        hold_seconds: float = _HOLD_SECONDS,
    ) -> None:
        self._pusher = collector.pusher
        self._hooks = collector.hooks
        self._held = collector.held
        self._watcher = watcher
        self._status = status
        self._on_news = on_news
        self._backoff = backoff or Backoff()
        self._hold_seconds = hold_seconds
        self._is_connected = False
        self._next_full = 0.0
        self._fulls = 0
        self._targets: set[Path] = set()
        self._next_hold = 0.0
        self._looks_again = False

    def run(self) -> None:
        """Push all there is, and what comes; failures are reported, and retried.

        Raises `PushError` if the server will not have this machine's sessions from this person.
        """
        with self._watcher:
            while not self._watcher.stopped:
                try:
                    pause = self._step()
                    self._backoff.succeed()
                except PushError as error:
                    pause = self._fail(error)
                    if error.code in _FINAL:
                        raise
                self._wait(pause)
        self._status.note(phase=PushPhase.STOPPED)

    def _step(self) -> float:
        """Do what is next, and return for how long there is nothing to do."""
        if not self._is_connected:
            self._status.note(phase=PushPhase.CONNECTING)
            self._pusher.connect()
            self._is_connected, self._next_full = True, 0.0
        if time.monotonic() >= self._next_full:
            self._plan_all()
        if self._targets:
            self._plan_changed()
        self._pusher.counts.deliveries += self._hooks.push()
        if self._pusher.waiting:
            self._pusher.push_next()
        if self._looks_again and not self._pusher.waiting:
            self._looks_again, self._next_full = False, time.monotonic() + _RECHECK
        phase = PushPhase.PUSHING if self._pusher.waiting else PushPhase.WATCHING
        self._tell(phase)
        return 0.0 if self._pusher.waiting else min(_ATTENTION, max(self._next_full - time.monotonic(), 0.0))

    def _plan_all(self) -> None:
        self._fulls += 1
        if self._fulls % _RELOAD == 0:
            self._pusher.connect()
        is_first = self._pusher.plan_all()
        before = self._pusher.waiting
        self._held.plan(self._pusher)
        # What is pushed of files that are gone counts as there, until somebody looks.
        self._looks_again = self._pusher.waiting > before
        self._next_full = time.monotonic() + (_RECHECK if is_first else FULL_SECONDS)

    def _plan_changed(self) -> None:
        targets, self._targets = self._targets, set()
        if self._pusher.plan_some({target: locate_target(target) for target in sorted(targets)}):
            self._next_full = min(self._next_full, time.monotonic() + _RECHECK)

    def _fail(self, error: PushError) -> float:
        if error.status != 503 or error.code == "too_many_connections":
            self._is_connected = False
        pause = self._backoff.fail(max(error.retry_after, _LONG_SECONDS if error.status in _LONG else 0.0))
        if error.status == 503:
            pause = min(pause, max(error.retry_after, _BUSY_SECONDS))
        held = self._status.status.held_bytes
        if time.monotonic() >= self._next_hold and not self._is_connected:
            held = self._held.hold(self._pusher)
            self._next_hold = time.monotonic() + self._hold_seconds
        self._status.note(
            phase=PushPhase.OFFLINE, reason=str(error), again_at=time.time() + pause, held_bytes=held
        )
        self._on_news(self._status)
        return pause

    def _tell(self, phase: PushPhase) -> None:
        self._next_hold = 0.0
        self._status.note(
            phase=phase,
            last_success_at=time.time(),
            reason="",
            again_at=None,
            waiting=self._pusher.waiting,
            waiting_bytes=self._pusher.waiting_bytes,
            counts=self._pusher.counts,
        )
        self._on_news(self._status)

    def _wait(self, seconds: float) -> None:
        """Note what changes for some seconds; if the server can be reached, only until something does."""
        deadline = time.monotonic() + seconds
        while not self._watcher.stopped:
            left = max(deadline - time.monotonic(), 0.0)
            self._note(self._watcher.wait(left))
            if self._is_connected and (self._targets or self._next_full == 0.0):
                return
            if time.monotonic() >= deadline:
                return

    def _note(self, changed: set[Path]) -> None:
        for path in changed:
            target = find_target(path, self._watcher.roots, self._pusher.known.homes)
            if target in self._watcher.roots:
                self._next_full = 0.0
            elif target is not None:
                self._targets.add(target)


def describe_machine() -> Machine:
    """Return what people call this machine and who is at it."""
    return Machine(find_host(), find_user(), version("turnlog"))


@contextmanager
def open_collector(
    client: PushClient,
    home: Path,
    place: Path | None,
    session_dirs: Iterable[Path],
    *,
    origin: str,
    exclusion: Exclusion,
    on_trouble: OnTrouble,
) -> Iterator[Collector]:
    """Open what pushes the sessions of some directories; `place` is where this machine's archive may be."""
    dirs, machine = tuple(session_dirs), describe_machine()
    store = None
    if place is not None and place.exists():
        try:
            store = open_store(place)
        except StoreError as error:
            raise StoreError(f"{error}; hook deliveries are in this archive, so it must be usable") from error
    with nullcontext() if store is None else closing(store):
        pusher = Pusher(
            client,
            dirs,
            origin=origin,
            machine=machine,
            exclusion=exclusion,
            forgotten=tuple if store is None else lambda: list_forgotten(store),
            on_trouble=on_trouble,
        )
        hooks: SpooledHooks | StoredHooks
        spool, about = Spool(home / SPOOL), (origin, machine, exclusion)
        if store is None:
            hooks = SpooledHooks(client, spool, *about)
        else:
            epoch = store.read_feed(LOCAL).epoch
            hooks = StoredHooks(
                client,
                spool,
                *about,
                store,
                after=load_progress(home, client.name, epoch),
                on_done=lambda seq: save_progress(home, client.name, epoch, seq),
            )
        yield Collector(pusher, hooks, HeldFiles(home / HELD, dirs, store))
