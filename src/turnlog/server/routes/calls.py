"""`/api/sessions/{id}/calls`: every call in order, by what sort of action it is and what came of it."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, get
from litestar.params import QueryParameter

from turnlog.server.auditing import GivenVisit
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_session
from turnlog.server.parameters import Cursor, NamedSession, find_next
from turnlog.server.security.policies import LINKED
from turnlog.server.shapes.calls import CallPage
from turnlog.server.views.calls import CallViewer, view_call
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.lines.kinds import Category
from turnlog.transcripts.queries.chapters import CallFilter


@get("/api/sessions/{id:str}/calls", opt=LINKED, sync_to_thread=True)
def list_calls(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    source: Annotated[
        str | None, QueryParameter(max_length=200, description="A file of the session; all files by default.")
    ] = None,
    category: Annotated[
        list[Category] | None, QueryParameter(max_items=20, description="The category of the action.")
    ] = None,
    call_state: Annotated[
        list[CallState] | None, QueryParameter(name="state", max_items=20, description="Its outcome.")
    ] = None,
    name: Annotated[str | None, QueryParameter(max_length=200, description="The tool's name.")] = None,
    bodies: Annotated[bool, QueryParameter(description="Whether to include inputs and results.")] = False,
    limit: Annotated[int, QueryParameter(ge=1, le=200, description="The maximum number of calls.")] = 100,
    cursor: Cursor = 0,
) -> CallPage:
    """List a session's tool calls: the transcript's, then those of each agent's file."""
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    where = CallFilter(
        categories=None if category is None else tuple(each.value for each in category),
        states=None if call_state is None else tuple(each.value for each in call_state),
        name=name,
    )
    with store.open_session(visible, session.key) as opened:
        found = opened.find_calls(where, source=source, first=cursor, count=limit)
        if bodies:
            items = CallViewer(store, visible, session).list_calls(found.calls)
        else:
            items = tuple(view_call(*each) for each in found.calls)
    return CallPage(items=items, total=found.total, next=find_next(cursor, items, found.total))


HANDLERS = (list_calls,)
