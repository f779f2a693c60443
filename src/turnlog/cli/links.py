"""`turnlog links`: a session shown to whoever has the address."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

import click
from msgspec import Struct

from turnlog.cli.completing import complete_links, complete_sessions
from turnlog.cli.confirmation import confirm, yes_option
from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.keeping_accounts import (
    DAY_NS,
    at_cell,
    dry_option,
    find_by_id,
    opened_accounts,
    record,
    to_moment,
)
from turnlog.cli.listing import Column, render_table
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.progress import waiting
from turnlog.cli.rendering.link_previews import describe_preview
from turnlog.cli.stores import find_session, open_for
from turnlog.cli.terminal import clean_line, shorten
from turnlog.config import Settings
from turnlog.export.link_preview import LinkPreview, build_preview
from turnlog.server.presence import find_server
from turnlog.store.accounts.interface import Accounts, Action, Link
from turnlog.store.model import LOCAL, find_access

_LONGEST_DAYS = 365
_TITLE = 60
_COLUMNS = (
    Column("id"),
    Column("title", least=12),
    Column("by"),
    Column("state"),
    Column("made", right=True, optional=2),
    Column("ends", right=True),
    Column("opened", right=True, optional=1),
)


class LinkItem(Struct, frozen=True, gc=False, kw_only=True):
    """A link as `turnlog links --json` prints it; never its address."""

    id: str
    session: str
    """The session's key."""
    title: str
    created_by: str | None
    """Null if the operator made it."""
    state: str
    """`good`, `expired` or `revoked`."""
    created_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    words: tuple[str, ...]
    opened: int
    opened_at: datetime | None


