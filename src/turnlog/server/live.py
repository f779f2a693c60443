"""`/api/live`: sending events to all clients, from one reader of the feed and one window for each scope.

The reader has a thread of its own. It reads the feed when somebody reports news, and a few times a second
besides, since other processes write, too; where the store itself reports what they write, it reads seldom. A
read that finds nothing is one small query. After each that found something there is a pause, in which changes
gather: the more clients, the longer.

Events go to the event loop, which puts them into a window and wakes the clients. Who may see everything shares
one window. For each other scope with clients the store is asked what of the feed they may see, so the store
decides, here as everywhere. In a window, an event replaces an earlier one about the same thing and moves to the
end: a client that comes late, or reads slowly, gets what is true now and not all that led to it. So what a
client can have before it is bounded by the number of things; and since an event never moves before another one,
a client that continues from any place misses nothing.

Each client reads from its own place and at its own speed; one that does not read is cut off by the connection,
and one that falls behind the window is let go. Either comes back with the last id that it got.

A stream is authorized once and lasts for hours. So as long as some client could lose its access, the accounts
are asked every second whether anything changed; if so, and every 15 seconds, each of those clients is checked
again.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Sequence
from functools import partial
from importlib.metadata import version
from threading import Lock
from typing import Annotated, Any

import msgspec
from litestar import Request, get
from litestar.datastructures import ResponseHeader
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import SkipValidation
from litestar.response import Stream
from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.server.errors import RequestError
from turnlog.server.requests import GivenScope, query
from turnlog.server.security.callers import LINKED, Caller, CallerKind, GivenCaller
from turnlog.server.security.guard import AuthContext, find_cookie_user
from turnlog.server.session_states import StateChange
from turnlog.server.sessions import name_session
from turnlog.server.state_watch import StateTracker, StateWatch
from turnlog.server.sync import SyncState, SyncStatus, view_sync
from turnlog.server.values import LruDict, clean_text, fill_clean
from turnlog.store.accounts import Accounts
from turnlog.store.interface import ChangeEntry, ChangeKind, MaintainedStore, Store, find_sessions, is_visible
from turnlog.store.model import LOCAL, Scope, find_access

_VERSION = version("turnlog")
logger = logging.getLogger("turnlog.server")
_LOOK_SECONDS = 0.2
"""How often to look without being told."""
_SELDOM_SECONDS = 5.0
"""How often, where the store itself reports changes."""
_LISTEN_SECONDS = 0.5
"""How soon listening ends when it is to."""
_SOON_SECONDS, _SOON = 0.025, 6
"""How often to look, and how many times, for what was announced: it may be on its way into the store."""
_RECHECK_SECONDS = 15.0
"""How often there is time for what does not follow from a change."""
_AT_ONCE = 1000
_LONGEST_PAUSE = 30.0
"""Between attempts to read a feed that cannot be read."""
OnChanges = Callable[[Sequence[ChangeEntry]], None]


class FeedReader:
    """Reads the feed from a position, and passes on new entries in order."""

    def __init__(
        self,
        store: Store,
        seq: int,
        on_changes: OnChanges,
        find_pause: Callable[[], float],
        on_start: Callable[[], None] = lambda: None,
        on_pause: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._seq = seq
        self._on_changes = on_changes
        self._find_pause = find_pause
        self._on_start = on_start
        self._on_pause = on_pause
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live", daemon=True)
        self._listener = store.listen()
        self._listening = threading.Thread(target=self._listen, name="listen", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()
        if self._listener is not None:
            self._listening.start()

    def wake(self) -> None:
        """Read now; from any thread."""
        self._news.set()

    def stop(self) -> None:
        """End; from any other thread."""
        self._stopping.set()
        self._news.set()
        self._thread.join()
        if self._listener is not None:
            self._listening.join()
            self._listener.close()

    def _listen(self) -> None:
        while self._listener is not None and not self._stopping.is_set():
            if self._listener.wait(_LISTEN_SECONDS):
                self._news.set()

    def _run(self) -> None:
        failures, soon, pause_at = 0, 0, time.monotonic() + _RECHECK_SECONDS
        usual = _LOOK_SECONDS if self._listener is None else _SELDOM_SECONDS
        self._on_start()
        while not self._stopping.is_set():
            told = self._news.wait(_SOON_SECONDS if soon else usual)
            self._news.clear()
            soon = _SOON if told else max(soon - 1, 0)
            if self._stopping.is_set():
                return
            try:
                found = self._poll()
            except StoreError as error:
                failures += 1
                if failures == 1:
                    logger.warning("the feed cannot be read: %s", error)
                self._stopping.wait(min(_LOOK_SECONDS * 2**failures, _LONGEST_PAUSE))
                continue
            failures = 0
            if time.monotonic() >= pause_at:
                self._on_pause()
                pause_at = time.monotonic() + _RECHECK_SECONDS
            if found:
                soon = 0
                self._stopping.wait(self._find_pause())

    def _poll(self) -> bool:
        """Pass on new entries; return whether there were any."""
        last, found = self._store.read_feed(LOCAL).last, False
        while self._seq < last and not self._stopping.is_set():
            entries = self._store.read_feed(LOCAL, after=self._seq, limit=_AT_ONCE).entries
            if not entries:
                break
            self._on_changes(entries)
            self._seq = entries[-1].seq  # only now: if it failed, they are handed on the next time
            found = True
        return found


class HelloEvent(Struct, frozen=True, gc=False, kw_only=True):
    """The first event: where the stream begins."""

    version: str
    """Of turnlog. If it is not the page's own, the page is old."""
    seq: int


