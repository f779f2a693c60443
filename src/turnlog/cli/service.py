"""`turnlog push` and `turnlog service`: keeping a server up to date, and running such work all the time."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from turnlog.cli.output import Output, output_options, show_progress
from turnlog.cli.plain_text import size_text
from turnlog.cli.terminal import (
    FOUND_PROBLEMS,
    MisuseError,
    NothingFoundError,
    clean_line,
    stopped_by_signals,
    warn,
)
from turnlog.config import Settings
from turnlog.errors import PushError
from turnlog.export.plain_text import plural
from turnlog.ingest import push_collector
from turnlog.ingest.machine import Exclusion, find_origin
from turnlog.ingest.push_client import PushClient, RateLimit, parse_server
from turnlog.ingest.pusher import PushCounts
from turnlog.ingest.services import CommandResult, InstallOutcome, Job, Service, ServiceStatus, find_service
from turnlog.ingest.watchers import choose_watcher
from turnlog.store.catalogue.feed import is_running
from turnlog.store.model import PLACE_SETTINGS
from turnlog.transcripts.session_files import list_roots, path_text

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
    status: push_collector.PushStatus


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


class PushReporter:
    """Tells what happens: on a terminal a line for each change, in a pipe only what fails, or JSON lines."""

    def __init__(self, output: Output, *, on_progress: Callable[[int, int], None] | None = None) -> None:
        self._output = output
        self._as_json = output.as_json
        self._on_progress = on_progress
        self._last: tuple[push_collector.PushPhase, str, int] | None = None
        self._next = 0.0

    def __call__(self, file: push_collector.StatusFile) -> None:
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
        elif status.phase is push_collector.PushPhase.OFFLINE:
            pause = max((status.again_at or status.at) - status.at, 0.0)
            warn(f"{clean_line(status.reason)} (trying again in {pause:.0f} s)")
        elif self._output.is_terminal:
            self._output.print([f"{datetime.now():%H:%M:%S}  {_describe_progress(status)}"])


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


def find_status(home: Path) -> push_collector.PushStatus:
    """Return how the collector of this machine is doing."""
    found = push_collector.read_status(home)
    if found is None:
        raise NothingFoundError("nothing has been pushed from this machine")
    return found


def show_status(output: Output, status: push_collector.PushStatus) -> None:
    """Print how a collector is doing; exit status 1 means that it does not run, or is offline."""
    running = status.phase is not push_collector.PushPhase.STOPPED and is_running(status.pid)
    output.show(PushStatusDocument(running=running, status=status), list(_describe_status(status, running)))
    if status.phase is push_collector.PushPhase.OFFLINE or not running:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _describe_status(status: push_collector.PushStatus, running: bool) -> Iterator[str]:
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


def _describe_progress(status: push_collector.PushStatus) -> str:
    if status.phase is push_collector.PushPhase.CONNECTING:
        return f"asking {clean_line(status.server)} what it has"
    left = (
        f"; {plural(status.waiting, 'session')} left, {size_text(status.waiting_bytes)}"
        if status.waiting
        else ""
    )
    return f"{describe_done(status.counts)}{left}"


_TOKEN = "TURNLOG_TOKEN"


@click.command("push")
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
@output_options()
def push_command(
    url: str | None,
    token_file: Path | None,
    once: bool,
    limit_rate: str | None,
    insecure: bool,
    dry_run: bool,
    asks_status: bool,
    output: Output,
) -> None:
    """Keep a server up to date with the sessions of this machine.

    Pushes the bytes of all sessions in CLAUDE_CONFIG_DIR, or else in ~/.claude, and what hooks delivered: the
    newest first, then all others, and then whatever is added, until interrupted. It continues from where the
    server's copy ends. What config.toml excludes is never sent.

    Examples:
      turnlog push --to https://turnlog.example.org --token-file ~/.turnlog-token
      turnlog push --to https://turnlog.example.org --once --limit-rate 2MB/s
      turnlog push --to https://turnlog.example.org --dry-run
      turnlog push --status
    """
    settings = output.settings
    if asks_status:
        show_status(output, find_status(settings.home))
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
        server, token, origin, RateLimit(rate), find_token=lambda: _find_new_token(token_file) or token
    )
    with (
        closing(client),
        push_collector.open_collector(
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
            _plan(collector, output)
        elif once:
            _push_once(collector, settings, output)
        else:
            _follow(collector, settings, output)


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


def _plan(collector: push_collector.Collector, output: Output) -> None:
    pusher = collector.pusher
    pusher.connect()
    pusher.plan_all(at_once=True)
    collector.held.plan(pusher)
    document = PlanDocument(
        server=pusher.client.name,
        sessions=pusher.waiting,
        bytes=pusher.waiting_bytes,
        known=len(pusher.sessions),
    )
    told = f"{plural(document.sessions, 'session')} to push, {size_text(document.bytes)}"
    has = f"{document.server} has {plural(document.known, 'session')} of this machine"
    output.show(document, [f"{told}; {has}"])


def _push_once(collector: push_collector.Collector, settings: Settings, output: Output) -> None:
    status = push_collector.StatusFile(settings.home, collector.pusher.client.name)
    with show_progress("Pushing") as progress:
        news = PushReporter(output, on_progress=progress)
        try:
            push_collector.push_once(collector, status, news)
        except PushError as error:
            status.note(phase=push_collector.PushPhase.OFFLINE, reason=str(error))
            raise
    output.show(status.status.counts, [describe_done(status.status.counts)])
    if status.status.counts.refused:
        raise click.exceptions.Exit(1)


def _follow(collector: push_collector.Collector, settings: Settings, output: Output) -> None:
    watcher = choose_watcher(list_roots(settings.session_dirs), env=os.environ)
    status = push_collector.StatusFile(settings.home, collector.pusher.client.name)
    with stopped_by_signals(watcher.stop):
        push_collector.PushLoop(collector, watcher, status, PushReporter(output)).run()


_PASSED_ON = (*PLACE_SETTINGS, "XDG_CONFIG_HOME", "XDG_DATA_HOME", "WATCHFILES_FORCE_POLLING")
"""What else of the environment decides what is archived, and where to."""
_push_option = click.option("--push", "pushes", is_flag=True, help="The service that pushes to a server.")


class ServiceDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog service install --json` and `uninstall --json` print."""

    path: str
    outcome: InstallOutcome
    steps: tuple[CommandResult, ...]


