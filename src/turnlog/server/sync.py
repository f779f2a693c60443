"""Keeping the archive up to date: the follower's process, and what it last reported.

The follower (`turnlog.server.follower`) runs beside the server and writes `FollowerReport`, a line of JSON
each. `FollowerProcess` starts it, reads what it reports, restarts it if it fails, and ends it with the server.
`SyncState` is what is known of it, for `/api/status`, the metrics and `/api/live`.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from turnlog.server.processes import end_child, read_reports, start_child
from turnlog.shapes import fill
from turnlog.store.model import StorePlace

logger = logging.getLogger("turnlog.server")

_PATIENCE = 4.0
"""How many seconds the follower has to end what it is at; what it has not written is read again next time."""
_LONGEST_PAUSE = 60.0


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


class FollowerReport(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A report of the follower: a line of JSON."""

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
    """What is known of the follower. Written by one thread; readers see each value whole."""

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

    def subscribe(self, on_news: Callable[[], None]) -> None:
        """Have a function called whenever something changed, in the thread that changed it."""
        self._listeners.append(on_news)

    def set_phase(self, phase: SyncPhase) -> None:
        """Note a phase that the follower cannot report itself."""
        self.phase = phase
        self._notify()

    def note(self, news: FollowerReport) -> None:
        """Apply a report of the follower."""
        self._note(news)
        self._notify()

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()

    def _note(self, news: FollowerReport) -> None:
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


class SyncStatus(Struct, frozen=True, gc=False, kw_only=True):
    """How far the archive is up to date."""

    phase: SyncPhase
    done: int
    total: int
    """Sessions of the first sync."""
    failing: bool
    """Whether the last scan failed; it is retried."""
    last_at: datetime | None
    """When something was last found."""


def view_sync(syncing: SyncState, *, in_detail: bool = True) -> SyncStatus:
    """Return the state of the follower; without details, nothing that reveals anybody's sessions."""
    last_at = None if syncing.last_at is None else datetime.fromtimestamp(syncing.last_at, UTC)
    status = fill(SyncStatus, syncing, failing=bool(syncing.reason), last_at=last_at)
    return status if in_detail else replace(status, done=0, total=0, last_at=None)


class FollowerProcess:
    """A follower that is started again if it ends; used with `with`."""

    def __init__(self, place: StorePlace, state: SyncState, env: Mapping[str, str] = os.environ) -> None:
        self._place = place
        self._state = state
        self._env = dict(env)
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def __enter__(self) -> Self:
        self._state.set_phase(SyncPhase.STARTING)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Let the follower end; after some seconds, end it."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process is not None:
            end_child(process, _PATIENCE)
        self._thread.join(_PATIENCE)
        self._state.set_phase(SyncPhase.OFF)

    def _run(self) -> None:
        pause = 1.0
        while not self._stopping.is_set():
            process = self._start()
            if process is None:
                return
            for report in read_reports(process, FollowerReport):
                if report.reason and report.reason != self._state.reason:
                    logger.warning("%s", report.reason)
                self._state.note(report)
                pause = 1.0
            if self._stopping.is_set():
                return
            self._state.restarts += 1
            self._state.set_phase(SyncPhase.FAILED)
            logger.error(
                "the follower exited with status %d; restarting it in %.0f s", process.returncode, pause
            )
            self._stopping.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _start(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            self._process = start_child("turnlog.server.follower", self._place, self._env)
            return self._process
