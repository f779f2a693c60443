"""Who is let in: everything but what says that it is public needs the token, a person's, or a cookie.

Who asks is found out once, before a handler runs, and stands in the request's state from then on (`callers`);
what they may use is said by each route (`policies`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard
from msgspec import Struct

from turnlog.server.errors import RequestError
from turnlog.server.security.callers import CALLER, LINK, OPERATOR, Caller, CallerKind
from turnlog.server.security.cookies import is_secure, list_cookies, name_cookie
from turnlog.server.security.failures import FailureLimit
from turnlog.server.security.origins import comes_from_elsewhere, may_use_cookies
from turnlog.server.security.peers import PEER, is_stranger, list_trusted
from turnlog.server.security.policies import check_policy
from turnlog.server.security.pushing import find_pushed, note_pushed
from turnlog.server.security.tokens import TokenKeeper
from turnlog.store.accounts.interface import Accounts, TokenKind, User

_TRUSTED = list_trusted()
_PREFIXES = ("tlp_", "tlm_")

_Connection = ASGIConnection[Any, Any, Any, Any]


class Doors(Struct, frozen=True):
    """What lets somebody in."""

    keeper: TokenKeeper
    failures: FailureLimit
    accounts: Accounts
    public_url: str | None = None


def build_guard(doors: Doors) -> Guard:
    """Return what Litestar asks before each route handler."""

    async def guard(connection: _Connection, handler: BaseRouteHandler) -> None:
        opt = handler.opt
        if opt.get("public") and connection.scope["state"].get(LINK) is None:
            return
        caller = await _find_caller(connection, doors, token_only=bool(opt.get("token_only")))
        connection.scope["state"][CALLER] = caller
        check_policy(caller, opt, str(connection.scope.get("method")))

    return guard


async def _find_caller(connection: _Connection, doors: Doors, *, token_only: bool) -> Caller:
    link = connection.scope["state"].get(LINK)
    if link is not None:  # whoever else they are, here they see what the link shows
        return Caller(kind=CallerKind.LINK, link=link)
    given = connection.headers.get("authorization")
    if given is not None:
        return await _find_bearer(connection, doors, given)
    if not token_only:
        if has_session(connection, doors.keeper):
            return OPERATOR
        user = await find_logged_in(connection, doors)
        if user is not None:
            return Caller(kind=CallerKind.PERSON, user=user)
    raise await _refuse(doors)


async def _find_bearer(connection: _Connection, doors: Doors, given: str) -> Caller:
    check_wait(connection, doors.failures)
    scheme, _, token = given.partition(" ")
    token = token.strip()
    if scheme.lower() == "bearer":
        if doors.keeper.is_token(token):
            return OPERATOR
        if token.startswith(_PREFIXES):
            caller = await asyncio.to_thread(_find_by_token, connection, doors.accounts, token)
            if caller is not None:
                return caller
    note_failure(connection, doors.failures)
    raise await _refuse(doors)


def _find_by_token(connection: _Connection, accounts: Accounts, token: str) -> Caller | None:
    origin = find_pushed(connection)
    found = accounts.find_by_token(token, origin=origin)
    if found is None:
        if origin is not None and accounts.find_by_token(token) is not None:
            message = "This token belongs to another machine; each machine needs its own token"
            raise RequestError(403, "another_machine", message)
        return None
    user, known = found
    if known.kind is TokenKind.PERSONAL:
        return Caller(kind=CallerKind.PERSON, user=user, token=known.id)
    note_pushed(connection, origin)
    return Caller(kind=CallerKind.MACHINE, user=user, token=known.id)


async def find_logged_in(connection: _Connection, doors: Doors) -> User | None:
    """Return the person whose cookie comes with a request of our own page's."""
    if not may_use_cookies(str(connection.scope.get("method")), list(connection.scope["headers"])):
        return None
    secure = is_secure(connection, doors.public_url)
    for value in list_cookies(connection, name_cookie(secure)):
        user = await asyncio.to_thread(doors.accounts.find_by_session, value)
        if user is not None:
            return user
    return None


def check_wait(connection: _Connection, failures: FailureLimit) -> None:
    """Raise `RequestError` if this client was wrong too often to be asked again."""
    wait = failures.find_wait(_name_client(connection, failures))
    if wait:
        seconds = str(math.ceil(wait))
        message = f"Too many failures; try again in {seconds} seconds"
        raise RequestError(429, "too_many_failures", message, headers={"retry-after": seconds})


def note_failure(connection: _Connection, failures: FailureLimit) -> None:
    """Remember that a client was wrong about a secret."""
    # Any page can make a browser come here with a wrong key; that shall not shut out its user.
    if not comes_from_elsewhere(list(connection.scope["headers"])):
        failures.note(_name_client(connection, failures))


def check_attempt(connection: _Connection, failures: FailureLimit, correct: Callable[[], bool]) -> None:
    """Raise `RequestError` if a secret is wrong, or if this client was wrong too often to be asked again."""
    check_wait(connection, failures)
    if not correct():
        note_failure(connection, failures)
        raise _refuse_alone()


def check_owner(connection: _Connection) -> None:
    """Raise `RequestError` for another user of this machine: keys and cookies are for nobody else."""
    if is_stranger(connection.scope["state"], _TRUSTED):
        raise RequestError(403, "another_user", "This server belongs to another user")


def has_session(connection: _Connection, keeper: TokenKeeper) -> bool:
    """Tell whether a request comes from our page in a browser that its owner opened."""
    if is_stranger(connection.scope["state"], _TRUSTED):
        return False
    if not may_use_cookies(str(connection.scope.get("method")), list(connection.scope["headers"])):
        return False
    return any(keeper.is_session(value) for value in list_cookies(connection, keeper.cookie))


def _name_client(connection: _Connection, failures: FailureLimit) -> str:
    """Return who asks: users of one machine, or of one proxy, must not use up each other's attempts."""
    peer = connection.client.host if connection.client else ""
    behind = failures.find_client(peer, connection.headers.getall("x-forwarded-for", []))
    if behind is not None:
        return behind
    owner = connection.scope["state"].get(PEER)
    return peer if owner is None else f"user {owner}"


async def _refuse(doors: Doors) -> RequestError:
    if not await asyncio.to_thread(doors.accounts.has_users):
        return _refuse_alone()
    message = "Log in, or send your token as `Authorization: Bearer`"
    return RequestError(401, "unauthorized", message, headers={"www-authenticate": "Bearer"})


def _refuse_alone() -> RequestError:
    message = "Open the address that `turnlog serve` shows, or send the token as `Authorization: Bearer`"
    return RequestError(401, "unauthorized", message, headers={"www-authenticate": "Bearer"})
