"""`/open?key=…`: how a browser is let in, once for each key; and how a program gets a key for its user."""

from __future__ import annotations

from html import escape
from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import QueryParameter, SkipValidation
from litestar.response import Redirect

from turnlog.server.errors import RequestError
from turnlog.server.security.failures import FailureLimit
from turnlog.server.security.guard import check_attempt, check_owner, has_session
from turnlog.server.security.policies import OPERATORS, PUBLIC, TOKEN_ONLY
from turnlog.server.security.tokens import COOKIE_SECONDS, KEY_SECONDS, TokenKeeper
from turnlog.server.shapes.status import OpeningKey

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
    cookie = Cookie(
        key=keeper.cookie,
        value=keeper.open_session(),
        max_age=int(COOKIE_SECONDS),
        path="/",
        httponly=True,
        samesite="strict",
    )
    return Redirect("/", status_code=303, cookies=[cookie])


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


HANDLERS = (open_page, create_key)
