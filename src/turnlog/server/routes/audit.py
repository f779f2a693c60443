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

__all__ = ["HANDLERS", "list_audit"]


@get("/api/audit", sync_to_thread=True)
def list_audit(
    accounts: GivenAccounts,
    caller: GivenCaller,
    who: Annotated[
        str | None, QueryParameter(max_length=200, description="Who did it: the name of a user.")
    ] = None,
    person: Annotated[
        str | None,
        QueryParameter(max_length=200, description="Whose session it is, or whom it is about: a user's name."),
    ] = None,
    session: Annotated[
        str | None, QueryParameter(max_length=200, description="The key of the session that it is about.")
    ] = None,
    action: Annotated[
        list[str] | None,
        QueryParameter(max_items=50, description="What was done, as `looked` or `link-opened`: any of these."),
    ] = None,
    before: Annotated[
        int | None,
        QueryParameter(ge=1, le=LARGEST, description="Where to go on: `next` of the answer before."),
    ] = None,
    limit: Limit = 100,
) -> AuditPage:
    """List who did what, the newest first.

    For admins that is all of it, for others what they did, or what is about them. Of looks at sessions of
    others there is one entry for each visit.
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
        raise InvalidRequestError("Nothing is recorded under that name", known) from None


HANDLERS = (list_audit,)
