"""`turnlog backup` and `turnlog restore`: the archive as one file and back, or one deleted session put back."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import Struct

from turnlog.cli.export import describe, list_files
from turnlog.cli.files import require_file
from turnlog.cli.output import Output, color_option, json_option, waiting
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.terminal import MisuseError, clean_line, confirm, yes_option
from turnlog.config import Settings
from turnlog.export.files import restore_session
from turnlog.export.plain_text import plural
from turnlog.store.account_backups import back_up_accounts, check_backup, find_copy, restore_store
from turnlog.store.account_model import CarriedAccounts
from turnlog.store.model import LOCAL, is_made
from turnlog.transcripts.files.session_files import path_text


class BackupDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog backup --json` prints."""

    path: str
    bytes: int
    accounts: str | None = None
    """Where the accounts are, if they are in a file of their own."""


@click.command(
    "backup",
    epilog="""\b
Examples:
  turnlog backup /mnt/disk/turnlog.db
""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@json_option
@color_option
def backup_command(file: Path, force: bool, as_json: bool, color: bool | None) -> None:
    """Copy the archive into one file, even while it is in use.

    A team's accounts are copied, too, to FILE.accounts next to it; for an archive on PostgreSQL, they are in
    the same file. The copy is checked before it gets its name. `turnlog restore --from` replaces the archive
    with it.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    copy = find_copy(file)
    for path in (file, copy):
        if path.exists() and not force:
            raise MisuseError(f"{path_text(path)} already exists; --force overwrites it")
    with (
        open_for(settings, writing=True, existing=True) as store,
        waiting("Copying") as progress,
    ):
        if isinstance(settings.place, Path):
            back_up_accounts(settings.place, file, force=force)
        backup = store.back_up(file, force=force, on_progress=progress)
    document = BackupDocument(
        path=path_text(backup.path),
        bytes=backup.size or 0,
        accounts=path_text(find_copy(Path(backup.path))) if copy.exists() else None,
    )
    if as_json:
        output.print_json(document)
    else:
        told = [f"{document.path}: {document.bytes:,} bytes"]
        told += [] if document.accounts is None else [f"{document.accounts}: the accounts"]
        output.print(map(clean_line, told))


class RestoreDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog restore --from FILE --json` prints."""

    store: str
    kept: str | None
    """Where the archive is that was there before."""
    forgotten: int
    """Sessions of the backup that were forgotten since."""
    accounts: CarriedAccounts | None = None
    """What became of the accounts; null if the backup had none, and they are as they were."""
    done: bool
    """False for a dry run."""


@click.command(
    "restore",
    epilog="""\b
Examples:
  turnlog restore 5d1c --dry-run
  turnlog restore --from /mnt/disk/turnlog.db
""",
)
@click.argument("session", metavar="[ID]", required=False)
@click.option(
    "--from",
    "backup",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Replace the archive with a backup.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@yes_option
@json_option
@color_option
def restore_command(
    session: str | None, backup: Path | None, dry_run: bool, yes: bool, as_json: bool, color: bool | None
) -> None:
    """Put a deleted session back where it was.

    Then `claude --resume` finds it. ID may be the beginning of a session's id. An existing file with
    different bytes is never overwritten.

    With --from, the archive itself is replaced with a backup, after you confirm it. The previous archive is
    kept next to it. Sessions that have been forgotten since do not come back. Accounts are restored, too
    (FILE.accounts), but users that have been disabled since, and tokens and links that have ended since, stay
    so; everybody has to log in again.
    """
    if (session is None) == (backup is None):
        raise MisuseError("name one session, or a backup with --from")
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    if backup is not None:
        _replace_archive(settings, output, backup, dry_run, yes, as_json)
        return
    assert session is not None
    with open_for(settings) as store:
        _, known = find_session(store, session)
        done = restore_session(store, LOCAL, known, dry_run=dry_run)
    if as_json:
        output.print_json(list_files(done))
    else:
        output.print(describe(done))


def _replace_archive(
    settings: Settings, output: Output, backup: Path, dry_run: bool, yes: bool, as_json: bool
) -> None:
    require_file(backup)
    place = settings.place
    check_backup(place, backup)
    document = RestoreDocument(store=path_text(str(place)), kept=None, forgotten=0, done=False)
    if not dry_run:
        confirm(
            clean_line(f"Replace {path_text(str(place))} with {path_text(backup)}?"),
            yes=yes or not is_made(place),
            as_json=as_json,
        )
        with waiting("Restoring"):
            restored = restore_store(place, backup)
        kept = None if restored.kept is None else path_text(restored.kept)
        document = RestoreDocument(
            store=path_text(str(place)),
            kept=kept,
            forgotten=restored.forgotten,
            accounts=restored.accounts,
            done=True,
        )
    if as_json:
        output.print_json(document)
    else:
        output.print(map(clean_line, _describe_restored(document)))


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
