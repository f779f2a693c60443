"""`turnlog users`, `tokens` and `machines`: who has an account, what lets in, and where sessions come from."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime

import click
from msgspec import Struct
from msgspec.structs import replace

from turnlog.cli.accounts import DAY_NS, find_by_id, get_user, instant_cell, name_state, opened_accounts, record
from turnlog.cli.completion import complete_machines, complete_tokens, complete_users
from turnlog.cli.output import Output, output_options
from turnlog.cli.plain_text import Column, render_table, show_list
from turnlog.cli.stores import find_machines, open_archive
from turnlog.cli.terminal import MisuseError, NothingFoundError, clean_line, dry_option, warn, yes_option
from turnlog.export.plain_text import plural
from turnlog.shapes import fill, fill_dated
from turnlog.store.account_model import Action, Token, TokenKind, User, UserRole
from turnlog.store.accounts import Accounts
from turnlog.store.model import LOCAL, Machine

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


@click.group("users")
def users_command() -> None:
    """Add people to a team's archive, and set what they may do.

    An admin sees everything and manages the others, a member has sessions and sees what is shared, a viewer
    sees what is shared. These commands act on the archive itself, as its operator; the audit log records what
    they do.

    Examples:
      turnlog users add ada --role admin --full-name "Ada Brook" --token
      turnlog users add ben --email ben@example.org
      turnlog users list
      turnlog users role ben admin
      turnlog users disable ben
    """


@users_command.command("add")
@click.argument("name")
@click.option("--role", type=_ROLES, help="What they may do.  [default: member]")
@click.option("--full-name", default="", metavar="TEXT", help="Their full name.")
@click.option("--email", default="", metavar="ADDRESS", help="Identifies their login at a provider.")
@click.option("--token", "with_token", is_flag=True, help="Create a first token for them, and print it.")
@output_options()
def _add_user(
    name: str,
    role: str | None,
    full_name: str,
    email: str,
    with_token: bool,
    output: Output,
) -> None:
    """Add a user. The first one must be an admin.

    NAME may contain lower-case letters, digits, '.', '_' and '-', and never changes. To log in, a user also
    needs a token, or a login at a provider with the same e-mail address.
    """
    with opened_accounts(output.settings) as accounts:
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
    id = None if token is None else token.id
    output.show(
        NewUser(user=_build_user(user), first=is_first, token=id, secret=secret),
        _describe_new_user(user, is_first=is_first, secret=secret),
    )


@users_command.command("list")
@output_options(pages=True)
def _list_users(output: Output) -> None:
    """List all users, by name."""
    with opened_accounts(output.settings) as accounts:
        users = accounts.list_users()
    nothing = "there are no users: this archive belongs to one person; `turnlog users add` changes that"
    show_list(output, users, _build_user, _USER_COLUMNS, _user_cells, nothing)


@users_command.command("show")
@click.argument("name", shell_complete=complete_users)
@output_options()
def _show_user(name: str, output: Output) -> None:
    """Show a user."""
    with opened_accounts(output.settings) as accounts:
        details = _build_details(accounts, get_user(accounts, name))
    output.show(details, _describe_user(details))


@users_command.command("role")
@click.argument("name", shell_complete=complete_users)
@click.argument("role", type=_ROLES)
@output_options()
def _change_role(name: str, role: str, output: Output) -> None:
    """Change what a user may do."""
    with opened_accounts(output.settings) as accounts:
        before = get_user(accounts, name)
        user = accounts.change_user(name, role=UserRole(role))
        if before.role != user.role:
            record(accounts, Action.USER_CHANGED, person=name, detail=f"{before.role} to {user.role}")
    output.show(_build_user(user), [f"{name} is {_with_article(user.role)} now"])


@users_command.command("disable")
@click.argument("name", shell_complete=complete_users)
@dry_option
@yes_option
@output_options()
def _disable_user(name: str, dry_run: bool, yes: bool, output: Output) -> None:
    """Disable a user: their tokens, open pages and links end at once.

    Their name stays reserved, and their sessions stay as they are.
    """
    with opened_accounts(output.settings) as accounts:
        before = get_user(accounts, name)
        details = _build_details(accounts, before, done=not dry_run)
        if not output.as_json:
            what = f"{plural(details.tokens, 'token')} and {plural(details.links, 'link')}"
            output.print([f"{what} of {name} would end" if dry_run else f"{what} of {name} will end"])
        if not dry_run:
            output.confirm(f"Disable {name}?", yes=yes)
            user = accounts.disable_user(name)
            if before.disabled_ns is None:
                record(accounts, Action.USER_DISABLED, person=name)
            details = replace(details, user=_build_user(user))
    output.show(details, [] if dry_run else [f"{name} is disabled"])


@users_command.command("enable")
@click.argument("name", shell_complete=complete_users)
@output_options()
def _enable_user(name: str, output: Output) -> None:
    """Enable a user again. Tokens and links that have ended stay so."""
    with opened_accounts(output.settings) as accounts:
        before = get_user(accounts, name)
        user = accounts.enable_user(name)
        if before.disabled_ns is not None:
            record(accounts, Action.USER_ENABLED, person=name)
    hint = f"{name} is enabled; to let them in, create a token: `turnlog tokens create --user {name}`"
    output.show(_build_user(user), [hint])


def _build_details(accounts: Accounts, user: User, *, done: bool = True) -> UserDetails:
    return UserDetails(
        user=_build_user(user),
        tokens=sum(name_state(each) == "good" for each in accounts.list_tokens(user.name)),
        links=sum(name_state(each) == "good" for each in accounts.list_links(created_by=user.name)),
        done=done,
    )


def _build_user(user: User) -> UserItem:
    return fill_dated(UserItem, user, disabled=user.disabled_ns is not None)


def _user_cells(user: User, now: datetime | None) -> Iterator[str]:
    yield user.name
    yield user.role.value
    yield clean_line(user.full_name)
    yield clean_line(user.email)
    yield "" if user.disabled_ns is None else "disabled"
    yield instant_cell(user.seen_ns, now) or "never"


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


@click.group("tokens")
def tokens_command() -> None:
    """Create and revoke access tokens for people and machines.

    A personal token lets its user log in. A machine token can only push its user's sessions (`turnlog push`);
    it is bound to the first machine that uses it. Only digests of tokens are stored. These commands act on
    the archive itself, as its operator; the audit log records what they do.

    Examples:
      turnlog tokens create --user ben                        to log in with
      turnlog tokens create --user ben --machine --label laptop > laptop.token
      turnlog tokens list --user ben
      turnlog tokens revoke 4f1a
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
@output_options()
def _create_token(name: str | None, is_machine: bool, label: str, days: int | None, output: Output) -> None:
    """Create a token, and print its secret, which cannot be shown again."""
    settings = output.settings
    kind = TokenKind.MACHINE if is_machine else TokenKind.PERSONAL
    with opened_accounts(settings) as accounts:
        user = _choose_user(accounts, name)
        expires_ns = None if days is None else time.time_ns() + days * DAY_NS
        token, secret = accounts.create_token(user, kind, label, expires_ns=expires_ns)
        record(accounts, Action.TOKEN_CREATED, person=user, detail=f"{kind} {token.id}")
    use = "for `turnlog push` on one machine" if is_machine else "to log in with"
    if not output.as_json:
        warn(
            f"{user}'s token {use}, which cannot be shown again; `turnlog tokens revoke {token.id}` revokes it"
        )
    output.show(NewToken(token=_build_token(token), secret=secret), [secret])


