"""`/api/login`, `/api/me`, `/api/users`, `/api/tokens`, `/api/machines`: who people are, and how they log in.

A browser logs in by a token, by a key from `turnlog serve`, or at a login provider. A login at a provider
belongs to the browser that began it: a cookie, which is sent along when the provider redirects the browser back
(`SameSite=Lax`), has to name it. The page shows what went wrong (`/login?error=…`), and the log why.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from datetime import datetime
from html import escape
from typing import Annotated, Any
from urllib.parse import quote

from litestar import Request, Response, delete, get, patch, post, put
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, QueryParameter, RawBody, SkipValidation
from litestar.response import Redirect
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from turnlog.config import OidcSettings
from turnlog.server import requests
from turnlog.server.audit import Auditor, GivenAudit, GivenRequester, build_entry
from turnlog.server.errors import ErrorDetail, InvalidRequestError, NotFoundError, RequestError
from turnlog.server.processes import OpeningKey
from turnlog.server.security import callers, guard
from turnlog.server.security.providers import ConfirmedIdentity, Provider, RefusedLoginError, identify_user
from turnlog.server.security.tokens import COOKIE_SECONDS, KEY_SECONDS, TokenKeeper
from turnlog.server.values import clean_text
from turnlog.shapes import fill, fill_dated
from turnlog.store.account_model import Action, PendingLogin, Token, TokenKind, User, UserRole
from turnlog.store.accounts import Accounts
from turnlog.store.model import Machine

logger = logging.getLogger("turnlog.server")


class LoginProvider(Struct, frozen=True, gc=False, kw_only=True):
    """An external login provider."""

    label: str
    """The text on the button."""


class LoginWays(Struct, frozen=True, gc=False, kw_only=True):
    """How people can log in; needs no authentication."""

    team: bool
    """Whether there are accounts; without any, the server belongs to one person."""
    oidc: LoginProvider | None


class LoginToken(Struct, frozen=True, gc=False, kw_only=True):
    """A person's token, or the server's own."""

    token: Annotated[str, Meta(max_length=200)]


GivenAuth = NamedDependency[SkipValidation[guard.AuthContext]]
"""Parameter `auth`: what callers are authenticated with."""


@get("/api/login", opt=callers.PUBLIC, sync_to_thread=True)
def get_login(accounts: requests.GivenAccounts, context: requests.GivenContext) -> LoginWays:
    """Say how people can log in."""
    team, oidc = accounts.has_users(), context.oidc
    return LoginWays(team=team, oidc=None if oidc is None or not team else LoginProvider(label=oidc.label))


@post("/api/login", opt=callers.PUBLIC, status_code=204)
async def log_in(
    request: Request[Any, Any, Any],
    data: JSONBody[LoginToken],
    body: RawBody,
    auth: GivenAuth,
    audit: GivenAudit,
) -> Response[None]:
    """Log a browser in for 30 days, with a personal token or the server's own."""
    token = requests.decode_body(body, LoginToken).token.strip()
    guard.check_rate_limit(request, auth.failures)
    secure = guard.is_secure(request, auth.public_url)
    if auth.keeper.is_token(token):
        guard.check_owner(request)
        return Response(None, cookies=[_build_owner_cookie(auth.keeper, secure=secure)])
    found = await asyncio.to_thread(auth.accounts.find_by_token, token)
    if found is None:
        guard.note_failure(request, auth.failures)
        raise RequestError(401, "unauthorized", "This token is wrong, or no longer valid")
    user, known = found
    if known.kind is not TokenKind.PERSONAL:
        raise callers.forbid("This is a machine token, which is only for pushing; use a personal token")
    secret, seconds = await asyncio.to_thread(_open, auth.accounts, user, known)
    caller = callers.Caller(kind=callers.CallerKind.PERSON, user=user)
    await asyncio.to_thread(
        audit.record, [build_entry(caller, Action.LOGGED_IN, user.name, detail=f"by token {known.id}")]
    )
    return Response(
        None, cookies=[guard.build_cookie(guard.cookie_name(secure), secret, seconds, secure=secure)]
    )


