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

_TYPE = "text/event-stream"


@get(
    "/api/live",
    opt=LINKED,
    media_type=_TYPE,
    response_headers=[ResponseHeader(name="x-accel-buffering", value="no")],
    responses={200: ResponseSpec(ChangeEvent, media_type=_TYPE, description="An endless stream of events.")},
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
            max_length=200, description="The id of the last event received, if it is not in the header."
        ),
    ] = None,
) -> Stream:
    """Stream what happens, as server-sent events.

    Begins with `hello`; `change` is an entry of the feed, `state` a session that moved to another column of
    mission control, `sync` how far the archive is up to date, and `reset` means that the client missed too
    much. Callers receive only what they may see. Continues after `Last-Event-ID`. docs/live.md says more.
    """
    last = request.headers.get("last-event-id", last_event_id)
    return Stream(await live.open(last, visible, build_listener(request, caller, doors)), media_type=_TYPE)


HANDLERS = (open_stream,)
