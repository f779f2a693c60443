"""`/api/me`, `/api/users`, `/api/tokens` and `/api/machines`: people, what lets them in, and their machines."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

from litestar import delete, get, patch, post, put
from litestar.params import JSONBody, PathParameter, QueryParameter, RawBody
from msgspec import UNSET, Meta, Struct, UnsetType

from turnlog.instants import find_moment
from turnlog.server.audit import GivenAudit, build_entry
from turnlog.server.errors import ErrorDetail, InvalidRequestError, NotFoundError
from turnlog.server.requests import GivenAccounts, GivenMachines, GivenScope, GivenStore, decode_body
from turnlog.server.security.callers import ADMINS, LINKED, READS, Caller, CallerKind, GivenCaller, forbid
from turnlog.server.values import clean_text
from turnlog.store.account_model import Action, Token, TokenKind, User, UserRole
from turnlog.store.accounts import Accounts
from turnlog.store.model import Machine

_Name = Annotated[str, Meta(min_length=1, max_length=100)]
_Text = Annotated[str, Meta(max_length=200)]
_Email = Annotated[str, Meta(max_length=254)]


class LinkSeen(Struct, frozen=True, gc=False, kw_only=True):
    """What a stranger with a link may see."""

    session: str
    title: str
    expires_at: datetime
    shared_by: str
    """Who created it, by full name if there is one; empty if it was created with the server's own token."""


class Me(Struct, frozen=True, gc=False, kw_only=True):
    """The caller, and what they may do."""

    kind: CallerKind
    name: str | None
    """The user's name; null for the server's own token, and for strangers."""
    full_name: str
    role: UserRole | None
    is_admin: bool
    may_write: bool
    team: bool
    """Whether there are accounts; without any, the server belongs to one person."""
    link: LinkSeen | None


class UserItem(Struct, frozen=True, gc=False, kw_only=True):
    """A user, with the fields that the caller may see."""

    name: str
    full_name: str
    role: UserRole
    email: str | None
    """Only for admins and the user; null otherwise, and if there is none."""
    disabled: bool
    created_at: datetime
    seen_at: datetime | None
    """When they last logged in or sent a request; only for admins and the user."""


