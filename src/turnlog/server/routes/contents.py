"""Bytes out of transcripts: images, and results that have files of their own."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get
from msgspec.structs import replace

from turnlog.messages import Line, decode
from turnlog.server.auditing import GivenVisit
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import NotFoundError
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_session
from turnlog.server.parameters import Counted, NamedSession, NamedSource
from turnlog.server.security.callers import CallerKind
from turnlog.server.sending import send_pieces
from turnlog.server.views.images import find_picture
from turnlog.store.interface import KnownSource, Store, find_known, read_all
from turnlog.store.model import Place, Scope, SourceKind
from turnlog.transcripts.queries.bodies import decode_lines

_AT_ONCE = 256 << 10
"""Bytes that are read first of a line whose end is not known."""


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
    key = get_session(store, visible, id, visit).key
    _get_source(store, visible, key, source)
    try:
        line = _read_line(store, visible, key, Place(source, generation, offset))
    except KeyError:
        raise NotFoundError("Those lines no longer exist") from None
    picture = find_picture(line, number)
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
    known = _get_source(store, visible, get_session(store, visible, id, visit).key, source)
    if known.kind is not SourceKind.TOOL_RESULT:
        raise NotFoundError("There is no such result")
    check_unchanged(request, known.generation, known.length)
    pieces = read_all(store.archive, visible, source, known.generation)
    return send_pieces(pieces, known.length, "text/plain")


def _get_source(store: Store, scope: Scope, key: str, source: str) -> KnownSource:
    """Return a file of a session: nothing else can be reached from its address."""
    known = find_known(store, scope, key)
    for each in () if known is None else known.sources:
        if each.source == source:
            return each
    raise NotFoundError("There is no such file")


def _read_line(store: Store, scope: Scope, key: str, at: Place) -> Line:
    """Return the line at a place; raises `KeyError` where none begins.

    A file that was rewritten has another generation. Of the ones before there is nothing but bytes, so there a
    line goes as far as its newline.
    """
    with store.open_session(scope, key) as session:
        for file in session.files:
            if (file.source, file.facts.generation) == (at.source, at.generation):
                record = file.find_line(at.offset)
                if record is None:
                    raise KeyError(at)
                return decode_lines(file, [record.number])[record.number]
    end = dict(store.archive.list_generations(scope, at.source))[at.generation]
    if at.offset and store.archive.read(scope, replace(at, offset=at.offset - 1), 1) != b"\n":
        raise KeyError(at)
    data, found = b"", -1
    while found < 0 and at.offset + len(data) < end:
        length = min(max(len(data), _AT_ONCE), end - at.offset - len(data))
        data += store.archive.read(scope, replace(at, offset=at.offset + len(data)), length)
        found = data.find(b"\n", len(data) - length)
    return decode(data if found < 0 else data[:found])


HANDLERS = (get_image, get_tool_result)
