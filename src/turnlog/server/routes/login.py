"""How a browser is let in: by a token, by a key from `turnlog serve`, or by a login provider.

A login at a provider belongs to the browser that began it: a cookie, which comes along when the provider sends
the browser back (`SameSite=Lax`), has to name it. The page shows what went wrong (`/login?error=…`), and the
log why.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from html import escape
from typing import Annotated, Any
from urllib.parse import quote

from litestar import Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import JSONBody, QueryParameter, RawBody, SkipValidation
from litestar.response import Redirect
from msgspec import Meta, Struct

from turnlog.config import OidcSettings
from turnlog.server.audit import Auditor, GivenAudit, GivenVisit, build_entry
from turnlog.server.errors import NotFoundError, RequestError
from turnlog.server.processes import OpeningKey
from turnlog.server.requests import ANY_PARAMETERS, GivenAccounts, GivenContext, decode_body, query
from turnlog.server.security.callers import (
    OPERATORS,
    PUBLIC,
    READS,
    TOKEN_ONLY,
    Caller,
    CallerKind,
    forbid,
)
from turnlog.server.security.guard import (
    LOGIN_SECONDS,
    AuthContext,
    FailureLimit,
    build_cookie,
    check_attempt,
    check_owner,
    check_wait,
    has_session,
    is_secure,
    list_cookies,
    name_cookie,
    note_failure,
)
from turnlog.server.security.providers import Confirmed, Provider, RefusedLoginError, admit
from turnlog.server.security.tokens import COOKIE_SECONDS, KEY_SECONDS, TokenKeeper
from turnlog.store.account_model import Action, PendingLogin, Token, TokenKind, User
from turnlog.store.accounts import Accounts

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


GivenAuth = NamedDependency[SkipValidation[AuthContext]]
"""Parameter `auth`: what callers are authenticated with."""


@get("/api/login", opt=PUBLIC, sync_to_thread=True)
def get_login(accounts: GivenAccounts, context: GivenContext) -> LoginWays:
    """Say how people can log in."""
    team, oidc = accounts.has_users(), context.oidc
    return LoginWays(team=team, oidc=None if oidc is None or not team else LoginProvider(label=oidc.label))


@post("/api/login", opt=PUBLIC, status_code=204)
async def log_in(
    request: Request[Any, Any, Any],
    data: JSONBody[LoginToken],
    body: RawBody,
    auth: GivenAuth,
    audit: GivenAudit,
) -> Response[None]:
    """Log a browser in for 30 days, with a personal token or the server's own."""
    token = decode_body(body, LoginToken).token.strip()
    check_wait(request, auth.failures)
    secure = is_secure(request, auth.public_url)
    if auth.keeper.is_token(token):
        check_owner(request)
        return Response(None, cookies=[_build_owner_cookie(auth.keeper, secure=secure)])
    found = await asyncio.to_thread(auth.accounts.find_by_token, token)
    if found is None:
        note_failure(request, auth.failures)
        raise RequestError(401, "unauthorized", "This token is wrong, or no longer valid")
    user, known = found
    if known.kind is not TokenKind.PERSONAL:
        raise forbid("This is a machine token, which is only for pushing; use a personal token")
    secret, seconds = await asyncio.to_thread(_open, auth.accounts, user, known)
    caller = Caller(kind=CallerKind.PERSON, user=user)
    await asyncio.to_thread(
        audit.record, [build_entry(caller, Action.LOGGED_IN, user.name, detail=f"by token {known.id}")]
    )
    return Response(None, cookies=[build_cookie(name_cookie(secure), secret, seconds, secure=secure)])


@post("/api/logout", opt=READS, status_code=204, sync_to_thread=True)
def log_out(request: Request[Any, Any, Any], visit: GivenVisit, auth: GivenAuth) -> Response[None]:
    """Log this browser out; tokens stay valid."""
    secure = is_secure(request, auth.public_url)
    name = name_cookie(secure)
    for secret in list_cookies(request, name):
        auth.accounts.end_session(secret)
    for secret in list_cookies(request, auth.keeper.cookie):
        auth.keeper.end_session(secret)
    if visit.caller.user is not None:
        visit.record(Action.LOGGED_OUT, visit.caller.name)
    cookies = [build_cookie(each, "", 0, secure=secure) for each in (name, auth.keeper.cookie)]
    # The browser may have kept answers, to ask whether they still hold.
    return Response(None, cookies=cookies, headers={"clear-site-data": '"cache"'})


def _open(accounts: Accounts, user: User, token: Token) -> tuple[str, float]:
    """Return a new secret, and how long it is good: not longer than the token."""
    seconds = LOGIN_SECONDS
    if token.expires_ns is not None:
        seconds = max(min(seconds, (token.expires_ns - time.time_ns()) / 10**9), 1.0)
    return accounts.open_session(user.name, seconds, token=token.id), seconds


