"""`turnlog push`: keep a server up to date with the sessions of this machine."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import click

from turnlog.cli.failures import MisuseError
from turnlog.cli.files import warn
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.progress import waiting
from turnlog.cli.push_report import (
    News,
    describe_done,
    describe_plan,
    find_status,
    parse_rate,
    plan_document,
    show_status,
)
from turnlog.cli.watching import stopped_by_signals
from turnlog.config import Settings
from turnlog.errors import PushError
from turnlog.ingest.exclusion import Exclusion
from turnlog.ingest.origin import find_origin
from turnlog.ingest.push.assembly import Collector, open_collector
from turnlog.ingest.push.client import PushClient, parse_server
from turnlog.ingest.push.following import Pushing, push_once
from turnlog.ingest.push.pace import Pace
from turnlog.ingest.push.status import PushPhase, StatusFile
from turnlog.ingest.watching import choose_watcher
from turnlog.transcripts.files.locate import list_roots
from turnlog.transcripts.files.session_files import path_text

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
def command(
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
    collector.holder.plan(collector.pusher)
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
            push_once(collector.pusher, collector.hooks, collector.holder, status, news)
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
        Pushing(
            collector.pusher,
            watcher,
            collector.hooks,
            collector.holder,
            status,
            News(output, as_json=as_json),
        ).run()
