"""The archive as a whole: `turnlog verify`, `upgrade` and `blobs`, `backup`, `restore`, `forget` and `prune`.

Commands that forget sessions list what will be removed, ask for confirmation, and list the backups that still
have it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from turnlog.cli import terminal
from turnlog.cli.accounts import note_forgotten
from turnlog.cli.export import describe, list_files
from turnlog.cli.files import require_file
from turnlog.cli.output import Output, output_options, show_progress
from turnlog.cli.stores import find_session, needs_upgrade, open_archive, upgrade_first
from turnlog.config import Settings
from turnlog.export.files import restore_session
from turnlog.export.plain_text import plural
from turnlog.ingest.captured_files import list_own_files, remove_captures
from turnlog.ingest.machine import find_in_backups, find_tombstones
from turnlog.ingest.verification import Subject, check_archive, rebuild_index
from turnlog.shapes import fill
from turnlog.store.account_backups import back_up_accounts, check_backup, find_copy, restore_store
from turnlog.store.account_model import CarriedAccounts
from turnlog.store.accounts import check_accounts
from turnlog.store.interface import KnownSession, MaintainedStore, Maintenance, find_known
from turnlog.store.lists import SessionFilter, StoredSession
from turnlog.store.model import LOCAL, StorePlace, find_blob_place, find_index_place, is_made
from turnlog.store.opening import measure_backlog, measure_blobs, measure_store, open_upgrade
from turnlog.transcripts.session_files import path_text


class DisagreementDocument(Struct, frozen=True, gc=False, kw_only=True):
    """Something that is not as it should be."""

    session: str
    subject: Subject
    where: str
    message: str
    repaired: bool


class VerifyDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog verify --json` prints."""

    sessions: int
    """How many were checked."""
    disagreements: tuple[DisagreementDocument, ...]
    left: int
    """How many of them are not repaired."""
    accounts: tuple[str, ...] = ()
    """What is wrong with the accounts, if all was checked."""


@click.command("verify")
@click.argument("sessions", metavar="[ID]...", nargs=-1)
@click.option("--repair", is_flag=True, help="Repair what can be repaired, and check again.")
@output_options()
def verify_command(sessions: tuple[str, ...], repair: bool, output: Output) -> None:
    """Derive everything again from the bytes, and compare.

    The bytes of each file are checked against their digests, lines against the bytes, and rows against the
    lines. ID may be the beginning of a session's id. With --repair, lines and rows are rewritten; damaged
    bytes are taken from the original file, if it still has exactly the same ones. Exit status 1 means that
    something disagrees. Without an ID, the accounts are checked, too; they cannot be repaired, only restored
    from a backup.

    Examples:
      turnlog verify                everything
      turnlog verify 5d1c --repair  one session
    """
    settings = output.settings
    with open_archive(settings, writing=repair, existing=True) as store:
        document = _verify(store, sessions, repair)
    if not sessions:
        document = replace(document, accounts=tuple(map(path_text, check_accounts(settings.place))))
    output.show(document, _describe_verified(document))
    if document.left or document.accounts:
        raise click.exceptions.Exit(terminal.FOUND_PROBLEMS)


def _verify(store: MaintainedStore, prefixes: Sequence[str], repair: bool) -> VerifyDocument:
    chosen = [find_session(store, prefix)[1] for prefix in prefixes] if prefixes else None
    found: list[DisagreementDocument] = []
    sessions = 0
    with show_progress("Verifying") as tell:
        for step in check_archive(store, LOCAL, chosen, repair=repair):
            sessions = step.total
            tell(step.done, step.total)
            for repaired, checked in ((True, step.checked.repaired), (False, step.checked.left)):
                for each in checked:
                    texts = {"where": path_text(each.where), "message": path_text(each.message)}
                    found.append(fill(DisagreementDocument, each, **texts, repaired=repaired))
    left = sum(not each.repaired for each in found)
    return VerifyDocument(sessions=sessions, disagreements=tuple(found), left=left)


