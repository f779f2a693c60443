"""`turnlog verify` and `turnlog upgrade`: whether the archive is what it was given, and in today's form.

An archive of an earlier version is upgraded by any command that writes, too (`bring_up`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from turnlog.cli.files import warn
from turnlog.cli.output import Output, color_option, json_option, waiting
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.terminal import FOUND_PROBLEMS, NothingFoundError, clean_line
from turnlog.config import Settings
from turnlog.errors import FormerStoreError, OlderStoreError
from turnlog.export.plain_text import plural
from turnlog.ingest.machine import find_origin
from turnlog.ingest.verification import (
    Disagreement,
    Phase,
    Subject,
    UpgradeReport,
    check_archive,
    upgrade_archive,
)
from turnlog.store.accounts import check_accounts
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL, StorePlace, is_made
from turnlog.store.opening import open_store, open_upgrade
from turnlog.transcripts.files.session_files import path_text


class DisagreementDocument(Struct, frozen=True, gc=False, kw_only=True):
    """Something that is not as it should be."""

    session: str
    subject: Subject
    where: str
    message: str
    mended: bool


class VerifyDocument(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog verify --json` prints."""

    sessions: int
    """How many were checked."""
    disagreements: tuple[DisagreementDocument, ...]
    left: int
    """How many of them are not mended."""
    accounts: tuple[str, ...] = ()
    """What is wrong with the accounts, if all was checked."""


@click.command(
    "verify",
    epilog="""\b
Examples:
  turnlog verify                everything
  turnlog verify 5d1c --repair  one session
""",
)
@click.argument("sessions", metavar="[ID]...", nargs=-1)
@click.option("--repair", is_flag=True, help="Repair what can be repaired, and check again.")
@json_option
@color_option
def verify_command(sessions: tuple[str, ...], repair: bool, as_json: bool, color: bool | None) -> None:
    """Derive everything again from the archived bytes, and list what disagrees.

    The bytes of each file are checked against their digests, lines against the bytes, and rows against the
    lines. ID may be the beginning of a session's id. With --repair, lines and rows are rewritten; damaged
    bytes are taken from the original file, if it still has exactly the same ones. Exit status 1 means that
    something disagrees. Without an ID, the accounts are checked, too; they cannot be repaired, only restored
    from a backup.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with open_for(settings, writing=repair, existing=True) as store:
        document = _verify(store, sessions, repair)
    if not sessions:
        document = replace(document, accounts=tuple(map(path_text, check_accounts(settings.place))))
    if as_json:
        output.print_json(document)
    else:
        output.print(_describe_verified(document))
    if document.left or document.accounts:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _verify(store: MaintainedStore, prefixes: Sequence[str], repair: bool) -> VerifyDocument:
    chosen = [find_session(store, prefix)[1] for prefix in prefixes] if prefixes else None
    found: list[DisagreementDocument] = []
    sessions = 0
    with waiting("Verifying") as tell:
        for step in check_archive(store, LOCAL, chosen, repair=repair):
            sessions = step.total
            tell(step.done, step.total)
            found += (_disagreement_document(each, mended=True) for each in step.checked.mended)
            found += (_disagreement_document(each, mended=False) for each in step.checked.left)
    left = sum(not each.mended for each in found)
    return VerifyDocument(sessions=sessions, disagreements=tuple(found), left=left)


def _disagreement_document(found: Disagreement, *, mended: bool) -> DisagreementDocument:
    return DisagreementDocument(
        session=found.session,
        subject=found.subject,
        where=path_text(found.where),
        message=path_text(found.message),
        mended=mended,
    )


def _describe_verified(document: VerifyDocument) -> Iterator[str]:
    for found in document.disagreements:
        state = "repaired: " if found.mended else ""
        where = f" {found.where}:" if found.where else ""
        yield clean_line(
            f"{state}{found.session or 'the store'}: {found.subject.value}:{where} {found.message}"
        )
    yield from (clean_line(f"accounts: {each}") for each in document.accounts)
    total = len(document.disagreements)
    if total == 0:
        yield f"{plural(document.sessions, 'session')}: everything agrees"
    else:
        mended = f"{total - document.left:,} of them repaired"
        yield f"{plural(document.sessions, 'session')}: {plural(total, 'disagreement')}, {mended}"


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


@click.command(
    "upgrade",
    epilog="""\b
