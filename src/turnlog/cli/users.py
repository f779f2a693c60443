"""`turnlog users`: who has an account."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import click
from msgspec import Struct

from turnlog.cli.completing import complete_users
from turnlog.cli.confirmation import confirm, yes_option
from turnlog.cli.failures import MisuseError, NothingFoundError
from turnlog.cli.keeping_accounts import at_cell, dry_option, get_user, opened_accounts, record, to_moment
from turnlog.cli.listing import Column, render_table
from turnlog.cli.options import color_option, json_option
from turnlog.cli.output import Output
from turnlog.cli.terminal import clean_line
from turnlog.config import Settings
from turnlog.export.plain import plural
from turnlog.store.accounts.interface import Accounts, Action, TokenKind, User, UserRole

_ROLES = click.Choice([role.value for role in UserRole])
_COLUMNS = (
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
def command() -> None:
    """Add people to a team's archive, and set what they may do.

    An admin sees everything and manages the others, a member has sessions and sees what is shared, a viewer
    sees what is shared. These commands act on the archive itself, as its operator; the audit log records what
    they do.
    """


@command.command("add")
@click.argument("name")
@click.option("--role", type=_ROLES, help="What they may do.  [default: member]")
@click.option("--full-name", default="", metavar="TEXT", help="Their full name.")
@click.option("--email", default="", metavar="ADDRESS", help="Identifies their login at a provider.")
@click.option("--token", "with_token", is_flag=True, help="Create a first token for them, and print it.")
@json_option
@color_option
def _add(
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
        output.print_json(NewUser(user=_build(user), first=is_first, token=id, secret=secret))
        return
    output.print(_describe_new(user, is_first=is_first, secret=secret))


@command.command("list")
@json_option
@color_option
def _list(as_json: bool, color: bool | None) -> None:
    """List all users, by name."""
    settings = Settings.from_env()
    output = Output(settings, color)
    with opened_accounts(settings) as accounts:
        users = accounts.list_users()
    if as_json:
        output.print_json([_build(user) for user in users])
    elif users:
        now = datetime.now(UTC) if output.is_terminal else None
        rows = [list(_cells(user, now)) for user in users]
        output.print(
            render_table(_COLUMNS, rows, output.width if output.is_terminal else None, color=output.has_color)
        )
    if not users:
        raise NothingFoundError(
            "there are no users: this archive belongs to one person; `turnlog users add` changes that"
        )


@command.command("show")
@click.argument("name", shell_complete=complete_users)
@json_option
@color_option
def _show(name: str, as_json: bool, color: bool | None) -> None:
    """Show a user."""
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        details = _weigh(accounts, get_user(accounts, name))
    if as_json:
        output.print_json(details)
    else:
        output.print(_describe(details))


@command.command("role")
@click.argument("name", shell_complete=complete_users)
@click.argument("role", type=_ROLES)
@json_option
@color_option
def _role(name: str, role: str, as_json: bool, color: bool | None) -> None:
    """Change what a user may do."""
    settings = Settings.from_env()
    output = Output(settings, color, pager=False)
    with opened_accounts(settings) as accounts:
        before = get_user(accounts, name)
        user = accounts.change_user(name, role=UserRole(role))
        if before.role != user.role:
            record(accounts, Action.USER_CHANGED, person=name, detail=f"{before.role} to {user.role}")
    _answer(output, user, f"{name} is {_with_article(user.role)} now", as_json=as_json)


@command.command("disable")
@click.argument("name", shell_complete=complete_users)
@dry_option
@yes_option
@json_option
@color_option
def _disable(name: str, dry_run: bool, yes: bool, as_json: bool, color: bool | None) -> None:
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
            details = UserDetails(user=_build(user), tokens=details.tokens, links=details.links)
    if as_json:
        output.print_json(details)
    elif not dry_run:
        output.print([f"{name} is disabled"])


@command.command("enable")
@click.argument("name", shell_complete=complete_users)
@json_option
@color_option
def _enable(name: str, as_json: bool, color: bool | None) -> None:
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
        output.print_json(_build(user))
    else:
        output.print([said])


def _weigh(accounts: Accounts, user: User, *, done: bool = True) -> UserDetails:
    now = int(datetime.now(UTC).timestamp() * 1e9)
    good = [each for each in accounts.list_tokens(user.name) if each.revoked_ns is None]
    links = [each for each in accounts.list_links(created_by=user.name) if each.revoked_ns is None]
    return UserDetails(
        user=_build(user),
        tokens=sum(each.expires_ns is None or each.expires_ns > now for each in good),
        links=sum(each.expires_ns > now for each in links),
        done=done,
    )


def _build(user: User) -> UserItem:
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


def _cells(user: User, now: datetime | None) -> Iterator[str]:
    yield user.name
    yield user.role.value
    yield clean_line(user.full_name)
    yield clean_line(user.email)
    yield "" if user.disabled_ns is None else "disabled"
    yield at_cell(user.seen_ns, now) or "never"


def _describe_new(user: User, *, is_first: bool, secret: str | None) -> Iterator[str]:
    yield f"{user.name} was added as {_with_article(user.role)}"
    if is_first:
        yield from _WHAT_CHANGES
    if secret is None:
        yield f"They need a token to log in: `turnlog tokens create --user {user.name}`"
    else:
        yield "Their token, which cannot be shown again:"
        yield secret


def _describe(details: UserDetails) -> Iterator[str]:
    user = details.user
    called = f" ({clean_line(user.full_name)})" if user.full_name else ""
    yield f"{user.name}{called}, {_with_article(user.role)}{', disabled' if user.disabled else ''}"
    if user.email:
        yield clean_line(user.email)
    seen = "never seen" if user.seen_at is None else f"last seen {user.seen_at:%Y-%m-%d %H:%M} UTC"
    yield f"{plural(details.tokens, 'token')}, {plural(details.links, 'link')}, {seen}"


def _with_article(role: UserRole) -> str:
    return f"{'an' if role is UserRole.ADMIN else 'a'} {role.value}"
