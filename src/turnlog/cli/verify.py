"""`turnlog verify`: whether the archive is what it was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
from msgspec import Struct
from msgspec.structs import replace

from turnlog.cli.failures import FOUND_PROBLEMS
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.progress import waiting
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.export.plain import plural
from turnlog.ingest.checks import check_archive
from turnlog.ingest.verification import Disagreement, Subject
from turnlog.store.accounts.opening import check_accounts
from turnlog.store.interface import CaredStore
from turnlog.store.model import LOCAL
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
def command(sessions: tuple[str, ...], repair: bool, as_json: bool, color: bool | None) -> None:
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
        output.print(_describe(document))
    if document.left or document.accounts:
        raise click.exceptions.Exit(FOUND_PROBLEMS)


def _verify(store: CaredStore, prefixes: Sequence[str], repair: bool) -> VerifyDocument:
    chosen = [find_session(store, prefix)[1] for prefix in prefixes] if prefixes else None
    found: list[DisagreementDocument] = []
    sessions = 0
    with waiting("Verifying") as tell:
        for step in check_archive(store, LOCAL, chosen, repair=repair):
            sessions = step.total
            tell(step.done, step.total)
            found += (_document(each, mended=True) for each in step.checked.mended)
            found += (_document(each, mended=False) for each in step.checked.left)
    left = sum(not each.mended for each in found)
    return VerifyDocument(sessions=sessions, disagreements=tuple(found), left=left)


def _document(found: Disagreement, *, mended: bool) -> DisagreementDocument:
    return DisagreementDocument(
        session=found.session,
        subject=found.subject,
        where=path_text(found.where),
        message=path_text(found.message),
        mended=mended,
    )


def _describe(document: VerifyDocument) -> Iterator[str]:
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
