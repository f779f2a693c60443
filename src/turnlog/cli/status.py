"""`turnlog status`: what the archive has."""

from __future__ import annotations

from datetime import UTC, datetime

import click
from msgspec import Struct

from turnlog.cli.accounts import opened_accounts
from turnlog.cli.output import Output, color_option, json_option
from turnlog.cli.stores import open_for
from turnlog.cli.terminal import clean_line
from turnlog.cli.units import size_text
from turnlog.config import Settings
from turnlog.export.plain_text import plural
from turnlog.ingest.machine import Exclusion, peek_origin
from turnlog.ingest.retention import build_retention_report, list_managed_settings
from turnlog.store.interface import KnownSession, count_known
from turnlog.store.model import LOCAL, StorePlace
from turnlog.store.opening import measure_store
from turnlog.transcripts.files.session_files import path_text


class StatusDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog status --json` prints."""

    store: str
    sessions: int
    only_here: int
    """Sessions whose files are gone from where they were."""
    files: int
    bytes: int
    """As they were, of the newest generations."""
    store_bytes: int
    lines: int
    last_change: int
    """The last entry of the feed."""
    users: int
    """People with an account; 0 if the archive is one person's."""
    warning: str | None
    """What Claude Code is about to delete before it is archived."""


@click.command(
    "status",
    epilog="""\b
Examples:
  turnlog status
  turnlog status --json
""",
)
@json_option
@color_option
def status_command(as_json: bool, color: bool | None) -> None:
    """Show what is archived, and how much of it exists only there."""
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with open_for(settings) as store:
        known = [*store.list_known(LOCAL)]
        last, users = store.read_feed(LOCAL).last, _count_users(settings)
        document = _count(known, settings.place, last, users, _find_danger(known, settings))
    if as_json:
        output.print_json(document)
    else:
        output.print(_describe(document))


def _find_danger(known: list[KnownSession], settings: Settings) -> str | None:
    """Return what Claude Code is about to delete before it is archived, in words."""
    origin, now = peek_origin(settings.home), datetime.now(UTC)
    own = [session for session in known if origin in (None, session.origin)]
    managed, exclusion = list_managed_settings(), Exclusion(settings.exclude)
    return build_retention_report(settings.config_dirs, own, now, managed, exclusion).warning


def _count_users(settings: Settings) -> int:
    with opened_accounts(settings) as accounts:
        return len(accounts.list_users()) if accounts.has_users() else 0


def _count(
    known: list[KnownSession], place: StorePlace, last: int, users: int, warning: str | None
) -> StatusDocument:
    counts = count_known(known)
    return StatusDocument(
        store=path_text(str(place)),
        sessions=counts.sessions,
        only_here=counts.only_here,
        files=counts.files,
        bytes=counts.bytes,
        store_bytes=measure_store(place),
        lines=counts.lines,
        last_change=last,
        users=users,
        warning=warning,
    )


def _describe(document: StatusDocument) -> list[str]:
    files, lines = plural(document.files, "file"), plural(document.lines, "line")
    return [
        f"{plural(document.sessions, 'session')} in {files}, {lines}",
        f"{document.only_here:,} of them exist only in the archive",
        f"{size_text(document.bytes)} originally, {size_text(document.store_bytes)} in the archive",
        document.store,
        *([f"shared by a team, with {plural(document.users, 'user')}"] if document.users else []),
        *([] if document.warning is None else [clean_line(document.warning)]),
    ]