class ResetEvent(Struct, frozen=True, gc=False, kw_only=True):
    """What the client has is of no use: it asks for everything again, and goes on from here."""

    seq: int


class ChangeEvent(Struct, frozen=True, gc=False, kw_only=True):
    """Something happened to a session."""

    kind: ChangeKind
    session: str
    """Its key; for hooks, its id."""
    session_id: str | None
    """None if it is no longer known."""
    revision: int
    seq: int


_is_id = re.compile("([0-9a-z-]{1,64}):([0-9]{1,18})").fullmatch


class EventId(Struct, frozen=True, gc=False):
    """A place in a feed."""

    epoch: str
    seq: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.seq}"


def _parse_event_id(text: str | None) -> EventId | None:
    """Return the id that a client sends; None if it sends none, or nothing that was ever an id."""
    found = None if text is None else _is_id(text.strip())
    return None if found is None else EventId(found[1], int(found[2]))


_HEARTBEAT = b": \n\n"
"""A comment: it keeps connections open, and tells whether anybody is still there."""


def _encode_event(name: str, data: Struct, id: EventId | None = None) -> bytes:
    """Return an event; one without an id leaves the client's place in the feed as it is."""
    head = "" if id is None else f"id: {id}\n"
    return f"{head}event: {name}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"


_MOST_NAMES = 10_000