@tokens_command.command("list")
@click.option("--user", "name", metavar="NAME", shell_complete=complete_users, help="Only this user's.")
@click.option("--all", "with_ended", is_flag=True, help="Include expired and revoked ones.")
@output_options(pages=True)
def _list_tokens(name: str | None, with_ended: bool, output: Output) -> None:
    """List tokens, the newest first."""
    with opened_accounts(output.settings) as accounts:
        if name is not None:
            get_user(accounts, name)
        found = accounts.list_tokens(name)
    tokens = [token for token in found if with_ended or name_state(token) == "good"]
    nothing = "no valid tokens; --all also lists expired and revoked ones" if found else "no tokens"
    show_list(output, tokens, _build_token, _TOKEN_COLUMNS, _token_cells, nothing)


@tokens_command.command("revoke")
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_tokens)
@dry_option
@yes_option
@output_options()
def _revoke_token(ids: Sequence[str], dry_run: bool, yes: bool, output: Output) -> None:
    """Revoke tokens: nobody can use them from now on.

    ID may be the beginning of one, as `turnlog tokens list` shows it.
    """
    with opened_accounts(output.settings) as accounts:
        known = accounts.list_tokens()
        tokens = [find_by_id(known, id, "token") for id in dict.fromkeys(ids)]
        if not output.as_json:
            rows = [list(_token_cells(each, None)) for each in tokens]
            output.print(render_table(_TOKEN_COLUMNS, rows, None))
        if not dry_run:
            output.confirm("Revoke this?" if len(tokens) == 1 else "Revoke these?", yes=yes)
            tokens = [_end_token(accounts, token) for token in tokens]
    output.show([_build_token(token) for token in tokens], [] if dry_run else ["ended"])


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


def _build_token(token: Token) -> TokenItem:
    return fill_dated(TokenItem, token, state=name_state(token), machine=token.origin)


