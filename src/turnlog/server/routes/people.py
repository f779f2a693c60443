"""`/api/me`, `/api/users`, `/api/tokens` and `/api/machines`: people, what lets them in, and their machines."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Annotated

from litestar import delete, get, patch, post, put
from litestar.params import JSONBody, PathParameter, RawBody
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from turnlog.server.audit import GivenVisit, build_entry
from turnlog.server.errors import ErrorDetail, InvalidRequestError, NotFoundError
from turnlog.server.requests import GivenAccounts, GivenMachines, GivenScope, GivenStore, decode_body, query
from turnlog.server.security.callers import ADMINS, LINKED, READS, Caller, CallerKind, GivenCaller, forbid
from turnlog.server.values import clean_text
from turnlog.shapes import fill, fill_dated
from turnlog.store.account_model import Action, TokenKind, User, UserRole
from turnlog.store.accounts import Accounts
from turnlog.store.model import Machine

_Name = Annotated[str, Meta(min_length=1, max_length=100)]
_Text = Annotated[str, Meta(max_length=200)]
_Email = Annotated[str, Meta(max_length=254)]


class LinkedSession(Struct, frozen=True, gc=False, kw_only=True):
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
    link: LinkedSession | None


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


class TokenRequest(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
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


class AssignedSessions(Struct, frozen=True, gc=False, kw_only=True):
    """How many sessions were affected."""

    sessions: int


def _view_me(caller: Caller, team: bool, sharer: User | None = None) -> Me:
    """Return who asks; `sharer` made the link, if one lets them in."""
    user, link = caller.user, caller.link
    return fill(
        Me,
        caller,
        full_name="" if user is None else user.full_name,
        role=None if user is None else user.role,
        team=team,
        link=None
        if link is None
        else fill_dated(
            LinkedSession, link, shared_by="" if sharer is None else sharer.full_name or sharer.name
        ),
    )


def _view_user(user: User, caller: Caller) -> UserItem:
    """Return a user, as far as the caller may know."""
    in_full = caller.is_admin or caller.name == user.name
    item = fill_dated(UserItem, user, email=user.email or None, disabled=user.disabled_ns is not None)
    return item if in_full else replace(item, email=None, seen_at=None)


def _view_machine(machine: Machine) -> MachineItem:
    # What it calls itself is untrusted.
    return fill_dated(MachineItem, machine, host=clean_text(machine.host), user=clean_text(machine.user))


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
def add_user(data: JSONBody[NewUser], body: RawBody, visit: GivenVisit, accounts: GivenAccounts) -> UserItem:
    """Create an account. Logging in still needs a token, or a provider login with its e-mail address.

    The first one makes this a team's server: existing sessions are visible to the operator and
    admins only, until their machines are assigned.
    """
    wish = decode_body(body, NewUser)
    user = accounts.add_user(wish.name, wish.role, full_name=wish.full_name, email=wish.email)
    visit.record(Action.USER_ADDED, user.name, detail=f"as {user.role}")
    return _view_user(user, visit.caller)


@patch("/api/users/{name:str}", opt=READS, sync_to_thread=True)
def change_user(
    name: _UserName,
    data: JSONBody[UserChange],
    body: RawBody,
    visit: GivenVisit,
    accounts: GivenAccounts,
) -> UserItem:
    """Change a user: admins may change everything but the name, others only their own full name."""
    change = decode_body(body, UserChange)
    if not visit.caller.is_admin and (
        visit.caller.name != name or (change.role, change.email) != (UNSET, UNSET)
    ):
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
        visit.record(Action.USER_CHANGED, name, detail=", ".join(told).replace("_", " "))
    return _view_user(user, visit.caller)


@post("/api/users/{name:str}/disable", opt=ADMINS, status_code=200, sync_to_thread=True)
def disable_user(name: _UserName, visit: GivenVisit, accounts: GivenAccounts) -> UserItem:
    """Disable a user: their tokens, logins and links end at once; their sessions stay."""
    before = _get_user(accounts, name)
    user = accounts.disable_user(name)
    if before.disabled_ns is None:
        visit.record(Action.USER_DISABLED, name)
    return _view_user(user, visit.caller)


@post("/api/users/{name:str}/enable", opt=ADMINS, status_code=200, sync_to_thread=True)
def enable_user(name: _UserName, visit: GivenVisit, accounts: GivenAccounts) -> UserItem:
    """Enable a user again; their tokens and links stay revoked."""
    before = _get_user(accounts, name)
    user = accounts.enable_user(name)
    if before.disabled_ns is not None:
        visit.record(Action.USER_ENABLED, name)
    return _view_user(user, visit.caller)


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
        query("The user; by default the caller, or everyone with the server's token.", max_length=100),
    ] = None,
) -> list[TokenItem]:
    """List tokens, the newest first, without their secrets. Admins may list those of others."""
    asked = caller.name if user is None else user
    if asked != caller.name and not caller.is_admin:
        raise forbid(_OTHERS)
    return [fill_dated(TokenItem, token) for token in accounts.list_tokens(asked)]


@post("/api/tokens", sync_to_thread=True)
def create_token(
    data: JSONBody[TokenRequest], body: RawBody, visit: GivenVisit, accounts: GivenAccounts
) -> NewToken:
    """Create a token. Its secret is in the response, and nowhere else.

    A personal token logs its user in; a machine token can only push its user's sessions.
    """
    wish = decode_body(body, TokenRequest)
    user = visit.caller.name if wish.user is None else wish.user
    if user is None:
        problem = ErrorDetail(where="user", message="Expected a user: the server's own token belongs to nobody")
        raise InvalidRequestError("The request is not valid", problem)
    if user != visit.caller.name and not visit.caller.is_admin:
        raise forbid(_OTHERS)
    expires_ns = None if wish.days is None else time.time_ns() + wish.days * _DAY_NS
    token, secret = accounts.create_token(user, wish.kind, wish.label, expires_ns=expires_ns)
    visit.record(Action.TOKEN_CREATED, user, detail=f"{token.kind} {token.id}")
    return NewToken(token=fill_dated(TokenItem, token), secret=secret)


@delete("/api/tokens/{id:str}", opt=READS, sync_to_thread=True)
def revoke_token(
    id: Annotated[str, PathParameter(description="The token's `id`, which is no secret.")],
    visit: GivenVisit,
    accounts: GivenAccounts,
) -> None:
    """Revoke a token."""
    # What is not one's own is not there, as little as what nobody has.
    known = accounts.list_tokens(None if visit.caller.is_admin else visit.caller.name)
    found = next((token for token in known if token.id == id), None)
    if found is None:
        raise NotFoundError("There is no such token")
    accounts.revoke_token(id)
    if found.revoked_ns is None:
        visit.record(Action.TOKEN_REVOKED, found.user, detail=f"{found.kind} {id}")


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
    visit: GivenVisit,
    accounts: GivenAccounts,
    machines: GivenMachines,
) -> AssignedSessions:
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
        visit.audit.record(
            [build_entry(visit.caller, Action.MACHINE_ASSIGNED, name, detail=told) for name in concerned]
        )
    return AssignedSessions(sessions=0 if before == person else now.sessions)
