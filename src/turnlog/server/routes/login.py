"""`/api/login` and `/api/logout`: how a person's browser is let in by a token, and leaves."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from litestar import Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import JSONBody, RawBody, SkipValidation

from turnlog.server.auditing import GivenAudit
from turnlog.server.bodies import decode_body
from turnlog.server.dependencies import GivenAccounts
from turnlog.server.errors import RequestError
from turnlog.server.security.callers import Caller, CallerKind, GivenCaller
from turnlog.server.security.cookies import (
    LOGIN_SECONDS,
    build_cookie,
    end_cookie,
    is_secure,
    list_cookies,
    name_cookie,
)
from turnlog.server.security.guard import Doors, check_owner, check_wait, note_failure
from turnlog.server.security.policies import PUBLIC, READS, forbid
from turnlog.server.security.tokens import COOKIE_SECONDS
from turnlog.server.shapes.people import LoginProvider, LoginToken, LoginWays
from turnlog.server.surroundings import GivenSurroundings
from turnlog.server.views.people import build_entry
from turnlog.store.accounts.interface import Accounts, Action, Token, TokenKind, User

GivenDoors = NamedDependency[SkipValidation[Doors]]
"""Parameter `doors`: what lets somebody in."""


@get("/api/login", opt=PUBLIC, sync_to_thread=True)
def get_login(accounts: GivenAccounts, surroundings: GivenSurroundings) -> LoginWays:
    """Say how people can log in."""
    team, oidc = accounts.has_users(), surroundings.oidc
    return LoginWays(team=team, oidc=None if oidc is None or not team else LoginProvider(label=oidc.label))


@post("/api/login", opt=PUBLIC, status_code=204)
async def log_in(
    request: Request[Any, Any, Any],
    data: JSONBody[LoginToken],
    body: RawBody,
    doors: GivenDoors,
    audit: GivenAudit,
) -> Response[None]:
    """Log a browser in for 30 days, with a personal token or the server's own."""
    token = decode_body(body, LoginToken).token.strip()
    check_wait(request, doors.failures)
    secure = is_secure(request, doors.public_url)
    if doors.keeper.is_token(token):
        check_owner(request)
        return Response(None, cookies=[_build_owner_cookie(doors, secure=secure)])
    found = await asyncio.to_thread(doors.accounts.find_by_token, token)
    if found is None:
        note_failure(request, doors.failures)
        raise RequestError(401, "unauthorized", "This token is wrong, or no longer valid")
    user, known = found
    if known.kind is not TokenKind.PERSONAL:
        raise forbid("This is a machine token, which is only for pushing; use a personal token")
    secret, seconds = await asyncio.to_thread(_open, doors.accounts, user, known)
    caller = Caller(kind=CallerKind.PERSON, user=user)
    await asyncio.to_thread(
        audit.record, [build_entry(caller, Action.LOGGED_IN, user.name, f"by token {known.id}")]
    )
    return Response(None, cookies=[build_cookie(secret, secure=secure, seconds=seconds)])


@post("/api/logout", opt=READS, status_code=204, sync_to_thread=True)
def log_out(
    request: Request[Any, Any, Any], caller: GivenCaller, doors: GivenDoors, audit: GivenAudit
) -> Response[None]:
    """Log this browser out; tokens stay valid."""
    secure = is_secure(request, doors.public_url)
    name = name_cookie(secure)
    for secret in list_cookies(request, name):
        doors.accounts.end_session(secret)
    for secret in list_cookies(request, doors.keeper.cookie):
        doors.keeper.end_session(secret)
    if caller.user is not None:
        audit.record([build_entry(caller, Action.LOGGED_OUT, caller.name)])
    cookies = [end_cookie(each, secure=secure) for each in (name, doors.keeper.cookie)]
    # The browser may have kept answers, to ask whether they still hold.
    return Response(None, cookies=cookies, headers={"clear-site-data": '"cache"'})


def _open(accounts: Accounts, user: User, token: Token) -> tuple[str, float]:
    """Return a new secret, and how long it is good: not longer than the token."""
    seconds = LOGIN_SECONDS
    if token.expires_ns is not None:
        seconds = max(min(seconds, (token.expires_ns - time.time_ns()) / 10**9), 1.0)
    return accounts.open_session(user.name, seconds, token=token.id), seconds


def _build_owner_cookie(doors: Doors, *, secure: bool) -> Cookie:
    return Cookie(
        key=doors.keeper.cookie,
        value=doors.keeper.open_session(),
        max_age=int(COOKIE_SECONDS),
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


HANDLERS = (get_login, log_in, log_out)
