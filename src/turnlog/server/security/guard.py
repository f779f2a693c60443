"""Who is let in: everything but what says that it is public needs the token or a cookie."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard

from turnlog.server.errors import RequestError
from turnlog.server.security.failures import FailureLimit
from turnlog.server.security.origins import comes_from_elsewhere, may_use_cookies
from turnlog.server.security.peers import PEER, is_stranger, list_trusted
from turnlog.server.security.tokens import TokenKeeper

__all__ = ["PUBLIC", "TOKEN_ONLY", "build_guard", "check_attempt", "check_owner", "has_session"]

PUBLIC = {"public": True}
"""Give it as `opt` of a route handler that everybody may use."""
TOKEN_ONLY = {"token_only": True}
"""Give it as `opt` of a route handler for which a browser's cookie is not enough."""

_TRUSTED = list_trusted()

_Connection = ASGIConnection[Any, Any, Any, Any]


def build_guard(keeper: TokenKeeper, failures: FailureLimit) -> Guard:
    """Return what Litestar asks before each route handler."""

    async def guard(connection: _Connection, handler: BaseRouteHandler) -> None:
        if handler.opt.get("public"):
            return
        given = connection.headers.get("authorization")
        if given is not None:
            check_attempt(connection, failures, correct=lambda: _is_bearer(given, keeper))
        elif handler.opt.get("token_only") or not has_session(connection, keeper):
            raise _refuse()

    return guard


def check_attempt(connection: _Connection, failures: FailureLimit, correct: Callable[[], bool]) -> None:
    """Raise `RequestError` if a secret is wrong, or if this client was wrong too often to be asked again."""
    client = _name_client(connection)
    wait = failures.find_wait(client)
    if wait:
        seconds = str(math.ceil(wait))
        message = f"Too many failures; try again in {seconds} seconds"
        raise RequestError(429, "too_many_failures", message, headers={"retry-after": seconds})
    if not correct():
        # Any page can make a browser come here with a wrong key; that shall not shut out its user.
        if not comes_from_elsewhere(list(connection.scope["headers"])):
            failures.note(client)
        raise _refuse()


def check_owner(connection: _Connection) -> None:
    """Raise `RequestError` for another user of this machine: keys and cookies are for nobody else."""
    if is_stranger(connection.scope["state"], _TRUSTED):
        raise RequestError(403, "another_user", "This server is another user's")


def has_session(connection: _Connection, keeper: TokenKeeper) -> bool:
    """Tell whether a request comes from our page in a browser that was let in."""
    headers = list(connection.scope["headers"])
    if is_stranger(connection.scope["state"], _TRUSTED):
        return False
    if not may_use_cookies(str(connection.scope.get("method")), headers):
        return False
    # Other programs on this host set cookies, too, of any form: one that cannot be read must not hide ours.
    given = b";".join(value for name, value in headers if name == b"cookie").decode("latin-1")
    pairs = (pair.strip().partition("=") for pair in given.split(";"))
    return any(name == keeper.cookie and keeper.is_session(value) for name, _, value in pairs)


def _name_client(connection: _Connection) -> str:
    """Return who asks: users of one machine must not use up each other's attempts."""
    owner = connection.scope["state"].get(PEER)
    if owner is not None:
        return f"user {owner}"
    return connection.client.host if connection.client else ""


def _is_bearer(given: str, keeper: TokenKeeper) -> bool:
    scheme, _, token = given.partition(" ")
    return keeper.is_token(token.strip()) and scheme.lower() == "bearer"


def _refuse() -> RequestError:
    message = "This needs the address that `turnlog serve` shows, or the token as `Authorization: Bearer`"
    return RequestError(401, "unauthorized", message, headers={"www-authenticate": "Bearer"})