@click.group("service")
def service_command() -> None:
    """Keep `turnlog sync --watch` running in the background.

    So nothing is deleted before it is archived. On Linux that is a systemd user unit, on macOS a launchd
    agent. It runs with low priority while you are logged in; `loginctl enable-linger` keeps it running after
    that.

    Examples:
      turnlog service install --dry-run   what would be written
      turnlog service install
      turnlog service install --push https://turnlog.example.org --token-file ~/.turnlog-token
      turnlog service status --json
      turnlog service uninstall
    """


@service_command.command("install")
@click.option(
    "--push", "url", metavar="URL", help="Keep `turnlog push --to URL` running, as a separate service."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With --push: a file that holds the server's token.",
)
@click.option("--limit-rate", metavar="RATE", help="With --push: send at most this much per second.")
@click.option("--dry-run", is_flag=True, help="Print the file instead of writing it.")
@output_options()
def _install(
    url: str | None,
    token_file: Path | None,
    limit_rate: str | None,
    dry_run: bool,
    output: Output,
) -> None:
    """Install the service and start it, if it is not running yet.

    It uses the current values of TURNLOG_HOME and CLAUDE_CONFIG_DIR.
    """
    settings = output.settings
    service = find_service(pushes=url is not None)
    job = _build_job(settings, os.environ)
    if url is not None:
        job = _build_push(job, url, token_file, limit_rate)
    elif token_file is not None or limit_rate is not None:
        raise MisuseError("--token-file and --limit-rate are for --push")
    if dry_run:
        text = service.render(job)
        output.show(
            {"path": path_text(service.path), "text": text},
            [clean_line(f"# {path_text(service.path)}"), *text.splitlines()],
        )
        return
    _finish(output, service, *service.install(job))


@service_command.command("uninstall")
@_push_option
@output_options()
def _uninstall(pushes: bool, output: Output) -> None:
    """Stop the service and remove it; the archive stays."""
    service = find_service(pushes=pushes)
    _finish(output, service, *service.uninstall())


@service_command.command("status")
@_push_option
@output_options()
def _status(pushes: bool, output: Output) -> None:
    """Show whether the service is installed and running, with its last output.

    Exit status 1 means that it is not running.
    """
    found = find_service(pushes=pushes).ask()
    output.show(found, _describe_service(found))
    if not found.running:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _build_job(settings: Settings, env: Mapping[str, str]) -> Job:
    environment = {name: env[name] for name in _PASSED_ON if env.get(name)}
    if env.get("TURNLOG_HOME"):
        environment["TURNLOG_HOME"] = os.path.abspath(settings.home)
    if env.get("CLAUDE_CONFIG_DIR"):
        environment["CLAUDE_CONFIG_DIR"] = ",".join(map(os.path.abspath, settings.config_dirs))
    return Job(
        command=(os.path.abspath(sys.executable), "-m", "turnlog", "sync", "--watch"),
        environment=dict(sorted(environment.items())),
        log=Path(os.path.abspath(settings.home)) / "service.log",
    )


def _build_push(job: Job, url: str, token_file: Path | None, limit_rate: str | None) -> Job:
    """Return the job that pushes; the token itself stands in no file that others may read."""
    parse_server(url)
    if token_file is None:
        raise MisuseError(
            "a service needs --token-file, because others may be able to read the service's own file"
        )
    rate = () if limit_rate is None else ("--limit-rate", limit_rate)
    if limit_rate is not None:
        parse_rate(limit_rate)
    python, *_ = job.command
    arguments = ("push", "--to", url, "--token-file", os.path.abspath(token_file), *rate)
    return replace(
        job,
        command=(python, "-m", "turnlog", *arguments),
        log=job.log.with_name("push-service.log"),
        purpose="push what Claude Code writes to a server",
    )


def _finish(output: Output, service: Service, outcome: InstallOutcome, steps: list[CommandResult]) -> None:
    path = path_text(service.path)
    output.show(
        ServiceDocument(path=path, outcome=outcome, steps=tuple(steps)),
        [clean_line(f"{outcome.value}: {path}"), *_describe_failure(steps)],
    )
    if outcome is InstallOutcome.MISSING or any(step.status != 0 for step in steps):
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _describe_failure(steps: list[CommandResult]) -> Iterator[str]:
    failed = [step for step in steps if step.status != 0]
    if failed:
        yield clean_line(failed[0].output or f"exit status {failed[0].status}")
        yield "Run this yourself, when possible:"
        yield from (f"  {clean_line(shlex.join(step.command))}" for step in failed)


def _describe_service(found: ServiceStatus) -> Iterator[str]:
    path = clean_line(found.path)
    if not found.installed:
        yield f"not installed: {path}"
    elif not found.ours:
        yield f"not written by turnlog: {path}"
    else:
        yield f"installed: {path}"
    running = {True: "running", False: "not running", None: "unknown whether it is running"}[found.running]
    yield f"{running} ({clean_line(found.state)})" if found.state else running
    yield from (f"  {clean_line(line)}" for line in found.last_log_lines)
