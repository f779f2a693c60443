"""Pushing what only this machine's archive has: sessions whose files Claude Code has deleted."""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec.structs import replace

from turnlog.ingest.kinds import Match
from turnlog.ingest.push.gathering import About
from turnlog.ingest.push.pusher import Pusher
from turnlog.ingest.visits import Visit
from turnlog.store.interface import Archive, KnownSession, KnownSource, Store
from turnlog.store.model import LOCAL, Place
from turnlog.transcripts.files.fingerprints import Change, compare


class ArchivedSessions:
    """What an archive has of files that are gone."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def plan(self, pusher: Pusher) -> None:
        """Have the server told of what it does not have of files that are gone."""
        there = {
            source.path: (known.key, source) for known in pusher.sessions.values() for source in known.sources
        }
        for known in self._store.list_known(LOCAL, pusher.origin):
            gone = [source for source in known.sources if not source.present and source.checkpoint is not None]
            new = [source for source in gone if not _has(there.get(source.path), source)]
            if new and not pusher.is_refused(known):
                self._add(
                    pusher, known, new, [there[each.path][0] for each in known.sources if each.path in there]
                )

    def _add(self, pusher: Pusher, session: KnownSession, sources: list[KnownSource], keys: list[str]) -> None:
        home = next((each.path for each in session.sources if each.source == session.key), sources[0].path)
        by_path = {source.path: source for source in sources}

        def match(known: KnownSession | None) -> tuple[list[Match], list[KnownSource]]:
            there = {source.path: source for source in known.sources} if known is not None else {}
            return [
                Match(each.path, each.kind, each.agent_id, each.run_id, there.get(each.path))
                for each in sources
            ], []

        def visit_file(match: Match, source: str, limit: int) -> Visit:
            return _visit(self._store.archive, by_path[match.path], match.known, limit)

        pusher.add(
            f"archived:{session.key}",
            About(home, session.session_id, session.project_folder),
            keys[0] if keys else session.key,
            match,
            visit_file,
            sum(source.length for source in sources),
        )


def _has(there: tuple[str, KnownSource] | None, source: KnownSource) -> bool:
    """Tell whether a server has as much of a file as an archive does, at a glance."""
    if there is None:
        return False
    known = there[1]
    return known.length >= source.length or known.generation > source.generation


def _visit(archive: Archive, source: KnownSource, known: KnownSource | None, limit: int) -> Visit:
    """Compare what an archive has of a file with what is known of it."""

    def read_at(start: int, size: int) -> bytes:
        at = Place(source.source, source.generation, start)
        return archive.read(LOCAL, at, min(size, source.length - start)) if size else b""

    last = source.checkpoint
    assert last is not None
    numbers = (0o100600, last.inode, last.device, 1, 0, 0, source.length, 0, 0, 0)
    status = os.stat_result(numbers, {"st_mtime_ns": last.modified_ns})
    change = Change.NEW
    if known is not None and known.checkpoint is not None:
        change, _ = compare(replace(known.checkpoint, inode=0), status, read_at)
        if change is Change.APPENDED and known.length == source.length:
            return Visit(Change.VANISHED, known)
    return _ArchivedVisit(change, known, source, archive, limit)


class _ArchivedVisit(Visit):
    """A file that is only in an archive, with bytes that are new elsewhere."""

    def __init__(
        self, change: Change, known: KnownSource | None, source: KnownSource, archive: Archive, limit: int
    ) -> None:
        super().__init__(change, known)
        if known is not None and change is not Change.APPENDED:
            self.generation += 1
            self.start = self.length = 0
        self._source = source
        self._archive = archive
        self._limit = limit
        last = source.checkpoint
        assert last is not None
        self.checkpoint = replace(last, size=source.length, generation=self.generation)

    @property
    def has_more(self) -> bool:
        return self.length < self._source.length

    @property
    def size(self) -> int:
        return self._source.length - self.length

    def __iter__(self) -> Iterator[bytes]:
        while self.has_more:
            at = Place(self._source.source, self._source.generation, self.length)
            piece = self._archive.read(LOCAL, at, min(self._limit, self._source.length - self.length))
            self.length += len(piece)
            yield piece
