"""`/api/sessions/{id}/messages`: windows of a conversation, and the bytes behind a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from litestar import Request, Response, get
from litestar.params import QueryParameter

from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import InvalidRequestError, NotFoundError
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_session
from turnlog.server.parameters import FROM_ZERO, LARGEST, Counted, NamedSession, Source
from turnlog.server.sending import send_pieces
from turnlog.server.shapes.messages import MessageWindow
from turnlog.server.views.walks import Chapter, find_chapter, find_window
from turnlog.server.views.windows import view_window
from turnlog.store.identity import Place, Scope
from turnlog.store.interface import Store
from turnlog.store.windows import MessageFilter
from turnlog.transcripts.conversation.message import Lane
from turnlog.transcripts.lines.categories import Category, Role

__all__ = ["HANDLERS", "get_raw_message", "list_messages"]

_AT_ONCE = 100
"""Lines of a message that are read together, when its raw lines are asked for."""


@get("/api/sessions/{id:str}/messages", sync_to_thread=True)
def list_messages(
    request: Request[Any, Any, Any],
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    source: Source = None,
    agent: Annotated[
        str | None,
        QueryParameter(max_length=200, description="The id of the sub-agent whose messages they are."),
    ] = None,
    around: Annotated[
        str | None,
        QueryParameter(
            max_length=200,
            description="The middle of the window: a message's uuid or index, or `end`. A uuid is looked for "
            "in all files of the session, unless one is given.",
        ),
    ] = None,
    before: Annotated[
        int | None,
        QueryParameter(
            ge=0,
            le=LARGEST,
            description="Only messages above this index: `before` of a window.",
            schema_extra=FROM_ZERO,
        ),
    ] = None,
    after: Annotated[
        int | None,
        QueryParameter(ge=-1, le=LARGEST, description="Only messages below this index: `after` of a window."),
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=200, description="The most messages.")] = 100,
    lane: Annotated[
        list[Lane] | None,
        QueryParameter(max_items=20, description="What is said, what is done, what sub-agents say."),
    ] = None,
    role: Annotated[
        list[Role] | None, QueryParameter(max_items=20, description="What they are in the conversation.")
    ] = None,
    category: Annotated[
        list[Category] | None, QueryParameter(max_items=20, description="The sort of action or event.")
    ] = None,
    branch: Annotated[
        int | None,
        QueryParameter(
            ge=0, le=LARGEST, description="The number of a branch of the tree.", schema_extra=FROM_ZERO
        ),
    ] = None,
    active: Annotated[
        bool | None, QueryParameter(description="Whether they are on the way to the newest message.")
    ] = None,
) -> MessageWindow:
    """List messages next to each other.

    They begin at the start, unless `around`, `before` or `after` says where. `before` and `after` of the answer
    go on in both directions. Windows of very long messages may be shorter than `limit`, but are never empty
    where there is something.
    """
    if sum(each is not None for each in (around, before, after)) > 1:
        raise InvalidRequestError("Only one of around, before and after can be given")
    if source is not None and agent is not None:
        raise InvalidRequestError("Only one of source and agent can be given")
    session = get_session(store, visible, id)
    check_unchanged(request, session.key, session.revision)
    where = MessageFilter(
        lanes=_words(lane), roles=_words(role), categories=_words(category), branch=branch, active=active
    )
    chapter = find_chapter(Chapter(store, visible, session.key, source, where), agent)
    found = find_window(chapter, around, before, after, limit)
    items = view_window(store, visible, session, found.rows, found.anchor)
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
    source: Source = None,
) -> Response[Any]:
    """Return the lines that a message is made of, byte for byte, and those that are folded into it."""
    session = get_session(store, visible, id)
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


def _words(given: list[Any] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(each.value for each in given)


HANDLERS = (list_messages, get_raw_message)
