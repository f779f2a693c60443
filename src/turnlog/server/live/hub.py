"""Telling all clients what happens: one reader, a window for those who see the same, a place for each client.

Who may see everything shares one window, into which the reader's entries go. For each other scope with clients
the store is asked what of the feed they may see, so it decides, here as everywhere.

The reader's thread hands events over to the event loop, which puts them into the window and wakes the clients.
Each client reads from its own place and sends at its own speed; one that does not read is cut off by the
connection, and one that falls behind the window is let go. Either comes again with the last id that it got.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence
from functools import partial
from importlib.metadata import version

from msgspec import Struct

from turnlog.errors import StoreError
from turnlog.server.errors import RequestError
from turnlog.server.live.channels import Channel, view_for
from turnlog.server.live.encoding import HEARTBEAT, encode_event
from turnlog.server.live.endings import Endings, Listener
from turnlog.server.live.event_ids import EventId, parse_event_id
from turnlog.server.live.names import SessionNames, coalesce
from turnlog.server.live.reader import FeedReader
from turnlog.server.shapes.live import HelloEvent, ResetEvent
from turnlog.store.accounts.interface import Accounts
from turnlog.store.interface import CaredStore, ChangeEntry, is_visible
from turnlog.store.model import LOCAL, Scope

logger = logging.getLogger("turnlog.server")

HEARTBEAT_SECONDS = 15.0
MOST_BEHIND = 10_000
"""How many entries of the feed a client is told that was away; if there are more, it asks for all again."""
_PAUSE = 0.1
"""How long changes gather at least, in seconds."""
_PAUSE_FOR_EACH = 0.0005
"""How much longer for each client: telling a thousand takes the event loop a tenth of a second."""
_VERSION = version("turnlog")

OnEntries = Callable[[Sequence[ChangeEntry]], None]
Item = tuple[Hashable, bytes]


class LiveHub:
    """What all clients are told. `start` is called in the event loop, `stop` where that has ended."""

    def __init__(self, store: CaredStore, *, heartbeat_seconds: float = HEARTBEAT_SECONDS) -> None:
        self._store = store
        self._names = SessionNames(store)
        self._everything = Channel(LOCAL, 0)
        self._channels: dict[Scope, Channel] = {}
        """For those who may not see everything."""
        self._endings: Endings | None = None
        self._heartbeat_seconds = heartbeat_seconds
        self._beats = 0
        self._epoch = ""
        self._followers: list[tuple[OnEntries, Callable[[], None], Callable[[], None]]] = []
        self._reader: FeedReader | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.clients = 0
        self.closing = False

    def follow(self, on_entries: OnEntries, on_start: Callable[[], None], on_pause: Callable[[], None]) -> None:
        """Have changes handed on, in the reader's thread, behind the clients; before `start`.

        `on_start` is called there before the first look, and `on_pause` every 15 seconds.
        """
        self._followers.append((on_entries, on_start, on_pause))

    def watch(self, accounts: Accounts) -> None:
        """End the streams of those who are no longer let in; before `start`."""
        self._endings = Endings(accounts, self._pulse)

    def start(self) -> None:
        """Begin to read where the feed ends."""
        self._loop = asyncio.get_running_loop()
        self._beat()
        self._begin()

    def wake(self) -> None:
        """Look for changes now; from any thread."""
        if self._reader is not None:
            self._reader.wake()

    def close(self) -> None:
        """Let all clients go; from any thread."""
        self._call(self._end_streams)

    def stop(self) -> None:
        """End the reader."""
        self._end_streams()
        if self._timer is not None:
            self._timer.cancel()
        if self._endings is not None:
            self._endings.stop()
        if self._reader is not None:
            self._reader.stop()

    def tell(self, name: str, about: Hashable, data: Struct, others: Struct | None = None) -> None:
        """Tell clients something that is no entry of the feed; from any thread.

        Those who may not see everything are told `others` instead, if anything.
        """
        self._tell(self._everything, name, about, data)
        for channel in list(self._channels.values()):
            if others is not None:
                self._tell(channel, name, about, others)

    def tell_of(self, session: str, name: str, data: Struct) -> None:
        """Tell those clients of a session who may see it; not from the event loop.

        The session goes by its key, or by its id if only hooks have told of it.
        """
        self._tell(self._everything, name, session, data)
        for channel in list(self._channels.values()):
            if is_visible(self._store, channel.scope, session):
                self._tell(channel, name, session, data)

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
        return self._stream(parse_event_id(last), scope, listener, is_new=not last)

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
            self._take,
            self._find_pause,
            on_start=lambda: _attempt(*(start for _, start, _ in self._followers)),
            on_pause=lambda: _attempt(self._fill_all, *(pause for _, _, pause in self._followers)),
        )
        self._reader.start()
        return True

    async def _stream(
        self, last: EventId | None, scope: Scope, listener: Listener | None, *, is_new: bool
    ) -> AsyncIterator[bytes]:
        channel = await self._enter(scope)
        self.clients += 1
        watched = self._endings if listener is not None else None
        try:
            if watched is not None and listener is not None:
                watched.add(listener)
            place, current = channel.window.at, EventId(self._epoch, channel.seq)
            known = not is_new and last is not None and last.epoch == current.epoch and last.seq <= current.seq
            begin = last if known and last is not None else current
            yield encode_event("hello", HelloEvent(version=_VERSION, seq=begin.seq), begin)
            if begin.seq < current.seq:
                yield await asyncio.to_thread(self._replay, scope, begin, current)
            elif not is_new and not known:
                yield self._reset(current)
            async for data in self._go_on(channel, place, listener):
                yield data
        finally:
            self.clients -= 1
            self._leave(channel)
            if watched is not None and listener is not None:
                watched.remove(listener)

    async def _enter(self, scope: Scope) -> Channel:
        """Return what those of a scope are told, for one client more."""
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

    async def _go_on(self, channel: Channel, place: int, listener: Listener | None) -> AsyncIterator[bytes]:
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
                yield HEARTBEAT

    def _replay(self, scope: Scope, begin: EventId, current: EventId) -> bytes:
        """Return what a client missed, from the store."""
        entries = self._store.read_feed(scope, after=begin.seq, limit=MOST_BEHIND + 1).entries
        missed = [entry for entry in entries if entry.seq <= current.seq]
        if len(missed) > MOST_BEHIND:
            return self._reset(current)
        return b"".join(data for _, data in self._encode(missed, scope))

    def _reset(self, current: EventId) -> bytes:
        return encode_event("reset", ResetEvent(seq=current.seq), current)

    def _encode(self, entries: Iterable[ChangeEntry], scope: Scope = LOCAL) -> list[Item]:
        told = (each for entry in coalesce(entries) for each in view_for(self._store, scope, entry))
        return [
            (
                (entry.kind, entry.session),
                encode_event("change", self._names.view(entry), EventId(self._epoch, entry.seq)),
            )
            for entry in told
        ]

    def _take(self, entries: Sequence[ChangeEntry]) -> None:
        """Hand on what the reader found, in its thread."""
        items, seq = self._encode(entries), entries[-1].seq
        self._call(lambda: self._put(self._everything, items, seq))
        self._fill_all()
        _attempt(*(partial(on_entries, entries) for on_entries, _, _ in self._followers))

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

    def _tell(self, channel: Channel, name: str, about: Hashable, data: Struct) -> None:
        item = (name, about), encode_event(name, data)
        self._call(lambda: self._put(channel, [item]))

    def _put(self, channel: Channel, items: Iterable[Item], seq: int | None = None) -> None:
        for about, data in items:
            channel.window.put(about, data)
        if seq is not None:
            channel.seq = seq
        self._pulse()

    def _pulse(self) -> None:
        self._news.set()  # wakes those that wait just now
        self._news.clear()

    def _beat(self) -> None:
        self._beats += 1
        self._pulse()
        if self._loop is not None:
            self._timer = self._loop.call_later(self._heartbeat_seconds, self._beat)

    def _end_streams(self) -> None:
        self.closing = True
        self._pulse()

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
    """Do what follows from changes; if that fails, clients are told of changes all the same."""
    for function in functions:
        try:
            function()
        except Exception:
            logger.exception("the consequences of a change could not be published")
