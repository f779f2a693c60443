"""`/api/search`: anything that was ever said. A search ends when whoever asked is gone."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from litestar import Request, get
from litestar.params import QueryParameter

from turnlog.errors import SearchCancelledError
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import RequestError
from turnlog.server.shapes.search import Hit, Hits, Mark
from turnlog.server.views.escapes import strip_escapes
from turnlog.server.views.limits import head_of, say, sayable
from turnlog.server.views.moments import moment
from turnlog.store.search.hits import Hit as Found
from turnlog.store.search.hits import SearchOrder, SearchPage
from turnlog.store.search.parsing import LONGEST, parse_query

__all__ = ["HANDLERS", "search"]

_PATIENCE = 30.0
"""Seconds; a scan of everything takes a few on a large archive."""


@get("/api/search")
async def search(
    request: Request[Any, Any, Any],
    store: GivenStore,
    visible: GivenScope,
    q: Annotated[
        str, QueryParameter(min_length=1, max_length=LONGEST, description="As docs/search.md describes it.")
    ],
    order: Annotated[SearchOrder, QueryParameter(description="In which order.")] = SearchOrder.NEWEST,
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="The most hits.")] = 20,
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="Where to go on: `next` of the answer before.")
    ] = None,
    typing: Annotated[bool, QueryParameter(description="Whether the last word may go on.")] = False,
) -> Hits:
    """Find passages, each with its exact message."""
    query = parse_query(q, typing=typing)
    gone, deadline = threading.Event(), time.monotonic() + _PATIENCE
    ask = partial(
        store.search,
        visible,
        query,
        order=order,
        limit=limit,
        cursor=cursor,
        cancelled=lambda: gone.is_set() or time.monotonic() > deadline,
    )
    # No task group: it would wrap whatever the search raises.
    watch = asyncio.create_task(_notice_leaving(request, gone))
    try:
        return _view_page(await to_thread.run_sync(ask, abandon_on_cancel=True))
    except SearchCancelledError:
        raise RequestError(503, "too_slow", "The search took too long; narrow it down") from None
    finally:
        gone.set()
        watch.cancel()


async def _notice_leaving(request: Request[Any, Any, Any], gone: threading.Event) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()


def _view_page(page: SearchPage) -> Hits:
    return Hits(items=tuple(map(_view, page.hits)), next=page.next, unreadable=page.unreadable)


def _view(hit: Found) -> Hit:
    snippet = strip_escapes(hit.snippet)
    return Hit(
        kind=hit.kind,
        session=hit.session,
        session_id=sayable(hit.session_id),
        project=say(hit.project),
        title=None if hit.title is None else head_of(hit.title),
        source=hit.source,
        message=hit.message,
        message_uuid=say(hit.message_id),
        call=hit.call,
        tool=say(hit.tool),
        role=hit.role,
        model=say(hit.model),
        agent_id=say(hit.agent_id),
        is_error=hit.is_error,
        created_at=moment(hit.time),
        snippet=sayable(snippet.text),
        marks=tuple(Mark(start=start, end=end) for start, end in snippet.marks),
    )


HANDLERS = (search,)
