"""What `turnlog push` says."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import click
from msgspec import Struct

from turnlog.cli.failures import FOUND_PROBLEMS, MisuseError, NothingFoundError
from turnlog.cli.files import warn
from turnlog.cli.output import Output
from turnlog.cli.rendering.figures import size_text
from turnlog.cli.terminal import clean_line
from turnlog.export.plain import plural
from turnlog.ingest.push.pusher import PushCounts, Pusher
from turnlog.ingest.push.status import PushPhase, PushStatus, StatusFile, read_status

_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmMgG]?)(i?)[bB]?(?:/s)?")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3}
_LEAST = 1024.0


class PlanDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog push --dry-run --json` prints."""

    server: str
    sessions: int
    """That something is to be pushed of."""
    bytes: int
    known: int
    """Sessions that the server has."""


class PushStatusDocument(Struct, frozen=True, kw_only=True):
    """What `turnlog push --status --json` prints."""

    running: bool
    status: PushStatus


def parse_rate(text: str) -> float:
    """Return bytes a second."""
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise MisuseError(f"expected a rate such as 2MB/s or 500KB/s, got {text!r}")
    factor: int = (1024 if found[3] else 1000) ** _POWERS[found[2].lower()]
    rate = float(found[1]) * factor
    if rate < _LEAST:
        raise MisuseError(f"expected at least {_LEAST:.0f} bytes a second, got {text!r}")
    return rate


class News:
    """Tells what happens: on a terminal a line for each change, in a pipe only what fails, or JSON lines."""

    def __init__(
        self, output: Output, *, as_json: bool, on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        self._output = output
        self._as_json = as_json
        self._on_progress = on_progress
        self._last: tuple[PushPhase, str, int] | None = None
        self._next = 0.0

    def __call__(self, file: StatusFile) -> None:
        """Tell what is new."""
        status = file.status
        if self._on_progress is not None:
            done = status.counts.bytes
            self._on_progress(done, done + status.waiting_bytes)
            return
        told = status.phase, status.reason, status.counts.uploads + status.counts.deliveries
        is_other = self._last is None or told[:2] != self._last[:2]
        if told == self._last or (not is_other and time.monotonic() < self._next):
            return
        self._last, self._next = told, time.monotonic() + 1.0
        if self._as_json:
            self._output.print_json(status)
        elif status.phase is PushPhase.OFFLINE:
            pause = max((status.again_at or status.at) - status.at, 0.0)
            warn(f"{clean_line(status.reason)} (trying again in {pause:.0f} s)")
        elif self._output.is_terminal:
            self._output.print([f"{datetime.now():%H:%M:%S}  {_describe(status)}"])


def plan_document(pusher: Pusher) -> PlanDocument:
    """Return what would be pushed."""
    return PlanDocument(
        server=pusher.client.name,
        sessions=pusher.waiting,
        bytes=pusher.waiting_bytes,
        known=len(pusher.sessions),
    )


def describe_plan(document: PlanDocument) -> str:
    """Return what would be pushed, in words."""
    return (
        f"{plural(document.sessions, 'session')} to push, {size_text(document.bytes)}; "
        f"{document.server} has {plural(document.known, 'session')} of this machine"
    )


def describe_done(counts: PushCounts) -> str:
    """Return what was pushed, in words."""
    parts = [f"{size_text(counts.bytes)} pushed in {plural(counts.uploads, 'upload')}"]
    if counts.deliveries:
        parts.append(plural(counts.deliveries, "hook event"))
    if counts.gone:
        parts.append(f"{plural(counts.gone, 'session')} deleted from disk")
    if counts.refused:
        parts.append(f"{plural(counts.refused, 'session')} refused")
    return "; ".join(parts)


def find_status(home: Path) -> PushStatus:
    """Return how the collector of this machine is doing."""
    found = read_status(home)
    if found is None:
        raise NothingFoundError("nothing has been pushed from this machine")
    return found


def show_status(output: Output, status: PushStatus, as_json: bool) -> None:
    """Print how a collector is doing; exit status 1 means that it does not run, or is offline."""
    running = status.phase is not PushPhase.STOPPED and _is_running(status.pid)
    if as_json:
        output.print_json(PushStatusDocument(running=running, status=status))
    else:
        output.print(list(_describe_status(status, running)))
    if status.phase is PushPhase.OFFLINE or not running:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _describe_status(status: PushStatus, running: bool) -> Iterator[str]:
    phase = status.phase.value if running else "not running"
    yield clean_line(f"{phase}: {status.server}")
    if status.last_success_at is not None:
        yield f"last success: {datetime.fromtimestamp(status.last_success_at):%Y-%m-%d %H:%M:%S}"
    if status.reason:
        yield clean_line(status.reason)
    yield describe_done(status.counts)
    if status.waiting:
        yield f"{plural(status.waiting, 'session')} to push, {size_text(status.waiting_bytes)}"
    if status.held_bytes:
        yield f"{size_text(status.held_bytes)} copied until it is pushed"


def _describe(status: PushStatus) -> str:
    if status.phase is PushPhase.CONNECTING:
        return f"asking {clean_line(status.server)} what it has"
    left = (
        f"; {plural(status.waiting, 'session')} left, {size_text(status.waiting_bytes)}"
        if status.waiting
        else ""
    )
    return f"{describe_done(status.counts)}{left}"


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
