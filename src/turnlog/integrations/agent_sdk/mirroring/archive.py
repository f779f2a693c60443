"""What the archive has of the sessions that the Agent SDK asks for, by project and id.

The SDK's name for a project is that of its folder. Of a session, its lines are wanted as they stand in Claude
Code's own file; where a mirror goes on behind that, those of both, each once. What was only streamed has no
such lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from turnlog.ingest.captured_files import list_mains
from turnlog.integrations.agent_sdk.mirroring.entries import (
    METADATA,
    REMARKS,
    Entry,
    add_missing,
    decode_entries,
    insert_remarks,
)
from turnlog.store.interface import KnownSession, KnownSource, Store, find_known, find_sessions
from turnlog.store.model import LOCAL, Place, SourceKind
from turnlog.transcripts.files.captures import CaptureKind, split_capture

_SUFFIX = ".jsonl"


class ArchivedSessions:
    """The sessions of one archive, while it is open."""

    def __init__(self, store: Store, origin: str) -> None:
        """Take whose sessions are meant: those of one machine."""
        self._store = store
        self._origin = origin

    def find(self, project: str, session_id: str) -> KnownSession | None:
        """Return a session; of several with one id, the one that is told in this project's folder."""
        keys = [each.key for each in find_sessions(self._store, LOCAL, session_id)]
        named = (session for key in keys if (session := find_known(self._store, LOCAL, key)) is not None)
        found = (each for each in named if each.session_id == session_id and _is_in(each, project))
        others = (each for each in self.list_project(project) if each.session_id == session_id)
        return next(found, None) or next(others, None)

    def list_project(self, project: str) -> Iterator[KnownSession]:
        """Yield the sessions of a project that have lines as Claude Code writes them."""
        for session in self._store.list_known(LOCAL, self._origin):
            if _is_in(session, project) and _list_told(session):
                yield session

    def read(self, session: KnownSession, subpath: str | None) -> list[Entry] | None:
        """Return the entries of a session or of what lies in its folder; None if there is nothing like it."""
        told = _list_told(session) if subpath is None else _list_inside(session).get(subpath, [])
        if not told:
            return None
        first, *others = (self._read_told(session, source) for source in told)
        for entries in others:
            first = add_missing(first, entries)
        return first

    def read_source(self, source: KnownSource, start: int = 0) -> list[Entry]:
        """Return the entries of one file, from a byte on to the end of its last whole line."""
        at = Place(source.source, source.generation, start)
        length = (source.consumed if source.kind.has_lines else source.length) - start
        return decode_entries(self._store.archive.read(LOCAL, at, length)) if length > 0 else []

    def list_subpaths(self, session: KnownSession) -> list[str]:
        """Return what else has lines in a session's folder."""
        return sorted(_list_inside(session))

    def find_only(self, session: KnownSession) -> KnownSource | None:
        """Return the one file that all entries of a session come from; None if there are several."""
        told = _list_told(session)
        return told[0] if len(told) == 1 else None

    def _read_told(self, session: KnownSession, source: KnownSource) -> list[Entry]:
        """Return the entries of a file, with what is said of a sub-agent beside it."""
        entries = self.read_source(source)
        beside = {each.path: each for each in session.sources}
        name = source.path.removesuffix(_SUFFIX)
        noted = beside.get(f"{name}{REMARKS}")
        if noted is not None:
            return insert_remarks(entries, self.read_source(noted))
        meta = beside.get(f"{name}.meta.json")
        found = [] if meta is None else self.read_source(meta)
        return [*({**each, "type": METADATA} for each in found[:1]), *entries]


def _is_in(session: KnownSession, project: str) -> bool:
    folders = {PurePath(each.path).parent.name for each in list_mains(session)}
    return project in folders | {session.project_folder}


def _list_told(session: KnownSession) -> list[KnownSource]:
    """Return the files that have lines as Claude Code writes them, the one that tells the most first."""
    mains = [each for each in list_mains(session) if _capture_of(each) is not CaptureKind.STREAM]
    return sorted(mains, key=lambda each: (each.kind is not SourceKind.TRANSCRIPT, not each.present))


def _list_inside(session: KnownSession) -> Mapping[str, list[KnownSource]]:
    """Return the files of lines in the folders of a session, by their paths there without the suffix."""
    names = {session.session_id, *(f"{session.session_id}.{kind}" for kind in CaptureKind)}
    found: dict[str, list[KnownSource]] = {}
    for source in sorted(session.sources, key=lambda each: each.kind is SourceKind.CAPTURE):
        path = PurePath(source.path)
        folder = next((parent for parent in path.parents if parent.name in names), None)
        if folder is not None and path.suffix == _SUFFIX:
            found.setdefault(path.relative_to(folder).with_suffix("").as_posix(), []).append(source)
    return found


def _capture_of(source: KnownSource) -> CaptureKind | None:
    return split_capture(PurePath(source.path).stem)[1]
