"""`/api/tokens`: what lets people and machines in."""

from __future__ import annotations

import time
from typing import Annotated

from litestar import delete, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter, RawBody

from turnlog.server.auditing import GivenAudit
from turnlog.server.bodies import decode_body
from turnlog.server.dependencies import GivenAccounts
from turnlog.server.errors import InvalidRequestError, NotFoundError
from turnlog.server.security.callers import GivenCaller
from turnlog.server.security.policies import READS, forbid
from turnlog.server.shapes.errors import ErrorDetail
from turnlog.server.shapes.people import NewToken, TokenItem, TokenWish
from turnlog.server.views.people import build_entry, view_token
from turnlog.store.accounts.interface import Action

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
    return [view_token(token) for token in accounts.list_tokens(asked)]


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
    return NewToken(token=view_token(token), secret=secret)


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


HANDLERS = (list_tokens, create_token, revoke_token)