@post("/api/logout", opt=callers.READS, status_code=204, sync_to_thread=True)
def log_out(request: Request[Any, Any, Any], requester: GivenRequester, auth: GivenAuth) -> Response[None]:
    """Log this browser out; tokens stay valid."""
    secure = guard.is_secure(request, auth.public_url)
    name = guard.cookie_name(secure)
    for secret in guard.list_cookies(request, name):
        auth.accounts.end_session(secret)
    for secret in guard.list_cookies(request, auth.keeper.cookie):
        auth.keeper.end_session(secret)
    if requester.caller.user is not None:
        requester.record(Action.LOGGED_OUT, requester.caller.name)
    cookies = [guard.build_cookie(each, "", 0, secure=secure) for each in (name, auth.keeper.cookie)]
    # The browser may have kept answers, to ask whether they still hold.
    return Response(None, cookies=cookies, headers={"clear-site-data": '"cache"'})


def _open(accounts: Accounts, user: User, token: Token) -> tuple[str, float]:
    """Return a new secret, and how long it is good: not longer than the token."""
    seconds = guard.LOGIN_SECONDS
    if token.expires_ns is not None:
        seconds = max(min(seconds, (token.expires_ns - time.time_ns()) / 10**9), 1.0)
    return accounts.open_session(user.name, seconds, token=token.id), seconds


def _build_owner_cookie(keeper: TokenKeeper, *, secure: bool) -> Cookie:
    return guard.build_cookie(keeper.cookie, keeper.open_session(), COOKIE_SECONDS, secure=secure)


_Keeper = NamedDependency[SkipValidation[TokenKeeper]]
_Failures = NamedDependency[SkipValidation[guard.FailureLimit]]
_USED = "This address has already been used, or has expired. Run `turnlog serve` again to get a new one."


@get("/open", opt=callers.PUBLIC, include_in_schema=False)
async def open_page(
    request: Request[Any, Any, Any],
    keeper: _Keeper,
    failures: _Failures,
    key: Annotated[str, QueryParameter(max_length=100)] = "",
) -> Response[Any]:
    """Let a browser in that has a key, and show it the page."""
    guard.check_owner(request)
    if guard.has_owner_cookie(request, keeper):
        keeper.redeem_key(key)  # it has been seen, and must not serve anybody else
        return Redirect("/", status_code=303)
    try:
        guard.check_attempt(request, failures, correct=lambda: keeper.redeem_key(key))
    except RequestError as refusal:
        if "text/html" not in request.headers.get("accept", ""):
            raise
        return _explain(refusal)
    return Redirect("/", status_code=303, cookies=[_build_owner_cookie(keeper, secure=False)])


@post("/api/keys", opt=callers.TOKEN_ONLY | callers.OPERATORS, status_code=201)
async def create_key(keeper: _Keeper) -> OpeningKey:
    """Create an address that logs one browser in, once."""
    return OpeningKey(path=f"/open?key={keeper.create_key()}", seconds=int(KEY_SECONDS))


def _explain(refusal: RequestError) -> Response[str]:
    message = _USED if refusal.status == 401 else refusal.message
    page = (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>turnlog</title>\n'
        f"<h1>Access denied</h1>\n<p>{escape(message)}</p></html>\n"
    )
    return Response(page, status_code=refusal.status, headers=dict(refusal.headers), media_type="text/html")


_CALLBACK = "/api/login/callback"
_PATH = "/api/login"
_PENDING = "turnlog_pending"
_MINUTES = 10
"""How long a login at the provider may take."""
_LONGEST = 2000
_GivenProvider = NamedDependency[SkipValidation[Provider | None]]


