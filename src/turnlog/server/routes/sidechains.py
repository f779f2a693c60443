"""`/api/sessions/{id}/sidechains`: what was done, grouped under what was said."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, get
from litestar.params import PathParameter, QueryParameter

from turnlog.server.auditing import GivenVisit
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import NotFoundError
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_session
from turnlog.server.parameters import Cursor, Limit, NamedSession, find_next
from turnlog.server.security.policies import LINKED
from turnlog.server.shapes.calls import CallPage
from turnlog.server.shapes.conversations import Sidechain, Sidechains
from turnlog.server.views.call_bodies import view_calls
from turnlog.server.views.limits import sayable
from turnlog.server.views.moments import took_ms
from turnlog.server.views.sidechains import Group, group_calls
from turnlog.server.views.windows import read_titles
from turnlog.store.identity import Scope
from turnlog.store.interface import Store
from turnlog.store.rows import MessageRow

__all__ = ["HANDLERS", "list_sidechain_calls", "list_sidechains"]


@get("/api/sessions/{id:str}/sidechains", opt=LINKED, sync_to_thread=True)
def list_sidechains(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    limit: Limit = 200,
    cursor: Cursor = 0,
) -> Sidechains:
    """List a session's tool calls, grouped under the answers that made them.

    The calls of a group are loaded when it is opened.
    """
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    groups = _list_groups(store, visible, session.key)
    chosen = groups[cursor : cursor + limit]
    heads = {row.index: row for row in store.list_at(visible, session.key, [each.head for each in chosen])}
    titles = read_titles(store, visible, list(heads.values()))
    items = tuple(_view(each, heads[each.head], titles[each.head]) for each in chosen if each.head in titles)
    return Sidechains(
        items=items,
        total=len(groups),
        next=find_next(cursor, items, len(groups)),
        revision=session.revision,
    )


@get("/api/sessions/{id:str}/sidechains/{message_uuid:str}", opt=LINKED, sync_to_thread=True)
def list_sidechain_calls(
    request: Request[Any, Any, Any],
    id: NamedSession,
    message_uuid: Annotated[str, PathParameter(description="`message_uuid` of a group.")],
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    limit: Annotated[int, QueryParameter(ge=1, le=200, description="The maximum number of calls.")] = 100,
    cursor: Cursor = 0,
) -> CallPage:
    """List the calls of one group, with their inputs and results."""
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    head = store.find_message(visible, session.key, message_uuid)
    groups = [] if head is None else _list_groups(store, visible, session.key)
    group = next((each for each in groups if head is not None and each.head == head.index), None)
    if head is None or group is None:
        raise NotFoundError("There is no such sidechain")
    chosen = [call.index for call in group.calls[cursor : cursor + limit]]
    rows = store.list_calls_at(visible, session.key, chosen, source=head.source)
    items = view_calls(store, visible, session, rows)
    return CallPage(items=items, total=len(group.calls), next=find_next(cursor, items, len(group.calls)))


def _list_groups(store: Store, scope: Scope, key: str) -> list[Group]:
    return group_calls(store.list_outline(scope, key), store.list_call_outline(scope, key))


def _view(group: Group, head: MessageRow, title: str) -> Sidechain:
    return Sidechain(
        message=group.head,
        message_uuid=sayable(head.id),
        title=title,
        operations=len(group.calls),
        failed=group.failed,
        duration_ms=took_ms(*group.took),
        categories=group.categories,
    )


HANDLERS = (list_sidechains, list_sidechain_calls)
