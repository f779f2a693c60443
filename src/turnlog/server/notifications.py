"""Notifications when a session waits for the person or ends: on the desktop, and to webhooks.

Each transition is reported once, and nothing of a transcript is sent but the session's title, where it works,
and why it waits. A state has to hold for a moment first: permissions that are granted at once need nobody. What
cannot be sent is retried a few times, at growing intervals, and then given up; if too much waits, it is
dropped, and the log says so. Webhooks are posted to the addresses of the configuration and to no others:
redirects are not followed.
"""

from __future__ import annotations

import html
import http.client
import logging
import queue
import shutil
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec
from msgspec import Struct

from turnlog.config import NotificationSettings, Occasion
from turnlog.server.session_states import Column, StateChange
from turnlog.server.values import LruDict
from turnlog.transcripts.agent_status import AgentPhase, WaitReason

logger = logging.getLogger("turnlog.server")

_FRESH_NS = 120 * 1_000_000_000
"""What began longer ago was found by a sync, and is no news."""
_VERSION = version("turnlog")
_NEEDS = {
    WaitReason.PERMISSION: "needs a permission",
    WaitReason.QUESTION: "asks a question",
    WaitReason.PLAN: "has a plan for you to review",
    WaitReason.IDLE: "is waiting for you",
    WaitReason.FAILED: "stopped at an error",
}


class Notification(Struct, frozen=True, gc=False, kw_only=True):
    """A notification; webhooks get it as JSON."""

    event: str
    """`waits`, `ends` or `test`."""
    session_id: str | None
    title: str | None
    project: str | None
    why: str | None
    """`permission`, `question`, `plan`, `idle` or `failed`; of what ends, `turn_ended` or null."""
    text: str
    """All of it in a sentence."""
    at: datetime
    turnlog: str = _VERSION


def find_occasion(change: StateChange, wanted: Collection[Occasion], now_ns: int) -> Occasion | None:
    """Return what to notify of after a change; None for nothing."""
    state = change.state
    if state.since_ns is None or now_ns - state.since_ns > _FRESH_NS:
        return None
    if state.column is Column.NEEDS_YOU and change.before is not Column.NEEDS_YOU:
        # A minute after a turn ended, Claude Code says that it waits; who was notified of the end knows.
        is_known = state.why is WaitReason.IDLE and change.before is Column.DONE and Occasion.ENDS in wanted
        return Occasion.WAITS if Occasion.WAITS in wanted and not is_known else None
    was_busy = change.before in (Column.WORKING, Column.NEEDS_YOU)
    has_ended = state.phase is AgentPhase.ENDED or state.why is WaitReason.TURN_ENDED
    return Occasion.ENDS if was_busy and has_ended and Occasion.ENDS in wanted else None


