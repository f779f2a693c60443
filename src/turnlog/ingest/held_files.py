"""Pushing what Claude Code has deleted, or is about to: from second names of files, and from the archive.

Claude Code deletes files after a while, pushed or not. While the server cannot be reached, each file that is
not pushed gets a second name in turnlog's own directory. That takes no room until the first name is deleted,
and what is appended meanwhile is there, too. Where that is not possible, as on another file system, the file is
copied, up to a limit, those first that are deleted first. What only this machine's archive has is pushed from
there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from turnlog.ingest.change_check import Match, key_of, list_kinds, match_known
from turnlog.ingest.file_scan import FileScan, scan_file
from turnlog.ingest.pusher import About, Pusher, describe
from turnlog.store.interface import Archive, KnownSession, KnownSource, Store
from turnlog.store.model import LOCAL, Place
from turnlog.transcripts.session_files import Change, SessionFiles, compare, is_untouched, locate_sessions

HELD = "push-held"
"""What the folder is called in turnlog's own."""
_MOST_COPIED = 1 << 30


class HeldFiles:
    """Second names of files, in a folder that is laid out as all of the file system."""

    def __init__(
        self,
        folder: Path,
        config_dirs: Iterable[Path],
        store: Store | None = None,
        most_copied: int = _MOST_COPIED,
    ) -> None:
        """Take where to hold what, and the archive of this machine, if there is one."""
        self._folder = folder
        self._archived = None if store is None else _ArchivedSessions(store)
        self._config_dirs = tuple(Path(os.path.abspath(path)) for path in config_dirs)
        self._most_copied = most_copied

    def hold(self, pusher: Pusher) -> int:
        """Hold what is not pushed yet, and return how many bytes were copied for it."""
        known = {source.path: source for each in pusher.sessions.values() for source in each.sources}
        copied = 0
        for status, path in sorted(_list_files(pusher.locate()), key=lambda each: each[0].st_mtime_ns):
            source = known.get(path)
            last = None if source is None else source.checkpoint
            if last is None or not is_untouched(last, status):
                copied += self._hold(path, status, self._most_copied - copied)
        return copied

    def plan(self, pusher: Pusher) -> None:
        """Have the server told of what is held or archived of files that are gone, and let go of all else."""
        if self._folder.is_dir():
            self._plan_held(pusher)
        if self._archived is not None:
            self._archived.plan(pusher)

    def _plan_held(self, pusher: Pusher) -> None:
        sessions = [known for known in pusher.sessions.values() if known.origin == pusher.origin]
        sources = {source.path: (known.key, source) for known in sessions for source in known.sources}
        mirrors = [mirror for path in self._config_dirs if (mirror := self._find(path)).is_dir()]
        for held in locate_sessions(mirrors).sessions:
            files = self._choose(held, sources)
            if files is not None:
                self._add(pusher, files, sources)
        self._clear_away()

    def _add(self, pusher: Pusher, files: SessionFiles, sources: dict[str, tuple[str, KnownSource]]) -> None:
        paths = [os.path.abspath(path) for path, *_ in list_kinds(files)]
        keys = [sources[path][0] for path in paths if path in sources]
        key = keys[0] if keys else key_of(files, pusher.origin)
        size = sum(self._find(Path(path)).stat().st_size for path in paths)

        def match(known: KnownSession | None) -> tuple[list[Match], list[KnownSource]]:
            return match_known(files, known)[0], []

        pusher.add(f"held:{paths[0]}", describe(files), key, match, self._visit, size)

    def _visit(self, match: Match, source: str, limit: int) -> FileScan:
        """Visit what is held of a file; if the server has all of it, the file is just gone."""
        # It may be a copy, with another inode: its bytes tell what it is.
        known = None if match.known is None else replace(match.known, present=False)
        found = scan_file(self._find(Path(match.path)), source, known, chunk=limit)
        if found.change is not Change.UNCHANGED:
            return found
        found.close()
        return FileScan(Change.VANISHED, match.known)

    def _choose(self, held: SessionFiles, sources: dict[str, tuple[str, KnownSource]]) -> SessionFiles | None:
        """Return the files of a session that are gone and not pushed, as they were called; release others."""
        kept: set[Path] = set()
        for mirror, *_ in list_kinds(held):
            path = self._name(mirror)
            _, source = sources.get(os.fspath(path), ("", None))
            if not os.path.lexists(path) and not self._is_pushed(mirror, source):
                kept.add(mirror)
            else:
                with suppress(OSError):
                    mirror.unlink()
        found = _rebase(held, kept, self._name)
        return found if kept and isinstance(found, SessionFiles) else None

    def _is_pushed(self, mirror: Path, source: KnownSource | None) -> bool:
        if source is None:
            return False
        found = scan_file(mirror, source.source, replace(source, present=False))
        found.close()
        return found.change in (Change.UNCHANGED, Change.VANISHED)

    def _hold(self, path: str, status: os.stat_result, room: int) -> int:
        """Hold a file, and return how many bytes that took."""
        mirror = self._find(Path(path))
        try:
            there = mirror.lstat()
            if (there.st_ino, there.st_dev) == (status.st_ino, status.st_dev):
                return 0
            if (there.st_size, there.st_mtime_ns) == (status.st_size, status.st_mtime_ns):
                return there.st_size  # a copy that is up to date
        except FileNotFoundError:
            pass
        except OSError:
            return 0
        new = mirror.with_name(f".{mirror.name}.new")
        try:
            mirror.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.unlink(missing_ok=True)
            return _take(path, new, mirror, status, room)
        except OSError:  # it stays where it is, as long as it does
            return 0

    def _clear_away(self) -> None:
        """Remove folders in which nothing is held any more."""
        for folder, _, _ in os.walk(self._folder, topdown=False):
            with suppress(OSError):  # those that are not empty stay
                os.rmdir(folder)

    def _find(self, path: Path) -> Path:
        return self._folder.joinpath(*path.parts[1:])

    def _name(self, mirror: Path) -> Path:
        return Path(os.path.abspath(os.sep)).joinpath(mirror.relative_to(self._folder))


