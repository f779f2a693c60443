"""Pushing all there is, and then what is written, for as long as somebody wants it.

A server that cannot be reached is tried again, ever less often and never by all machines at once; meanwhile
changes are noted, and what Claude Code might delete is held. When it is there again, it is asked what it has:
it may be another one, or an older state.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from turnlog.errors import PushError
from turnlog.ingest.concerns import find_concern, locate_concern
from turnlog.ingest.push.pace import Backoff
from turnlog.ingest.push.pusher import Pusher
from turnlog.ingest.push.status import PushPhase, StatusFile
from turnlog.ingest.watcher import Watcher

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


class HookSource(Protocol):
    """What pushes hook deliveries."""

    def push(self) -> int:
        """Push what is new, and return how many; raises `PushError`."""


class Holder(Protocol):
    """What keeps bytes that may be deleted before they are pushed."""

    def hold(self, pusher: Pusher) -> int:
        """Hold what is not pushed yet, and return how many bytes are held besides their files."""

    def plan(self, pusher: Pusher) -> None:
        """Note what is held of files that are gone, to be pushed, and let go of what need not be held."""


OnNews = Callable[[StatusFile], None]


def push_once(pusher: Pusher, hooks: HookSource, holder: Holder, status: StatusFile, on_news: OnNews) -> None:
    """Push all there is, once; raises `PushError`."""
    pusher.connect()
    for _ in range(2):  # what is held is pushed first; then it is told that it is gone
        holder.plan(pusher)
        _push_all(pusher, status, on_news)
        pusher.plan_all(at_once=True)
        _push_all(pusher, status, on_news)
    pusher.counts.deliveries += hooks.push()
    holder.plan(pusher)
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


class Pushing:
    """Pushes until the watcher is stopped."""

    def __init__(
        self,
        pusher: Pusher,
        watcher: Watcher,
        hooks: HookSource,
        holder: Holder,
        status: StatusFile,
        on_news: OnNews,
        *,
        backoff: Backoff | None = None,
        full_seconds: float = FULL_SECONDS,
        hold_seconds: float = _HOLD_SECONDS,
    ) -> None:
        self._pusher = pusher
        self._watcher = watcher
        self._hooks = hooks
        self._holder = holder
        self._status = status
        self._on_news = on_news
        self._backoff = backoff or Backoff()
        self._full_seconds = full_seconds
        self._hold_seconds = hold_seconds
        self._is_connected = False
        self._next_full = 0.0
        self._fulls = 0
        self._concerns: set[Path] = set()
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
        if self._concerns:
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
        self._holder.plan(self._pusher)
        # What is pushed of files that are gone counts as there, until somebody looks.
        self._looks_again = self._pusher.waiting > before
        self._next_full = time.monotonic() + (_RECHECK if is_first else self._full_seconds)

    def _look_at_some(self) -> None:
        concerns, self._concerns = self._concerns, set()
        if self._pusher.plan_some({concern: locate_concern(concern) for concern in sorted(concerns)}):
            self._next_full = min(self._next_full, time.monotonic() + _RECHECK)

    def _fail(self, error: PushError) -> float:
        if error.status != 503 or error.code == "too_many_connections":
            self._is_connected = False
        pause = self._backoff.fail(max(error.retry_after, _LONG_SECONDS if error.status in _LONG else 0.0))
        if error.status == 503:
            pause = min(pause, max(error.retry_after, _BUSY_SECONDS))
        held = self._status.status.held_bytes
        if time.monotonic() >= self._next_hold and not self._is_connected:
            held = self._holder.hold(self._pusher)
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
            if self._is_connected and (self._concerns or self._next_full == 0.0):
                return
            if time.monotonic() >= deadline:
                return

    def _note(self, changed: set[Path]) -> None:
        for path in changed:
            concern = find_concern(path, self._watcher.roots, self._pusher.known.homes)
            if concern in self._watcher.roots:
                self._next_full = 0.0
            elif concern is not None:
                self._concerns.add(concern)
