"""Windows of messages, and bytes out of transcripts: raw lines, images, tool results and captures.

Bytes are untrusted: a page may use them only as pictures. What is long is sent in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from litestar import Response, get
from litestar.di import NamedDependency, Provide
from litestar.params import SkipValidation
from litestar.response import Stream
from msgspec import Struct
from msgspec.structs import replace

from turnlog.ingest.captured_files import is_capture, kind_of_capture
from turnlog.messages import Line, decode
from turnlog.server.audit import GivenSession, RequestedSession
from turnlog.server.errors import NotFoundError
from turnlog.server.messages import MessageWindow, find_image
from turnlog.server.requests import Categories, NamedSource, Source, ZeroBased, integer, query
from turnlog.server.security.callers import LINKED, CallerKind
from turnlog.server.security.gate import UNTRUSTED_POLICY
from turnlog.server.windows import WindowQuery, find_window, view_window
from turnlog.store.interface import KnownSource, find_known, read_all
from turnlog.store.model import Place, SourceKind
from turnlog.transcripts.conversation.messages import Lane
from turnlog.transcripts.kinds import Role
from turnlog.transcripts.queries.chapters import MessageFilter
from turnlog.transcripts.queries.threads import decode_lines
from turnlog.transcripts.session_files import path_text

_WHOLE = 4 << 20
"""What is longer is never in memory as a whole."""
_NO_HEADERS: Mapping[str, str] = {}


def _send_pieces(
    pieces: Iterator[bytes], size: int, media_type: str, headers: Mapping[str, str] = _NO_HEADERS
) -> Response[Any]:
    """Return bytes of a known size: at once, or piece by piece if they are many."""
    shown = media_type.startswith("image/") or media_type == "application/x-ndjson"
    every = {
        "content-security-policy": UNTRUSTED_POLICY,
        "content-disposition": "inline" if shown else "attachment",
        **headers,
    }
    if size <= _WHOLE:
        return Response(b"".join(pieces), media_type=media_type, headers=every)
    # Of a stream, Litestar would say what the route says.
    told = {"content-type": media_type, "content-length": str(size)}
    return Stream(pieces, headers={**every, **told})


def _build_window(
    source: Source = None,
    agent: Annotated[str | None, query("The id of a sub-agent, for its messages.", max_length=200)] = None,
    around: Annotated[
        str | None,
        query(
            "The middle of the window: a message's uuid or index, or `end`. A uuid is searched for "
            "in all files of the session, unless one is given.",
            max_length=200,
        ),
    ] = None,
    before: Annotated[int | None, integer("Only messages above this index: `before` of a window.")] = None,
    after: Annotated[
        int | None, integer("Only messages below this index: `after` of a window.", least=-1)
    ] = None,
    limit: Annotated[int, integer("The maximum number of messages.", least=1, most=200)] = 100,
    lane: Annotated[
        list[Lane] | None,
        query("`main` for the conversation, `tool` for actions, `agent` for sub-agents.", max_items=20),
    ] = None,
    role: Annotated[list[Role] | None, query("Their role in the conversation.", max_items=20)] = None,
    category: Categories = None,
    branch: Annotated[int | None, integer("The number of a branch of the tree.")] = None,
    active: Annotated[bool | None, query("Whether they are on the way to the newest message.")] = None,
) -> tuple[WindowQuery, MessageFilter]:
    where = MessageFilter(
        lanes=_list_words(lane),
        roles=_list_words(role),
        categories=_list_words(category),
        branch=branch,
        active=active,
    )
    return WindowQuery(source, agent, around, before, after, limit), where


def _list_words(given: Sequence[StrEnum] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(each.value for each in given)


WINDOW: Mapping[str, Provide] = {"window": Provide(_build_window, sync_to_thread=False)}
GivenWindow = NamedDependency[SkipValidation[tuple[WindowQuery, MessageFilter]]]
"""Parameter `window`: which messages are asked for, of a route that has the dependencies `WINDOW`."""


@get("/api/sessions/{id:str}/messages", opt=LINKED, dependencies=WINDOW, sync_to_thread=True)
def list_messages(
    requested: GivenSession,
    window: GivenWindow,
) -> MessageWindow:
    """List consecutive messages.

    They begin at the start, unless `around`, `before` or `after` is given. `before` and `after` in the
    response continue in both directions. Windows of very long messages may be shorter than `limit`, but are
    never empty if there is anything to return.

    A result is shown with its call. With `role=tool_result` each result is a message of its own, as in spec
    003: it has the `index` of the message with which it is shown and, as its parent, the call. The results of
    one message are in one window, even if there are more than `limit`.
    """
    session = requested.get()
    with requested.store.open_session(requested.visible, session.key) as opened:
        # Of the same state, and at once.
        counted = requested.store.read_usage(requested.visible).find_version(session.key)
        requested.check_unchanged(session.key, session.revision, counted)
        found = find_window(opened, *window, has_results=True)
        items = view_window(requested.store, requested.visible, session, found)
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
    requested: GivenSession,
    index: ZeroBased,
    source: Source = None,
) -> Response[Any]:
    """Return the lines of a message, and those folded into it, byte for byte."""
    with requested.open() as (_, opened):
        chapter = opened.find_chapter(source)
        rows = [] if chapter is None else chapter.list_at([index])
        if chapter is None or not rows:
            raise NotFoundError("There is no such message")
        lines = [chapter.get_line(number) for number in rows[0].lines]
        # Clients may read slowly: the lines are read as they are sent, and the session is closed by then.
        places = [(Place(chapter.source, chapter.facts.generation, line.offset), line.length) for line in lines]
    pieces = (requested.store.archive.read(requested.visible, *place) + b"\n" for place in places)
    return _send_pieces(pieces, sum(length + 1 for _, length in places), "application/x-ndjson")


_AT_ONCE = 256 << 10
"""Bytes that are read first of a line whose end is not known."""


@get(
    "/api/sessions/{id:str}/images/{source:str}/{generation:int}/{offset:int}/{number:int}",
    sync_to_thread=True,
    media_type="*/*",
)
def get_image(
    requested: GivenSession,
    source: NamedSource,
    generation: ZeroBased,
    offset: ZeroBased,
    number: ZeroBased,
) -> Response[Any]:
    """Return the bytes of an image in a line; `href` of an image is its address.

    PNG, JPEG, GIF and WebP are sent with their media type, anything else as plain bytes.
    """
    key = requested.get().key
    _get_source(requested, key, source)
    try:
        line = _read_line(requested, key, Place(source, generation, offset))
    except KeyError:
        raise NotFoundError("Those lines no longer exist") from None
    picture = find_image(line, number)
    if picture is None:
        raise NotFoundError("There is no such image")
    # A line never changes, and its place names it for good; but where there are people, who sees it may.
    alone = requested.caller.kind is CallerKind.OPERATOR
    cache = {"cache-control": "private, max-age=31536000, immutable" if alone else "no-store"}
    return _send_pieces(iter((picture.data,)), len(picture.data), picture.media_type, cache)


@get("/api/sessions/{id:str}/tool-results/{source:str}", sync_to_thread=True, media_type="text/plain")
def get_tool_result(
    requested: GivenSession,
    source: NamedSource,
) -> Response[Any]:
    """Return a result that Claude Code wrote to a separate file, byte for byte."""
    known = _get_source(requested, requested.get().key, source)
    if known.kind is not SourceKind.TOOL_RESULT:
        raise NotFoundError("There is no such result")
    return _send_source(requested, known, "text/plain")


def _send_source(requested: RequestedSession, source: KnownSource, media_type: str) -> Response[Any]:
    requested.check_unchanged(source.generation, source.length)
    pieces = read_all(requested.store.archive, requested.visible, source.source, source.generation)
    return _send_pieces(pieces, source.length, media_type)


def _get_source(requested: RequestedSession, key: str, source: str) -> KnownSource:
    """Return a file of a session: nothing else can be reached from its address."""
    for each in _list_sources(requested, key):
        if each.source == source:
            return each
    raise NotFoundError("There is no such file")


def _list_sources(requested: RequestedSession, key: str) -> Sequence[KnownSource]:
    known = find_known(requested.store, requested.visible, key)
    return () if known is None else known.sources


def _read_line(requested: RequestedSession, key: str, at: Place) -> Line:
    """Return the line at a place; raises `KeyError` where none begins.

    A file that was rewritten has another generation. Of the ones before there is nothing but bytes, so there a
    line goes as far as its newline.
    """
    store, scope = requested.store, requested.visible
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


class CapturedFile(Struct, frozen=True, gc=False, kw_only=True):
    """A captured file with lines of the session."""

    source: str
    kind: str
    """`stream`, `mirror`, or `file` for Claude Code's own file where a mirror has more."""
    path: str
    present: bool
    """Whether the original file still exists."""
    lines: int
    bytes: int
    provides_messages: bool
    """Whether the session's messages come from it."""
    href: str
    """Where its lines are."""