class SessionIds:
    """Caches the ids of sessions by key; thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: LruDict[str, str] = LruDict(_MOST_NAMES)
        self._lock = Lock()

    def find(self, entry: ChangeEntry) -> str | None:
        """Return the id of the session that an entry is about; None if there is no such session any more."""
        if entry.kind is ChangeKind.HOOK_DELIVERED:
            return clean_text(entry.session)
        with self._lock:
            known = self._known.get(entry.session)
        if known is not None or entry.kind is ChangeKind.SESSION_FORGOTTEN:
            return known
        stored = next((each for each in find_sessions(self._store, LOCAL, entry.session)), None)
        if stored is None:
            return None
        name = name_session(stored)
        with self._lock:
            self._known.put(entry.session, name)
        return name

    def to_event(self, entry: ChangeEntry) -> ChangeEvent:
        """Return an entry as clients get it."""
        return fill_clean(ChangeEvent, entry, session_id=self.find(entry))


def _coalesce(entries: Iterable[ChangeEntry]) -> list[ChangeEntry]:
    """Return entries without those that a later one repeats: the same thing of the same session."""
    last: dict[tuple[ChangeKind, str], ChangeEntry] = {}
    for entry in entries:
        about = (entry.kind, entry.session)
        last.pop(about, None)  # so that it stands where it happened last
        last[about] = entry
    return list(last.values())


_MOST_EVENTS = 4096
"""How many things are remembered."""


class EventWindow:
    """The latest event about each subject, in the order of sending."""

    def __init__(self, most: int = _MOST_EVENTS) -> None:
        self._most = most
        self._told: OrderedDict[Hashable, tuple[int, bytes]] = OrderedDict()
        self._forgotten = 0
        """The place of the newest event that is no longer here."""
        self.at = 0
        """The place of the newest."""

    def put(self, about: Hashable, data: bytes) -> None:
        """Add an event; an earlier one about the same thing is dropped."""
        self.at += 1
        self._told[about] = (self.at, data)
        self._told.move_to_end(about)
        if len(self._told) > self._most:
            _, (place, _) = self._told.popitem(last=False)
            self._forgotten = place

    def read(self, after: int) -> list[bytes] | None:
        """Return the events after a place, in order; None if some of them are no longer known."""
        if after < self._forgotten:
            return None
        found: list[bytes] = []
        for place, data in reversed(self._told.values()):
            if place <= after:
                break
            found.append(data)
        found.reverse()
        return found


class Channel:
    """The clients of one scope, and the window of events that they read."""

    def __init__(self, scope: Scope, seq: int) -> None:
        self.scope = scope
        self.window = EventWindow()
        self.seq = seq
        """Up to where the window has been filled."""
        self.read = seq
        """Up to where the feed has been read for it; behind `lock`."""
        self.lock = threading.Lock()
        self.clients = 0


def _view_for(store: MaintainedStore, scope: Scope, entry: ChangeEntry) -> tuple[ChangeEntry, ...]:
    """Return an entry as the clients of a scope get it.

    A session that they may no longer see is gone for them, as if it had been forgotten. One that is not their
    own, and that they may see, is reported as added first: it may be new to them.
    """
    if entry.kind is not ChangeKind.SESSION_ACCESS or scope.viewer is None:
        return (entry,)
    access = find_access(store, scope, entry.session)
    if access is None:
        return (replace(entry, kind=ChangeKind.SESSION_FORGOTTEN),)
    if access.person is not None and access.person == scope.viewer.person:
        return (entry,)
    return replace(entry, kind=ChangeKind.SESSION_ADDED), entry


_TICK = 1.0
_AGAIN = 15.0
"""How often everybody is checked again, whatever happened."""


class Listener:
    """A client whose access may end."""

    def __init__(self, is_good: Callable[[], Awaitable[bool]], until_ns: int | None = None) -> None:
        """Take what checks whether they still have access, and when that ends in any case."""
        self.is_good = is_good
        self.until_ns = until_ns
        self.ended = False


class AccessChecks:
    """Checks the access of listeners; in the event loop."""

    def __init__(self, accounts: Accounts, on_end: Callable[[], None]) -> None:
        """Take what is called when some have ended."""
        self._accounts = accounts
        self._on_end = on_end
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._version: int | None = None
        self._asked_at = 0.0

    def add(self, listener: Listener) -> None:
        """Begin to check a listener."""
        self._listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())

    def remove(self, listener: Listener) -> None:
        """Stop checking a listener."""
        self._listeners.discard(listener)

    def stop(self) -> None:
        """Stop checking all of them."""
        self._listeners.clear()
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        while self._listeners:
            try:
                await self._poll()
            except Exception:
                logger.exception("it cannot be checked who still has access")
            await asyncio.sleep(_TICK)

    async def _poll(self) -> None:
        version = await asyncio.to_thread(self._accounts.find_version)
        now = time.monotonic()
        is_new = version != self._version or now - self._asked_at >= _AGAIN
        late = [
            each for each in self._listeners if each.until_ns is not None and each.until_ns <= time.time_ns()
        ]
        for listener in list(self._listeners) if is_new else late:
            listener.ended = not await listener.is_good()
        if is_new:  # only now: if it failed, it is tried again
            self._version, self._asked_at = version, now
        if any(listener.ended for listener in self._listeners):
            self._on_end()


_HEARTBEAT_SECONDS = 15.0
MOST_BEHIND = 10_000
"""How many missed entries of the feed are replayed to a client; with more, it must reload everything."""
_PAUSE = 0.1
"""How long changes gather at least, in seconds."""
_PAUSE_FOR_EACH = 0.0005
"""How much longer for each client: telling a thousand takes the event loop a tenth of a second."""
OnEntries = Callable[[Sequence[ChangeEntry]], None]
Item = tuple[Hashable, bytes]


class LiveHub:
    """Sends events to all clients. `start` is called in the event loop, `stop` where that has ended."""

    def __init__(self, store: MaintainedStore, *, heartbeat_seconds: float = _HEARTBEAT_SECONDS) -> None:
        self._store = store
        self._names = SessionIds(store)
        self._everything = Channel(LOCAL, 0)
        self._channels: dict[Scope, Channel] = {}
        """For those who may not see everything."""
        self._access_checks: AccessChecks | None = None
        self._heartbeat_seconds = heartbeat_seconds
        self._beats = 0
        self._epoch = ""
        self._on_entries: OnEntries = lambda _: None
        self._on_start: Callable[[], None] = lambda: None
        self._on_pause: Callable[[], None] = lambda: None
        self._reader: FeedReader | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.clients = 0
        self.closing = False

    def follow(self, on_entries: OnEntries, on_start: Callable[[], None], on_pause: Callable[[], None]) -> None:
        """Register callbacks for changes, called in the reader's thread after the clients; before `start`.

        `on_start` is called there before the first look, and `on_pause` every 15 seconds.
        """
        self._on_entries, self._on_start, self._on_pause = on_entries, on_start, on_pause

    def watch(self, accounts: Accounts) -> None:
        """End the streams of those who are no longer let in; before `start`."""
        self._access_checks = AccessChecks(accounts, self._wake_clients)

    def start(self) -> None:
        """Start reading at the end of the feed."""
        self._loop = asyncio.get_running_loop()
        self._send_heartbeat()
        self._begin()

    def wake(self) -> None:
        """Read the feed now; from any thread."""
        if self._reader is not None:
            self._reader.wake()

    def close(self) -> None:
        """End all streams; from any thread."""
        self._call(self._end_streams)

    def stop(self) -> None:
        """End the reader."""
        self._end_streams()
        if self._timer is not None:
            self._timer.cancel()
        if self._access_checks is not None:
            self._access_checks.stop()
        if self._reader is not None:
            self._reader.stop()

    def publish(self, name: str, about: Hashable, data: Struct, others: Struct | None = None) -> None:
        """Send clients an event that is not an entry of the feed; from any thread.

        Those who may not see everything get `others` instead, if anything.
        """
        self._publish(self._everything, name, about, data)
        for channel in list(self._channels.values()):
            if others is not None:
                self._publish(channel, name, about, others)

    def publish_for_session(self, session: str, name: str, data: Struct) -> None:
        """Send an event about a session to the clients that may see it; not from the event loop's thread.

        `session` is its key, or its id if it is known only from hooks.
        """
        self._publish(self._everything, name, session, data)
        for channel in list(self._channels.values()):
            if is_visible(self._store, channel.scope, session):
                self._publish(channel, name, session, data)

    async def open(
        self, last: str | None, scope: Scope = LOCAL, listener: Listener | None = None
    ) -> AsyncIterator[bytes]:
        """Return the events for one client, from the last one on that it has; raises `RequestError`.

        They are those of what the scope sees, and end with the `listener`.
        """
        if not self._epoch and not self._begin():
            raise RequestError(
                503, "busy", "The archive cannot be read; try again", headers={"retry-after": "1"}
            )
        if self.closing:
            raise RequestError(503, "ending", "The server is shutting down")
        return self._stream(_parse_event_id(last), scope, listener, is_new=not last)

    def _begin(self) -> bool:
        try:
            feed = self._store.read_feed(LOCAL)
        except StoreError as error:
            logger.warning("the feed cannot be read: %s", error)
            return False
        self._epoch, self._everything.seq = feed.epoch, feed.last
        self._reader = FeedReader(
            self._store,
            feed.last,
            self._on_feed,
            self._find_pause,
            on_start=lambda: _attempt(self._on_start),
            on_pause=lambda: _attempt(self._fill_all, self._on_pause),
        )
        self._reader.start()
        return True

    async def _stream(
        self, last: EventId | None, scope: Scope, listener: Listener | None, *, is_new: bool
    ) -> AsyncIterator[bytes]:
        channel = await self._join(scope)
        self.clients += 1
        watched = self._access_checks if listener is not None else None
        try:
            if watched is not None and listener is not None:
                watched.add(listener)
            place, current = channel.window.at, EventId(self._epoch, channel.seq)
            known = not is_new and last is not None and last.epoch == current.epoch and last.seq <= current.seq
            begin = last if known and last is not None else current
            yield _encode_event("hello", HelloEvent(version=_VERSION, seq=begin.seq), begin)
            if begin.seq < current.seq:
                yield await asyncio.to_thread(self._replay, scope, begin, current)
            elif not is_new and not known:
                yield self._reset(current)
            async for data in self._follow(channel, place, listener):
                yield data
        finally:
            self.clients -= 1
            self._leave(channel)
            if watched is not None and listener is not None:
                watched.remove(listener)

    async def _join(self, scope: Scope) -> Channel:
        """Return the channel of a scope, for one client more."""
        if scope.viewer is None:
            self._everything.clients += 1
            return self._everything
        channel = self._channels.get(scope)
        if channel is None:
            feed = await asyncio.to_thread(self._store.read_feed, scope)
            channel = self._channels.setdefault(scope, Channel(scope, feed.last))
        channel.clients += 1
        try:  # the reader may have looked before it knew of this scope
            await asyncio.to_thread(self._fill, channel)
        except BaseException:
            self._leave(channel)
            raise
        return channel

    def _leave(self, channel: Channel) -> None:
        channel.clients -= 1
        if channel is not self._everything and channel.clients <= 0:
            self._channels.pop(channel.scope, None)

    async def _follow(self, channel: Channel, place: int, listener: Listener | None) -> AsyncIterator[bytes]:
        window = channel.window
        while not self.closing and not (listener is not None and listener.ended):
            found = window.read(place)
            if found is None:
                return  # too far behind: it comes again with the last id that it got
            place, beats = window.at, self._beats
            if found:
                yield b"".join(found)
                continue
            await self._news.wait()
            if self._beats != beats and window.at == place:
                yield _HEARTBEAT

    def _replay(self, scope: Scope, begin: EventId, current: EventId) -> bytes:
        """Return what a client missed, from the store."""
        entries = self._store.read_feed(scope, after=begin.seq, limit=MOST_BEHIND + 1).entries
        missed = [entry for entry in entries if entry.seq <= current.seq]
        if len(missed) > MOST_BEHIND:
            return self._reset(current)
        return b"".join(data for _, data in self._encode(missed, scope))

    def _reset(self, current: EventId) -> bytes:
        return _encode_event("reset", ResetEvent(seq=current.seq), current)

    def _encode(self, entries: Iterable[ChangeEntry], scope: Scope = LOCAL) -> list[Item]:
        told = (each for entry in _coalesce(entries) for each in _view_for(self._store, scope, entry))
        return [
            (
                (entry.kind, entry.session),
                _encode_event("change", self._names.to_event(entry), EventId(self._epoch, entry.seq)),
            )
            for entry in told
        ]

    def _on_feed(self, entries: Sequence[ChangeEntry]) -> None:
        """Hand on what the reader found, in its thread."""
        items, seq = self._encode(entries), entries[-1].seq
        self._call(lambda: self._put(self._everything, items, seq))
        self._fill_all()
        _attempt(partial(self._on_entries, entries))

    def _fill_all(self) -> None:
        _attempt(*(partial(self._fill, channel) for channel in list(self._channels.values())))

    def _fill(self, channel: Channel) -> None:
        """Put into a channel's window what is new for it; from any thread but the event loop's."""
        with channel.lock:
            entries = self._store.read_feed(channel.scope, after=channel.read, limit=MOST_BEHIND).entries
            if not entries:
                return
            items, seq = self._encode(entries, channel.scope), entries[-1].seq
            channel.read = seq
            self._call(lambda: self._put(channel, items, seq))

    def _publish(self, channel: Channel, name: str, about: Hashable, data: Struct) -> None:
        item = (name, about), _encode_event(name, data)
        self._call(lambda: self._put(channel, [item]))

    def _put(self, channel: Channel, items: Iterable[Item], seq: int | None = None) -> None:
        for about, data in items:
            channel.window.put(about, data)
        if seq is not None:
            channel.seq = seq
        self._wake_clients()

    def _wake_clients(self) -> None:
        self._news.set()  # wakes those that wait just now
        self._news.clear()

    def _send_heartbeat(self) -> None:
        self._beats += 1
        self._wake_clients()
        if self._loop is not None:
            self._timer = self._loop.call_later(self._heartbeat_seconds, self._send_heartbeat)

    def _end_streams(self) -> None:
        self.closing = True
        self._wake_clients()

    def _find_pause(self) -> float:
        return _PAUSE + _PAUSE_FOR_EACH * self.clients

    def _call(self, function: Callable[[], None]) -> None:
        if self._loop is None or self._loop.is_closed():
            return
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # it was closed just now
            return


def _attempt(*functions: Callable[[], None]) -> None:
    """Call functions, and log what they raise: clients get the changes all the same."""
    for function in functions:
        try:
            function()
        except Exception:
            logger.exception("the consequences of a change could not be published")


class StateEvent(Struct, frozen=True, gc=False, kw_only=True):
    """A session went to another column of mission control, or is there for another reason."""

    session_id: str
    column: str
    why: str | None


def build_live(
    store: MaintainedStore, syncing: SyncState, watch: StateWatch, on_change: Callable[[StateChange], None]
) -> LiveHub:
    """Return the hub that sends clients the changes of a store, the follower's progress, and states.

    `on_change` is called with changed states as well, in the reader's thread.
    """
    live = LiveHub(store)
    told: list[SyncStatus] = []

    def on_news() -> None:
        live.wake()
        status, others = view_sync(syncing), view_sync(syncing, in_detail=False)
        if told[:1] != [status]:
            is_new = told[1:] != [others]
            told[:] = [status, others]
            live.publish("sync", "sync", status, others if is_new else None)

    def tell(change: StateChange) -> None:
        event = StateEvent(session_id=change.session_id, column=change.state.column, why=change.state.why)
        live.publish_for_session(change.key or change.session_id, "state", event)
        on_change(change)

    syncing.subscribe(on_news)
    tracker = StateTracker(store, watch, tell)
    live.follow(tracker, tracker.prime, tracker.recheck)
    return live


def _build_listener(request: Request[Any, Any, Any], caller: Caller, auth: AuthContext) -> Listener | None:
    """Return what a stream ends with; None for the operator's, which last as long as the server."""
    if caller.kind is CallerKind.OPERATOR:
        return None
    accounts = auth.accounts
    if caller.link is not None:
        link = caller.link
        return Listener(lambda: asyncio.to_thread(_is_link_valid, accounts, caller), link.expires_ns)
    if caller.token is not None:
        return Listener(lambda: asyncio.to_thread(_is_token_valid, accounts, caller))

    async def is_logged_in() -> bool:
        user = await find_cookie_user(request, auth)
        return user is not None and user.name == caller.name and _has_role(caller, user.role)

    return Listener(is_logged_in)


