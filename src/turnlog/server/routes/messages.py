"""`/api/sessions/{id}/messages`: windows of a conversation, and the bytes behind a message."""

from __future__ import annotations

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
from turnlog.server.views.windows import Asked, ask_window, build_filter, view_window
from turnlog.store.model import Place


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
    where = build_filter(lane, role, category, branch, active)
    asked = Asked(source, agent, around, before, after, limit)
    with store.open_session(visible, session.key) as opened:
        counted = store.read_usage(visible).find_version(session.key)  # of the same state, and at once
        check_unchanged(request, session.key, session.revision, counted)
        found = ask_window(opened, asked, where, has_results=True)
        items = view_window(store, visible, session, found)
        above = items[0].index if items else found.at
        below = items[-1].index + 1 if items else found.at
        return MessageWindow(
            items=items,
            total=found.selection.total,
            before=str(above) if found.selection.list_before(above, 1) else None,
            after=str(below - 1) if found.selection.list_after(below, 1) else None,
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
    with store.open_session(visible, session.key) as opened:
        chapter = opened.find_chapter(source)
        rows = [] if chapter is None else chapter.list_at([index])
        if chapter is None or not rows:
            raise NotFoundError("There is no such message")
        lines = [chapter.get_line(number) for number in rows[0].lines]
        # Whoever asks may read slowly: the lines are read as they are sent, and the session is closed by then.
        places = [(Place(chapter.source, chapter.facts.generation, line.offset), line.length) for line in lines]
    pieces = (store.archive.read(visible, *place) + b"\n" for place in places)
    return send_pieces(pieces, sum(length + 1 for _, length in places), "application/x-ndjson")


HANDLERS = (list_messages, get_raw_message)