@get("/api/login/oidc", opt=callers.PUBLIC, status_code=302)
async def begin_login(
    request: Request[Any, Any, Any],
    provider: _GivenProvider,
    auth: GivenAuth,
    accounts: requests.GivenAccounts,
    next: Annotated[
        str, requests.query("Where to go after login: a path of the page.", max_length=_LONGEST)
    ] = "/",
) -> Redirect:
    """Redirect a browser to the login provider, which sends it back."""
    if provider is None or not await asyncio.to_thread(accounts.has_users):
        raise NotFoundError("No login provider is configured here")
    login = PendingLogin(
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
        next=_choose_next(next),
        expires_ns=time.time_ns() + _MINUTES * 60 * 10**9,
    )
    try:
        address = await provider.begin(login, _find_base(request, auth) + _CALLBACK)
    except RefusedLoginError as refusal:
        return _refuse(refusal)
    await asyncio.to_thread(accounts.keep_login, login)
    pending = _build_pending(request, auth, login.state, _MINUTES * 60)
    return Redirect(address, status_code=302, cookies=[pending])


@get(_CALLBACK, opt=callers.PUBLIC | requests.ANY_PARAMETERS, status_code=303)
async def finish_login(
    request: Request[Any, Any, Any],
    provider: _GivenProvider,
    context: requests.GivenContext,
    auth: GivenAuth,
    accounts: requests.GivenAccounts,
    audit: GivenAudit,
    login_state: Annotated[
        str, requests.query("The `state` that was issued.", name="state", max_length=200)
    ] = "",
    code: Annotated[str, requests.query("For the provider's token.", max_length=4000)] = "",
    error: Annotated[str | None, requests.query("Why not.", max_length=200)] = None,
    iss: Annotated[str | None, requests.query("Who the provider is.", max_length=2000)] = None,
) -> Redirect:
    """Log in a browser that comes back from the login provider."""
    settings = context.oidc
    if provider is None or settings is None:
        raise NotFoundError("No login provider is configured here")
    try:
        login = await _take(request, accounts, login_state)
        if error is not None or not code:
            raise RefusedLoginError("denied", f"the provider says {(error or 'nothing')[:100]!r}")
        confirmed = await provider.finish(login, code, iss, _find_base(request, auth) + _CALLBACK)
        secret = await asyncio.to_thread(_let_in, accounts, audit, confirmed, settings)
    except RefusedLoginError as refusal:
        return _refuse(refusal, _build_pending(request, auth, "", 0))
    secure = guard.is_secure(request, auth.public_url)
    cookie = guard.build_cookie(guard.cookie_name(secure), secret, guard.LOGIN_SECONDS, secure=secure)
    return Redirect(login.next, status_code=303, cookies=[cookie, _build_pending(request, auth, "", 0)])


async def _take(request: Request[Any, Any, Any], accounts: Accounts, state: str) -> PendingLogin:
    """Return the login that is to be confirmed, once; raises `RefusedLoginError`."""
    begun = any(
        hmac.compare_digest(each.encode(), state.encode()) for each in guard.list_cookies(request, _PENDING)
    )
    login = await asyncio.to_thread(accounts.take_login, state) if begun and state else None
    if login is None:
        raise RefusedLoginError(
            "expired", "it was started by another browser, has expired, or is already finished"
        )
    return login


def _let_in(accounts: Accounts, audit: Auditor, confirmed: ConfirmedIdentity, settings: OidcSettings) -> str:
    user, entries = identify_user(accounts, confirmed, settings, time.time_ns())
    audit.record(entries)
    return accounts.open_session(user.name, guard.LOGIN_SECONDS)


def _refuse(refusal: RefusedLoginError, *cookies: Cookie) -> Redirect:
    logger.warning("a login through the provider failed (%s): %s", refusal.code, refusal)
    return Redirect(f"/login?error={quote(refusal.code)}", status_code=303, cookies=list(cookies))


def _find_base(request: Request[Any, Any, Any], auth: guard.AuthContext) -> str:
    """Return the address under which the browser is here; its name was checked at the gate."""
    if auth.public_url is not None and guard.is_secure(request, auth.public_url):
        return auth.public_url
    return f"http://{request.headers['host']}"


def _choose_next(path: str) -> str:
    """Return a path of the page; anything that a browser might take for another host is none."""
    is_plain = path.startswith("/") and path.isprintable() and path.isascii() and "\\" not in path
    return path if is_plain and not path.startswith(("//", "/api/", "/open", "/s/")) else "/"


