"""A scan of one session: all of its files compared with what is known, and all that is new as one batch.

Of each file the new bytes are read and cut into frames. What is derived follows from all lines; those that were
read before come from the archive, where every line is, whatever has become of its file.

Sessions that were scanned a moment ago stay in memory (`SessionCache`): only what is appended to them is read
then. A session is kept as it is at one revision of the store. A scan takes it out, and it is put back when what
came of the scan is written; so one that changed in any other way, or was forgotten, is not used again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing

from msgspec import Struct
from msgspec.structs import replace

from turnlog.ingest.change_check import DERIVATION, Match, is_outdated, key_of, match_known
from turnlog.ingest.contents import (
    CHAPTERS,
    DERIVED_FROM,
    RECORDED,
    ROOM,
    Content,
    LineCache,
    ReadArchive,
    ScannedFile,
    affects_records,
    build_missing,
    choose_files,
    keep_known,
    mark_missing,
    repeat_source,
    repeat_unchanged,
)
from turnlog.ingest.derivation import Deriver, Part, assemble
from turnlog.ingest.file_scan import FileScan, scan_file
from turnlog.messages import Line
from turnlog.store.batch import Derived, SessionBatch, SourceBatch
from turnlog.store.interface import Archive, KnownSession, KnownSource, read_all
from turnlog.store.model import Place, Scope, SourceKind, name_source
from turnlog.transcripts.session_files import Change, SessionFiles

_MOST_BYTES = 192 << 20
"""Of memory, about: room for a few long sessions."""
_IDLE_SECONDS = 300.0

Layout = tuple[tuple[str, str, int], ...]
"""The files that rows are derived from, in order: source, path and generation."""


class CachedSession(Struct, frozen=True):
    """A session as it is at a revision."""

    key: str
    revision: int
    folder: str
    layout: Layout
    contents: Mapping[str, Content]
    """Of all files that rows are derived from, by source."""
    deriver: Deriver

    @property
    def weight(self) -> int:
        """How much memory it takes, about."""
        return sum(content.weight for content in self.contents.values())

    def fits(self, known: KnownSession) -> bool:
        """Tell whether it is what the store has."""
        if (self.key, self.revision) != (known.key, known.revision):
            return False
        generations = {source: generation for source, _, generation in self.layout}
        for source in known.sources:
            content = self.contents.get(source.source)
            if content is None or source.kind not in DERIVED_FROM:
                continue
            if source.generation != generations[source.source] or not content.is_at(source):
                return False
        return True


class SessionCache:
    """Caches the few sessions that are being written to."""

    def __init__(
        self,
        most_bytes: int = _MOST_BYTES,
        idle_seconds: float = _IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_bytes = most_bytes
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._sessions: dict[str, tuple[CachedSession, float, int]] = {}
        """The one that was looked at last is at the end."""

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def weight(self) -> int:
        """How much memory they take, about."""
        return sum(weight for _, _, weight in self._sessions.values())

    def take(self, known: KnownSession | None) -> CachedSession | None:
        """Return a session as it was put in, once, if it still is what the store has."""
        found = None if known is None else self._sessions.pop(known.key, None)
        return found[0] if found is not None and known is not None and found[0].fits(known) else None

    def put(self, session: CachedSession | None) -> None:
        """Keep a session, in place of those that were not looked at for longest.

        It is kept itself, however large it is: looking at it took as much.
        """
        if session is None:
            return
        self._sessions.pop(session.key, None)
        self._sessions[session.key] = session, self._clock(), session.weight
        while len(self._sessions) > 1 and self.weight > self._most_bytes:
            del self._sessions[next(iter(self._sessions))]

    def drop(self, keys: Iterable[str]) -> None:
        """Drop some sessions, if they are cached."""
        for key in keys:
            self._sessions.pop(key, None)

    def drop_idle(self) -> None:
        """Drop sessions that have not been used for a while."""
        limit = self._clock() - self._idle_seconds
        for key in [key for key, (_, since, _) in self._sessions.items() if since < limit]:
            del self._sessions[key]


class SessionScan(Struct, frozen=True):
    """What a scan gave."""

    batch: SessionBatch | None
    """None if nothing is new."""
    cached: CachedSession | None = None
    """The session as it is when the batch is written, to go on from."""


class SessionScanner:
    """Scans one session, once."""

    def __init__(
        self,
        known: KnownSession | None,
        archive: Archive | None,
        cached: CachedSession | None = None,
        *,
        owner: str,
        origin: str,
        is_last: bool = False,
        rebuilds_texts: bool = False,
        room: int = ROOM,
    ) -> None:
        """Take what is known of a session, where its bytes are, and the session itself, if it is cached.

        If this `is_last`, the session is not to be cached. With `rebuilds_texts`, all search texts are built
        again, as for a session whose rows follow older rules, which is derived again. Lines for which there is
        no `room` are decoded again when they are needed.
        """
        self._known = known
        self._archive = archive
        self._scope = Scope(owner)
        self._origin = origin
        self._cache = LineCache(room)
        self._is_outdated = known is None or is_outdated(known)
        self._rebuilds_texts = rebuilds_texts or self._is_outdated
        self._is_last = is_last
        self._cached = cached = None if self._is_outdated else cached
        self._contents: dict[str, Content] = {} if cached is None else dict(cached.contents)
        """Of sources, as far as they were read before."""
        self._left: list[str] = []
        """Sources that were chapters, and are only kept from now on."""

    def scan_all(self, files: SessionFiles) -> list[ScannedFile]:
        """Compare all files with what is known of them, and read what is new."""
        matches, missing = match_known(files, self._known)
        seen = [each for match in matches for each in self._scan(match)]
        return [*seen, *(mark_missing(source) for source in missing)]

    def take_scans(self, scans: Sequence[tuple[Match, FileScan]], gone: Collection[str]) -> list[ScannedFile]:
        """Take scans that were made elsewhere; other known files are as they were, or gone."""
        before = {source.source: source for source in self._known.sources} if self._known is not None else {}
        seen = [each for match, found in scans for each in self._take(match, match.known, found)]
        told = {each.source for each in seen}
        for name, source in before.items():
            if name not in told:
                seen.append(mark_missing(source) if name in gone else keep_known(source, None))
        return sorted(seen, key=lambda each: _rank(each, before.get(each.source)))

    def list_known(self, known: KnownSession) -> list[ScannedFile]:
        """Return all sources as they are known; present files come before deleted ones, as in a scan."""
        return [keep_known(source, None) for source in sorted(known.sources, key=lambda each: not each.present)]

    def derive(self, seen: list[ScannedFile], folder: str) -> Derived:
        """Return the records of the session; of one that was at hand, those that are new or may differ."""
        chosen = list(choose_files(seen))
        layout = tuple((each.source, each.path, each.generation) for each in chosen)
        if self._cached is not None and self._cached.layout == layout and self._cached.folder == folder:
            new = self._list_new(chosen)
            if new is not None:
                return self._cached.deriver.extend(new)
        contents = [each.content or self._read_back(each) for each in chosen]
        parts = [
            Part(each.path, each.kind, each.run_id, content)
            for each, content in zip(chosen, contents, strict=True)
        ]
        self._cache.settle()
        built = assemble(parts, folder)
        emptied = [*(each.source for each in seen if each.kind in RECORDED), *self._left]
        if self._is_last:
            return built.derive(emptied, is_final=True)
        deriver = Deriver(built.session, built.transcript, built.chapters)
        self._cached = CachedSession(
            "", 0, folder, layout, {content.source: content for content in contents}, deriver
        )
        return deriver.build(built.others, emptied)

    def build_scan(
        self, seen: list[ScannedFile], key: str, session_id: str, project_folder: str, now_ns: int
    ) -> SessionScan:
        """Return the result of the scan, from all scanned files."""
        known, cached = self._known, self._cached
        new = [each.batch for each in seen if each.batch is not None]
        if not new and (known is None or not self._is_outdated):  # without any file there is nothing to keep
            return SessionScan(None, cached)
        derived = None
        if self._is_outdated or any(affects_records(batch) for batch in new):
            derived = self.derive(seen, project_folder)
        if self._is_outdated and known is not None:
            new = self.rebuild_texts(seen, known)
        revision = 0 if known is None else known.revision
        batch = SessionBatch(
            key=key,
            owner=self._scope.owner,
            origin=self._origin,
            session_id=session_id,
            project_folder=project_folder,
            seen_ns=now_ns,
            sources=tuple(new),
            derived=derived,
            derivation=DERIVATION,
            base_revision=revision,
        )
        # One that is not to be kept, or has no rows, is not.
        kept = None if self._is_last else self._cached
        return SessionScan(batch, None if kept is None else replace(kept, key=key, revision=revision + 1))

    def _list_new(self, chosen: Sequence[ScannedFile]) -> dict[str, list[Line]] | None:
        """Return the lines that are new, if nothing but further lines of conversations is."""
        new: dict[str, list[Line]] = {}
        for each in chosen:
            if each.batch is None or each.batch.change is Change.UNCHANGED:
                continue
            content = each.content
            if content is None or content is not self._contents.get(each.source) or each.kind not in CHAPTERS:
                return None
            new[each.source] = content.lines[content.first_new :]
        return new

    def rebuild_texts(self, seen: list[ScannedFile], known: KnownSession) -> list[SourceBatch]:
        """Return all sources, with all of their search texts."""
        sources = {source.source: source for source in known.sources}
        new = []
        for each in seen:
            batch = each.batch
            if each.kind in CHAPTERS and each.source in sources:
                if batch is None:
                    batch = repeat_unchanged(sources[each.source], each.path)
                content = each.content or self._read_back(each)
                batch = replace(batch, texts=content.texts, texts_from=content.texts_from)
            if batch is not None:
                new.append(batch)
        return new

    def _scan(self, match: Match) -> Iterator[ScannedFile]:
        known = match.known
        name = name_source(self._origin, match.path)
        found = scan_file(match.path, name if known is None else known.source, known)
        if known is not None and match.moved and found.generation != known.generation:
            found.close()
            yield mark_missing(known)  # another file has its inode by now
            known, found = None, scan_file(match.path, name, None)
        with closing(found):
            yield from self._take(match, known, found)

    def _take(self, match: Match, known: KnownSource | None, found: FileScan) -> list[ScannedFile]:
        if found.change is Change.VANISHED:
            return [] if known is None else [mark_missing(known)]
        seen = [] if known is None else [keep_known(known, None)]
        if found.change is not Change.UNREADABLE:
            seen = [self._read(match, known, found)]
        return seen

    def _read(self, match: Match, known: KnownSource | None, found: FileScan) -> ScannedFile:
        if known is not None and found.change is Change.UNCHANGED:
            same = known.present and known.path == match.path
            batch = None if same else repeat_source(known, Change.UNCHANGED, match.path, found.checkpoint)
            if known.kind is not match.kind:
                return self._reassign(match, known, found)
            return keep_known(known, batch, match.path)
        if known is not None and known.kind is not match.kind:
            self._leave(known, match)
        source = name_source(self._origin, match.path) if known is None else known.source
        earlier = known if found.change is Change.APPENDED else None
        content = self._begin(match, source, earlier, found.generation)
        new = content.begin(found.start)
        for piece in found:
            new.add(piece)
            content.add(piece)
        content.finish()
        frames = new.finish()
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
            lines=content.new,
            texts=content.texts,
            texts_from=0 if source in self._left else content.texts_from,
            agent_id=match.agent_id,
            run_id=match.run_id,
            copied_from=None if known is None else known.copied_from,
        )
        return ScannedFile(source, match.kind, match.path, found.generation, match.run_id, content, batch)

    def _reassign(self, match: Match, known: KnownSource, found: FileScan) -> ScannedFile:
        """Return a source that is as it was, but is for something else from now on."""
        self._leave(known, match)
        batch = replace(repeat_source(known, Change.UNCHANGED, match.path, found.checkpoint), kind=match.kind)
        content = None
        if match.kind in CHAPTERS:
            content = self._read_archived(known.source, match.kind, known.generation, rebuilds_texts=True)
        batch = replace(batch, texts=() if content is None else content.texts, texts_from=0)
        return ScannedFile(known.source, match.kind, match.path, known.generation, match.run_id, content, batch)

    def _leave(self, known: KnownSource, match: Match) -> None:
        if known.kind in RECORDED and match.kind not in RECORDED:
            self._left.append(known.source)

    def _begin(self, match: Match, source: str, earlier: KnownSource | None, generation: int) -> Content:
        """Return what is known of a file, to which the rest is to be added."""
        content = self._contents.get(source)
        if earlier is not None and match.kind is SourceKind.CAPTURE:
            content = Content(source, match.kind)  # earlier lines are of no use here
        elif earlier is None or content is None or match.kind not in CHAPTERS:
            rebuilds_texts = self._rebuilds_texts or (earlier is not None and earlier.kind is not match.kind)
            if earlier is not None and match.kind in DERIVED_FROM:
                return self._read_archived(
                    source, match.kind, earlier.generation, earlier, rebuilds_texts=rebuilds_texts
                )
            read_archive = self._read_later(source, generation)
            return Content(
                source,
                match.kind,
                earlier,
                cache=self._cache,
                read_archive=read_archive,
                rebuilds_texts=rebuilds_texts,
            )
        content.resume(earlier)
        if earlier.consumed < earlier.length:
            at = Place(earlier.source, earlier.generation, earlier.consumed)
            content.add(self._get_archive().read(self._scope, at, earlier.length - earlier.consumed))
        return content

    def _read_back(self, seen: ScannedFile) -> Content:
        content = self._contents.get(seen.source)
        if content is None:
            content = self._read_archived(
                seen.source, seen.kind, seen.generation, rebuilds_texts=self._rebuilds_texts
            )
            self._contents[seen.source] = content
        return content

    def _read_archived(
        self,
        source: str,
        kind: SourceKind,
        generation: int,
        known: KnownSource | None = None,
        *,
        rebuilds_texts: bool,
    ) -> Content:
        """Return what the archive has of a file; with `known`, the rest of the file is to be added."""
        content = Content(
            source,
            kind,
            known,
            cache=self._cache,
            read_archive=self._read_later(source, generation),
            rebuilds_texts=rebuilds_texts,
            is_new=known is not None,
        )
        for piece in read_all(self._get_archive(), self._scope, source, generation):
            content.add(piece)
        if known is None:
            content.finish()
        return content

    def _read_later(self, source: str, generation: int) -> ReadArchive | None:
        """Return what reads bytes of a file as soon as the archive has them."""
        archive, scope = self._archive, self._scope
        if archive is None:
            return None
        return lambda start, length: archive.read(scope, Place(source, generation, start), length)

    def _get_archive(self) -> Archive:
        if self._archive is None:
            raise ValueError("what is known of a session is in an archive, and none was given")
        return self._archive


def _rank(seen: ScannedFile, known: KnownSource | None) -> tuple[bool, bool, str]:
    """Return where a source comes: what is there before what is gone, the transcript first, as in a scan."""
    is_gone = seen.batch.change is Change.VANISHED if seen.batch else known is not None and not known.present
    return is_gone, seen.kind is not SourceKind.TRANSCRIPT, seen.path


def scan_session(
    files: SessionFiles,
    known: KnownSession | None,
    archive: Archive | None,
    cached: CachedSession | None = None,
    *,
    owner: str,
    origin: str,
    now_ns: int,
    is_last: bool = False,
    room: int = ROOM,
) -> SessionScan:
    """Return what is new of a session, going on from what an earlier scan gave, if it is `cached`.

    That must not be used for anything else then; a scan that `is_last` gives nothing to go on from. `archive`
    has the bytes of what is `known`; it may be None for a session that is not. Files that cannot be read count
    as they were. Lines for which there is no `room` are decoded again when they are asked for; the batch is the
    same. A session whose rows follow older rules is derived anew, whether anything is new or not.
    """
    scanner = SessionScanner(known, archive, cached, owner=owner, origin=origin, is_last=is_last, room=room)
    key = key_of(files, origin) if known is None else known.key
    return scanner.build_scan(scanner.scan_all(files), key, files.session_id, files.project_folder, now_ns)


def derive_again(
    known: KnownSession, archive: Archive, *, owner: str, origin: str, now_ns: int, room: int = ROOM
) -> SessionBatch:
    """Return the rows of a session as they follow from the archive alone, whatever has become of its files."""
    scanner = SessionScanner(
        known, archive, owner=owner, origin=origin, is_last=True, rebuilds_texts=True, room=room
    )
    seen = scanner.list_known(known)
    derived = scanner.derive(seen, known.project_folder)
    return replace(
        _begin(known, owner, origin, now_ns),
        sources=tuple(scanner.rebuild_texts(seen, known)),
        derived=derived,
        derivation=DERIVATION,
        base_revision=known.revision,
    )


def vanish(known: KnownSession, owner: str, origin: str, now_ns: int) -> SessionBatch:
    """Return what is new of a session whose files are all gone."""
    gone = tuple(build_missing(source) for source in known.sources if source.present)
    return replace(_begin(known, owner, origin, now_ns), sources=gone)


def _begin(known: KnownSession, owner: str, origin: str, now_ns: int) -> SessionBatch:
    return SessionBatch(
        key=known.key,
        owner=owner,
        origin=known.origin or origin,
        session_id=known.session_id,
        project_folder=known.project_folder,
        seen_ns=now_ns,
        sources=(),
    )
