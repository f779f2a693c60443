"""`turnlog status`: what the archive has."""

from __future__ import annotations

from datetime import UTC, datetime

import click
from msgspec import UNSET, Struct, UnsetType

from turnlog.cli.accounts import opened_accounts
from turnlog.cli.output import Output, output_options
from turnlog.cli.plain_text import size_text
from turnlog.cli.stores import open_archive
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.export.plain_text import plural
from turnlog.ingest.machine import Exclusion, read_origin
from turnlog.ingest.retention import build_retention_report, list_managed_settings
from turnlog.shapes import fill
from turnlog.store.interface import KnownSession, count_known
from turnlog.store.model import LOCAL, find_blob_place, find_index_place
from turnlog.store.opening import measure_backlog, measure_blobs, measure_store
from turnlog.transcripts.session_files import path_text


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
    blobs: str | UnsetType = UNSET
    """Where bytes and segments are, if not in the database."""
    blob_bytes: int | UnsetType = UNSET
    index: str | UnsetType = UNSET
    """Where texts are searched and answers added up, if not in the database."""
    index_backlog: int | UnsetType = UNSET
    """How many changes it has yet to learn of."""
    lines: int
    last_change: int
    """The last entry of the feed."""
    users: int
    """People with an account; 0 if the archive is one person's."""
    warning: str | None
    """What Claude Code is about to delete before it is archived."""


@click.command("status")
@output_options()
def status_command(output: Output) -> None:
    """Show what is archived, and how much exists only there.

    Examples:
      turnlog status
      turnlog status --json
    """
    settings = output.settings
    with open_archive(settings) as store, opened_accounts(settings) as accounts:
        known = list(store.list_known(LOCAL))
        place, index = find_blob_place(settings.place), find_index_place(settings.place)
        backlog = measure_backlog(settings.place)
        document = fill(
            StatusDocument,
            count_known(known),
            store=path_text(str(settings.place)),
            store_bytes=measure_store(settings.place),
            blobs=UNSET if place is None else path_text(str(place)),
            blob_bytes=UNSET if place is None else measure_blobs(settings.place),
            index=UNSET if index is None else path_text(str(index)),
            index_backlog=UNSET if backlog is None else backlog.entries,
            last_change=store.read_feed(LOCAL).last,
            users=len(accounts.list_users()) if accounts.has_users() else 0,
            warning=_find_danger(known, settings),
        )
    output.show(document, _describe(document))


def _find_danger(known: list[KnownSession], settings: Settings) -> str | None:
    """Return what Claude Code is about to delete before it is archived, in words."""
    origin, now = read_origin(settings.home), datetime.now(UTC)
    own = [session for session in known if origin in (None, session.origin)]
    managed, exclusion = list_managed_settings(), Exclusion(settings.exclude)
    return build_retention_report(settings.config_dirs, own, now, managed, exclusion).warning


def _describe_backlog(document: StatusDocument) -> str:
    return f"{plural(document.index_backlog, 'change')} behind" if document.index_backlog else "up to date"


def _describe(document: StatusDocument) -> list[str]:
    files, lines = plural(document.files, "file"), plural(document.lines, "line")
    return [
        f"{plural(document.sessions, 'session')} in {files}, {lines}",
        f"{document.only_here:,} of them exist only in the archive",
        f"{size_text(document.bytes)} originally, {size_text(document.store_bytes)} in the archive",
        document.store,
        *([f"{size_text(document.blob_bytes or 0)} in blobs: {document.blobs}"] if document.blobs else []),
        *([f"index: {document.index}, {_describe_backlog(document)}"] if document.index else []),
        *([f"shared by a team, with {plural(document.users, 'user')}"] if document.users else []),
        *([] if document.warning is None else [clean_line(document.warning)]),
    ]
