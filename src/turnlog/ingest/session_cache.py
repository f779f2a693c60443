"""Sessions that were scanned a moment ago, kept in memory: only what is appended to them is read then.

A session is kept as it is at one revision of the store. A scan takes it out, and it is put back when what came
of the scan is written; so one that changed in any other way, or was forgotten, is not used again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from turnlog.ingest.contents import DERIVED_FROM, Content
from turnlog.ingest.derivation import Deriver
from turnlog.store.interface import KnownSession

_MOST_BYTES = 192 << 20
"""Of memory, about: room for a few long sessions."""
_IDLE_SECONDS = 300.0

Layout = tuple[tuple[str, str, int], ...]
"""The files that rows are derived from, in order: source, path and generation."""


class CachedSession(Struct, frozen=True):
    """A session as it is at a revision."""

    key: str
    revision: int
    folder: str
    layout: Layout
    contents: Mapping[str, Content]
    """Of all files that rows are derived from, by source."""
    deriver: Deriver

    @property
    def weight(self) -> int:
        """How much memory it takes, about."""
        return sum(content.weight for content in self.contents.values())

    def fits(self, known: KnownSession) -> bool:
        """Tell whether it is what the store has."""
        if (self.key, self.revision) != (known.key, known.revision):
            return False
        generations = {source: generation for source, _, generation in self.layout}
        for source in known.sources:
            content = self.contents.get(source.source)
            if content is None or source.kind not in DERIVED_FROM:
                continue
            if source.generation != generations[source.source] or not content.is_at(source):
                return False
        return True


class SessionCache:
    """The few sessions that are being written to."""

    def __init__(
        self,
        most_bytes: int = _MOST_BYTES,
        idle_seconds: float = _IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_bytes = most_bytes
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._sessions: dict[str, tuple[CachedSession, float, int]] = {}
        """The one that was looked at last is at the end."""

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def weight(self) -> int:
        """How much memory they take, about."""
        return sum(weight for _, _, weight in self._sessions.values())

    def take(self, known: KnownSession | None) -> CachedSession | None:
        """Return a session as it was put in, once, if it still is what the store has."""
        found = None if known is None else self._sessions.pop(known.key, None)
        return found[0] if found is not None and known is not None and found[0].fits(known) else None

    def put(self, session: CachedSession | None) -> None:
        """Keep a session, in place of those that were not looked at for longest.

        It is kept itself, however large it is: looking at it took as much.
        """
        if session is None:
            return
        self._sessions.pop(session.key, None)
        self._sessions[session.key] = session, self._clock(), session.weight
        while len(self._sessions) > 1 and self.weight > self._most_bytes:
            del self._sessions[next(iter(self._sessions))]

    def drop(self, keys: Iterable[str]) -> None:
        """Let go of some sessions, if they are here."""
        for key in keys:
            self._sessions.pop(key, None)

    def drop_idle(self) -> None:
        """Let go of sessions that nobody has looked at for a while."""
        limit = self._clock() - self._idle_seconds
        for key in [key for key, (_, since, _) in self._sessions.items() if since < limit]:
            del self._sessions[key]
