"""`turnlog forget` and `turnlog prune`: removing sessions for good.

Both say what will go, ask, and say what still holds it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from msgspec import Struct

from turnlog.cli.accounts import note_forgotten
from turnlog.cli.files import warn
from turnlog.cli.output import Output, color_option, json_option, waiting
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.terminal import (
    FOUND_PROBLEMS,
    MisuseError,
    NothingFoundError,
    clean_line,
    confirm,
    shorten,
    yes_option,
)
from turnlog.config import Settings
from turnlog.export.plain_text import plural
from turnlog.ingest.captured_files import list_own_files, remove_captures
from turnlog.ingest.machine import find_tombstones, list_holding
from turnlog.store.interface import KnownSession, MaintainedStore, Maintenance, find_known
from turnlog.store.lists import SessionFilter, StoredSession
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
    store: MaintainedStore,
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
        output.print(_describe_outcome(document))
    if document.done and not scrubbed:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def still_scrub(store: MaintainedStore) -> None:
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


def _describe_outcome(document: ForgetDocument) -> Iterator[str]:
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


@click.command(
    "forget",
    epilog="""\b
Examples:
  turnlog forget 5d1c --dry-run  what would be removed
  turnlog forget 5d1c 77e0
  turnlog forget --undo 5d1c     allow later syncs to archive it again
""",
)
@click.argument("sessions", metavar="[ID]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@yes_option
@click.option("--undo", is_flag=True, help="Allow later syncs to archive forgotten sessions again.")
@click.option(
    "--scrub", is_flag=True, help="Only remove what an earlier run had to leave in files that were in use."
)
@json_option
@color_option
def forget_command(
    sessions: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    undo: bool,
    scrub: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Forget sessions: remove them from the archive, for good.

    ID may be the beginning of a session's id. Bytes, lines, rows and hook events are removed from the store's
    files, and the session is not archived again. What turnlog captured of it is removed, too. Other files
    outside the archive are not touched; backups that still hold the session are named.
    """
    if scrub == bool(sessions):
        raise MisuseError("name the sessions to forget, or --scrub alone")
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with open_for(settings, writing=True, existing=True) as store:
        if scrub:
            still_scrub(store)
        elif undo:
            _undo(store, output, sessions, as_json)
        else:
            chosen = [find_session(store, prefix) for prefix in sessions]
            forget(store, output, chosen, settings, dry_run=dry_run, yes=yes, as_json=as_json)


def _undo(store: MaintainedStore, output: Output, prefixes: tuple[str, ...], as_json: bool) -> None:
    keys: dict[str, str] = {}
    for prefix in prefixes:
        found = {each.key: each.session_id or each.key for each in find_tombstones(store, prefix)}
        if not found:
            raise NothingFoundError(f"no forgotten session begins with {prefix}")
        if len(found) > 1:
            raise MisuseError(f"{len(found)} forgotten sessions begin with {prefix}")
        keys |= found
    store.delete_tombstones(LOCAL, list(keys))
    if as_json:
        output.print_json({"lifted": list(keys.values())})
    else:
        output.print(clean_line(f"{name}: the next sync can archive it again") for name in keys.values())


_PAGE = 500
_DAY = 86_400


@click.command(
    "prune",
    epilog="""\b
Examples:
  turnlog prune --older-than 365 --dry-run
  turnlog prune --project ~/secret
  turnlog prune --only-here --older-than 90
""",
)
@click.option(
    "--older-than", "days", type=click.FloatRange(min=0), metavar="DAYS", help="Not written to for this long."
)
@click.option(
    "--project", type=click.Path(path_type=Path), metavar="PATH", help="Run in this directory, or below it."
)
@click.option("--only-here", is_flag=True, help="Whose files no longer exist outside the archive.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@yes_option
@json_option
@color_option
def prune_command(
    days: float | None,
    project: Path | None,
    only_here: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Forget all sessions that match, as `turnlog forget` does.

    A session is forgotten if it meets all conditions. A session without a time is never too old.
    """
    if days is None and project is None and not only_here:
        raise MisuseError("say which sessions: --older-than, --project or --only-here")
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    before = None if days is None else round((time.time() - days * _DAY) * 1e6)
    root = None if project is None else os.path.abspath(os.path.expanduser(project))
    with open_for(settings, writing=True, existing=True) as store:
        chosen = list(_choose_sessions(store, before, root, only_here))
        if not chosen:
            raise NothingFoundError("no archived session matches")
        forget(store, output, chosen, settings, dry_run=dry_run, yes=yes, as_json=as_json)


def _choose_sessions(
    store: MaintainedStore, before: int | None, root: str | None, only_here: bool
) -> Iterator[Chosen]:
    for stored in _list_all(store):
        last = stored.row.last_time
        if before is not None and (last is None or last >= before):
            continue
        if root is not None and not _is_in(stored.row.project, root):
            continue
        known = find_known(store, LOCAL, stored.key)
        if known is not None and not (only_here and any(source.present for source in known.sources)):
            yield stored, known


def _is_in(project: str | None, root: str) -> bool:
    return project is not None and (project == root or project.startswith(root.rstrip(os.sep) + os.sep))


def _list_all(store: MaintainedStore) -> Iterator[StoredSession]:
    asked, cursor = SessionFilter(archived=None), None
    while True:
        page = store.list_sessions(LOCAL, asked, limit=_PAGE, cursor=cursor)
        yield from page.sessions
        cursor = page.next
        if cursor is None:
            return
