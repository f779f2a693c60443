"""`/api/login/oidc` and `/api/login/callback`: how a person's browser is let in by a provider.

A login belongs to the browser that began it: a cookie, which comes along when the provider sends the browser
back (`SameSite=Lax`), has to name it. The page tells what went wrong (`/login?error=…`), and the log why.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from typing import Annotated, Any
from urllib.parse import quote

from litestar import Request, get
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import QueryParameter, SkipValidation
from litestar.response import Redirect

from turnlog.config import OidcSettings
from turnlog.server.auditing import Auditor, GivenAudit
from turnlog.server.dependencies import GivenAccounts
from turnlog.server.errors import NotFoundError
from turnlog.server.parameters import ANY_PARAMETERS
from turnlog.server.routes.login import GivenDoors
from turnlog.server.security.cookies import LOGIN_SECONDS, build_cookie, is_secure, list_cookies
from turnlog.server.security.guard import Doors
from turnlog.server.security.policies import PUBLIC
from turnlog.server.security.providers import Confirmed, Provider, RefusedLoginError, admit
from turnlog.server.surroundings import GivenSurroundings
from turnlog.store.accounts.interface import Accounts, PendingLogin

logger = logging.getLogger("turnlog.server")

CALLBACK = "/api/login/callback"
_PATH = "/api/login"
_PENDING = "turnlog_pending"
_MINUTES = 10
"""How long a login at the provider may take."""
_LONGEST = 2000
_GivenProvider = NamedDependency[SkipValidation[Provider | None]]
_Text = Annotated[str | None, QueryParameter(max_length=4000)]


@get("/api/login/oidc", opt=PUBLIC, status_code=302)
async def begin_login(
    request: Request[Any, Any, Any],
    provider: _GivenProvider,
    doors: GivenDoors,
    accounts: GivenAccounts,
    next: Annotated[
        str, QueryParameter(max_length=_LONGEST, description="Where to go after login: a path of the page.")
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
        address = await provider.begin(login, _find_base(request, doors) + CALLBACK)
    except RefusedLoginError as refusal:
        return _refuse(refusal)
    await asyncio.to_thread(accounts.keep_login, login)
    pending = _build_pending(request, doors, login.state, _MINUTES * 60)
    return Redirect(address, status_code=302, cookies=[pending])


@get(CALLBACK, opt=PUBLIC | ANY_PARAMETERS, status_code=303)
async def finish_login(
    request: Request[Any, Any, Any],
    provider: _GivenProvider,
    surroundings: GivenSurroundings,
    doors: GivenDoors,
    accounts: GivenAccounts,
    audit: GivenAudit,
    login_state: Annotated[
        str, QueryParameter(name="state", max_length=200, description="The `state` that was issued.")
    ] = "",
    code: Annotated[str, QueryParameter(max_length=4000, description="For the provider's token.")] = "",
    error: Annotated[str | None, QueryParameter(max_length=200, description="Why not.")] = None,
    iss: Annotated[str | None, QueryParameter(max_length=2000, description="Who the provider is.")] = None,
) -> Redirect:
    """Log in a browser that comes back from the login provider."""
    settings = surroundings.oidc
    if provider is None or settings is None:
        raise NotFoundError("No login provider is configured here")
    try:
        login = await _take(request, accounts, login_state)
        if error is not None or not code:
            raise RefusedLoginError("denied", f"the provider says {(error or 'nothing')[:100]!r}")
        confirmed = await provider.finish(login, code, iss, _find_base(request, doors) + CALLBACK)
        secret = await asyncio.to_thread(_let_in, accounts, audit, confirmed, settings)
    except RefusedLoginError as refusal:
        return _refuse(refusal, _build_pending(request, doors, "", 0))
    cookie = build_cookie(secret, secure=is_secure(request, doors.public_url))
    return Redirect(login.next, status_code=303, cookies=[cookie, _build_pending(request, doors, "", 0)])


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


def _find_base(request: Request[Any, Any, Any], doors: Doors) -> str:
    """Return the address under which the browser is here; its name was checked at the gate."""
    if doors.public_url is not None and is_secure(request, doors.public_url):
        return doors.public_url
    return f"http://{request.headers['host']}"


def _choose_next(path: str) -> str:
    """Return a path of the page; anything that a browser might take for another host is none."""
    is_plain = path.startswith("/") and path.isprintable() and path.isascii() and "\\" not in path
    return path if is_plain and not path.startswith(("//", "/api/", "/open", "/s/")) else "/"


def _build_pending(request: Request[Any, Any, Any], doors: Doors, state: str, seconds: int) -> Cookie:
    return Cookie(
        key=_PENDING,
        value=state,
        max_age=seconds,
        path=_PATH,
        secure=is_secure(request, doors.public_url),
        httponly=True,
        samesite="lax",
    )


HANDLERS = (begin_login, finish_login)