def _build_owner_cookie(keeper: TokenKeeper, *, secure: bool) -> Cookie:
    return build_cookie(keeper.cookie, keeper.open_session(), COOKIE_SECONDS, secure=secure)


_Keeper = NamedDependency[SkipValidation[TokenKeeper]]
_Failures = NamedDependency[SkipValidation[FailureLimit]]
_USED = "This address has already been used, or has expired. Run `turnlog serve` again to get a new one."


@get("/open", opt=PUBLIC, include_in_schema=False)
async def open_page(
    request: Request[Any, Any, Any],
    keeper: _Keeper,
    failures: _Failures,
    key: Annotated[str, QueryParameter(max_length=100)] = "",
) -> Response[Any]:
    """Let a browser in that has a key, and show it the page."""
    check_owner(request)
    if has_session(request, keeper):
        keeper.redeem_key(key)  # it has been seen, and must not serve anybody else
        return Redirect("/", status_code=303)
    try:
        check_attempt(request, failures, correct=lambda: keeper.redeem_key(key))
    except RequestError as refusal:
        if "text/html" not in request.headers.get("accept", ""):
            raise
        return _explain(refusal)
    return Redirect("/", status_code=303, cookies=[_build_owner_cookie(keeper, secure=False)])


@post("/api/keys", opt=TOKEN_ONLY | OPERATORS, status_code=201)
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


@get("/api/login/oidc", opt=PUBLIC, status_code=302)
async def begin_login(
    request: Request[Any, Any, Any],
    provider: _GivenProvider,
    auth: GivenAuth,
    accounts: GivenAccounts,
    next: Annotated[str, query("Where to go after login: a path of the page.", max_length=_LONGEST)] = "/",
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


@get(_CALLBACK, opt=PUBLIC | ANY_PARAMETERS, status_code=303)
async def finish_login(
    request: Request[Any, Any, Any],
    provider: _GivenProvider,
    context: GivenContext,
    auth: GivenAuth,
    accounts: GivenAccounts,
    audit: GivenAudit,
    login_state: Annotated[str, query("The `state` that was issued.", name="state", max_length=200)] = "",
    code: Annotated[str, query("For the provider's token.", max_length=4000)] = "",
    error: Annotated[str | None, query("Why not.", max_length=200)] = None,
    iss: Annotated[str | None, query("Who the provider is.", max_length=2000)] = None,
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
    secure = is_secure(request, auth.public_url)
    cookie = build_cookie(name_cookie(secure), secret, LOGIN_SECONDS, secure=secure)
    return Redirect(login.next, status_code=303, cookies=[cookie, _build_pending(request, auth, "", 0)])


async def _take(request: Request[Any, Any, Any], accounts: Accounts, state: str) -> PendingLogin:
    """Return the login that is to be confirmed, once; raises `RefusedLoginError`."""
    begun = any(hmac.compare_digest(each.encode(), state.encode()) for each in list_cookies(request, _PENDING))
    login = await asyncio.to_thread(accounts.take_login, state) if begun and state else None
    if login is None:
        raise RefusedLoginError(
            "expired", "it was started by another browser, has expired, or is already finished"
        )
    return login


def _let_in(accounts: Accounts, audit: Auditor, confirmed: Confirmed, settings: OidcSettings) -> str:
    user, entries = admit(accounts, confirmed, settings, time.time_ns())
    audit.record(entries)
    return accounts.open_session(user.name, LOGIN_SECONDS)


def _refuse(refusal: RefusedLoginError, *cookies: Cookie) -> Redirect:
    logger.warning("a login through the provider failed (%s): %s", refusal.code, refusal)
    return Redirect(f"/login?error={quote(refusal.code)}", status_code=303, cookies=list(cookies))


def _find_base(request: Request[Any, Any, Any], auth: AuthContext) -> str:
    """Return the address under which the browser is here; its name was checked at the gate."""
    if auth.public_url is not None and is_secure(request, auth.public_url):
        return auth.public_url
    return f"http://{request.headers['host']}"


def _choose_next(path: str) -> str:
    """Return a path of the page; anything that a browser might take for another host is none."""
    is_plain = path.startswith("/") and path.isprintable() and path.isascii() and "\\" not in path
    return path if is_plain and not path.startswith(("//", "/api/", "/open", "/s/")) else "/"


def _build_pending(request: Request[Any, Any, Any], auth: AuthContext, state: str, seconds: int) -> Cookie:
    secure = is_secure(request, auth.public_url)
    return build_cookie(_PENDING, state, seconds, secure=secure, path=_PATH, samesite="lax")
