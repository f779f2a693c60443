"""What `turnlog forget` and `turnlog prune` share: they say what will go, ask, and say what still holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from msgspec import Struct

from turnlog.cli.confirmation import confirm
from turnlog.cli.failures import FOUND_PROBLEMS
from turnlog.cli.files import warn
from turnlog.cli.keeping_accounts import note_forgotten
from turnlog.cli.output import Output
from turnlog.cli.progress import waiting
from turnlog.cli.terminal import clean_line, shorten
from turnlog.config import Settings
from turnlog.export.plain import plural
from turnlog.ingest.capture.sources import list_own_files, remove_captures
from turnlog.ingest.forgotten import list_holding
from turnlog.store.interface import CaredStore, KnownSession, Maintenance
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL
from turnlog.transcripts.files.session_files import path_text

Chosen = tuple[StoredSession, KnownSession]
_TITLE = 50


class ForgottenSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session that goes."""

    key: str
    session_id: str | None
    title: str | None
    project: str | None
    files: int
    bytes: int
    """Of the newest generations."""
    outside: tuple[str, ...]
    """Files of it that are still there outside, which are not touched."""


class ForgetDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog forget --json` and `turnlog prune --json` print."""

    sessions: tuple[ForgottenSession, ...]
    done: bool
    """False for a dry run."""
    scrubbed: bool
    """Whether the store's files hold nothing of it any more."""
    links: int
    """Links to these sessions that were good, and ended."""
    backups: tuple[str, ...]
    """Copies of the store that still hold some of it."""
    unknown_backups: tuple[str, ...]
    """Copies that may hold some of it: they are not where they were made, or cannot be read."""


def forget(
    store: CaredStore,
    output: Output,
    chosen: Sequence[Chosen],
    settings: Settings,
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Forget sessions for good, once that was agreed to, with their links and what turnlog captured of them."""
    captured = settings.captured_dir
    chosen = list({known.key: (stored, known) for stored, known in chosen}.values())
    sessions = tuple(_describe_session(*each, captured) for each in chosen)
    if not as_json:
        output.print(_list_sessions(sessions))
    scrubbed, links = False, 0
    if not dry_run:
        confirm("Forget this for good?", yes=yes, as_json=as_json)
        with waiting("Forgetting"):
            links = note_forgotten(settings, [stored for stored, _ in chosen])
            scrubbed = store.forget(LOCAL, [session.key for session in sessions]).scrubbed
            remove_captures((known for _, known in chosen), captured)
    backups = list_holding(store, [session.key for session in sessions])
    document = ForgetDocument(
        sessions=sessions,
        done=not dry_run,
        scrubbed=scrubbed,
        links=links,
        backups=tuple(map(path_text, backups.holding)),
        unknown_backups=tuple(map(path_text, backups.unknown)),
    )
    if as_json:
        output.print_json(document)
    else:
        output.print(_describe(document))
    if document.done and not scrubbed:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def still_scrub(store: CaredStore) -> None:
    """Remove what an earlier run could not; end the program with status 1 if that fails again."""
    with waiting("Forgetting"):
        done = store.maintain(Maintenance.PURGE)
    if not done:
        warn("another process is using the store; try again when it has ended")
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _describe_session(stored: StoredSession, known: KnownSession, captured: Path) -> ForgottenSession:
    own = list_own_files(known, captured)
    return ForgottenSession(
        key=known.key,
        session_id=stored.row.session_id,
        title=stored.row.title,
        project=stored.row.project,
        files=len(known.sources),
        bytes=sum(source.length for source in known.sources),
        outside=tuple(
            path_text(source.path) for source in known.sources if source.present and source.path not in own
        ),
    )


def _list_sessions(sessions: Sequence[ForgottenSession]) -> Iterator[str]:
    for each in sessions:
        name = clean_line(each.session_id or each.key)
        title = shorten(each.title or "without a title", _TITLE)
        yield f"{name}  {plural(each.files, 'file'):>9} {each.bytes:>14,} bytes  {title}"
    files, size = sum(each.files for each in sessions), sum(each.bytes for each in sessions)
    yield f"{plural(len(sessions), 'session')}, {plural(files, 'file')}, {plural(size, 'byte')}"
    if outside := sum(len(each.outside) for each in sessions):
        yield f"{outside:,} of these files still exist outside; they are left alone, and not archived again"


def _describe(document: ForgetDocument) -> Iterator[str]:
    if document.done:
        yield "forgotten" if document.scrubbed else "forgotten, but not yet removed from the store's files:"
        if not document.scrubbed:
            yield "another process is using them; run `turnlog forget --scrub` when it has ended"
    if document.links:
        yield f"{plural(document.links, 'link')} to it revoked"
    verb = "still holds" if document.done else "holds"
    for path in document.backups:
        yield clean_line(f"a backup {verb} some of it: {path}")
    for path in document.unknown_backups:
        yield clean_line(f"a backup that cannot be read now may hold some of it: {path}")