def _has_role(caller: Caller, role: str) -> bool:
    return caller.user is not None and caller.user.role == role


def _is_token_valid(accounts: Accounts, caller: Caller) -> bool:
    """Tell whether a token is still good, for who its user was when it was used."""
    user = None if caller.name is None else accounts.find_user(caller.name)
    if user is None or user.disabled_ns is not None or not _has_role(caller, user.role):
        return False
    token = next((each for each in accounts.list_tokens(user.name) if each.id == caller.token), None)
    ends = None if token is None else token.expires_ns
    return token is not None and token.revoked_ns is None and (ends is None or ends > time.time_ns())


def _is_link_valid(accounts: Accounts, caller: Caller) -> bool:
    link = caller.link
    if link is None or link.expires_ns <= time.time_ns():
        return False
    known = next((each for each in accounts.list_links(session=link.session) if each.id == link.id), None)
    maker = None if known is None or known.created_by is None else accounts.find_user(known.created_by)
    return known is not None and known.revoked_ns is None and (maker is None or maker.disabled_ns is None)


_TYPE = "text/event-stream"


@get(
    "/api/live",
    opt=LINKED,
    media_type=_TYPE,
    response_headers=[ResponseHeader(name="x-accel-buffering", value="no")],
    responses={200: ResponseSpec(ChangeEvent, media_type=_TYPE, description="An endless stream of events.")},
)
async def open_stream(
    request: Request[Any, Any, Any],
    live: NamedDependency[SkipValidation[LiveHub]],
    caller: GivenCaller,
    visible: GivenScope,
    auth: NamedDependency[SkipValidation[AuthContext]],
    last_event_id: Annotated[
        str | None, query("The id of the last event received, if it is not in the header.", max_length=200)
    ] = None,
) -> Stream:
    """Stream what happens, as server-sent events.

    Begins with `hello`; `change` is an entry of the feed, `state` a session that moved to another column of
    mission control, `sync` how far the archive is up to date, and `reset` means that the client missed too
    much. Callers receive only what they may see. Continues after `Last-Event-ID`. docs/protocol.md says more.
    """
    last = request.headers.get("last-event-id", last_event_id)
    return Stream(await live.open(last, visible, _build_listener(request, caller, auth)), media_type=_TYPE)
