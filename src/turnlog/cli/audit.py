"""`turnlog audit`: who did what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import click
from msgspec import Struct

from turnlog.cli.accounts import opened_accounts, to_moment
from turnlog.cli.completion import complete_sessions, complete_users
from turnlog.cli.files import warn
from turnlog.cli.output import Output, color_option, json_option, pager_option
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.tables import Column, render_table
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean_line
from turnlog.cli.units import local_time, parse_moment
from turnlog.config import Settings
from turnlog.store.account_model import Action, AuditEntry, AuditFilter
from turnlog.store.model import is_made

_ALL = 1 << 31
_COLUMNS = (
    Column("when"),
    Column("who"),
    Column("did"),
    Column("person"),
    Column("session", least=8, optional=1),
    Column("detail", least=8),
)


class AuditItem(Struct, frozen=True, gc=False, kw_only=True):
    """Something that was done."""

    id: int
    at: datetime | None
    who: str | None
    """Null for the operator, and for strangers with a link."""
    action: Action
    person: str | None
    """Whose session it is, or whom it is about."""
    session: str | None
    """The session's key."""
    link: str | None
    detail: str


class AuditDocument(Struct, frozen=True, gc=False):
    """What `turnlog audit --json` prints."""

    entries: tuple[AuditItem, ...]
    next: int | None
    """What `--before` takes to go on; null if there is no more."""


@click.command(
    "audit",
    epilog="""\b
Examples:
  turnlog audit                                  the newest
  turnlog audit --person ben --action looked     who looked at Ben's sessions
  turnlog audit --who ada --since 7d
  turnlog audit --session 5d1c --json
""",
)
@click.option("--who", metavar="NAME", shell_complete=complete_users, help="What this user did.")
@click.option(
    "--person",
    metavar="NAME",
    shell_complete=complete_users,
    help="What concerns this user or their sessions.",
)
@click.option(
    "--session",
    metavar="ID",
    shell_complete=complete_sessions,
    help="What concerns a session: its key, or the beginning of its id.",
)
@click.option(
    "--action",
    "actions",
    multiple=True,
    type=click.Choice([each.value for each in Action]),
    help="Only this action; may be repeated.",
)
@click.option("--since", metavar="TIME", help="At this time or later: 2026-03-01, 2026-03-01T14:00, 7d, 12h.")
@click.option("--until", metavar="TIME", help="At this time or before; a day counts to its end.")
@click.option(
    "--limit", type=click.IntRange(0), default=100, show_default=True, help="How many; 0 for all of them."
)
@click.option(
    "--before", type=int, metavar="NUMBER", help="Continue after a page, from the NUMBER shown at its end."
)
@json_option
@color_option
@pager_option
def audit_command(
    who: str | None,
    person: str | None,
    session: str | None,
    actions: Sequence[str],
    since: str | None,
    until: str | None,
    limit: int,
    before: int | None,
    as_json: bool,
    color: bool | None,
    pager: bool | None,
) -> None:
    """List who looked at whose sessions, and who changed what.

    That is who shared, exported, deleted or linked which session, and who changed accounts, tokens, machines
    and rules. The newest comes first. What is done on the command line is recorded as done by the operator.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager)
    asked = AuditFilter(
        who=who,
        person=person,
        session=None if session is None else _find_key(settings, session),
        actions=tuple(map(Action, actions)),
        since_ns=None if since is None else _read_time("--since", since, ending=False),
        until_ns=None if until is None else _read_time("--until", until, ending=True),
    )
    wanted = limit or _ALL
    with opened_accounts(settings) as accounts:
        found = accounts.list_audit(asked, before=before, limit=wanted + 1)
    entries, next_ = found[:wanted], found[wanted - 1].id if len(found) > wanted else None
    if as_json:
        output.print_json(AuditDocument(tuple(map(_build, entries)), next_))
    elif entries:
        width = output.width if output.is_terminal else None
        output.print(
            render_table(_COLUMNS, [list(_cells(each)) for each in entries], width, color=output.has_color)
        )
    if not entries:
        raise NothingFoundError("no matching entries")
    if next_ is not None and not as_json:
        warn(f"there is more; use --limit 0 to list all, or --before {next_} to continue")


def _find_key(settings: Settings, session: str) -> str:
    """Return the key of a session; that of one which is deleted stands for itself."""
    if not is_made(settings.place):
        return session
    try:
        with open_for(settings) as store:
            return find_session(store, session)[0].key
    except NothingFoundError:
        return session


def _read_time(option: str, text: str, *, ending: bool) -> int:
    try:
        return parse_moment(text, ending=ending) * 1000
    except (ValueError, OverflowError) as error:
        raise MisuseError(f"{option}: {error}") from error


def _build(entry: AuditEntry) -> AuditItem:
    return AuditItem(
        id=entry.id,
        at=to_moment(entry.at_ns),
        who=entry.who,
        action=entry.action,
        person=entry.person,
        session=entry.session,
        link=entry.link,
        detail=entry.detail,
    )


def _cells(entry: AuditEntry) -> Iterator[str]:
    at = to_moment(entry.at_ns)
    yield "" if at is None else f"{local_time(at):%Y-%m-%d %H:%M:%S}"
    stranger = entry.action is Action.LINK_OPENED
    yield clean_line(entry.who or ("a visitor" if stranger else "operator"))
    yield entry.action.value
    yield clean_line(entry.person or "")
    yield clean_line(entry.session or "")
    yield clean_line(f"{entry.detail}{f' link {entry.link}' if entry.link else ''}")
