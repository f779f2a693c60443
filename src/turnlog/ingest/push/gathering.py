"""What is new of a session's files, compared with what a server has of them, as an upload.

Files are compared by the rules of any sync. Of what is new no more than a stretch is read; the rest is for the
next upload, which is compared anew. So a file that changes between two of them is noticed as always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from turnlog.ingest.kinds import Match, find_transcript
from turnlog.ingest.uploads.protocol import (
    STRETCH,
    SessionUpload,
    Stretch,
    digest_of,
    name_bytes,
)
from turnlog.ingest.visits import Visit, visit
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.model import name_source
from turnlog.transcripts.files.fingerprints import Change
from turnlog.transcripts.files.session_files import Obstacle, ObstacleKind, SessionFiles

VisitFile = Callable[[Match, str, int], Visit]
"""Compares a file, by the name of its source, with what is known of it, to read so many bytes at once."""

_MOST_FILES = 500
"""How many files are told of at once."""


class About(Struct, frozen=True):
    """Which session it is."""

    transcript: str
    session_id: str
    project_folder: str


class Gathered(Struct, frozen=True):
    """What is new of a session."""

    upload: SessionUpload | None
    """None if nothing is."""
    size: int = 0
    """How many bytes of files are in it."""
    obstacles: tuple[Obstacle, ...] = ()


def visit_here(match: Match, source: str, limit: int) -> Visit:
    """Visit a file where it is."""
    return visit(match.path, source, match.known, chunk=limit)


def describe(files: SessionFiles) -> About:
    """Return which session some files are of."""
    return About(find_transcript(files), files.session_id, files.project_folder)


def gather(
    about: About,
    matches: Sequence[Match],
    missing: Sequence[KnownSource],
    known: KnownSession | None,
    *,
    origin: str,
    limit: int = STRETCH,
    tells_gone: bool = True,
    visit_file: VisitFile = visit_here,
) -> Gathered:
    """Return what is new of a session, up to about `limit` bytes.

    `matches` are its files, and `missing` are sources that none of them is (`match_known`). Those are told of
    as gone with the last part, unless that is left to a later look.
    """
    gathering = _Gathering(origin, limit, visit_file)
    has_more = not gathering.take(matches)
    gone = [*gathering.gone, *(source.source for source in missing if source.present)]
    gone = gone if tells_gone and not has_more else []
    if not gathering.stretches and not gone:
        return Gathered(None, 0, tuple(gathering.obstacles))
    upload = SessionUpload(
        revision=0 if known is None else known.revision,
        key="" if known is None else known.key,
        transcript=name_bytes(about.transcript),
        session_id=name_bytes(about.session_id),
        project_folder=name_bytes(about.project_folder),
        sources=tuple(gathering.stretches),
        gone=tuple(gone),
        has_more=has_more,
    )
    return Gathered(upload, gathering.size, tuple(gathering.obstacles))


def tell_gone(known: KnownSession) -> SessionUpload:
    """Return that all files of a session are gone."""
    home = next((source.path for source in known.sources if source.source == known.key), "")
    return SessionUpload(
        revision=known.revision,
        key=known.key,
        transcript=name_bytes(home),
        session_id=name_bytes(known.session_id),
        project_folder=name_bytes(known.project_folder),
        gone=tuple(source.source for source in known.sources if source.present),
    )


class _Gathering:
    def __init__(self, origin: str, limit: int, visit_file: VisitFile) -> None:
        self._origin = origin
        self._limit = limit
        self._visit_file = visit_file
        self.stretches: list[Stretch] = []
        self.gone: list[str] = []
        self.obstacles: list[Obstacle] = []
        self.size = 0

    def take(self, matches: Sequence[Match]) -> bool:
        """Visit files until there is enough; tell whether all that is new was read."""
        for match in matches:
            if self.size >= self._limit or len(self.stretches) >= _MOST_FILES:
                return False
            if not self._visit(match):
                return False
        return True

    def _visit(self, match: Match) -> bool:
        known, name = match.known, name_source(self._origin, match.path)
        limit = self._limit - self.size
        found = self._visit_file(match, name if known is None else known.source, limit)
        if known is not None and match.moved and found.generation != known.generation:
            found.close()
            if known.present:
                self.gone.append(known.source)  # another file has its inode by now
            known = None
            found = self._visit_file(_forget(match), name, limit)
        with closing(found):
            return self._read(match, known, found)

    def _read(self, match: Match, known: KnownSource | None, found: Visit) -> bool:
        """Take a stretch of one file; tell whether that is all that is new of it."""
        if found.change is Change.VANISHED:
            if known is not None and known.present:
                self.gone.append(known.source)
            return True
        if found.change is Change.UNREADABLE:
            self.obstacles.append(Obstacle(Path(match.path), ObstacleKind.UNREADABLE, found.reason))
            return True
        if found.change is Change.UNCHANGED and known is not None and _is_same(match, known):
            return True
        status, start, is_whole = found.checkpoint, found.start, True
        data = b""
        if found.change is not Change.UNCHANGED:
            data = next(iter(found), b"")
            is_whole = not found.has_more or not data
        assert status is not None
        if found.reason:
            self.obstacles.append(Obstacle(Path(match.path), ObstacleKind.UNREADABLE, found.reason))
        self.size += len(data)
        self.stretches.append(
            Stretch(
                path=name_bytes(match.path),
                kind=match.kind,
                change=found.change,
                generation=found.generation,
                start=start,
                data=data,
                digest=digest_of(data),
                size=status.size,
                modified_ns=status.modified_ns,
                inode=status.inode,
                device=status.device,
                source="" if known is None else known.source,
                follows=_find_fingerprint(known, found),
                agent_id=None if match.agent_id is None else name_bytes(match.agent_id),
                run_id=None if match.run_id is None else name_bytes(match.run_id),
            )
        )
        return is_whole


def _is_same(match: Match, known: KnownSource) -> bool:
    return known.present and known.path == match.path and known.kind is match.kind


def _forget(match: Match) -> Match:
    return Match(match.path, match.kind, match.agent_id, match.run_id, None)


def _find_fingerprint(known: KnownSource | None, found: Visit) -> str:
    if known is None or known.checkpoint is None or found.generation != known.generation:
        return ""
    return known.checkpoint.fingerprint
