"""Bytes out of transcripts: images, and results that have files of their own."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get

from turnlog.server.auditing import GivenVisit, Visit
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import NotFoundError
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_session
from turnlog.server.parameters import Counted, NamedSession, NamedSource
from turnlog.server.security.callers import CallerKind
from turnlog.server.sending import send_pieces
from turnlog.server.views.images import find_picture
from turnlog.server.views.windows import read_places
from turnlog.store.identity import Place, Scope, SourceKind
from turnlog.store.interface import KnownSource, Store

__all__ = ["HANDLERS", "get_image", "get_tool_result"]


@get(
    "/api/sessions/{id:str}/images/{source:str}/{generation:int}/{offset:int}/{number:int}",
    sync_to_thread=True,
    media_type="*/*",
)
def get_image(
    id: NamedSession,
    source: NamedSource,
    generation: Counted,
    offset: Counted,
    number: Counted,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
) -> Response[Any]:
    """Return the bytes of an image in a line; `href` of an image is its address.

    PNG, JPEG, GIF and WebP are sent with their media type, anything else as plain bytes.
    """
    _get_source(store, visible, id, source, visit)
    place = Place(source, generation, offset)
    picture = find_picture(read_places(store, visible, [place])[place], number)
    if picture is None:
        raise NotFoundError("There is no such image")
    # A line never changes, and its place names it for good; but where there are people, who sees it may.
    alone = visit.caller.kind is CallerKind.OPERATOR
    cache = {"cache-control": "private, max-age=31536000, immutable" if alone else "no-store"}
    return send_pieces(iter((picture.data,)), len(picture.data), picture.media_type, cache)


@get("/api/sessions/{id:str}/tool-results/{source:str}", sync_to_thread=True, media_type="text/plain")
def get_tool_result(
    request: Request[Any, Any, Any],
    id: NamedSession,
    source: NamedSource,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
) -> Response[Any]:
    """Return a result that Claude Code wrote to a separate file, byte for byte."""
    known = _get_source(store, visible, id, source, visit)
    if known.kind is not SourceKind.TOOL_RESULT:
        raise NotFoundError("There is no such result")
    check_unchanged(request, known.generation, known.length)
    pieces = store.archive.read_all(visible, source, known.generation)
    return send_pieces(pieces, known.length, "text/plain")


def _get_source(store: Store, scope: Scope, id: str, source: str, visit: Visit) -> KnownSource:
    """Return a file of a session: nothing else can be reached from its address."""
    known = store.find_known(scope, get_session(store, scope, id, visit).key)
    for each in () if known is None else known.sources:
        if each.source == source:
            return each
    raise NotFoundError("There is no such file")


HANDLERS = (get_image, get_tool_result)
