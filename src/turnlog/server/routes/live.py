"""`/api/live`: what happens, while it happens."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, get
from litestar.datastructures import ResponseHeader
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import QueryParameter, SkipValidation
from litestar.response import Stream

from turnlog.server.dependencies import GivenScope
from turnlog.server.live.hub import LiveHub
from turnlog.server.live.listening import build_listener
from turnlog.server.security.callers import GivenCaller
from turnlog.server.security.guard import Doors
from turnlog.server.security.policies import LINKED
from turnlog.server.shapes.live import ChangeEvent

__all__ = ["HANDLERS", "open_stream"]

_TYPE = "text/event-stream"


@get(
    "/api/live",
    opt=LINKED,
    media_type=_TYPE,
    response_headers=[ResponseHeader(name="x-accel-buffering", value="no")],
    responses={200: ResponseSpec(ChangeEvent, media_type=_TYPE, description="A stream that does not end.")},
)
async def open_stream(
    request: Request[Any, Any, Any],
    live: NamedDependency[SkipValidation[LiveHub]],
    caller: GivenCaller,
    visible: GivenScope,
    doors: NamedDependency[SkipValidation[Doors]],
    last_event_id: Annotated[
        str | None,
        QueryParameter(
            max_length=200, description="The id of the last event that was seen, if no header says it."
        ),
    ] = None,
) -> Stream:
    """Tell what happens, as server-sent events.

    Begins with `hello`; `change` tells of an entry of the feed, `state` of a session that went to another
    column of mission control, `sync` how far the archive is up to date, and `reset` that the client missed more
    than can be told. Everybody is told what they may see, and nothing else. Goes on behind `Last-Event-ID`.
    docs/live.md says more.
    """
    last = request.headers.get("last-event-id", last_event_id)
    return Stream(await live.open(last, visible, build_listener(request, caller, doors)), media_type=_TYPE)


HANDLERS = (open_stream,)