def _describe_verified(document: VerifyDocument) -> Iterator[str]:
    for found in document.disagreements:
        state = "repaired: " if found.repaired else ""
        where = f" {found.where}:" if found.where else ""
        yield terminal.clean_line(
            f"{state}{found.session or 'the store'}: {found.subject.value}:{where} {found.message}"
        )
    yield from (terminal.clean_line(f"accounts: {each}") for each in document.accounts)
    total = len(document.disagreements)
    if total == 0:
        yield f"{plural(document.sessions, 'session')}: everything agrees"
    else:
        repaired = f"{total - document.left:,} of them repaired"
        yield f"{plural(document.sessions, 'session')}: {plural(total, 'disagreement')}, {repaired}"


class UpgradeDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog upgrade --json` prints."""

    upgraded: bool
    """False if there was nothing to do, or nothing was to be done."""
    sessions: int = 0
    bytes: int = 0
    """Of the archive before."""
    kept: str | None = None
    """Where the former archive is."""
    damaged: int = 0
    """How much was found wrong, and is as it was."""


@click.command("upgrade")
@click.option("--keep", is_flag=True, help="Keep the former archive beside the upgraded one.")
@click.option("--force", is_flag=True, help="Upgrade even if parts are damaged; those stay as they are.")
@click.option(
    "--workers", type=click.IntRange(1, 64), help="How many processes derive sessions.  [default: by size]"
)
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@output_options()
def upgrade_command(keep: bool, force: bool, workers: int | None, dry_run: bool, output: Output) -> None:
    """Upgrade an archive of an earlier version.

    Data that only the archive has is copied, everything else is derived again, and the result is verified
    before it replaces the archive. Until then, the archive stays as it is. An interrupted upgrade continues
    where it stopped. It needs about as much disk space as the archive has now.

    Examples:
      turnlog upgrade --dry-run  what would be done
      turnlog upgrade --keep     keep the former archive as well
    """
    settings = output.settings
    if not is_made(settings.place):
        raise terminal.NothingFoundError(f"nothing is archived yet in {settings.home}; run `turnlog sync`")
    if not needs_upgrade(settings.place):
        document = UpgradeDocument(upgraded=False)
        lines = ["The archive is up to date."]
    elif dry_run:
        sessions, size = open_upgrade(settings.place).measure()
        document = UpgradeDocument(upgraded=False, sessions=sessions, bytes=size)
        lines = [f"{plural(sessions, 'session')} would be upgraded ({size / 1e6:,.0f} MB)."]
    else:
        report = upgrade_first(settings, keep=keep, force=force, workers=workers, is_asked=True)
        document = fill(UpgradeDocument, report, upgraded=True)
        lines = [f"{plural(report.sessions, 'session')} upgraded, and verified."]
        if report.damaged:
            lines.append(f"{plural(report.damaged, 'problem')} found; `turnlog verify` lists them.")
        if report.kept is not None:
            lines.append(f"The former archive is kept as {path_text(report.kept)}.")
    output.show(document, lines)


class BlobsDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog blobs --json` prints."""

    blobs: str
    """Where they are."""
    blob_bytes: int
    store_bytes: int
    """In the database."""


@click.command("blobs")
@output_options()
def blobs_command(output: Output) -> None:
    """Move bytes and segments from the database to blobs.

    Once TURNLOG_BLOBS is set for an archive on PostgreSQL, what is new goes there. This command moves the rest
    while others go on using the archive; if it is interrupted, the next one continues. It also deletes blobs
    that nothing has needed for a day (TURNLOG_BLOBS_GRACE).

    Examples:
      TURNLOG_BLOBS=s3://bucket/turnlog turnlog blobs
    """
    settings = output.settings
    place = find_blob_place(settings.place)
    if place is None:
        raise terminal.MisuseError(
            "this archive has no blobs: set TURNLOG_STORE to a server, and TURNLOG_BLOBS"
        )
    with open_archive(settings, writing=True, existing=True) as store, show_progress("Moving"):
        store.maintain(Maintenance.MOVE)
    document = BlobsDocument(
        blobs=path_text(str(place)),
        blob_bytes=measure_blobs(settings.place),
        store_bytes=measure_store(settings.place),
    )
    told = f"{document.blobs}: {document.blob_bytes:,} bytes, {document.store_bytes:,} in the database"
    output.show(document, [terminal.clean_line(told)])


class ReindexDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog reindex --json` prints."""

    index: str | None
    """Where it is; null if it is in the archive itself."""
    sessions: int
    backlog: int
    """How many changes it has yet to learn of."""


