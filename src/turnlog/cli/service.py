"""`turnlog service`: keep `turnlog sync --watch` running."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from turnlog.cli.output import Output, color_option, json_option
from turnlog.cli.push import parse_rate
from turnlog.cli.terminal import FOUND_PROBLEMS, MisuseError, clean_line
from turnlog.config import Settings
from turnlog.ingest.push_client import parse_server
from turnlog.ingest.services import Installed, Job, Launchd, Service, ServiceStatus, StepTaken, Systemd
from turnlog.store.model import STORE_SETTING
from turnlog.transcripts.files.session_files import path_text

_SERVICES: Mapping[str, type[Systemd] | type[Launchd]] = {"linux": Systemd, "darwin": Launchd}
_PASSED_ON = (STORE_SETTING, "XDG_CONFIG_HOME", "XDG_DATA_HOME", "WATCHFILES_FORCE_POLLING")
"""What else of the environment decides what is archived, and where to."""


_push_option = click.option("--push", "pushes", is_flag=True, help="The service that pushes to a server.")


class ServiceDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog service install --json` and `uninstall --json` print."""

    path: str
    outcome: Installed
    steps: tuple[StepTaken, ...]


@click.group(
    "service",
    epilog="""\b
Examples:
  turnlog service install --dry-run   what would be written
  turnlog service install
  turnlog service install --push https://turnlog.example.org --token-file ~/.turnlog-token
  turnlog service status --json
  turnlog service uninstall
""",
)
def service_command() -> None:
    """Keep `turnlog sync --watch` running, so that nothing is deleted before it is archived.

    On Linux that is a systemd user unit, on macOS a launchd agent. It runs with low
    priority while you are logged in; `loginctl enable-linger` keeps it running after that.
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
@json_option
@color_option
def _install(
    url: str | None,
    token_file: Path | None,
    limit_rate: str | None,
    dry_run: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Install the service and start it, if it is not running yet.

    It uses the current values of TURNLOG_HOME and CLAUDE_CONFIG_DIR.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    service = find_service(pushes=url is not None)
    job = _build_job(settings, os.environ)
    if url is not None:
        job = _build_push(job, url, token_file, limit_rate)
    elif token_file is not None or limit_rate is not None:
        raise MisuseError("--token-file and --limit-rate are for --push")
    if dry_run:
        text = service.render(job)
        if as_json:
            output.print_json({"path": path_text(service.path), "text": text})
        else:
            output.print([clean_line(f"# {path_text(service.path)}"), *text.splitlines()])
        return
    _finish(output, as_json, service, *service.install(job))


@service_command.command("uninstall")
@_push_option
@json_option
@color_option
def _uninstall(pushes: bool, as_json: bool, color: bool | None) -> None:
    """Stop the service and remove it; the archive stays."""
    service = find_service(pushes=pushes)
    output = Output(Settings.from_env(), color, pager=False)
    _finish(output, as_json, service, *service.uninstall())


@service_command.command("status")
@_push_option
@json_option
@color_option
def _status(pushes: bool, as_json: bool, color: bool | None) -> None:
    """Show whether the service is installed and running, with its last output.

    Exit status 1 means that it is not running.
    """
    output = Output(Settings.from_env(), color, pager=False)
    found = find_service(pushes=pushes).ask()
    if as_json:
        output.print_json(found)
    else:
        output.print(_describe_status(found))
    if not found.running:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def find_service(*, pushes: bool = False) -> Service:
    """Return the way in which this system keeps things running: archiving, or pushing."""
    kind = _SERVICES.get(sys.platform)
    if kind is None:
        raise MisuseError(
            f"services are not supported on {sys.platform}; run `turnlog sync --watch` with its scheduler"
        )
    return kind(Path(os.path.expanduser("~")), os.environ, pushes=pushes)


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


def _finish(
    output: Output, as_json: bool, service: Service, outcome: Installed, steps: list[StepTaken]
) -> None:
    path = path_text(service.path)
    if as_json:
        output.print_json(ServiceDocument(path=path, outcome=outcome, steps=tuple(steps)))
    else:
        output.print([clean_line(f"{outcome.value}: {path}"), *_describe_failure(steps)])
    if outcome is Installed.MISSING or any(step.status != 0 for step in steps):
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _describe_failure(steps: list[StepTaken]) -> Iterator[str]:
    failed = [step for step in steps if step.status != 0]
    if failed:
        yield clean_line(failed[0].output or f"exit status {failed[0].status}")
        yield "Run this yourself, when possible:"
        yield from (f"  {clean_line(shlex.join(step.command))}" for step in failed)


def _describe_status(found: ServiceStatus) -> Iterator[str]:
    path = clean_line(found.path)
    if not found.installed:
        yield f"not installed: {path}"
    elif not found.ours:
        yield f"not written by turnlog: {path}"
    else:
        yield f"installed: {path}"
    running = {True: "running", False: "not running", None: "unknown whether it is running"}[found.running]
    yield f"{running} ({clean_line(found.state)})" if found.state else running
    yield from (f"  {clean_line(line)}" for line in found.last_words)
