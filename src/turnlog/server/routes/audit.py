"""`/api/audit`: who did what."""

from __future__ import annotations

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from turnlog.server.dependencies import GivenAccounts
from turnlog.server.errors import InvalidRequestError
from turnlog.server.parameters import LARGEST, Limit
from turnlog.server.security.callers import GivenCaller
from turnlog.server.shapes.audit import AuditPage
from turnlog.server.shapes.errors import ErrorDetail
from turnlog.server.views.sharing import view_entry
from turnlog.store.accounts.interface import Action, AuditFilter


@get("/api/audit", sync_to_thread=True)
def list_audit(
    accounts: GivenAccounts,
    caller: GivenCaller,
    who: Annotated[
        str | None, QueryParameter(max_length=200, description="Who did it: the name of a user.")
    ] = None,
    person: Annotated[
        str | None,
        QueryParameter(
            max_length=200, description="The owner of the session, or the person concerned: a user's name."
        ),
    ] = None,
    session: Annotated[
        str | None, QueryParameter(max_length=200, description="The key of the session concerned.")
    ] = None,
    action: Annotated[
        list[str] | None,
        QueryParameter(
            max_items=50, description="What was done, such as `looked` or `link-opened`: any of these."
        ),
    ] = None,
    before: Annotated[
        int | None,
        QueryParameter(ge=1, le=LARGEST, description="Where to continue: `next` from the previous response."),
    ] = None,
    limit: Limit = 100,
) -> AuditPage:
    """List who did what, newest first.

    Admins see everything, others what they did or what concerns them. Views of other people's sessions have one
    entry per visit.
    """
    asked = AuditFilter(
        who=who,
        person=person,
        session=session,
        actions=tuple(map(_find_action, action or ())),
        about=None if caller.is_admin else caller.name,
    )
    found = accounts.list_audit(asked, before=before, limit=limit + 1)
    entries = found[:limit]
    return AuditPage(
        entries=tuple(map(view_entry, entries)),
        next=entries[-1].id if len(found) > limit else None,
    )


def _find_action(name: str) -> Action:
    try:
        return Action(name)
    except ValueError:
        known = ErrorDetail(where="action", message=f"expected one of {', '.join(Action)}")
        raise InvalidRequestError("There is no such action", known) from None


HANDLERS = (list_audit,)
