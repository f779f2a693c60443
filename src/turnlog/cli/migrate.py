"""`turnlog migrate`: stored tool messages get the right parents (spec 003)."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import Struct

from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.files import require_file
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.progress import waiting
from turnlog.cli.rendering.migration import render_migration
from turnlog.config import Settings
from turnlog.errors import MigrationError
from turnlog.transcripts.files.session_files import path_text
from turnlog.transcripts.migration import CorrectionKind, LeftReason, Migration, migrate


class CorrectionItem(Struct, frozen=True, gc=False):
    """A document that is written anew, and where it stands in IN."""

    offset: int
    uuid: str | None
    kinds: tuple[CorrectionKind, ...]
    old_parent: str | None
    parent: str | None


class LeftoverItem(Struct, frozen=True, gc=False):
    """Something that is left as it is, and where it stands in IN."""

    offset: int
    uuid: str | None
    reason: LeftReason


class MigrationDocument(Struct, frozen=True, gc=False):
    """What `turnlog migrate --json` prints."""

    source: str
    target: str
    dry_run: bool
    documents: int
    tool_uses: int
    tool_results: int
    right: int
    changed: int
    corrected: dict[CorrectionKind, int]
    left_for: dict[LeftReason, int]
    corrections: tuple[CorrectionItem, ...]
    left: tuple[LeftoverItem, ...]


@click.command(
    "migrate",
    epilog="""\b
Examples:
  turnlog migrate messages.jsonl messages.fixed.jsonl --dry-run
  turnlog migrate messages.jsonl messages.fixed.jsonl
  turnlog migrate messages.jsonl messages.jsonl --force    in place
""",
)
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@click.option("--force", is_flag=True, help="Overwrite OUT if it exists; it may be IN itself.")
@json_option
@color_option
def command(source: Path, target: Path, dry_run: bool, force: bool, as_json: bool, color: bool | None) -> None:
    """Correct stored tool messages that have the wrong parents.

    IN holds documents of tool messages, one per line or as mongoexport writes them; OUT gets the same bytes
    except for parents and flags that are wrong (spec 003). Migrating again changes nothing. What cannot be
    decided for certain is left as it is, and listed.
    """
    output = Output(Settings.from_env(), color, pager=False)
    require_file(source)
    try:
        with waiting(f"Migrating {path_text(source)}") as report:
            done = migrate(source, target, in_place=force, force=force, dry_run=dry_run, on_progress=report)
    except MigrationError as error:
        hint = "" if force or not target.is_file() else "; --force overwrites it"
        raise MisuseError(f"{error}{hint}") from error
    if as_json:
        output.print_json(_document(done, source, target, dry_run))
    elif done.documents:
        output.print(render_migration(done, dry_run))
    if not done.documents:
        raise NothingFoundError(f"{path_text(source)}: no documents")


def _document(done: Migration, source: Path, target: Path, dry_run: bool) -> MigrationDocument:
    return MigrationDocument(
        source=path_text(source),
        target=path_text(target),
        dry_run=dry_run,
        documents=done.documents,
        tool_uses=done.tool_uses,
        tool_results=done.tool_results,
        right=done.right,
        changed=done.changed,
        corrected=done.count_corrections(),
        left_for=done.count_left(),
        corrections=tuple(
            CorrectionItem(each.at.offset, each.uuid, each.kinds, each.old_parent, each.parent)
            for each in done.corrections
        ),
        left=tuple(LeftoverItem(each.at.offset, each.uuid, each.reason) for each in done.left),
    )