@click.command("reindex")
@click.option("--force", is_flag=True, help="Empty the index first, even if it is another archive's.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say how much there is to do.")
@output_options()
def reindex_command(force: bool, dry_run: bool, output: Output) -> None:
    """Build the index of texts and usage anew.

    It follows from the bytes. With TURNLOG_INDEX, all that is archived is sent to the index there, newest
    first, while others go on using the archive; the servers take part, and what was begun goes on after an
    interruption. Until everything is there, searches and usage are answered by the database. Without it,
    the archive's own index is made again.

    Examples:
      turnlog reindex
      TURNLOG_INDEX=clickhouse://search.internal:8123/turnlog turnlog reindex
    """
    settings = output.settings
    place = find_index_place(settings.place)
    if force and place is None:
        raise terminal.MisuseError("--force is for an index elsewhere (TURNLOG_INDEX)")
    with open_archive(settings, writing=not dry_run, existing=True) as store:
        sessions = sum(1 for _ in store.list_known(LOCAL))
        if not dry_run:
            with show_progress("Indexing") as tell:
                if place is None:
                    rebuild_index(store, LOCAL, tell)
                else:
                    _fill_index(store, settings.place, tell, anew=force)
    backlog = measure_backlog(settings.place)
    document = ReindexDocument(
        index=None if place is None else path_text(str(place)),
        sessions=sessions,
        backlog=0 if backlog is None else backlog.entries,
    )
    where = document.index or "the archive"
    told = f"{plural(sessions, 'session')} {'to index' if dry_run else 'indexed'} in {where}"
    if document.backlog:
        told += f"; {document.backlog:,} changes are still to be sent"
    output.show(document, [terminal.clean_line(told)])
    if document.backlog and not dry_run:
        raise click.exceptions.Exit(terminal.FOUND_PROBLEMS)


def _fill_index(
    store: MaintainedStore, place: StorePlace, tell: Callable[[int, int], object], *, anew: bool
) -> None:
    store.maintain(Maintenance.TAKE_OVER if anew else Maintenance.REFILL)
    most = 0

    def note() -> None:
        nonlocal most
        left = measure_backlog(place)
        most = max(most, 0 if left is None else left.entries)
        tell(most - (0 if left is None else left.entries), most)

    note()
    store.maintain(Maintenance.FILL, note)


class BackupDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog backup --json` prints."""

    path: str
    bytes: int
    accounts: str | None = None
    """Where the accounts are, if they are in a file of their own."""


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@output_options()
def backup_command(file: Path, force: bool, output: Output) -> None:
    """Copy the archive into one file, even while it is in use.

    A team's accounts are copied, too, to FILE.accounts next to it; for an archive on PostgreSQL, they are in
    the same file. The copy is checked before it gets its name. `turnlog restore --from` replaces the archive
    with it.

    Examples:
      turnlog backup /mnt/disk/turnlog.db
    """
    settings = output.settings
    copy = find_copy(file)
    for path in (file, copy):
        if path.exists() and not force:
            raise terminal.MisuseError(f"{path_text(path)} already exists; --force overwrites it")
    with (
        open_archive(settings, writing=True, existing=True) as store,
        show_progress("Copying") as progress,
    ):
        if isinstance(settings.place, Path):
            back_up_accounts(settings.place, file, force=force)
        backup = store.back_up(file, force=force, on_progress=progress)
    document = BackupDocument(
        path=path_text(backup.path),
        bytes=backup.size or 0,
        accounts=path_text(find_copy(Path(backup.path))) if copy.exists() else None,
    )
    if output.as_json:
        output.print_json(document)
    else:
        told = [f"{document.path}: {document.bytes:,} bytes"]
        told += [] if document.accounts is None else [f"{document.accounts}: the accounts"]
        output.print(map(terminal.clean_line, told))


class RestoreDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog restore --from FILE --json` prints."""

    store: str
    kept: str | None
    """Where the archive is that was there before."""
    forgotten: int
    """Sessions of the backup that were forgotten since."""
    accounts: CarriedAccounts | None = None
    """What was restored of the accounts; null if the backup had none, and they are unchanged."""
    done: bool
    """False for a dry run."""


@click.command("restore")
@click.argument("session", metavar="[ID]", required=False)
@click.option(
    "--from",
    "backup",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Replace the archive with a backup.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@terminal.yes_option
@output_options()
def restore_command(session: str | None, backup: Path | None, dry_run: bool, yes: bool, output: Output) -> None:
    """Put a deleted session back where it was.

    Then `claude --resume` finds it. ID may be the beginning of a session's id. An existing file with
    different bytes is never overwritten.

    With --from, the archive itself is replaced with a backup, after you confirm it. The previous archive is
    kept next to it. Sessions that have been forgotten since do not come back. Accounts are restored, too
    (FILE.accounts), but users that have been disabled since, and tokens and links that have ended since, stay
    so; everybody has to log in again.

    Examples:
      turnlog restore 5d1c --dry-run
      turnlog restore --from /mnt/disk/turnlog.db
    """
    if (session is None) == (backup is None):
        raise terminal.MisuseError("name one session, or a backup with --from")
    settings = output.settings
    if backup is not None:
        _replace_archive(settings, output, backup, dry_run, yes)
        return
    assert session is not None
    with open_archive(settings) as store:
        _, known = find_session(store, session)
        done = restore_session(store, LOCAL, known, dry_run=dry_run)
    output.show(list_files(done), describe(done))


def _replace_archive(settings: Settings, output: Output, backup: Path, dry_run: bool, yes: bool) -> None:
    require_file(backup)
    place = settings.place
    check_backup(place, backup)
    store = path_text(str(place))
    document = RestoreDocument(store=store, kept=None, forgotten=0, done=False)
    if not dry_run:
        output.confirm(
            terminal.clean_line(f"Replace {store} with {path_text(backup)}?"),
            yes=yes or not is_made(place),
        )
        with show_progress("Restoring"):
            restored = restore_store(place, backup)
        kept = None if restored.kept is None else path_text(restored.kept)
        document = fill(RestoreDocument, restored, store=store, kept=kept, done=True)
    output.show(document, map(terminal.clean_line, _describe_restored(document)))


def _describe_restored(document: RestoreDocument) -> list[str]:
    if not document.done:
        return [f"{document.store} would be replaced; the backup is intact"]
    told = [f"restored: {document.store}"]
    if document.kept is not None:
        told.append(f"the previous archive is kept: {document.kept}")
    if document.forgotten:
        told.append(
            f"{document.forgotten:,} sessions of the backup have been forgotten since, and stay forgotten"
        )
    if document.accounts is not None:
        told.append(
            f"accounts restored, too: {plural(document.accounts.users, 'user')}; everybody has to log in again"
        )
        if document.accounts.newer:
            told.append(
                f"users, tokens and links changed since, and left as they are: {document.accounts.newer:,}"
            )
    return told


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
) -> None:
    """Forget sessions for good, once that was agreed to, with their links and what turnlog captured of them."""
    captured = settings.captured_dir
    chosen = list({known.key: (stored, known) for stored, known in chosen}.values())
    sessions = tuple(_describe_session(*each, captured) for each in chosen)
    if not output.as_json:
        output.print(_list_sessions(sessions))
    scrubbed, links = False, 0
    if not dry_run:
        output.confirm("Forget this for good?", yes=yes)
        with show_progress("Forgetting"):
            links = note_forgotten(settings, [stored for stored, _ in chosen])
            scrubbed = store.forget(LOCAL, [session.key for session in sessions]).scrubbed
            remove_captures((known for _, known in chosen), captured)
    backups = find_in_backups(store, [session.key for session in sessions])
    document = ForgetDocument(
        sessions=sessions,
        done=not dry_run,
        scrubbed=scrubbed,
        links=links,
        backups=tuple(map(path_text, backups.holding)),
        unknown_backups=tuple(map(path_text, backups.unknown)),
    )
    output.show(document, _describe_outcome(document))
    if document.done and not scrubbed:
        raise click.exceptions.Exit(terminal.FOUND_PROBLEMS)


def finish_scrub(store: MaintainedStore) -> None:
    """Remove what an earlier run could not; end the program with status 1 if that fails again."""
    with show_progress("Forgetting"):
        done = store.maintain(Maintenance.PURGE)
    if not done:
        terminal.warn("another process is using the store; try again when it has ended")
        raise click.exceptions.Exit(terminal.FOUND_PROBLEMS)


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
        name = terminal.clean_line(each.session_id or each.key)
        title = terminal.shorten(each.title or "without a title", _TITLE)
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
        yield terminal.clean_line(f"a backup {verb} some of it: {path}")
    for path in document.unknown_backups:
        yield terminal.clean_line(f"a backup that cannot be read now may hold some of it: {path}")


@click.command("forget")
@click.argument("sessions", metavar="[ID]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@terminal.yes_option
@click.option("--undo", is_flag=True, help="Allow later syncs to archive forgotten sessions again.")
@click.option(
    "--scrub", is_flag=True, help="Only finish an earlier run that left data in files that were in use."
)
@output_options()
def forget_command(
    sessions: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    undo: bool,
    scrub: bool,
    output: Output,
) -> None:
    """Remove sessions from the archive, for good.

    ID may be the beginning of a session's id. Bytes, lines, rows and hook events are removed from the store's
    files, and the session is not archived again. What turnlog captured of it is removed, too. Other files
    outside the archive are not touched; backups that still hold the session are named.

    Examples:
      turnlog forget 5d1c --dry-run  what would be removed
      turnlog forget 5d1c 77e0
      turnlog forget --undo 5d1c     allow later syncs to archive it again
    """
    if scrub == bool(sessions):
        raise terminal.MisuseError("name the sessions to forget, or --scrub alone")
    settings = output.settings
    with open_archive(settings, writing=True, existing=True) as store:
        if scrub:
            finish_scrub(store)
        elif undo:
            _lift_tombstones(store, output, sessions)
        else:
            chosen = [find_session(store, prefix) for prefix in sessions]
            forget(store, output, chosen, settings, dry_run=dry_run, yes=yes)


def _lift_tombstones(store: MaintainedStore, output: Output, prefixes: tuple[str, ...]) -> None:
    keys: dict[str, str] = {}
    for prefix in prefixes:
        found = {each.key: each.session_id or each.key for each in find_tombstones(store, prefix)}
        if not found:
            raise terminal.NothingFoundError(f"no forgotten session begins with {prefix}")
        if len(found) > 1:
            raise terminal.MisuseError(f"{len(found)} forgotten sessions begin with {prefix}")
        keys |= found
    store.delete_tombstones(LOCAL, list(keys))
    told = (terminal.clean_line(f"{name}: the next sync can archive it again") for name in keys.values())
    output.show({"lifted": list(keys.values())}, told)


_PAGE = 500
_DAY = 86_400


@click.command("prune")
@click.option(
    "--older-than", "days", type=click.FloatRange(min=0), metavar="DAYS", help="Not written to for this long."
)
@click.option(
    "--project", type=click.Path(path_type=Path), metavar="PATH", help="Run in this directory, or below it."
)
@click.option("--only-here", is_flag=True, help="Whose files no longer exist outside the archive.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@terminal.yes_option
@output_options()
def prune_command(
    days: float | None,
    project: Path | None,
    only_here: bool,
    dry_run: bool,
    yes: bool,
    output: Output,
) -> None:
    """Remove all sessions that match, for good.

    They are removed as `turnlog forget` does. A session is forgotten if it meets all conditions. A session
    without a time is never too old.

    Examples:
      turnlog prune --older-than 365 --dry-run
      turnlog prune --project ~/secret
      turnlog prune --only-here --older-than 90
    """
    if days is None and project is None and not only_here:
        raise terminal.MisuseError("say which sessions: --older-than, --project or --only-here")
    settings = output.settings
    before = None if days is None else round((time.time() - days * _DAY) * 1e6)
    root = None if project is None else os.path.abspath(os.path.expanduser(project))
    with open_archive(settings, writing=True, existing=True) as store:
        chosen = list(_choose_sessions(store, before, root, only_here))
        if not chosen:
            raise terminal.NothingFoundError("no archived session matches")
        forget(store, output, chosen, settings, dry_run=dry_run, yes=yes)


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
