"""`turnlog push`: keep a server up to date with the sessions of this machine, and say how that goes."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import click
from msgspec import Struct

from turnlog.cli.files import warn
from turnlog.cli.output import Output, color_option, json_option, waiting
from turnlog.cli.sync_watch import stopped_by_signals
from turnlog.cli.terminal import FOUND_PROBLEMS, MisuseError, NothingFoundError, clean_line
from turnlog.cli.units import size_text
from turnlog.config import Settings
from turnlog.errors import PushError
from turnlog.export.plain_text import plural
from turnlog.ingest.machine import Exclusion, find_origin
from turnlog.ingest.push_client import Pace, PushClient, parse_server
from turnlog.ingest.push_collector import (
    Collector,
    PushLoop,
    PushPhase,
    PushStatus,
    StatusFile,
    open_collector,
    push_once,
    read_status,
)
from turnlog.ingest.pusher import PushCounts, Pusher
from turnlog.ingest.watchers import choose_watcher
from turnlog.transcripts.files.locate import list_roots
from turnlog.transcripts.files.session_files import path_text

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
            self._output.print([f"{datetime.now():%H:%M:%S}  {_describe_progress(status)}"])


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


def _describe_progress(status: PushStatus) -> str:
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


_TOKEN = "TURNLOG_TOKEN"


@click.command(
    "push",
    epilog="""\b
Examples:
  turnlog push --to https://turnlog.example.org --token-file ~/.turnlog-token
  turnlog push --to https://turnlog.example.org --once --limit-rate 2MB/s
  turnlog push --to https://turnlog.example.org --dry-run
  turnlog push --status
""",
)
@click.option("--to", "url", metavar="URL", help="The server's address.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file that holds the token.  [default: TURNLOG_TOKEN in the environment]",
)
@click.option("--once", is_flag=True, help="Exit once everything that exists now has been pushed.")
@click.option("--limit-rate", metavar="RATE", help="Send at most this much per second, such as 2MB/s.")
@click.option("--insecure", is_flag=True, help="Allow a server without TLS on another machine.")
@click.option("--dry-run", is_flag=True, help="Show what would be pushed.")
@click.option("--status", "asks_status", is_flag=True, help="Show how this machine's collector is doing.")
@json_option
@color_option
def push_command(
    url: str | None,
    token_file: Path | None,
    once: bool,
    limit_rate: str | None,
    insecure: bool,
    dry_run: bool,
    asks_status: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Keep a server up to date with the sessions of this machine.

    Pushes the bytes of all sessions in CLAUDE_CONFIG_DIR, or else in ~/.claude, and what hooks delivered: the
    newest first, then all others, and then whatever is added, until interrupted. It continues from where the
    server's copy ends. What config.toml excludes is never sent.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    if asks_status:
        show_status(output, find_status(settings.home), as_json)
        return
    if url is None:
        raise MisuseError("name the server with --to")
    server = parse_server(url, insecure=insecure)
    rate = None if limit_rate is None else parse_rate(limit_rate)
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    origin = find_origin(settings.home)
    place = settings.place
    token = _find_token(token_file)
    client = PushClient(
        server, token, origin, Pace(rate), find_token=lambda: _find_new_token(token_file) or token
    )
    with (
        closing(client),
        open_collector(
            client,
            settings.home,
            place if isinstance(place, Path) else None,
            settings.session_dirs,
            origin=origin,
            exclusion=Exclusion(settings.exclude),
            on_trouble=lambda path, reason: warn(f"{path_text(path)}: {reason}"),
        ) as collector,
    ):
        if dry_run:
            _plan(collector, output, as_json)
        elif once:
            _push_once(collector, settings, output, as_json)
        else:
            _follow(collector, settings, output, as_json)


def _find_token(path: Path | None) -> str:
    if path is None:
        token = os.environ.get(_TOKEN, "").strip()
        if not token:
            raise MisuseError(f"the server's token is needed: --token-file, or {_TOKEN} in the environment")
        return token
    try:
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(f"{path_text(path)}: {getattr(error, 'strerror', None) or 'no token'}") from error
    if not token or not token.isprintable() or " " in token:
        raise MisuseError(f"{path_text(path)}: this is not a token")
    return token


def _find_new_token(path: Path | None) -> str | None:
    """Return what the file says by now; None if there is nothing of use."""
    try:
        return None if path is None else _find_token(path)
    except MisuseError:
        return None


def _plan(collector: Collector, output: Output, as_json: bool) -> None:
    collector.pusher.connect()
    collector.pusher.plan_all(at_once=True)
    collector.held.plan(collector.pusher)
    document = plan_document(collector.pusher)
    if as_json:
        output.print_json(document)
    else:
        output.print([describe_plan(document)])


def _push_once(collector: Collector, settings: Settings, output: Output, as_json: bool) -> None:
    status = StatusFile(settings.home, collector.pusher.client.name)
    with waiting("Pushing") as progress:
        news = News(output, as_json=False, on_progress=progress)
        try:
            push_once(collector, status, news)
        except PushError as error:
            status.note(phase=PushPhase.OFFLINE, reason=str(error))
            raise
    if as_json:
        output.print_json(status.status.counts)
    else:
        output.print([describe_done(status.status.counts)])
    if status.status.counts.refused:
        raise click.exceptions.Exit(1)


def _follow(collector: Collector, settings: Settings, output: Output, as_json: bool) -> None:
    watcher = choose_watcher(list_roots(settings.session_dirs), env=os.environ)
    status = StatusFile(settings.home, collector.pusher.client.name)
    with stopped_by_signals(watcher.stop):
        PushLoop(collector, watcher, status, News(output, as_json=as_json)).run()
