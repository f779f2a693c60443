"""The newest hook events of each session in memory, as spec 002 has it (section 4.3).

There it is all there is until a session ends, and then it is written. Here every delivery is on the disk before
it comes here, so what falls out of the window is not lost: the window shows an event in the moment between its
arrival and its being in the store. Payloads are left out; they may be large.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable

from msgspec.structs import replace

from turnlog.transcripts.hooks.deliveries import HookDelivery

MOST = 5_000
"""How many events of a session are kept."""
DROPPED = 100
"""How many of the oldest go when there are more."""
_SESSIONS = 256
_BYTES = 64 << 20


class LiveWindow:
    """What came lately; any thread may ask."""

    def __init__(self, *, sessions: int = _SESSIONS, size: int = _BYTES) -> None:
        self._most_sessions = sessions
        self._most_bytes = size
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._bytes = 0

    def add(self, delivery: HookDelivery, *, stored: bool) -> None:
        """Take in an event; `stored` if the store has it. The session that was silent longest makes room."""
        with self._lock:
            session = self._sessions.pop(delivery.session_id, None) or _Session()
            self._sessions[delivery.session_id] = session
            self._bytes += session.add(replace(delivery, payload=b""), stored)
            self._let_go(delivery.session_id)
            while len(self._sessions) > self._most_sessions or (
                self._bytes > self._most_bytes and len(self._sessions) > 1
            ):
                _, silent = self._sessions.popitem(last=False)
                self._bytes -= silent.size
            if self._bytes > self._most_bytes:
                self._bytes -= session.shrink(self._most_bytes)

    def note_stored(self, deliveries: Iterable[HookDelivery]) -> None:
        """Say that the store has these now; a session that ended goes with its last one."""
        with self._lock:
            for delivery in deliveries:
                session = self._sessions.get(delivery.session_id)
                if session is not None:
                    session.pending.discard(delivery.delivery_id)
                    self._let_go(delivery.session_id)

    def list_events(self, session_id: str) -> list[HookDelivery]:
        """Return what is in the window of a session, as it came."""
        with self._lock:
            session = self._sessions.get(session_id)
            return [] if session is None else list(session.events)

    def list_pending(self, session_id: str) -> list[HookDelivery]:
        """Return those of them that the store may not have yet."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None or not session.pending:
                return []
            return [event for event in session.events if event.delivery_id in session.pending]

    def count(self) -> tuple[int, int]:
        """Return how many sessions there are, and how many events."""
        with self._lock:
            return len(self._sessions), sum(len(session.events) for session in self._sessions.values())

    def _let_go(self, session_id: str) -> None:
        session = self._sessions[session_id]
        if session.ended and not session.pending:
            self._bytes -= session.size
            del self._sessions[session_id]


class _Session:
    def __init__(self) -> None:
        self.events: deque[HookDelivery] = deque()
        self.pending: set[str] = set()
        self.size = 0
        self.ended = False

    def add(self, event: HookDelivery, stored: bool) -> int:
        """Add an event, and return by how much the window grew."""
        before = self.size
        self.ended = event.event_name == "SessionEnd"
        self.events.append(event)
        self.size += _weigh(event)
        if not stored:
            self.pending.add(event.delivery_id)
        if len(self.events) > MOST:
            for _ in range(DROPPED):
                self._drop()
        return self.size - before

    def shrink(self, size: int) -> int:
        """Drop the oldest until there is room, and return how much that gave."""
        before = self.size
        while self.size > size and self.events:
            self._drop()
        return before - self.size

    def _drop(self) -> None:
        oldest = self.events.popleft()
        self.size -= _weigh(oldest)
        self.pending.discard(oldest.delivery_id)


def _weigh(event: HookDelivery) -> int:
    return 500 + len(event.label or "") + len(event.context or "")
