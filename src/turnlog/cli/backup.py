"""`turnlog backup`: a copy of the archive in one file."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import Struct

from turnlog.cli.failures import MisuseError
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.progress import waiting
from turnlog.cli.stores import open_for
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.store.accounts.copies import back_up_accounts, find_copy
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
def command(file: Path, force: bool, as_json: bool, color: bool | None) -> None:
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
