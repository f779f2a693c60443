"""`/api/sessions/{id}/messages`: windows of a conversation, and the bytes behind a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from litestar import Request, Response, get

from turnlog.server.auditing import GivenVisit
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import NotFoundError
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_session
from turnlog.server.parameters import (
    Active,
    After,
    AgentId,
    Around,
    Before,
    BranchNumber,
    Categories,
    Counted,
    Lanes,
    NamedSession,
    Roles,
    Source,
    WindowLimit,
)
from turnlog.server.security.policies import LINKED
from turnlog.server.sending import send_pieces
from turnlog.server.shapes.messages import MessageWindow
from turnlog.server.views.walks import Asked, ask_window, build_filter
from turnlog.server.views.windows import view_window
from turnlog.store.identity import Place, Scope
from turnlog.store.interface import Store

__all__ = ["HANDLERS", "get_raw_message", "list_messages"]

_AT_ONCE = 100
"""Lines of a message that are read together, when its raw lines are asked for."""


@get("/api/sessions/{id:str}/messages", opt=LINKED, sync_to_thread=True)
def list_messages(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    source: Source = None,
    agent: AgentId = None,
    around: Around = None,
    before: Before = None,
    after: After = None,
    limit: WindowLimit = 100,
    lane: Lanes = None,
    role: Roles = None,
    category: Categories = None,
    branch: BranchNumber = None,
    active: Active = None,
) -> MessageWindow:
    """List consecutive messages.

    They begin at the start, unless `around`, `before` or `after` is given. `before` and `after` in the
    response continue in both directions. Windows of very long messages may be shorter than `limit`, but are
    never empty if there is anything to return.

    A result is shown with its call. With `role=tool_result` each result is a message of its own, as in spec
    003: it has the `index` of the message with which it is shown and, as its parent, the call. The results of
    one message are in one window, even if there are more than `limit`.
    """
    session = get_session(store, visible, id, visit)
    counted = store.find_usage_version(visible, session.key)
    check_unchanged(request, session.key, session.revision, counted)
    where = build_filter(lane, role, category, branch, active)
    asked = Asked(source, agent, around, before, after, limit)
    found = ask_window(store, visible, session.key, asked, where, has_results=True)
    items = view_window(store, visible, session, found.rows, found.anchor, found.chapter)
    above = items[0].index if items else found.at
    below = items[-1].index + 1 if items else found.at
    return MessageWindow(
        items=items,
        total=found.chapter.count(),
        before=str(above) if found.chapter.list_before(above, 1) else None,
        after=str(below - 1) if found.chapter.list_after(below, 1) else None,
        revision=session.revision,
    )


@get("/api/sessions/{id:str}/messages/{index:int}/raw", sync_to_thread=True, media_type="application/x-ndjson")
def get_raw_message(
    request: Request[Any, Any, Any],
    id: NamedSession,
    index: Counted,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    source: Source = None,
) -> Response[Any]:
    """Return the lines of a message, and those folded into it, byte for byte."""
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    rows = store.list_at(visible, session.key, [index], source=source)
    if not rows:
        raise NotFoundError("There is no such message")
    places = rows[0].lines
    size = sum(length + 1 for length in store.measure_lines(visible, places))
    return send_pieces(_read_raw(store, visible, places), size, "application/x-ndjson")


def _read_raw(store: Store, scope: Scope, places: tuple[Place, ...]) -> Iterator[bytes]:
    for first in range(0, len(places), _AT_ONCE):
        for line in store.read_lines(scope, places[first : first + _AT_ONCE]):
            yield line + b"\n"


HANDLERS = (list_messages, get_raw_message)