class NewUser(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """An account to create."""

    name: _Name
    role: UserRole = UserRole.MEMBER
    full_name: _Text = ""
    email: _Email = ""


class UserChange(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """What to change about a user; fields that are left out stay as they are."""

    role: UserRole | UnsetType = UNSET
    full_name: _Text | UnsetType = UNSET
    email: _Email | UnsetType = UNSET


class TokenItem(Struct, frozen=True, gc=False, kw_only=True):
    """A token, without its secret."""

    id: str
    kind: TokenKind
    user: str
    label: str
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None
    origin: str | None
    """The only machine that a machine token works for, once one has used it."""


class TokenWish(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A token to create."""

    kind: TokenKind
    label: Annotated[str, Meta(max_length=100)] = ""
    user: _Name | None = None
    """The user it belongs to; the caller if none is named."""
    days: Annotated[int, Meta(ge=1, le=3650)] | None = None
    """How long it is valid; null means until it is revoked."""


class NewToken(Struct, frozen=True, gc=False, kw_only=True):
    """A new token."""

    token: TokenItem
    secret: str
    """It is shown only once."""


class MachineItem(Struct, frozen=True, gc=False, kw_only=True):
    """Where sessions come from: one user's account on one computer."""

    origin: str
    person: str | None
    """The owner of these sessions; null if there is none."""
    host: str
    user: str
    """As the computer calls itself, and the account there."""
    first_at: datetime
    last_at: datetime
    sessions: int
    """Of those that may be seen."""


class Assignment(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """The new owner of a machine; null for none."""

    person: _Name | None


class Assigned(Struct, frozen=True, gc=False, kw_only=True):
    """How many sessions were affected."""

    sessions: int


_LAST = datetime.max.replace(tzinfo=UTC)


def _view_me(caller: Caller, team: bool, sharer: User | None = None) -> Me:
    """Return who asks; `sharer` made the link, if one lets them in."""
    user, link = caller.user, caller.link
    return Me(
        kind=caller.kind,
        name=caller.name,
        full_name="" if user is None else user.full_name,
        role=None if user is None else user.role,
        is_admin=caller.is_admin,
        may_write=caller.may_write,
        team=team,
        link=None
        if link is None
        else LinkSeen(
            session=link.session,
            title=link.title,
            expires_at=_at(link.expires_ns),
            shared_by="" if sharer is None else sharer.full_name or sharer.name,
        ),
    )


def _view_user(user: User, caller: Caller) -> UserItem:
    """Return a user, as far as the caller may know."""
    in_full = caller.is_admin or caller.name == user.name
    return UserItem(
        name=user.name,
        full_name=user.full_name,
        role=user.role,
        email=user.email or None if in_full else None,
        disabled=user.disabled_ns is not None,
        created_at=_at(user.created_ns),
        seen_at=_maybe(user.seen_ns) if in_full else None,
    )


def _view_token(token: Token) -> TokenItem:
    """Return a token."""
    return TokenItem(
        id=token.id,
        kind=token.kind,
        user=token.user,
        label=token.label,
        created_at=_at(token.created_ns),
        expires_at=_maybe(token.expires_ns),
        used_at=_maybe(token.used_ns),
        revoked_at=_maybe(token.revoked_ns),
        origin=token.origin,
    )


def _view_machine(machine: Machine) -> MachineItem:
    """Return a machine; what it calls itself is untrusted."""
    return MachineItem(
        origin=machine.origin,
        person=machine.person,
        host=clean_text(machine.host),
        user=clean_text(machine.user),
        first_at=_at(machine.first_ns),
        last_at=_at(machine.last_ns),
        sessions=machine.sessions,
    )


def _maybe(nanoseconds: int | None) -> datetime | None:
    return None if nanoseconds is None else _at(nanoseconds)


def _at(nanoseconds: int) -> datetime:
    return find_moment(nanoseconds // 1000) or _LAST


@get("/api/me", opt=LINKED, sync_to_thread=True)
def get_me(caller: GivenCaller, accounts: GivenAccounts) -> Me:
    """Return who the caller is, and what they may do."""
    maker = None if caller.link is None else caller.link.created_by
    return _view_me(
        caller,
        team=caller.kind is not CallerKind.OPERATOR or accounts.has_users(),
        sharer=None if maker is None else accounts.find_user(maker),
    )


_UserName = Annotated[str, PathParameter(description="The user's name.")]


@get("/api/users", sync_to_thread=True)
def list_users(caller: GivenCaller, accounts: GivenAccounts) -> list[UserItem]:
    """List all users by name; e-mail addresses and when they were last seen are for admins and themselves."""
    return [_view_user(user, caller) for user in accounts.list_users()]


@post("/api/users", opt=ADMINS, sync_to_thread=True)
def add_user(
    data: JSONBody[NewUser], body: RawBody, caller: GivenCaller, accounts: GivenAccounts, audit: GivenAudit
) -> UserItem:
    """Create an account. Logging in still needs a token, or a provider login with its e-mail address.

    The first one makes this a team's server: existing sessions are visible to the operator and
    admins only, until their machines are assigned.
    """
    wish = decode_body(body, NewUser)
    user = accounts.add_user(wish.name, wish.role, full_name=wish.full_name, email=wish.email)
    audit.record([build_entry(caller, Action.USER_ADDED, user.name, f"as {user.role}")])
    return _view_user(user, caller)


@patch("/api/users/{name:str}", opt=READS, sync_to_thread=True)
def change_user(
    name: _UserName,
    data: JSONBody[UserChange],
    body: RawBody,
    caller: GivenCaller,
    accounts: GivenAccounts,
    audit: GivenAudit,
) -> UserItem:
    """Change a user: admins may change everything but the name, others only their own full name."""
    change = decode_body(body, UserChange)
    if not caller.is_admin and (caller.name != name or (change.role, change.email) != (UNSET, UNSET)):
        raise forbid("Only admins can change more than their own full name")
    before = _get_user(accounts, name)
    user = accounts.change_user(
        name,
        role=None if change.role is UNSET else change.role,
        full_name=None if change.full_name is UNSET else change.full_name,
        email=None if change.email is UNSET else change.email,
    )
    told = [field for field in ("full_name", "email") if getattr(before, field) != getattr(user, field)]
    told += [f"{before.role} to {user.role}"] if before.role != user.role else []
    if told:
        audit.record([build_entry(caller, Action.USER_CHANGED, name, ", ".join(told).replace("_", " "))])
    return _view_user(user, caller)


@post("/api/users/{name:str}/disable", opt=ADMINS, status_code=200, sync_to_thread=True)
def disable_user(name: _UserName, caller: GivenCaller, accounts: GivenAccounts, audit: GivenAudit) -> UserItem:
    """Disable a user: their tokens, logins and links end at once; their sessions stay."""
    before = _get_user(accounts, name)
    user = accounts.disable_user(name)
    if before.disabled_ns is None:
        audit.record([build_entry(caller, Action.USER_DISABLED, name)])
    return _view_user(user, caller)


@post("/api/users/{name:str}/enable", opt=ADMINS, status_code=200, sync_to_thread=True)
def enable_user(name: _UserName, caller: GivenCaller, accounts: GivenAccounts, audit: GivenAudit) -> UserItem:
    """Enable a user again; their tokens and links stay revoked."""
    before = _get_user(accounts, name)
    user = accounts.enable_user(name)
    if before.disabled_ns is not None:
        audit.record([build_entry(caller, Action.USER_ENABLED, name)])
    return _view_user(user, caller)


def _get_user(accounts: Accounts, name: str) -> User:
    user = accounts.find_user(name)
    if user is None:
        raise NotFoundError("There is no such user")
    return user


_DAY_NS = 86_400 * 10**9
_OTHERS = "Only admins can see and create other people's tokens"


@get("/api/tokens", sync_to_thread=True)
def list_tokens(
    caller: GivenCaller,
    accounts: GivenAccounts,
    user: Annotated[
        str | None,
        QueryParameter(
            max_length=100, description="The user; by default the caller, or everyone with the server's token."
        ),
    ] = None,
) -> list[TokenItem]:
    """List tokens, the newest first, without their secrets. Admins may list those of others."""
    asked = caller.name if user is None else user
    if asked != caller.name and not caller.is_admin:
        raise forbid(_OTHERS)
    return [_view_token(token) for token in accounts.list_tokens(asked)]


@post("/api/tokens", sync_to_thread=True)
def create_token(
    data: JSONBody[TokenWish], body: RawBody, caller: GivenCaller, accounts: GivenAccounts, audit: GivenAudit
) -> NewToken:
    """Create a token. Its secret is in the response, and nowhere else.

    A personal token logs its user in; a machine token can only push its user's sessions.
    """
    wish = decode_body(body, TokenWish)
    user = caller.name if wish.user is None else wish.user
    if user is None:
        problem = ErrorDetail(where="user", message="Expected a user: the server's own token belongs to nobody")
        raise InvalidRequestError("The request is not valid", problem)
    if user != caller.name and not caller.is_admin:
        raise forbid(_OTHERS)
    expires_ns = None if wish.days is None else time.time_ns() + wish.days * _DAY_NS
    token, secret = accounts.create_token(user, wish.kind, wish.label, expires_ns=expires_ns)
    audit.record([build_entry(caller, Action.TOKEN_CREATED, user, f"{token.kind} {token.id}")])
    return NewToken(token=_view_token(token), secret=secret)


@delete("/api/tokens/{id:str}", opt=READS, sync_to_thread=True)
def revoke_token(
    id: Annotated[str, PathParameter(description="The token's `id`, which is no secret.")],
    caller: GivenCaller,
    accounts: GivenAccounts,
    audit: GivenAudit,
) -> None:
    """Revoke a token."""
    # What is not one's own is not there, as little as what nobody has.
    known = accounts.list_tokens(None if caller.is_admin else caller.name)
    found = next((token for token in known if token.id == id), None)
    if found is None:
        raise NotFoundError("There is no such token")
    accounts.revoke_token(id)
    if found.revoked_ns is None:
        audit.record([build_entry(caller, Action.TOKEN_REVOKED, found.user, f"{found.kind} {id}")])


@get("/api/machines", sync_to_thread=True)
def list_machines(store: GivenStore, visible: GivenScope) -> list[MachineItem]:
    """List machines by host and user: the caller's own, and those of sessions they may see."""
    return [_view_machine(machine) for machine in store.list_machines(visible)]


@put("/api/machines/{origin:str}", opt=ADMINS, sync_to_thread=True)
def assign_machine(
    origin: Annotated[str, PathParameter(description="The machine's `origin`.")],
    data: JSONBody[Assignment],
    body: RawBody,
    store: GivenStore,
    visible: GivenScope,
    caller: GivenCaller,
    accounts: GivenAccounts,
    machines: GivenMachines,
    audit: GivenAudit,
) -> Assigned:
    """Assign a machine to a person, who becomes the owner of all its sessions."""
    person = decode_body(body, Assignment).person
    if person is not None and accounts.find_user(person) is None:
        raise InvalidRequestError("There is no such user", ErrorDetail(where="person", message="No such user"))
    found = {machine.origin: machine.person for machine in store.list_machines(visible)}
    if origin not in found:
        raise NotFoundError("There is no such machine")
    before, now = found[origin], store.save_machine(visible, origin, person=person, reassign=True)
    machines.forget(origin)
    if before != person:
        told = f"{origin[:8]} from {before or 'nobody'} to {person or 'nobody'}"
        concerned = [name for name in (before, person) if name is not None]
        audit.record([build_entry(caller, Action.MACHINE_ASSIGNED, name, told) for name in concerned])
    return Assigned(sessions=0 if before == person else now.sessions)
