"""`turnlog users` and `turnlog tokens`: who has an account, and what lets people and machines in."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click
from msgspec import Struct

from turnlog.cli.accounts import (
    DAY_NS,
    at_cell,
    dry_option,
    find_by_id,
    get_user,
    opened_accounts,
    record,
    to_moment,
)
from turnlog.cli.completion import complete_tokens, complete_users
from turnlog.cli.files import warn
from turnlog.cli.output import Output, color_option, json_option
from turnlog.cli.tables import Column, render_table
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean_line, confirm, yes_option
from turnlog.config import Settings
from turnlog.export.plain_text import plural
from turnlog.store.account_model import Action, Token, TokenKind, User, UserRole
from turnlog.store.accounts import Accounts

_ROLES = click.Choice([role.value for role in UserRole])
_USER_COLUMNS = (
    Column("name"),
    Column("role"),
    Column("full name", least=8),
    Column("e-mail", least=8, optional=2),
    Column("state"),
    Column("last seen", right=True, optional=1),
)
_WHAT_CHANGES = (
    "From now on a team shares this archive: everyone who opens the page or calls the server needs an account",
    "and a token. Only the owner of the machine that a session comes from, and admins, can see the session",
    "until it is shared; if the machine has no owner yet, only admins can (`turnlog machines assign`).",
    "Anyone who has the server's own token, or its files, still sees everything.",
)


class UserItem(Struct, frozen=True, gc=False, kw_only=True):
    """A user as `turnlog users --json` prints them."""

    name: str
    full_name: str
    role: UserRole
    email: str
    disabled: bool
    disabled_at: datetime | None
    created_at: datetime | None
    seen_at: datetime | None


class NewUser(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog users add --json` prints."""

    user: UserItem
    first: bool
    """Whether it is the first one, by whom the archive became a team's."""
    token: str | None
    """The id of their first token, with `--token`."""
    secret: str | None
    """What they log in with; nobody can see it again."""