def _token_cells(token: Token, now: datetime | None) -> Iterator[str]:
    yield token.id
    yield token.user
    yield token.kind.value
    yield clean_line(token.label)
    yield name_state(token)
    yield instant_cell(token.created_ns, now)
    yield instant_cell(token.used_ns, now) or "never"
    yield clean_line(token.origin or "")[:8]


_SHORT = 8
_MACHINE_COLUMNS = (
    Column("machine"),
    Column("person"),
    Column("host", least=8),
    Column("user", least=6),
    Column("sessions", right=True),
    Column("first", right=True, optional=2),
    Column("last", right=True, optional=1),
)


class MachineItem(Struct, frozen=True, gc=False, kw_only=True):
    """A machine as `turnlog machines list --json` prints it."""

    origin: str
    person: str | None
    host: str
    user: str
    first_at: datetime | None
    last_at: datetime | None
    sessions: int


class MachineAssigned(Struct, frozen=True, gc=False, kw_only=True):
    """What `turnlog machines assign --json` prints."""

    origin: str
    before: str | None
    person: str | None
    sessions: int
    done: bool
    """False for a dry run."""


@click.group("machines")
def machines_command() -> None:
    """List machines, and say who owns them.

    A session belongs to the person whose machine it comes from. A machine that pushes with a token belongs to
    the token's user; what is archived on the server itself belongs to nobody until you assign it here. These
    commands act on the archive itself, as its operator; the audit log records what they do.

    Examples:
      turnlog machines list
      turnlog machines assign 3f9a ada       by the beginning of its name
      turnlog machines assign build-7 ben    by its host
      turnlog machines assign 3f9a --nobody
    """


@machines_command.command("list")
@output_options(pages=True)
def _list_machines(output: Output) -> None:
    """List machines, and how many sessions each has."""
    with open_archive(output.settings) as store:
        machines = store.list_machines(LOCAL)
    show_list(
        output,
        machines,
        lambda each: fill_dated(MachineItem, each),
        _MACHINE_COLUMNS,
        _machine_cells,
        "no machine is known yet",
    )


@machines_command.command("assign")
@click.argument("machine", shell_complete=complete_machines)
@click.argument("person", required=False, shell_complete=complete_users)
@click.option("--nobody", is_flag=True, help="Remove its owner.")
@dry_option
@yes_option
@output_options()
def _assign_machine(
    machine: str,
    person: str | None,
    nobody: bool,
    dry_run: bool,
    yes: bool,
    output: Output,
) -> None:
    """Assign a machine to a person, who then owns all of its sessions.

    MACHINE is the beginning of its name, or its host as `turnlog machines list` shows it; PERSON a user.
    """
    if (person is None) is not nobody:
        raise MisuseError("name either a person, or --nobody")
    settings = output.settings
    with opened_accounts(settings) as accounts, open_archive(settings, writing=True, existing=True) as store:
        if person is not None:
            get_user(accounts, person)
        found = _choose_machine(store.list_machines(LOCAL), machine)
        if not output.as_json:
            output.print([_describe_assignment(found, person)])
        if not dry_run and found.person != person:
            output.confirm("Apply this change?", yes=yes)
            store.save_machine(LOCAL, found.origin, person=person, reassign=True)
            told = f"{found.origin[:_SHORT]} from {found.person or 'nobody'} to {person or 'nobody'}"
            for each in filter(None, (found.person, person)):
                record(accounts, Action.MACHINE_ASSIGNED, person=each, detail=told)
    if output.as_json:
        output.print_json(fill(MachineAssigned, found, before=found.person, person=person, done=not dry_run))


def _choose_machine(machines: Sequence[Machine], name: str) -> Machine:
    found = find_machines(machines, name)
    if not found:
        raise NothingFoundError(f"no machine is called or begins with {name}; `turnlog machines list` has them")
    if len(found) > 1:
        names = ", ".join(each.origin[:_SHORT] for each in found)
        raise MisuseError(f"{len(found)} machines match {name}: {names}")
    return found[0]


def _describe_assignment(machine: Machine, person: str | None) -> str:
    called = clean_line(f"{machine.origin[:_SHORT]} {machine.user}@{machine.host}").rstrip("@ ")
    sessions = plural(machine.sessions, "session")
    if machine.person == person:
        return f"{called} is {person or 'nobody'}'s already, with {sessions}"
    return f"{called}, with {sessions}: from {machine.person or 'nobody'} to {person or 'nobody'}"


def _machine_cells(machine: Machine, now: datetime | None) -> Iterator[str]:
    yield clean_line(machine.origin)[:_SHORT]
    yield clean_line(machine.person or "")
    yield clean_line(machine.host)
    yield clean_line(machine.user)
    yield f"{machine.sessions:,}"
    yield instant_cell(machine.first_ns, now)
    yield instant_cell(machine.last_ns, now)