def _build_pending(
    request: Request[Any, Any, Any], auth: guard.AuthContext, state: str, seconds: int
) -> Cookie:
    secure = guard.is_secure(request, auth.public_url)
    return guard.build_cookie(_PENDING, state, seconds, secure=secure, path=_PATH, samesite="lax")


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

    kind: callers.CallerKind
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


def _view_me(caller: callers.Caller, team: bool, sharer: User | None = None) -> Me:
    """Describe the caller; `sharer` is who created the link, for visitors."""
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


def _view_user(user: User, caller: callers.Caller) -> UserItem:
    """Return a user, as far as the caller may know."""
    in_full = caller.is_admin or caller.name == user.name
    item = fill_dated(UserItem, user, email=user.email or None, disabled=user.disabled_ns is not None)
    return item if in_full else replace(item, email=None, seen_at=None)


def _view_machine(machine: Machine) -> MachineItem:
    # What it calls itself is untrusted.
    return fill_dated(MachineItem, machine, host=clean_text(machine.host), user=clean_text(machine.user))


@get("/api/me", opt=callers.LINKED, sync_to_thread=True)
def get_me(caller: callers.GivenCaller, accounts: requests.GivenAccounts) -> Me:
    """Return who the caller is, and what they may do."""
    maker = None if caller.link is None else caller.link.created_by
    return _view_me(
        caller,
        team=caller.kind is not callers.CallerKind.OPERATOR or accounts.has_users(),
        sharer=None if maker is None else accounts.find_user(maker),
    )


_UserName = Annotated[str, PathParameter(description="The user's name.")]


@get("/api/users", sync_to_thread=True)
def list_users(caller: callers.GivenCaller, accounts: requests.GivenAccounts) -> list[UserItem]:
    """List all users by name; e-mail addresses and when they were last seen are for admins and themselves."""
    return [_view_user(user, caller) for user in accounts.list_users()]


@post("/api/users", opt=callers.ADMINS, sync_to_thread=True)
def add_user(
    data: JSONBody[NewUser], body: RawBody, requester: GivenRequester, accounts: requests.GivenAccounts
) -> UserItem:
    """Create an account. Logging in still needs a token, or a provider login with its e-mail address.

    The first one makes this a team's server: existing sessions are visible to the operator and
    admins only, until their machines are assigned.
    """
    wish = requests.decode_body(body, NewUser)
    user = accounts.add_user(wish.name, wish.role, full_name=wish.full_name, email=wish.email)
    requester.record(Action.USER_ADDED, user.name, detail=f"as {user.role}")
    return _view_user(user, requester.caller)


@patch("/api/users/{name:str}", opt=callers.READS, sync_to_thread=True)
def change_user(
    name: _UserName,
    data: JSONBody[UserChange],
    body: RawBody,
    requester: GivenRequester,
    accounts: requests.GivenAccounts,
) -> UserItem:
    """Change a user: admins may change everything but the name, others only their own full name."""
    change = requests.decode_body(body, UserChange)
    if not requester.caller.is_admin and (
        requester.caller.name != name or (change.role, change.email) != (UNSET, UNSET)
    ):
        raise callers.forbid("Only admins can change more than their own full name")
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
        requester.record(Action.USER_CHANGED, name, detail=", ".join(told).replace("_", " "))
    return _view_user(user, requester.caller)


@post("/api/users/{name:str}/disable", opt=callers.ADMINS, status_code=200, sync_to_thread=True)
def disable_user(name: _UserName, requester: GivenRequester, accounts: requests.GivenAccounts) -> UserItem:
    """Disable a user: their tokens, logins and links end at once; their sessions stay."""
    before = _get_user(accounts, name)
    user = accounts.disable_user(name)
    if before.disabled_ns is None:
        requester.record(Action.USER_DISABLED, name)
    return _view_user(user, requester.caller)


@post("/api/users/{name:str}/enable", opt=callers.ADMINS, status_code=200, sync_to_thread=True)
def enable_user(name: _UserName, requester: GivenRequester, accounts: requests.GivenAccounts) -> UserItem:
    """Enable a user again; their tokens and links stay revoked."""
    before = _get_user(accounts, name)
    user = accounts.enable_user(name)
    if before.disabled_ns is not None:
        requester.record(Action.USER_ENABLED, name)
    return _view_user(user, requester.caller)