def build_notification(occasion: Occasion, change: StateChange) -> Notification:
    """Return the notification of a change."""
    state = change.state
    if occasion is Occasion.WAITS:
        said = _NEEDS.get(state.why, "is waiting for you") if state.why is not None else "is waiting for you"
    else:
        said = "ended" if state.phase is AgentPhase.ENDED else "is done"
    name = change.title or change.project or change.session_id
    return Notification(
        event=occasion,
        session_id=change.session_id,
        title=change.title,
        project=change.project,
        why=state.why,
        text=f"{name} {said}",
        at=datetime.fromtimestamp((state.since_ns or 0) // 1_000_000 / 1000, UTC),
    )


def build_test_notification() -> Notification:
    """Return a notification for testing."""
    return Notification(
        event="test",
        session_id=None,
        title=None,
        project=None,
        why=None,
        text="turnlog can reach you here",
        at=datetime.now(UTC),
    )


class SendError(Exception):
    """A notification could not be delivered; the text says why."""

    def __init__(self, reason: str, *, again: bool = False) -> None:
        self.reason = reason
        self.again = again
        """Whether another attempt may succeed."""
        super().__init__(reason)


class Sent(Struct, frozen=True, gc=False, kw_only=True):
    """The result of a notification."""

    target: str
    """`desktop`, or the webhook's address without its query and secrets."""
    ok: bool
    message: str


class Target(Protocol):
    """A destination of notifications."""

    @property
    def name(self) -> str:
        """What it is called, without secrets."""

    def send(self, notice: Notification) -> None:
        """Send a notification; raises `SendError`."""


_DESKTOP_TIMEOUT = 5.0
_LONGEST = 300
_HEAD = "turnlog"
_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


class Desktop:
    """Notifications on the desktop of this machine."""

    name = "desktop"

    def send(self, notice: Notification) -> None:
        """Show a notification; raises `SendError`."""
        command = build_command(notice, sys.platform)
        if command is None:
            raise SendError(f"there is no way to show notifications on {sys.platform}")
        if shutil.which(command[0]) is None:
            raise SendError(f"{command[0]} is not installed")
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_DESKTOP_TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            raise SendError(f"{command[0]} did not finish within {_DESKTOP_TIMEOUT:.0f} seconds") from None
        except OSError as error:
            raise SendError(f"{command[0]} cannot be run ({error.strerror or error})") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise SendError(f"{command[0]} failed" + (f": {said[0][:_LONGEST]}" if said else ""))


def build_command(notice: Notification, system: str) -> list[str] | None:
    """Return the command that shows a notification; None where there is none."""
    text = _clean(notice.text)
    if notice.project is not None:
        text = f"{text}\n{_clean(notice.project)}"
    if system == "darwin":
        return ["osascript", *(part for line in _SCRIPT for part in ("-e", line)), _HEAD, text]
    if system == "linux":
        return ["notify-send", "--app-name=turnlog", "--", _HEAD, html.escape(text, quote=False)]
    return None


def _clean(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)[:_LONGEST]


_WEBHOOK_TIMEOUT = 5.0
"""Seconds, for each step of a request."""
_MOST_READ = 1 << 16


class Webhook:
    """An address that receives notifications by POST."""

    def __init__(self, address: str, timeout: float = _WEBHOOK_TIMEOUT) -> None:
        self._parts = urlsplit(address)
        self._timeout = timeout

    @property
    def name(self) -> str:
        """The address without its query and secrets."""
        return show_address(self._parts)

    def send(self, notice: Notification) -> None:
        """Post a notification; raises `SendError`."""
        parts = self._parts
        path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        try:
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            with closing(kind(parts.hostname or "", parts.port, timeout=self._timeout)) as connection:
                connection.request("POST", path, msgspec.json.encode(notice), self._build_headers())
                answer = connection.getresponse()
                answer.read(_MOST_READ)
        except TimeoutError:
            raise SendError(f"it did not respond within {self._timeout:.0f} seconds", again=True) from None
        except (OSError, http.client.HTTPException) as error:
            raise SendError(f"it cannot be reached ({error})", again=True) from error
        if not 200 <= answer.status < 300:
            again = answer.status >= 500 or answer.status == http.HTTPStatus.TOO_MANY_REQUESTS
            raise SendError(f"it responded with {answer.status} {answer.reason}".rstrip(), again=again)

    def _build_headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "turnlog", "Connection": "close"}
        if self._parts.username is not None:
            secret = f"{unquote(self._parts.username)}:{unquote(self._parts.password or '')}"
            headers["Authorization"] = f"Basic {b64encode(secret.encode()).decode()}"
        return headers


def show_address(parts: SplitResult) -> str:
    """Return an address without its query and secrets."""
    host = parts.hostname or ""
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"


_HOLD_SECONDS = 1.0
"""How long a state has to hold."""
_PAUSES = (1.0, 5.0, 25.0)
"""How long to wait before each further attempt."""
_MOST_WAITING = 200
_MOST_REMEMBERED = 2000
_SENDERS = 2


class Notifier:
    """Sends notifications; `note` may be called from any thread, and never blocks."""

    def __init__(
        self,
        settings: NotificationSettings,
        targets: Sequence[Target] | None = None,
        *,
        hold_seconds: float = _HOLD_SECONDS,
        pauses: Sequence[float] = _PAUSES,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.settings = settings
        self._targets = list_targets(settings) if targets is None else list(targets)
        self._hold_seconds = hold_seconds
        self._pauses = tuple(pauses)
        self._clock = clock
        self._held: OrderedDict[str, tuple[float, Occasion, StateChange]] = OrderedDict()
        self._told: LruDict[tuple[str, Occasion, int], None] = LruDict(_MOST_REMEMBERED)
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._outgoing: queue.Queue[tuple[Target, Notification]] = queue.Queue(_MOST_WAITING)
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start, if there are any targets."""
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
        """Schedule a notification for a change; a later one of the same session within a moment replaces it."""
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
            self._notify(occasion, change)

    def _notify(self, occasion: Occasion, change: StateChange) -> None:
        transition = change.session_id, occasion, change.state.since_ns or 0
        if transition in self._told:
            return
        self._told.put(transition, None)
        notice = build_notification(occasion, change)
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

    def _attempt(self, target: Target, notice: Notification) -> None:
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
    """Return the targets that the settings name."""
    return [*([Desktop()] if settings.desktop else []), *map(Webhook, settings.webhooks)]


def send_test(targets: Sequence[Target]) -> list[Sent]:
    """Send a test notification to every target, once, and return the results."""
    notice, sent = build_test_notification(), []
    for target in targets:
        try:
            target.send(notice)
        except SendError as error:
            sent.append(Sent(target=target.name, ok=False, message=error.reason))
        else:
            sent.append(Sent(target=target.name, ok=True, message="sent"))
    return sent
