"""`/api/users`: who has an account."""

from __future__ import annotations

from typing import Annotated

from litestar import get, patch, post
from litestar.params import JSONBody, PathParameter, RawBody
from msgspec import UNSET

from turnlog.server.auditing import GivenAudit
from turnlog.server.bodies import decode_body
from turnlog.server.dependencies import GivenAccounts
from turnlog.server.errors import NotFoundError
from turnlog.server.security.callers import GivenCaller
from turnlog.server.security.policies import ADMINS, READS, forbid
from turnlog.server.shapes.people import NewUser, UserChange, UserItem
from turnlog.server.views.people import build_entry, view_user
from turnlog.store.accounts.interface import Accounts, Action, User

_Name = Annotated[str, PathParameter(description="The user's name.")]


@get("/api/users", sync_to_thread=True)
def list_users(caller: GivenCaller, accounts: GivenAccounts) -> list[UserItem]:
    """List all users by name; e-mail addresses and when they were last seen are for admins and themselves."""
    return [view_user(user, caller) for user in accounts.list_users()]


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
    return view_user(user, caller)


@patch("/api/users/{name:str}", opt=READS, sync_to_thread=True)
def change_user(
    name: _Name,
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
    return view_user(user, caller)


@post("/api/users/{name:str}/disable", opt=ADMINS, status_code=200, sync_to_thread=True)
def disable_user(name: _Name, caller: GivenCaller, accounts: GivenAccounts, audit: GivenAudit) -> UserItem:
    """Disable a user: their tokens, logins and links end at once; their sessions stay."""
    before = _get_user(accounts, name)
    user = accounts.disable_user(name)
    if before.disabled_ns is None:
        audit.record([build_entry(caller, Action.USER_DISABLED, name)])
    return view_user(user, caller)


@post("/api/users/{name:str}/enable", opt=ADMINS, status_code=200, sync_to_thread=True)
def enable_user(name: _Name, caller: GivenCaller, accounts: GivenAccounts, audit: GivenAudit) -> UserItem:
    """Enable a user again; their tokens and links stay revoked."""
    before = _get_user(accounts, name)
    user = accounts.enable_user(name)
    if before.disabled_ns is not None:
        audit.record([build_entry(caller, Action.USER_ENABLED, name)])
    return view_user(user, caller)


def _get_user(accounts: Accounts, name: str) -> User:
    user = accounts.find_user(name)
    if user is None:
        raise NotFoundError("There is no such user")
    return user


HANDLERS = (list_users, add_user, change_user, disable_user, enable_user)
