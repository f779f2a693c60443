"""`turnlog tokens`: what lets people and machines in."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click
from msgspec import Struct

from turnlog.cli.completing import complete_tokens, complete_users
from turnlog.cli.confirmation import confirm, yes_option
from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.files import warn
from turnlog.cli.keeping_accounts import (
    DAY_NS,
    at_cell,
    dry_option,
    find_by_id,
    get_user,
    opened_accounts,
    record,
    to_moment,
)
from turnlog.cli.listing import Column, render_table
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.store.accounts.interface import Accounts, Action, Token, TokenKind

_LONGEST_DAYS = 3650
_COLUMNS = (
    Column("id"),
    Column("user"),
    Column("kind"),
    Column("label", least=8),
    Column("state"),
    Column("made", right=True, optional=2),
    Column("used", right=True, optional=1),
    Column("machine", dim=True, optional=3),
)


class TokenItem(Struct, frozen=True, gc=False, kw_only=True):
    """A token as `turnlog tokens --json` prints it; never its secret."""

    id: str
    kind: TokenKind
    user: str
    label: str
    state: str
    """`good`, `expired` or `revoked`."""
    created_at: datetime | None
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None
    machine: str | None
    """The origin of the machine that it is good for alone."""


class NewToken(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog tokens create --json` prints."""

    token: TokenItem
    secret: str
    """What lets in; nobody can see it again."""


@click.group(
    "tokens",
    epilog="""\b
Examples:
  turnlog tokens create --user ben                        to log in with
  turnlog tokens create --user ben --machine --label laptop > laptop.token
  turnlog tokens list --user ben
  turnlog tokens revoke 4f1a
""",
)
def command() -> None:
    """Create and revoke access tokens for people and machines.

    A personal token lets its user log in. A machine token can only push its user's sessions (`turnlog push`);
    it is bound to the first machine that uses it. Only digests of tokens are stored. These commands act on
    the archive itself, as its operator; the audit log records what they do.
    """


@command.command("create")
@click.option(
    "--user",
    "name",
    metavar="NAME",
    shell_complete=complete_users,
    help="The token's user; required if there are several.",
)
@click.option(
    "--machine", "is_machine", is_flag=True, help="A token that can only push sessions, from one machine."
)
@click.option("--label", default="", metavar="TEXT", help="What the token is for.")
@click.option(
    "--days", type=click.IntRange(1, _LONGEST_DAYS), help="After how many days it expires.  [default: never]"
)
@json_option
@color_option
def _create(
    name: str | None, is_machine: bool, label: str, days: int | None, as_json: bool, color: bool | None
) -> None:
    """Create a token, and print its secret, which cannot be shown again."""
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    kind = TokenKind.MACHINE if is_machine else TokenKind.PERSONAL
    with opened_accounts(settings) as accounts:
        user = _choose_user(accounts, name)
        expires_ns = None if days is None else time.time_ns() + days * DAY_NS
        token, secret = accounts.create_token(user, kind, label, expires_ns=expires_ns)
        record(accounts, Action.TOKEN_CREATED, person=user, detail=f"{kind} {token.id}")
    if as_json:
        output.print_json(NewToken(token=_build(token), secret=secret))
        return
    use = "for `turnlog push` on one machine" if is_machine else "to log in with"
    warn(f"{user}'s token {use}, which cannot be shown again; `turnlog tokens revoke {token.id}` revokes it")
    output.print([secret])


@command.command("list")
@click.option("--user", "name", metavar="NAME", shell_complete=complete_users, help="Only this user's.")
@click.option("--all", "with_ended", is_flag=True, help="Include expired and revoked ones.")
@json_option
@color_option
def _list(name: str | None, with_ended: bool, as_json: bool, color: bool | None) -> None:
    """List tokens, the newest first."""
    settings = Settings.from_env()
    output = Output(settings, color)
    with opened_accounts(settings) as accounts:
        if name is not None:
            get_user(accounts, name)
        found = accounts.list_tokens(name)
    tokens = [token for token in found if with_ended or _state(token) == "good"]
    if as_json:
        output.print_json([_build(token) for token in tokens])
    elif tokens:
        now = datetime.now(UTC) if output.is_terminal else None
        width = output.width if output.is_terminal else None
        output.print(
            render_table(_COLUMNS, [list(_cells(each, now)) for each in tokens], width, color=output.has_color)
        )
    if not tokens:
        raise NothingFoundError(
            "no valid tokens; --all also lists expired and revoked ones" if found else "no tokens"
        )


@command.command("revoke")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_tokens)
@dry_option
@yes_option
@json_option
@color_option
def _revoke(ids: Sequence[str], dry_run: bool, yes: bool, as_json: bool, color: bool | None) -> None:
    """Revoke tokens: nobody can use them from now on.

    ID may be the beginning of one, as `turnlog tokens list` shows it.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        known = accounts.list_tokens()
        tokens = [find_by_id(known, id, "token", lambda token: token.id) for id in dict.fromkeys(ids)]
        if not as_json:
            rows = [list(_cells(each, None)) for each in tokens]
            output.print(render_table(_COLUMNS, rows, None))
        if not dry_run:
            confirm("Revoke this?" if len(tokens) == 1 else "Revoke these?", yes=yes, as_json=as_json)
            tokens = [_end(accounts, token) for token in tokens]
    if as_json:
        output.print_json([_build(token) for token in tokens])
    elif not dry_run:
        output.print(["ended"])


def _end(accounts: Accounts, token: Token) -> Token:
    ended = accounts.revoke_token(token.id)
    if token.revoked_ns is None:
        record(accounts, Action.TOKEN_REVOKED, person=token.user, detail=f"{token.kind} {token.id}")
    return ended


def _choose_user(accounts: Accounts, name: str | None) -> str:
    if name is not None:
        return get_user(accounts, name).name
    users = [user.name for user in accounts.list_users() if user.disabled_ns is None]
    if not users:
        raise NothingFoundError("there are no users yet; `turnlog users add` adds the first one")
    if len(users) > 1:
        raise MisuseError("there are several users: say whose it is with --user")
    return users[0]


def _state(token: Token) -> str:
    if token.revoked_ns is not None:
        return "revoked"
    return "expired" if token.expires_ns is not None and token.expires_ns <= time.time_ns() else "good"


def _build(token: Token) -> TokenItem:
    return TokenItem(
        id=token.id,
        kind=token.kind,
        user=token.user,
        label=token.label,
        state=_state(token),
        created_at=to_moment(token.created_ns),
        expires_at=to_moment(token.expires_ns),
        used_at=to_moment(token.used_ns),
        revoked_at=to_moment(token.revoked_ns),
        machine=token.origin,
    )


def _cells(token: Token, now: datetime | None) -> Iterator[str]:
    yield token.id
    yield token.user
    yield token.kind.value
    yield clean_line(token.label)
    yield _state(token)
    yield at_cell(token.created_ns, now)
    yield at_cell(token.used_ns, now) or "never"
    yield clean_line(token.origin or "")[:8]
