"""Sending notices beside all else: what is found is put aside, and threads of their own do the rest.

A state has to hold for a moment before it is told: permissions that are granted at once are none. What cannot
be sent is tried again a few times, ever later, and then given up; if too much waits, it is dropped, and said.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from turnlog.config import NotificationSettings, Occasion
from turnlog.server.board.columns import StateChange
from turnlog.server.notifications.desktop import Desktop
from turnlog.server.notifications.notices import Notice, build_notice, build_test_notice, find_occasion
from turnlog.server.notifications.targets import SendError, Sent, Target
from turnlog.server.notifications.webhooks import Webhook

logger = logging.getLogger("turnlog.server")

HOLD_SECONDS = 1.0
"""How long a state has to hold."""
_PAUSES = (1.0, 5.0, 25.0)
"""How long to wait before each further attempt."""
_MOST_WAITING = 200
_MOST_REMEMBERED = 2000
_SENDERS = 2


class Notifier:
    """Sends what was asked for; `note` may be called from any thread, and never waits."""

    def __init__(
        self,
        settings: NotificationSettings,
        targets: Sequence[Target] | None = None,
        *,
        hold_seconds: float = HOLD_SECONDS,
        pauses: Sequence[float] = _PAUSES,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.settings = settings
        self._targets = list_targets(settings) if targets is None else list(targets)
        self._hold_seconds = hold_seconds
        self._pauses = tuple(pauses)
        self._clock = clock
        self._held: OrderedDict[str, tuple[float, Occasion, StateChange]] = OrderedDict()
        self._told: OrderedDict[tuple[str, Occasion, int], None] = OrderedDict()
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._outgoing: queue.Queue[tuple[Target, Notice]] = queue.Queue(_MOST_WAITING)
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin, if anybody wants to know anything."""
        if not self._targets or not self.settings.on:
            return
        self._threads = [threading.Thread(target=self._hold, name="notices", daemon=True)]
        self._threads += [
            threading.Thread(target=self._send, name="notifier", daemon=True) for _ in range(_SENDERS)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Send nothing more; what is on its way is not waited for."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()

    def note(self, change: StateChange) -> None:
        """Take notice of a change; another one of the same session within a moment takes its place."""
        if not self._threads:
            return
        occasion = find_occasion(change, self.settings.on, self._clock())
        with self._changed:
            self._held.pop(change.session_id, None)
            if occasion is not None:
                due = time.monotonic() + self._hold_seconds
                self._held[change.session_id] = due, occasion, change
            self._changed.notify_all()

    def _hold(self) -> None:
        while not self._stopping.is_set():
            with self._changed:
                due = next(iter(self._held.values()))[0] if self._held else None
                wait = None if due is None else due - time.monotonic()
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                    continue
                _, (_, occasion, change) = self._held.popitem(last=False)
            self._tell(occasion, change)

    def _tell(self, occasion: Occasion, change: StateChange) -> None:
        transition = change.session_id, occasion, change.state.since_ns or 0
        if transition in self._told:
            return
        self._told[transition] = None
        if len(self._told) > _MOST_REMEMBERED:
            self._told.popitem(last=False)
        notice = build_notice(occasion, change)
        for target in self._targets:
            try:
                self._outgoing.put_nowait((target, notice))
            except queue.Full:
                logger.warning(
                    "too many notifications are waiting to be sent; one for %s was dropped", target.name
                )

    def _send(self) -> None:
        while not self._stopping.is_set():
            try:
                target, notice = self._outgoing.get(timeout=1.0)
            except queue.Empty:
                continue
            self._attempt(target, notice)

    def _attempt(self, target: Target, notice: Notice) -> None:
        for pause in (*self._pauses, None):
            try:
                target.send(notice)
            except SendError as error:
                if pause is None or not error.again:
                    logger.warning("%s could not be notified: %s", target.name, error.reason)
                    return
                if self._stopping.wait(pause):
                    return
            except Exception:
                logger.exception("%s could not be notified", target.name)
                return
            else:
                return


def list_targets(settings: NotificationSettings) -> list[Target]:
    """Return where notices go."""
    return [*([Desktop()] if settings.desktop else []), *map(Webhook, settings.webhooks)]


def send_test(targets: Sequence[Target]) -> list[Sent]:
    """Send a notice everywhere, once, and return what came of it."""
    notice, sent = build_test_notice(), []
    for target in targets:
        try:
            target.send(notice)
        except SendError as error:
            sent.append(Sent(target=target.name, ok=False, message=error.reason))
        else:
            sent.append(Sent(target=target.name, ok=True, message="sent"))
    return sent