def _get_user(accounts: Accounts, name: str) -> User:
    user = accounts.find_user(name)
    if user is None:
        raise NotFoundError("There is no such user")
    return user


_DAY_NS = 86_400 * 10**9
_OTHERS = "Only admins can see and create other people's tokens"


@get("/api/tokens", sync_to_thread=True)
def list_tokens(
    caller: callers.GivenCaller,
    accounts: requests.GivenAccounts,
    user: Annotated[
        str | None,
        requests.query("The user; by default the caller, or everyone with the server's token.", max_length=100),
    ] = None,
) -> list[TokenItem]:
    """List tokens, the newest first, without their secrets. Admins may list those of others."""
    asked = caller.name if user is None else user
    if asked != caller.name and not caller.is_admin:
        raise callers.forbid(_OTHERS)
    return [fill_dated(TokenItem, token) for token in accounts.list_tokens(asked)]


@post("/api/tokens", sync_to_thread=True)
def create_token(
    data: JSONBody[TokenRequest], body: RawBody, requester: GivenRequester, accounts: requests.GivenAccounts
) -> NewToken:
    """Create a token. Its secret is in the response, and nowhere else.

    A personal token logs its user in; a machine token can only push its user's sessions.
    """
    wish = requests.decode_body(body, TokenRequest)
    user = requester.caller.name if wish.user is None else wish.user
    if user is None:
        problem = ErrorDetail(where="user", message="Expected a user: the server's own token belongs to nobody")
        raise InvalidRequestError("The request is not valid", problem)
    if user != requester.caller.name and not requester.caller.is_admin:
        raise callers.forbid(_OTHERS)
    expires_ns = None if wish.days is None else time.time_ns() + wish.days * _DAY_NS
    token, secret = accounts.create_token(user, wish.kind, wish.label, expires_ns=expires_ns)
    requester.record(Action.TOKEN_CREATED, user, detail=f"{token.kind} {token.id}")
    return NewToken(token=fill_dated(TokenItem, token), secret=secret)


@delete("/api/tokens/{id:str}", opt=callers.READS, sync_to_thread=True)
def revoke_token(
    id: Annotated[str, PathParameter(description="The token's `id`, which is no secret.")],
    requester: GivenRequester,
    accounts: requests.GivenAccounts,
) -> None:
    """Revoke a token."""
    # What is not one's own is not there, as little as what nobody has.
    known = accounts.list_tokens(None if requester.caller.is_admin else requester.caller.name)
    found = next((token for token in known if token.id == id), None)
    if found is None:
        raise NotFoundError("There is no such token")
    accounts.revoke_token(id)
    if found.revoked_ns is None:
        requester.record(Action.TOKEN_REVOKED, found.user, detail=f"{found.kind} {id}")


@get("/api/machines", sync_to_thread=True)
def list_machines(store: requests.GivenStore, visible: requests.GivenScope) -> list[MachineItem]:
    """List machines by host and user: the caller's own, and those of sessions they may see."""
    return [_view_machine(machine) for machine in store.list_machines(visible)]


@put("/api/machines/{origin:str}", opt=callers.ADMINS, sync_to_thread=True)
def assign_machine(
    origin: Annotated[str, PathParameter(description="The machine's `origin`.")],
    data: JSONBody[Assignment],
    body: RawBody,
    store: requests.GivenStore,
    visible: requests.GivenScope,
    requester: GivenRequester,
    accounts: requests.GivenAccounts,
    machines: requests.GivenMachines,
) -> AssignedSessions:
    """Assign a machine to a person, who becomes the owner of all its sessions."""
    person = requests.decode_body(body, Assignment).person
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
        requester.audit.record(
            [build_entry(requester.caller, Action.MACHINE_ASSIGNED, name, detail=told) for name in concerned]
        )
    return AssignedSessions(sessions=0 if before == person else now.sessions)
