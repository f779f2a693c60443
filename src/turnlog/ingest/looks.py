"""A look at one session: all of its files compared with what is known, and all that is new as one batch.

Of each file the new bytes are read and cut into frames. What is derived follows from all lines; those that were
read before come from the archive, where every line is, whatever has become of its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from turnlog.ingest.assembly import Part, assemble
from turnlog.ingest.contents import DERIVED_FROM, Content
from turnlog.ingest.derive import derive
from turnlog.ingest.framing import Framer
from turnlog.ingest.kinds import Match, key_of, list_kinds, match_known, measure_lines
from turnlog.ingest.visits import Visit, visit
from turnlog.store.batch import DerivedRows, SessionBatch, SourceBatch
from turnlog.store.identity import Scope, SourceKind, name_source
from turnlog.store.interface import Archive, KnownSession, KnownSource
from turnlog.transcripts.files.fingerprints import Change, Checkpoint
from turnlog.transcripts.files.folders import Obstacle, ObstacleKind
from turnlog.transcripts.files.session_files import SessionFiles
from turnlog.transcripts.usage.pricing import Prices

__all__ = ["LARGE", "Report", "key_of", "list_kinds", "look", "vanish"]

Report = Callable[[Obstacle], None]
"""Takes a file that could not be read."""

LARGE = 32 << 20
"""From how many bytes on the lines of a session are not held whole in memory."""


class _Seen(Struct, frozen=True):
    """One source as it is after this look."""

    source: str
    kind: SourceKind
    path: str
    generation: int
    run_id: str | None
    content: Content | None
    """What is in it; None if it was not read in this look."""
    batch: SourceBatch | None
    """What is new; None if nothing is."""


def look(
    files: SessionFiles,
    known: KnownSession | None,
    archive: Archive | None,
    *,
    owner: str,
    origin: str,
    now_ns: int,
    prices: Prices | None = None,
    report: Report | None = None,
    large: int = LARGE,
) -> SessionBatch | None:
    """Return what is new of a session; None if nothing is.

    `archive` has the bytes of what is `known`; it may be None for a session that is not. Files that cannot be
    read are told to `report`, and count as they were. Of a session with more than `large` bytes of lines, no
    long texts are held in memory; the batch is the same.
    """
    asked = _Look(archive, Scope(owner), origin, report, large)
    seen = asked.look_at_all(files, known)
    new = [each.batch for each in seen if each.batch is not None]
    if not new and known is not None:
        return None
    derived = None
    if known is None or any(_has_lines_to_tell(batch) for batch in new):
        derived = asked.derive(seen, files.project_folder, prices)
    return SessionBatch(
        key=key_of(files, origin) if known is None else known.key,
        owner=owner,
        origin=origin,
        session_id=files.session_id,
        project_folder=files.project_folder,
        seen_ns=now_ns,
        sources=tuple(new),
        derived=derived,
    )


def vanish(known: KnownSession, owner: str, origin: str, now_ns: int) -> SessionBatch:
    """Return what is new of a session whose files are all gone."""
    home = next((source.path for source in known.sources if source.source == known.key), known.sources[0].path)
    return SessionBatch(
        key=known.key,
        owner=owner,
        origin=origin,
        session_id=Path(home).stem,
        project_folder=Path(home).parent.name,
        seen_ns=now_ns,
        sources=tuple(_miss(source) for source in known.sources if source.present),
    )


class _Look:
    """One look, and by whom."""

    def __init__(
        self, archive: Archive | None, scope: Scope, origin: str, report: Report | None, large: int
    ) -> None:
        self._archive = archive
        self._scope = scope
        self._origin = origin
        self._report = report
        self._large = large
        self._is_large = False

    def look_at_all(self, files: SessionFiles, known: KnownSession | None) -> list[_Seen]:
        matches, missing = match_known(files, known)
        self._is_large = measure_lines(matches, missing) > self._large
        seen = [each for match in matches for each in self._look_at(match)]
        return [*seen, *(_lose(source) for source in missing)]

    def derive(self, seen: list[_Seen], folder: str, prices: Prices | None) -> DerivedRows:
        parts = [
            Part(each.path, each.kind, each.run_id, each.content or self._read_back(each))
            for each in _choose(seen)
        ]
        built = assemble(parts, folder, prices)
        main = next((part.content.source for part in parts if part.kind is SourceKind.TRANSCRIPT), "")
        generations = {each.source: each.generation for each in seen}
        return derive(built.session, main, built.chapters, generations)

    def _look_at(self, match: Match) -> Iterator[_Seen]:
        known = match.known
        name = name_source(self._origin, match.path)
        found = visit(match.path, name if known is None else known.source, known)
        if known is not None and match.moved and found.generation != known.generation:
            found.close()
            yield _lose(known)  # another file has its inode by now
            known, found = None, visit(match.path, name, None)
        with closing(found):
            yield from self._take(match, known, found)

    def _take(self, match: Match, known: KnownSource | None, found: Visit) -> list[_Seen]:
        if found.change is Change.VANISHED:
            return [] if known is None else [_lose(known)]
        seen = [] if known is None else [_keep(known, None)]
        if found.change is not Change.UNREADABLE:
            seen = [self._read(match, known, found)]
        if found.reason and self._report is not None:
            self._report(Obstacle(Path(match.path), ObstacleKind.UNREADABLE, found.reason))
        return seen

    def _read(self, match: Match, known: KnownSource | None, found: Visit) -> _Seen:
        if known is not None and found.change is Change.UNCHANGED:
            same = known.present and known.path == match.path
            batch = None if same else _restate(known, Change.UNCHANGED, match.path, found.checkpoint)
            return _keep(known, batch, match.path)
        source = name_source(self._origin, match.path) if known is None else known.source
        earlier = known if found.change is Change.APPENDED else None
        content = Content(source, match.kind, earlier, is_large=self._is_large)
        if earlier is not None and match.kind in DERIVED_FROM:
            self._feed(content, earlier.source, earlier.generation)
        framer = Framer(found.start)
        for piece in found:
            framer.add(piece)
            content.add(piece)
        content.finish()
        frames = framer.finish()
        batch = SourceBatch(
            source=source,
            kind=match.kind,
            path=match.path,
            generation=found.generation,
            change=found.change,
            start=found.start,
            length=found.length,
            frames=frames,
            sealed=frames[-1].start if earlier is None and frames else 0,
            consumed=content.consumed,
            in_array=content.in_array,
            checkpoint=found.checkpoint,
            lines=tuple(content.facts),
            agent_id=match.agent_id,
            run_id=match.run_id,
            copied_from=None if known is None else known.copied_from,
        )
        return _Seen(source, match.kind, match.path, found.generation, match.run_id, content, batch)

    def _read_back(self, seen: _Seen) -> Content:
        content = Content(seen.source, seen.kind, is_large=self._is_large)
        self._feed(content, seen.source, seen.generation)
        content.finish()
        return content

    def _feed(self, content: Content, source: str, generation: int) -> None:
        if self._archive is None:
            raise ValueError("what is known of a session is in an archive, and none was given")
        for piece in self._archive.read_all(self._scope, source, generation):
            content.add(piece)


def _choose(seen: Iterable[_Seen]) -> Iterator[_Seen]:
    """Yield what rows are derived from: of several transcripts the first, as that is the one that is there."""
    has_main = False
    for each in seen:
        if each.kind is SourceKind.TRANSCRIPT:
            if has_main:
                continue
            has_main = True
        if each.kind in DERIVED_FROM:
            yield each


def _has_lines_to_tell(batch: SourceBatch) -> bool:
    return batch.kind in DERIVED_FROM and batch.change is not Change.VANISHED


def _keep(known: KnownSource, batch: SourceBatch | None, path: str | None = None) -> _Seen:
    """Return a source whose bytes are as they were."""
    return _Seen(known.source, known.kind, path or known.path, known.generation, known.run_id, None, batch)


def _lose(known: KnownSource) -> _Seen:
    """Return a source whose file is gone."""
    return _keep(known, _miss(known) if known.present else None)


def _miss(known: KnownSource) -> SourceBatch:
    return _restate(known, Change.VANISHED, known.path, known.checkpoint)


def _restate(known: KnownSource, change: Change, path: str, checkpoint: Checkpoint | None) -> SourceBatch:
    """Return the news of a file that has the bytes that it had: it is gone, there again, or somewhere else."""
    return SourceBatch(
        source=known.source,
        kind=known.kind,
        path=path,
        generation=known.generation,
        change=change,
        start=known.length,
        length=known.length,
        consumed=known.consumed,
        in_array=known.in_array,
        checkpoint=checkpoint,
        agent_id=known.agent_id,
        run_id=known.run_id,
        copied_from=known.copied_from,
    )