Examples:
  turnlog upgrade --dry-run  say what would be done
  turnlog upgrade --keep     keep the former archive as well
""",
)
@click.option("--keep", is_flag=True, help="Keep the former archive beside the upgraded one.")
@click.option("--force", is_flag=True, help="Upgrade though parts are damaged; these stay as they are.")
@click.option(
    "--workers", type=click.IntRange(1, 64), help="How many processes derive sessions.  [default: by size]"
)
@click.option("-n", "--dry-run", is_flag=True, help="Say what would be done; do nothing.")
@json_option
@color_option
def upgrade_command(
    keep: bool, force: bool, workers: int | None, dry_run: bool, as_json: bool, color: bool | None
) -> None:
    """Upgrade an archive of an earlier version, from what it has itself.

    What only the archive knows is copied, all else is derived again, and the result is verified before it takes
    the archive's place. Until then the archive stays as it is. An upgrade that was interrupted goes on where it
    was. It needs about as much space on the disk as the archive has now.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    if not is_made(settings.place):
        raise NothingFoundError(f"nothing is archived yet in {settings.home}; run `turnlog sync`")
    if not is_former(settings.place):
        document = UpgradeDocument(upgraded=False)
        lines = ["The archive is up to date."]
    elif dry_run:
        sessions, size = open_upgrade(settings.place).measure()
        document = UpgradeDocument(upgraded=False, sessions=sessions, bytes=size)
        lines = [f"{plural(sessions, 'session')} would be upgraded ({size / 1e6:,.0f} MB)."]
    else:
        report = bring_up(settings, keep=keep, force=force, workers=workers, is_asked=True)
        document = UpgradeDocument(
            upgraded=True,
            sessions=report.sessions,
            bytes=report.bytes,
            kept=report.kept,
            damaged=report.damaged,
        )
        lines = [f"{plural(report.sessions, 'session')} upgraded, and verified."]
        if report.damaged:
            lines.append(f"{plural(report.damaged, 'problem')} found; `turnlog verify` lists them.")
        if report.kept is not None:
            lines.append(f"The former archive is kept as {path_text(report.kept)}.")
    if as_json:
        output.print_json(document)
    else:
        output.print(lines)


def is_former(place: StorePlace) -> bool:
    """Tell whether there is an archive of an earlier version."""
    if isinstance(place, Path) and not place.exists():
        return False
    try:
        open_store(place, read_only=True).close()
    except FormerStoreError:
        return True
    except OlderStoreError:  # which whoever opens it for writing brings up
        return False
    return False


def bring_up(
    settings: Settings,
    *,
    keep: bool = False,
    force: bool = False,
    workers: int | None = None,
    is_asked: bool = False,
) -> UpgradeReport:
    """Upgrade the archive, and show how far that is."""
    if not is_asked:
        warn("the archive is of an earlier version, and is upgraded first; this takes a while")
    with ExitStack() as stack:
        shown: list[Phase] = []

        def on_phase(phase: Phase, done: int, whole: int) -> None:
            if phase not in shown:
                stack.close()
                shown[:] = [phase]
                progress.append(stack.enter_context(waiting(f"{phase.value} the archive")))
            progress[-1](done, whole)

        progress: list[Callable[[int, int], None]] = []
        return upgrade_archive(
            settings.place,
            origin=find_origin(settings.home),
            keep=keep,
            force=force,
            workers=workers,
            on_phase=on_phase,
        )