class UserDetails(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog users show --json` and `disable --json` print."""

    user: UserItem
    tokens: int
    """That are good."""
    links: int
    """That they made, and that are good."""
    done: bool = True
    """False for a dry run."""


@click.group(
    "users",
    epilog="""\b
Examples:
  turnlog users add ada --role admin --full-name "Ada Brook" --token
  turnlog users add ben --email ben@example.org
  turnlog users list
  turnlog users role ben admin
  turnlog users disable ben
""",
)
def users_command() -> None:
    """Add people to a team's archive, and set what they may do.

    An admin sees everything and manages the others, a member has sessions and sees what is shared, a viewer
    sees what is shared. These commands act on the archive itself, as its operator; the audit log records what
    they do.
    """


@users_command.command("add")
@click.argument("name")
@click.option("--role", type=_ROLES, help="What they may do.  [default: member]")
@click.option("--full-name", default="", metavar="TEXT", help="Their full name.")
@click.option("--email", default="", metavar="ADDRESS", help="Identifies their login at a provider.")
@click.option("--token", "with_token", is_flag=True, help="Create a first token for them, and print it.")
@json_option
@color_option
def _add_user(
    name: str,
    role: str | None,
    full_name: str,
    email: str,
    with_token: bool,
    as_json: bool,
    color: bool | None,
) -> None:
    """Add a user. The first one must be an admin.

    NAME may contain lower-case letters, digits, '.', '_' and '-', and never changes. To log in, a user also
    needs a token, or a login at a provider with the same e-mail address.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        is_first = not accounts.has_users()
        if is_first and role != UserRole.ADMIN:
            raise MisuseError(
                f"the first user must be an admin, who can then add the others: --role {UserRole.ADMIN.value}"
            )
        user = accounts.add_user(name, UserRole(role or UserRole.MEMBER), full_name=full_name, email=email)
        record(accounts, Action.USER_ADDED, person=name, detail=f"as {user.role}")
        token = secret = None
        if with_token:
            token, secret = accounts.create_token(name, TokenKind.PERSONAL, "first")
            record(accounts, Action.TOKEN_CREATED, person=name, detail=f"{token.kind} {token.id}")
    if as_json:
        id = None if token is None else token.id
        output.print_json(NewUser(user=_build_user(user), first=is_first, token=id, secret=secret))
        return
    output.print(_describe_new_user(user, is_first=is_first, secret=secret))


@users_command.command("list")
@json_option
@color_option
def _list_users(as_json: bool, color: bool | None) -> None:
    """List all users, by name."""
    settings = Settings.from_env()
    output = Output(settings, color)
    with opened_accounts(settings) as accounts:
        users = accounts.list_users()
    if as_json:
        output.print_json([_build_user(user) for user in users])
    elif users:
        now = datetime.now(UTC) if output.is_terminal else None
        rows = [list(_user_cells(user, now)) for user in users]
        output.print(
            render_table(
                _USER_COLUMNS, rows, output.width if output.is_terminal else None, color=output.has_color
            )
        )
    if not users:
        raise NothingFoundError(
            "there are no users: this archive belongs to one person; `turnlog users add` changes that"
        )


@users_command.command("show")
@click.argument("name", shell_complete=complete_users)
@json_option
@color_option
def _show_user(name: str, as_json: bool, color: bool | None) -> None:
    """Show a user."""
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        details = _weigh(accounts, get_user(accounts, name))
    if as_json:
        output.print_json(details)
    else:
        output.print(_describe_user(details))


@users_command.command("role")
@click.argument("name", shell_complete=complete_users)
@click.argument("role", type=_ROLES)
@json_option
@color_option
def _change_role(name: str, role: str, as_json: bool, color: bool | None) -> None:
    """Change what a user may do."""
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        before = get_user(accounts, name)
        user = accounts.change_user(name, role=UserRole(role))
        if before.role != user.role:
            record(accounts, Action.USER_CHANGED, person=name, detail=f"{before.role} to {user.role}")
    _answer(output, user, f"{name} is {_with_article(user.role)} now", as_json=as_json)


@users_command.command("disable")
@click.argument("name", shell_complete=complete_users)
@dry_option
@yes_option
@json_option
@color_option
def _disable_user(name: str, dry_run: bool, yes: bool, as_json: bool, color: bool | None) -> None:
    """Disable a user: their tokens, open pages and links end at once.

    Their name stays reserved, and their sessions stay as they are.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        before = get_user(accounts, name)
        details = _weigh(accounts, before, done=not dry_run)
        if not as_json:
            what = f"{plural(details.tokens, 'token')} and {plural(details.links, 'link')}"
            output.print([f"{what} of {name} would end" if dry_run else f"{what} of {name} will end"])
        if not dry_run:
            confirm(f"Disable {name}?", yes=yes, as_json=as_json)
            user = accounts.disable_user(name)
            if before.disabled_ns is None:
                record(accounts, Action.USER_DISABLED, person=name)
            details = UserDetails(user=_build_user(user), tokens=details.tokens, links=details.links)
    if as_json:
        output.print_json(details)
    elif not dry_run:
        output.print([f"{name} is disabled"])


@users_command.command("enable")
@click.argument("name", shell_complete=complete_users)
@json_option
@color_option
def _enable_user(name: str, as_json: bool, color: bool | None) -> None:
    """Enable a user again. Tokens and links that have ended stay so."""
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        before = get_user(accounts, name)
        user = accounts.enable_user(name)
        if before.disabled_ns is not None:
            record(accounts, Action.USER_ENABLED, person=name)
    hint = f"{name} is enabled; to let them in, create a token: `turnlog tokens create --user {name}`"
    _answer(output, user, hint, as_json=as_json)


def _answer(output: Output, user: User, said: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json(_build_user(user))
    else:
        output.print([said])


def _weigh(accounts: Accounts, user: User, *, done: bool = True) -> UserDetails:
    now = int(datetime.now(UTC).timestamp() * 1e9)
    good = [each for each in accounts.list_tokens(user.name) if each.revoked_ns is None]
    links = [each for each in accounts.list_links(created_by=user.name) if each.revoked_ns is None]
    return UserDetails(
        user=_build_user(user),
        tokens=sum(each.expires_ns is None or each.expires_ns > now for each in good),
        links=sum(each.expires_ns > now for each in links),
        done=done,
    )


def _build_user(user: User) -> UserItem:
    return UserItem(
        name=user.name,
        full_name=user.full_name,
        role=user.role,
        email=user.email,
        disabled=user.disabled_ns is not None,
        disabled_at=to_moment(user.disabled_ns),
        created_at=to_moment(user.created_ns),
        seen_at=to_moment(user.seen_ns),
    )


def _user_cells(user: User, now: datetime | None) -> Iterator[str]:
    yield user.name
    yield user.role.value
    yield clean_line(user.full_name)
    yield clean_line(user.email)
    yield "" if user.disabled_ns is None else "disabled"
    yield at_cell(user.seen_ns, now) or "never"


def _describe_new_user(user: User, *, is_first: bool, secret: str | None) -> Iterator[str]:
    yield f"{user.name} was added as {_with_article(user.role)}"
    if is_first:
        yield from _WHAT_CHANGES
    if secret is None:
        yield f"They need a token to log in: `turnlog tokens create --user {user.name}`"
    else:
        yield "Their token, which cannot be shown again:"
        yield secret


def _describe_user(details: UserDetails) -> Iterator[str]:
    user = details.user
    called = f" ({clean_line(user.full_name)})" if user.full_name else ""
    yield f"{user.name}{called}, {_with_article(user.role)}{', disabled' if user.disabled else ''}"
    if user.email:
        yield clean_line(user.email)
    seen = "never seen" if user.seen_at is None else f"last seen {user.seen_at:%Y-%m-%d %H:%M} UTC"
    yield f"{plural(details.tokens, 'token')}, {plural(details.links, 'link')}, {seen}"


def _with_article(role: UserRole) -> str:
    return f"{'an' if role is UserRole.ADMIN else 'a'} {role.value}"


_LONGEST_DAYS = 3650
_TOKEN_COLUMNS = (
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
def tokens_command() -> None:
    """Create and revoke access tokens for people and machines.

    A personal token lets its user log in. A machine token can only push its user's sessions (`turnlog push`);
    it is bound to the first machine that uses it. Only digests of tokens are stored. These commands act on
    the archive itself, as its operator; the audit log records what they do.
    """


@tokens_command.command("create")
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
def _create_token(
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
        output.print_json(NewToken(token=_build_token(token), secret=secret))
        return
    use = "for `turnlog push` on one machine" if is_machine else "to log in with"
    warn(f"{user}'s token {use}, which cannot be shown again; `turnlog tokens revoke {token.id}` revokes it")
    output.print([secret])


@tokens_command.command("list")
@click.option("--user", "name", metavar="NAME", shell_complete=complete_users, help="Only this user's.")
@click.option("--all", "with_ended", is_flag=True, help="Include expired and revoked ones.")
@json_option
@color_option
def _list_tokens(name: str | None, with_ended: bool, as_json: bool, color: bool | None) -> None:
    """List tokens, the newest first."""
    settings = Settings.from_env()
    output = Output(settings, color)
    with opened_accounts(settings) as accounts:
        if name is not None:
            get_user(accounts, name)
        found = accounts.list_tokens(name)
    tokens = [token for token in found if with_ended or _token_state(token) == "good"]
    if as_json:
        output.print_json([_build_token(token) for token in tokens])
    elif tokens:
        now = datetime.now(UTC) if output.is_terminal else None
        width = output.width if output.is_terminal else None
        output.print(
            render_table(
                _TOKEN_COLUMNS,
                [list(_token_cells(each, now)) for each in tokens],
                width,
                color=output.has_color,
            )
        )
    if not tokens:
        raise NothingFoundError(
            "no valid tokens; --all also lists expired and revoked ones" if found else "no tokens"
        )


@tokens_command.command("revoke")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_tokens)
@dry_option
@yes_option
@json_option
@color_option
def _revoke_token(ids: Sequence[str], dry_run: bool, yes: bool, as_json: bool, color: bool | None) -> None:
    """Revoke tokens: nobody can use them from now on.

    ID may be the beginning of one, as `turnlog tokens list` shows it.
    """
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        known = accounts.list_tokens()
        tokens = [find_by_id(known, id, "token", lambda token: token.id) for id in dict.fromkeys(ids)]
        if not as_json:
            rows = [list(_token_cells(each, None)) for each in tokens]
            output.print(render_table(_TOKEN_COLUMNS, rows, None))
        if not dry_run:
            confirm("Revoke this?" if len(tokens) == 1 else "Revoke these?", yes=yes, as_json=as_json)
            tokens = [_end_token(accounts, token) for token in tokens]
    if as_json:
        output.print_json([_build_token(token) for token in tokens])
    elif not dry_run:
        output.print(["ended"])


def _end_token(accounts: Accounts, token: Token) -> Token:
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


def _token_state(token: Token) -> str:
    if token.revoked_ns is not None:
        return "revoked"
    return "expired" if token.expires_ns is not None and token.expires_ns <= time.time_ns() else "good"


def _build_token(token: Token) -> TokenItem:
    return TokenItem(
        id=token.id,
        kind=token.kind,
        user=token.user,
        label=token.label,
        state=_token_state(token),
        created_at=to_moment(token.created_ns),
        expires_at=to_moment(token.expires_ns),
        used_at=to_moment(token.used_ns),
        revoked_at=to_moment(token.revoked_ns),
        machine=token.origin,
    )


def _token_cells(token: Token, now: datetime | None) -> Iterator[str]:
    yield token.id
    yield token.user
    yield token.kind.value
    yield clean_line(token.label)
    yield _token_state(token)
    yield at_cell(token.created_ns, now)
    yield at_cell(token.used_ns, now) or "never"
    yield clean_line(token.origin or "")[:8]
