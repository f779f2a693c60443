"""How far the archive is up to date: told by the process that follows, read by whoever asks."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct


class SyncPhase(StrEnum):
    """What the follower is doing."""

    OFF = "off"
    """Nobody asked for it."""
    STARTING = "starting"
    SYNCING = "syncing"
    """Bringing everything up to date, for the first time."""
    WATCHING = "watching"
    ELSEWHERE = "elsewhere"
    """Another process keeps the archive up to date."""
    FAILED = "failed"
    """It ended, and is started again."""


class News(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What the follower tells: a line of JSON each."""

    phase: SyncPhase
    done: int = 0
    total: int = 0
    """Sessions, while it is syncing."""
    looked: bool = False
    """Whether a look ended."""
    reason: str = ""
    """Why it failed."""
    lines: int = 0
    bytes: int = 0
    seconds: float = 0.0


class SyncState:
    """What is known of the follower. Written by one thread; whoever reads sees each value whole."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []
        self.phase = SyncPhase.OFF
        self.done = 0
        self.total = 0
        """Sessions of the first sync."""
        self.reason = ""
        """Why the last look failed; empty if it did not."""
        self.last_at: float | None = None
        """When the last look that found something ended, in seconds since 1970."""
        self.looks = 0
        self.failures = 0
        self.restarts = 0
        self.lines = 0
        self.bytes = 0
        self.seconds = 0.0

    def listen(self, on_news: Callable[[], None]) -> None:
        """Have a function called whenever something changed, in the thread that changed it."""
        self._listeners.append(on_news)

    def enter(self, phase: SyncPhase) -> None:
        """Note what the follower does now, which it cannot tell itself."""
        self.phase = phase
        self._tell()

    def note(self, news: News) -> None:
        """Take in what the follower tells."""
        self._note(news)
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def _note(self, news: News) -> None:
        self.phase = news.phase
        self.reason = news.reason
        self.done, self.total = news.done, news.total
        if not news.looked:
            return
        self.looks += 1
        if news.reason:
            self.failures += 1
            return
        self.last_at = time.time()
        self.lines += news.lines
        self.bytes += news.bytes
        self.seconds += news.seconds
