"""`/api/sessions/{id}/captures`: what was captured of a session besides its transcript."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get

from turnlog.ingest.captured_files import is_capture, kind_of_capture
from turnlog.server.auditing import GivenVisit
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import NotFoundError
from turnlog.server.etags import check_unchanged
from turnlog.server.finding import get_session
from turnlog.server.parameters import NamedSession, NamedSource
from turnlog.server.sending import send_pieces
from turnlog.server.shapes.captures import CapturedFile, CapturedFiles
from turnlog.store.interface import KnownSource, Store, find_known, read_all
from turnlog.store.model import Scope, SourceKind
from turnlog.transcripts.files.session_files import path_text


@get("/api/sessions/{id:str}/captures", sync_to_thread=True)
def list_captures(
    request: Request[Any, Any, Any], id: NamedSession, store: GivenStore, visible: GivenScope, visit: GivenVisit
) -> CapturedFiles:
    """List the captures of a session: its stream with control traffic, or a mirror of its file."""
    session = get_session(store, visible, id, visit)
    check_unchanged(request, session.key, session.revision)
    items = tuple(_view(session.key, source) for source in _list_sources(store, visible, session.key))
    return CapturedFiles(items=items, revision=session.revision)


@get("/api/sessions/{id:str}/captures/{source:str}", sync_to_thread=True, media_type="application/x-ndjson")
def get_capture(
    request: Request[Any, Any, Any],
    id: NamedSession,
    source: NamedSource,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
) -> Response[Any]:
    """Return the lines of a captured file, byte for byte."""
    found = _list_sources(store, visible, get_session(store, visible, id, visit).key)
    known = next((each for each in found if each.source == source), None)
    if known is None:
        raise NotFoundError("There is no such capture")
    check_unchanged(request, known.generation, known.length)
    pieces = read_all(store.archive, visible, source, known.generation)
    return send_pieces(pieces, known.length, "application/x-ndjson")


def _list_sources(store: Store, scope: Scope, key: str) -> list[KnownSource]:
    known = find_known(store, scope, key)
    return [] if known is None else [source for source in known.sources if is_capture(source)]


def _view(key: str, source: KnownSource) -> CapturedFile:
    return CapturedFile(
        source=source.source,
        kind=kind_of_capture(source),
        path=path_text(source.path),
        present=source.present,
        lines=source.lines,
        bytes=source.length,
        tells=source.kind is not SourceKind.CAPTURE,
        href=f"/api/sessions/{key}/captures/{source.source}",
    )


HANDLERS = (list_captures, get_capture)
