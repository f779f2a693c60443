"""`/api/me`: who asks."""

from __future__ import annotations

from litestar import get

from turnlog.server.dependencies import GivenAccounts
from turnlog.server.security.callers import CallerKind, GivenCaller
from turnlog.server.security.policies import LINKED
from turnlog.server.shapes.people import Me
from turnlog.server.views.people import view_me


@get("/api/me", opt=LINKED, sync_to_thread=True)
def get_me(caller: GivenCaller, accounts: GivenAccounts) -> Me:
    """Return who the caller is, and what they may do."""
    maker = None if caller.link is None else caller.link.created_by
    return view_me(
        caller,
        team=caller.kind is not CallerKind.OPERATOR or accounts.has_users(),
        sharer=None if maker is None else accounts.find_user(maker),
    )


HANDLERS = (get_me,)
