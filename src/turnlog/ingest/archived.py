"""A session read back from the archive, whether its files are still there or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from turnlog.ingest.assembly import Part, assemble
from turnlog.ingest.contents import DERIVED_FROM, Content
from turnlog.messages import Line
from turnlog.store.identity import Scope, SourceKind
from turnlog.store.interface import Archive, KnownSession, KnownSource, Store, find_known
from turnlog.transcripts.session import Session
from turnlog.transcripts.usage.pricing import Prices

__all__ = ["find_transcript", "load_session", "read_source"]


def load_session(store: Store, scope: Scope, key: str, *, prices: Prices | None = None) -> Session:
    """Return a session as `turnlog.read` would of its files; its lines say where those were last seen.

    All of its lines are held in memory. Raises `KeyError` for a session that is not there, `ArchiveError`
    for bytes that are damaged.
    """
    known = find_known(store, scope, key)
    if known is None:
        raise KeyError(key)
    main = find_transcript(known)
    parts = [
        Part(source.path, source.kind, source.run_id, _read_back(store.archive, scope, source))
        for source in _list_sources(known, main)
    ]
    session = assemble(parts, known.project_folder, prices).session
    session.path = None if main is None else Path(main.path)
    return session


def find_transcript(known: KnownSession) -> KnownSource | None:
    """Return the session's main file; of several, the first that is still there."""
    found = [source for source in known.sources if source.kind is SourceKind.TRANSCRIPT]
    return min(found, key=lambda source: not source.present, default=None)


def read_source(archive: Archive, scope: Scope, source: KnownSource) -> list[Line]:
    """Return the lines of one file; raises `ArchiveError` for bytes that are damaged."""
    return _read_back(archive, scope, source).lines


def _list_sources(known: KnownSession, main: KnownSource | None) -> Iterator[KnownSource]:
    for source in known.sources:
        if source.kind in DERIVED_FROM and (source.kind is not SourceKind.TRANSCRIPT or source is main):
            yield source


def _read_back(archive: Archive, scope: Scope, source: KnownSource) -> Content:
    # Lines are named after the path, which is what people know.
    content = Content(source.path, source.kind)
    for piece in archive.read_all(scope, source.source, source.generation):
        content.add(piece)
    content.finish()
    return content