class NewLink(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog links create --json` prints."""

    preview: LinkPreview
    """What whoever has the address sees."""
    link: LinkItem | None = None
    """Null for a dry run."""
    path: str | None = None
    """Where it is on the server; nobody can see it again."""
    url: str | None = None
    """Its address, if the server's is known."""


@click.group(
    "links",
    epilog="""\b
Examples:
  turnlog links create 5d1c --days 7 --dry-run     what strangers would see
  turnlog links create 5d1c --days 7 --word Acme --url https://turnlog.example.org
  turnlog links list
  turnlog links revoke 8c02
""",
)
def command() -> None:
    """Share single sessions with people without an account, through links that expire.

    Everything that looks like a secret is redacted, and so is each --word. If the session is still running,
    visitors see it grow. These commands act on the archive itself, as its operator; the audit log records
    what they do.
    """


@command.command("create")
@click.argument("session", shell_complete=complete_sessions)
@click.option(
    "--days",
    type=click.IntRange(1, _LONGEST_DAYS),
    default=7,
    show_default=True,
    help="After how many days it expires.",
)
@click.option("--word", "words", multiple=True, metavar="TEXT", help="Redact this word, too; may be repeated.")
@click.option(
    "--url", metavar="URL", help="The server's address.  [default: that of the server on this machine]"
)
@dry_option
@yes_option
@json_option
@color_option
def _create(
    session: str,
    days: int,
    words: tuple[str, ...],
    url: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Create a link to a session, and print its address, which cannot be shown again.

    You first see what it would show, and are asked. SESSION may be the beginning of a session's id, or of the
    name that you gave it.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    base = _find_base(settings, url)
    with opened_accounts(settings) as accounts, open_for(settings) as store:
        stored, _ = find_session(store, session)
        with waiting("Preparing the preview"):
            preview = build_preview(store, LOCAL, stored, (*settings.redact_words, *words))
        if not as_json:
            output.print(describe_preview(preview))
        if dry_run:
            made = NewLink(preview=preview)
        else:
            confirm(f"Show this to anyone with the link, for {days} days?", yes=yes, as_json=as_json)
            link, secret = accounts.create_link(
                stored.key,
                title=preview.title,
                created_by=None,
                expires_ns=time.time_ns() + days * DAY_NS,
                words=words,
            )
            record(accounts, Action.LINK_CREATED, session=stored.key, person=stored.person, link=link.id)
            path = f"/s/{secret}"
            made = NewLink(preview=preview, link=_build(link), path=path, url=base and f"{base}{path}")
    if as_json:
        output.print_json(made)
    elif made.link is not None:
        output.print(_describe_new(made, made.link))


@command.command("list")
@click.option("--session", metavar="ID", shell_complete=complete_sessions, help="Only links to this session.")
@click.option("--all", "with_ended", is_flag=True, help="Include expired and revoked ones.")
@json_option
@color_option
def _list(session: str | None, with_ended: bool, as_json: bool, color: bool | None) -> None:
    """List links, the newest first. Their addresses are not kept."""
    settings = Settings.from_env()
    output = Output(settings, color)
    with opened_accounts(settings) as accounts:
        found = accounts.list_links(session=_find_key(settings, session))
    links = [link for link in found if with_ended or _state(link) == "good"]
    if as_json:
        output.print_json([_build(link) for link in links])
    elif links:
        now = datetime.now(UTC) if output.is_terminal else None
        width = output.width if output.is_terminal else None
        rows = [list(_cells(link, now)) for link in links]
        output.print(render_table(_COLUMNS, rows, width, color=output.has_color))
    if not links:
        raise NothingFoundError(
            "no valid links; --all also lists expired and revoked ones" if found else "no links"
        )


@command.command("revoke")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_links)
@dry_option
@yes_option
@json_option
@color_option
def _revoke(ids: Sequence[str], dry_run: bool, yes: bool, as_json: bool, color: bool | None) -> None:
    """Revoke links: they stop working at once, even for pages that are open.

    ID may be the beginning of one, as `turnlog links list` shows it.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        known = accounts.list_links()
        links = [find_by_id(known, id, "link", lambda link: link.id) for id in dict.fromkeys(ids)]
        if not as_json:
            output.print(render_table(_COLUMNS, [list(_cells(each, None)) for each in links], None))
        if not dry_run:
            confirm("Revoke this?" if len(links) == 1 else "Revoke these?", yes=yes, as_json=as_json)
            links = [_end(accounts, settings, link) for link in links]
    if as_json:
        output.print_json([_build(link) for link in links])
    elif not dry_run:
        output.print(["ended"])


def _end(accounts: Accounts, settings: Settings, link: Link) -> Link:
    ended = accounts.revoke_link(link.id)
    if link.revoked_ns is None:
        with open_for(settings) as store:
            access = find_access(store, LOCAL, link.session)
        person = None if access is None else access.person
        record(accounts, Action.LINK_REVOKED, session=link.session, person=person, link=link.id)
    return ended


def _find_key(settings: Settings, session: str | None) -> str | None:
    if session is None:
        return None
    with open_for(settings) as store:
        return find_session(store, session)[0].key


def _find_base(settings: Settings, url: str | None) -> str | None:
    """Return the server's address without a slash at its end; None if it is not known."""
    if url is None:
        server = find_server(settings.home)
        return None if server is None else _cut(server.url)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise MisuseError(f"--url: expected an address such as https://turnlog.example.org, got {url}")
    return _cut(url)


def _cut(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _state(link: Link) -> str:
    if link.revoked_ns is not None:
        return "revoked"
    return "expired" if link.expires_ns <= time.time_ns() else "good"


def _build(link: Link) -> LinkItem:
    return LinkItem(
        id=link.id,
        session=link.session,
        title=link.title,
        created_by=link.created_by,
        state=_state(link),
        created_at=to_moment(link.created_ns),
        expires_at=to_moment(link.expires_ns),
        revoked_at=to_moment(link.revoked_ns),
        words=link.words,
        opened=link.opened,
        opened_at=to_moment(link.opened_ns),
    )


def _cells(link: Link, now: datetime | None) -> Iterator[str]:
    yield link.id
    yield shorten(link.title, _TITLE)
    yield link.created_by or "operator"
    yield _state(link)
    yield at_cell(link.created_ns, now)
    yield at_cell(link.expires_ns, None)
    yield f"{link.opened:,}"


def _describe_new(made: NewLink, link: LinkItem) -> Iterator[str]:
    ends = "" if link.expires_at is None else f", valid until {link.expires_at:%Y-%m-%d %H:%M} UTC"
    yield f"link {link.id}{ends}; `turnlog links revoke {link.id}` revokes it"
    if made.url is None:
        yield "No server is running here: put your server's address before this path, or use --url."
    yield clean_line(made.url or made.path or "")