class CapturedFiles(Struct, frozen=True, gc=False, kw_only=True):
    """All of them."""

    items: tuple[CapturedFile, ...]
    revision: int


@get("/api/sessions/{id:str}/captures", sync_to_thread=True)
def list_captures(requested: GivenSession) -> CapturedFiles:
    """List the captures of a session: its stream with control traffic, or a mirror of its file."""
    session = requested.get_unchanged()
    sources = _list_sources(requested, session.key)
    items = tuple(_view(session.key, source) for source in sources if is_capture(source))
    return CapturedFiles(items=items, revision=session.revision)


@get("/api/sessions/{id:str}/captures/{source:str}", sync_to_thread=True, media_type="application/x-ndjson")
def get_capture(
    requested: GivenSession,
    source: NamedSource,
) -> Response[Any]:
    """Return the lines of a captured file, byte for byte."""
    found = _list_sources(requested, requested.get().key)
    known = next((each for each in found if each.source == source and is_capture(each)), None)
    if known is None:
        raise NotFoundError("There is no such capture")
    return _send_source(requested, known, "application/x-ndjson")


def _view(key: str, source: KnownSource) -> CapturedFile:
    return CapturedFile(
        source=source.source,
        kind=kind_of_capture(source),
        path=path_text(source.path),
        present=source.present,
        lines=source.lines,
        bytes=source.length,
        provides_messages=source.kind is not SourceKind.CAPTURE,
        href=f"/api/sessions/{key}/captures/{source.source}",
    )