def _take(path: str, new: Path, mirror: Path, status: os.stat_result, room: int) -> int:
    """Give a file a second name, or copy it if there is room; return how many bytes were copied."""
    copied = 0
    try:
        os.link(path, new, follow_symlinks=False)
    except OSError:
        if status.st_size > room:
            return 0
        shutil.copy2(path, new)
        copied = status.st_size
    os.replace(new, mirror)
    return copied


def _list_files(sessions: Iterable[SessionFiles]) -> Iterator[tuple[os.stat_result, str]]:
    for files in sessions:
        for path, *_ in list_kinds(files):
            with suppress(OSError):
                yield os.stat(path), os.path.abspath(path)


def _rebase(value: object, kept: set[Path], name: object) -> object:
    """Return what stands in a struct of paths with those that are kept, as they were called."""
    if isinstance(value, SessionFiles):
        folder = name(value.folder)  # type: ignore[operator]
        moved = {each: _rebase(getattr(value, each), kept, name) for each in value.__struct_fields__}
        return SessionFiles(**{**moved, "own_folder": folder})
    if isinstance(value, Path):
        return name(value) if value in kept else None  # type: ignore[operator]
    if isinstance(value, tuple):
        moved_all = (_rebase(each, kept, name) for each in value)
        return tuple(each for each in moved_all if each is not None)
    if isinstance(value, Struct):
        return type(value)(
            **{each: _rebase(getattr(value, each), kept, name) for each in value.__struct_fields__}
        )
    return value


class _ArchivedSessions:
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

        def scan_one(match: Match, source: str, limit: int) -> FileScan:
            return _scan_archived(self._store.archive, by_path[match.path], match.known, limit)

        pusher.add(
            f"archived:{session.key}",
            About(home, session.session_id, session.project_folder),
            keys[0] if keys else session.key,
            match,
            scan_one,
            sum(source.length for source in sources),
        )


def _has(there: tuple[str, KnownSource] | None, source: KnownSource) -> bool:
    """Tell whether a server has as much of a file as an archive does, at a glance."""
    if there is None:
        return False
    known = there[1]
    return known.length >= source.length or known.generation > source.generation


def _scan_archived(archive: Archive, source: KnownSource, known: KnownSource | None, limit: int) -> FileScan:
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
            return FileScan(Change.VANISHED, known)
    return _ArchivedScan(change, known, source, archive, limit)


class _ArchivedScan(FileScan):
    """A file that is only in an archive, with bytes that are new elsewhere."""

    def __init__(
        self, change: Change, known: KnownSource | None, source: KnownSource, archive: Archive, limit: int
    ) -> None:
        super().__init__(change, known, end=source.length)
        self._source = source
        self._archive = archive
        self._limit = limit
        assert source.checkpoint is not None
        self.checkpoint = replace(source.checkpoint, size=source.length, generation=self.generation)

    def _read(self) -> bytes:
        at = Place(self._source.source, self._source.generation, self.length)
        return self._archive.read(LOCAL, at, min(self._limit, self._end - self.length))
