"""Whether somebody who listens would still be let in."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from litestar import Request

from turnlog.server.live.endings import Listener
from turnlog.server.security.callers import Caller, CallerKind
from turnlog.server.security.guard import Doors, find_logged_in
from turnlog.store.accounts.interface import Accounts


def build_listener(request: Request[Any, Any, Any], caller: Caller, doors: Doors) -> Listener | None:
    """Return what a stream ends with; None for the operator's, which last as long as the server."""
    if caller.kind is CallerKind.OPERATOR:
        return None
    accounts = doors.accounts
    if caller.link is not None:
        link = caller.link
        return Listener(lambda: asyncio.to_thread(_is_open, accounts, caller), link.expires_ns)
    if caller.token is not None:
        return Listener(lambda: asyncio.to_thread(_is_let_in, accounts, caller))

    async def is_logged_in() -> bool:
        user = await find_logged_in(request, doors)
        return user is not None and user.name == caller.name and _has_role(caller, user.role)

    return Listener(is_logged_in)


def _has_role(caller: Caller, role: str) -> bool:
    return caller.user is not None and caller.user.role == role


def _is_let_in(accounts: Accounts, caller: Caller) -> bool:
    """Tell whether a token is still good, for who its user was when it was used."""
    user = None if caller.name is None else accounts.find_user(caller.name)
    if user is None or user.disabled_ns is not None or not _has_role(caller, user.role):
        return False
    token = next((each for each in accounts.list_tokens(user.name) if each.id == caller.token), None)
    ends = None if token is None else token.expires_ns
    return token is not None and token.revoked_ns is None and (ends is None or ends > time.time_ns())


def _is_open(accounts: Accounts, caller: Caller) -> bool:
    link = caller.link
    if link is None or link.expires_ns <= time.time_ns():
        return False
    known = next((each for each in accounts.list_links(session=link.session) if each.id == link.id), None)
    maker = None if known is None or known.created_by is None else accounts.find_user(known.created_by)
    return known is not None and known.revoked_ns is None and (maker is None or maker.disabled_ns is None)
