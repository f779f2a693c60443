"""The collector: pushes all there is, and then what is written, for as long as somebody wants it.

A server that cannot be reached is tried again, ever less often and never by all machines at once; meanwhile
changes are noted, and what Claude Code might delete is held. When it is there again, it is asked what it has:
it may be another one, or an older state. How the collector is doing stands in a small file, for `turnlog push
--status`.

Where there is an archive, hook deliveries are taken into it first, as any sync does, and its feed says what is
new. The server is offered their names, and gets those that it does not have. Without an archive they are pushed
out of the spool, and stay there until the server has them. What happened in excluded projects is never sent.
"""

from __future__ import annotations

import os
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

from turnlog.errors import BusyStoreError, PushError, StoreError
from turnlog.ingest.held_files import HELD, HeldFiles
from turnlog.ingest.machine import Exclusion, find_host, find_user, list_forgotten
from turnlog.ingest.push_client import Backoff, PushClient
from turnlog.ingest.pusher import OnTrouble, PushCounts, Pusher
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.ingest.spool_import import import_spool
from turnlog.ingest.upload_protocol import PROTOCOL, STRETCH, Delivered, HookUpload, Machine
from turnlog.ingest.watchers import Watcher, find_target, locate_target
from turnlog.store.interface import ChangeKind, MaintainedStore
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery, find_text

_NAMES = 500
"""How many files of the spool, and how many deliveries, are looked at together."""
_LARGE = STRETCH
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

    def _may_go(self, delivery: HookDelivery) -> bool:
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
        sent, together, size = 0, list[Delivered](), 0
        for delivery in deliveries:
            sent += 1
            if len(delivery.payload) > _LARGE:
                self._client.send_hook(delivery.delivery_id, delivery.payload)
                continue
            if together and size + len(delivery.payload) > STRETCH:
                self._client.send_hooks(self._build(deliveries=tuple(together)))
                together, size = [], 0
            together.append(Delivered(delivery.delivery_id, delivery.received_ns, delivery.payload))
            size += len(delivery.payload)
        if together:
            self._client.send_hooks(self._build(deliveries=tuple(together)))
        return sent

    def _build(self, offered: tuple[str, ...] = (), deliveries: tuple[Delivered, ...] = ()) -> HookUpload:
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
        chosen = [each for each in found if self._may_go(each)]
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
        """Go on `after` an entry of the store's feed; `on_done` is told up to where all is pushed."""
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
        chosen = [each for each in deliveries if self._may_go(each)]
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
            with suppress(OSError):  # it is only for whoever asks
                _write(self._path, msgspec.json.encode(self.status))


def read_status(home: Path) -> PushStatus | None:
    """Return what the last collector said; None if there was none."""
    try:
        return msgspec.json.decode((home / _STATUS).read_bytes(), type=PushStatus)
    except (OSError, msgspec.DecodeError):
        return None


class _Progress(Struct, frozen=True):
    epoch: str
    seq: int


def find_progress(home: Path, server: str, epoch: str) -> int:
    """Return up to where the feed of the archive was pushed to a server; 0 if that is not known."""
    try:
        found = msgspec.json.decode(_find_path(home, server).read_bytes(), type=_Progress)
    except (OSError, msgspec.DecodeError):
        return 0
    return found.seq if found.epoch == epoch else 0


def save_progress(home: Path, server: str, epoch: str, seq: int) -> None:
    """Remember up to where the feed was pushed; if that is lost, the server is offered all of it again."""
    with suppress(OSError):
        _write(_find_path(home, server), msgspec.json.encode(_Progress(epoch, seq)))


def _find_path(home: Path, server: str) -> Path:
    return home / f"push-{blake2b(server.encode(), digest_size=8).hexdigest()}.json"


def _write(path: Path, data: bytes) -> None:
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    os.replace(new, path)


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
    for _ in range(2):  # what is held is pushed first; then it is told that it is gone
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
        """Push all there is, and what comes; failures are told, and tried again.

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
            self._look_at_all()
        if self._targets:
            self._look_at_some()
        self._pusher.counts.deliveries += self._hooks.push()
        if self._pusher.waiting:
            self._pusher.push_next()
        if self._looks_again and not self._pusher.waiting:
            self._looks_again, self._next_full = False, time.monotonic() + _RECHECK
        phase = PushPhase.PUSHING if self._pusher.waiting else PushPhase.WATCHING
        self._tell(phase)
        return 0.0 if self._pusher.waiting else min(_ATTENTION, max(self._next_full - time.monotonic(), 0.0))

    def _look_at_all(self) -> None:
        self._fulls += 1
        if self._fulls % _RELOAD == 0:
            self._pusher.connect()
        is_first = self._pusher.plan_all()
        before = self._pusher.waiting
        self._held.plan(self._pusher)
        # What is pushed of files that are gone counts as there, until somebody looks.
        self._looks_again = self._pusher.waiting > before
        self._next_full = time.monotonic() + (_RECHECK if is_first else FULL_SECONDS)

    def _look_at_some(self) -> None:
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
                after=find_progress(home, client.name, epoch),
                on_done=lambda seq: save_progress(home, client.name, epoch, seq),
            )
        yield Collector(pusher, hooks, HeldFiles(home / HELD, dirs, store))
