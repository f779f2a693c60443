"""What a sync has to do: the sessions of which anything is new, gone or somewhere else.

A file that has the size, the time and the inode that it had is not opened. A transcript that is no longer where
it was, while its inode has come up elsewhere with the same beginning, was moved: its session keeps its key. If
the old one is still there, the new one is a copy, which is a session of its own. What turnlog captured of a
session itself belongs to it (`captured_files`). Sessions whose rows follow older rules are derived again,
wherever their files are.

`KnownSessions` is what the store knows of sessions, in memory: a change of one must not cost a look at all of
them. It is filled from the store, and updated by the writer. Only the one writer may rely on it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from turnlog.ingest.captured_files import Identity, group_sessions, identify, list_mains
from turnlog.ingest.change_check import find_transcript, is_outdated, key_of, list_kinds
from turnlog.ingest.contents import DERIVED_FROM
from turnlog.store.interface import KnownSession, KnownSessionSource, KnownSource, find_known
from turnlog.store.model import Scope
from turnlog.transcripts.dumps import list_dumped, list_parts, name_layout, name_part
from turnlog.transcripts.session_files import Change, Checkpoint, SessionFiles, compare, is_untouched


class Task(Struct, frozen=True, gc=False):
    """A session to look at."""

    files: SessionFiles | None
    """None if only its rows are to be derived again."""
    known: KnownSession | None
    size: int
    """How many bytes are to be read: those that the archive has not, at a glance, or all to be derived from."""

    @property
    def weight(self) -> int:
        """How many bytes of lines the session has, about."""
        known = 0 if self.known is None else _measure_archived(self.known)
        return max(self.size, known) if self.files is None else self.size + known


class Plan(Struct, frozen=True, gc=False):
    """What a sync has to do."""

    tasks: tuple[Task, ...]
    """In the order of paths; those without files last."""
    gone: tuple[KnownSession, ...]
    """Sessions whose files are all gone from where the sync looked."""
    unchanged: int

    @property
    def size(self) -> int:
        """How many bytes there are to read."""
        return sum(task.size for task in self.tasks)


def build_plan(
    sessions: Iterable[SessionFiles],
    known: Iterable[KnownSession],
    origin: str,
    within: Iterable[Path] = (),
    forgotten: Collection[str] = (),
) -> Plan:
    """Compare what was located with what is known.

    Known sessions count as gone only if their transcript was in one of the folders `within`: syncing one
    folder says nothing about the others. Those of other machines are none of the files here, whatever their
    paths are. What was `forgotten`, by its key or its id, is not looked at.
    """
    everything = list(known)
    by_key = {session.key: session for session in everything if session.origin in ("", origin)}
    homes = {source.path: session.key for session in by_key.values() for source in session.sources}
    gathered = group_sessions(sessions, by_key.values())
    dumped = _index_dumped(by_key.values())
    located: dict[str, SessionFiles] = {}
    for each in gathered:
        key = each.key or _find_key(each.files, homes, origin)
        parts = _list_parts(each.files, by_key.get(key), dumped)
        keys = [_find_key(part, homes, origin) for part in parts]
        if keys and key in by_key and key not in keys:
            keys[0] = key  # the dump was archived as one session before; its first session continues that one
        located |= zip(keys, parts, strict=True) if parts else {key: each.files}
    if forgotten:
        kept = [each for each in located.items() if not _is_forgotten(*each, by_key, forgotten)]
        located = dict(kept)
    moved = _find_moved(located, by_key)
    tasks: list[Task] = []
    unchanged = 0
    for key, files in located.items():
        session = by_key.get(moved.get(key, key))
        size = measure(files, session)
        if size is None:
            unchanged += 1
        else:
            tasks.append(Task(files, session, size))
    seen = {moved.get(key, key) for key in located}
    roots = tuple(os.path.abspath(folder) for folder in within)
    gone = tuple(
        session
        for key, session in by_key.items()
        if key not in seen and _is_within(session, roots) and _is_gone(session)
    )
    left = [session for session in everything if session.key not in seen and is_outdated(session)]
    tasks += (Task(None, session, _measure_archived(session)) for session in left)
    return Plan(tuple(tasks), gone, unchanged)


def measure(files: SessionFiles, session: KnownSession | None) -> int | None:
    """Return how many bytes are to be read at a glance; None if every file is as it was."""
    if session is not None and is_outdated(session):
        return _measure_archived(session)
    known = {source.path: source for source in session.sources} if session is not None else {}
    new = 0
    changed = session is None
    for path, *_ in list_kinds(files):
        source = known.pop(os.fspath(path), None)
        try:
            status = os.stat(path)
        except NotADirectoryError:  # a session of a dump
            if not _is_dumped(source, os.path.dirname(path)):
                changed = True
                new += _measure_dump(path)
            continue
        except OSError:
            changed = changed or source is None or source.present
            continue
        if source is None or not _is_same(source, status):
            changed = True
            new += max(status.st_size - (0 if source is None else source.length), 0)
    return new if changed or any(source.present for source in known.values()) else None


def _measure_archived(session: KnownSession) -> int:
    return sum(source.length for source in session.sources if source.kind in DERIVED_FROM)


def _is_same(source: KnownSource, status: os.stat_result) -> bool:
    return source.present and source.checkpoint is not None and is_untouched(source.checkpoint, status)


def _index_dumped(known: Iterable[KnownSession]) -> dict[str, list[KnownSource]]:
    """Return what is known of the sessions of each dump, by its path."""
    found: dict[str, list[KnownSource]] = {}
    for session in known:
        paths = {source.path for source in session.sources}
        for source in session.sources:
            if os.fspath(name_layout(source.path)) in paths - {source.path}:
                found.setdefault(os.path.dirname(source.path), []).append(source)
    return found


def _list_parts(
    files: SessionFiles, known: KnownSession | None, dumped: Mapping[str, list[KnownSource]]
) -> list[SessionFiles]:
    """Return the sessions of a dump, none of any other file; one that is as it was is not read for that."""
    if files.path is None or files.capture is not None:
        return []
    path = os.path.abspath(files.path)
    parts = dumped.get(path, [])
    if parts and all(_is_dumped(part, path) for part in parts):
        return list_parts(files, [name_part(part.path) for part in parts])
    if known is not None and not is_outdated(known) and measure(files, known) is None:
        return []
    return list_parts(files, list_dumped(path))


def _is_dumped(source: KnownSource | None, dump: str) -> bool:
    """Tell whether a session of a dump is as it was read, since the dump is."""
    last = None if source is None or not source.present else source.checkpoint
    try:
        status = os.stat(dump)
    except OSError:
        return False
    then = None if last is None else (last.modified_ns, last.inode, last.device)
    return then == (status.st_mtime_ns, status.st_ino, status.st_dev)


def _measure_dump(path: Path) -> int:
    try:
        return os.stat(path.parent).st_size
    except OSError:
        return 0


def _find_key(files: SessionFiles, homes: Mapping[str, str], origin: str) -> str:
    """Return the key of a session: as it is known at its place, else as it would be called."""
    return homes.get(os.fspath(files.path or ""), None) or key_of(files, origin)


def _is_forgotten(
    key: str, files: SessionFiles, known: Mapping[str, KnownSession], forgotten: Collection[str]
) -> bool:
    """Tell whether a session was forgotten; one that was moved meanwhile is recognised by its id."""
    return key in forgotten or (key not in known and files.session_id in forgotten)


def _find_moved(located: Mapping[str, SessionFiles], known: Mapping[str, KnownSession]) -> dict[str, str]:
    """Return the former key of each session that is new here and is missing at its old place."""
    missing: dict[tuple[int, int], tuple[Checkpoint, str]] = {}
    for key, session in known.items():
        for source in session.sources:
            if source.source == key and key not in located and source.checkpoint is not None:
                missing[source.checkpoint.device, source.checkpoint.inode] = source.checkpoint, key
    moved: dict[str, str] = {}
    for key, files in located.items():
        if key in known or files.path is None or not missing:
            continue
        former = find_former(files.path, missing)
        if former is not None:
            moved[key] = missing.pop((former.device, former.inode))[1]
    return moved


def find_former(path: Path, missing: Mapping[tuple[int, int], tuple[Checkpoint, str]]) -> Checkpoint | None:
    """Return what is known of the file that is now at a path: it has the inode, and begins as it did."""
    try:
        with path.open("rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            known = missing.get((status.st_dev, status.st_ino))
            if known is None:
                return None

            def read_at(start: int, size: int) -> bytes:
                file.seek(start)
                return file.read(size) or b""

            change, _ = compare(known[0], status, read_at)
            return known[0] if change is Change.APPENDED else None
    except OSError:
        return None


def _is_gone(session: KnownSession) -> bool:
    """Tell whether all files of a session are gone that were there when it was last looked at."""
    present = [source for source in session.sources if source.present]
    return bool(present) and not any(os.path.lexists(source.path) for source in present)


def _is_within(session: KnownSession, roots: tuple[str, ...]) -> bool:
    paths = [source.path for source in session.sources]
    return any(path.startswith(root + os.sep) for path in paths for root in roots)


_Inode = tuple[int, int]


class KnownSessions:
    """All known sessions of one machine, by key, by path and by inode."""

    def __init__(self, store: KnownSessionSource, scope: Scope, origin: str) -> None:
        self._store = store
        self._scope = scope
        self._origin = origin
        self._sessions: dict[str, KnownSession] = {}
        self._keys: dict[str, str] = {}
        self._inodes: dict[_Inode, tuple[Checkpoint, str]] = {}
        self._named: dict[Identity, set[str]] = {}
        self.is_loaded = False
        """Whether the store was asked for everything."""
        self.homes: dict[str, Path] = {}
        """The transcript that each known file belongs to, where that was seen."""

    def load(self) -> None:
        """Ask the store for everything."""
        for names in (self._sessions, self._keys, self._inodes, self._named, self.homes):
            names.clear()
        for session in self._store.list_known(self._scope, self._origin):
            self._add(session)
        self.is_loaded = True

    def refresh(self, keys: Iterable[str]) -> None:
        """Ask the store for some sessions again."""
        for key in keys:
            self._drop(key)
            session = find_known(self._store, self._scope, key)
            if session is not None:
                self._add(session)

    def name(self, files: SessionFiles) -> str:
        """Return the key of a session that was located."""
        return self._keys.get(find_transcript(files)) or key_of(files, self._origin)

    def find(self, files: SessionFiles) -> list[KnownSession]:
        """Return what is known of a session that was located, or of the one that it may have been."""
        keys = {self._keys[path] for path in map(_text, list_kinds(files)) if path in self._keys}
        keys.add(self.name(files))
        keys |= self._named.get(identify(files.session_id, files.project_folder), set())
        if keys.isdisjoint(self._sessions):
            keys = {key for key in (self._find_moved(files),) if key is not None}
        return [self._sessions[key] for key in sorted(keys) if key in self._sessions]

    def find_present(self, target: Path) -> list[KnownSession]:
        """Return the sessions at a transcript's path, or under a folder, that were there when last seen."""
        path = os.fspath(target)
        folder = os.fspath(target.with_suffix("")) + os.sep
        inside = (path + os.sep, folder)
        keys = {self._keys.get(path)}
        if None in keys:  # a folder, or a session without a transcript: that is rare
            keys = {key for name, key in self._keys.items() if name.startswith(inside)}
        known = [self._sessions[key] for key in sorted(filter(None, keys))]
        return [session for session in known if any(source.present for source in session.sources)]

    def has_present(self, path: Path) -> bool:
        """Tell whether a file was there when it was last seen."""
        name = os.fspath(path)
        session = self._sessions.get(self._keys.get(name, ""))
        return session is not None and any(s.present and s.path == name for s in session.sources)

    def _find_moved(self, files: SessionFiles) -> str | None:
        """Return the session whose transcript has this one's inode and is no longer where it was."""
        former = find_former(Path(find_transcript(files)), self._inodes)
        if former is None:
            return None
        key = self._inodes[former.device, former.inode][1]
        paths = [source.path for source in self._sessions[key].sources if source.source == key]
        return None if any(map(os.path.exists, paths)) else key

    def _add(self, session: KnownSession) -> None:
        self._sessions[session.key] = session
        self._named.setdefault(identify(session.session_id, session.project_folder), set()).add(session.key)
        home = next((source for source in session.sources if source.source == session.key), None)
        mains = [source.path for source in list_mains(session)]
        for source in session.sources:
            self._keys[source.path] = session.key
            if home is not None:
                self.homes[source.path] = _find_main(source.path, mains) or Path(home.path)
        if home is not None and home.checkpoint is not None and home.checkpoint.inode:
            self._inodes[home.checkpoint.device, home.checkpoint.inode] = home.checkpoint, session.key

    def _drop(self, key: str) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            self._named[identify(session.session_id, session.project_folder)].discard(key)
        for source in session.sources if session is not None else ():
            if self._keys.get(source.path) == key:
                del self._keys[source.path]
                self.homes.pop(source.path, None)
            if source.checkpoint is not None:
                inode = (source.checkpoint.device, source.checkpoint.inode)
                if inode in self._inodes and self._inodes[inode][1] == key:
                    del self._inodes[inode]


def _text(file: tuple[Path, object, object, object]) -> str:
    return os.path.abspath(file[0])


def _find_main(path: str, mains: list[str]) -> Path | None:
    """Return which of several files a file lies beside, as sub-agents do."""
    found = (main for main in mains if path == main or path.startswith(main.removesuffix(".jsonl") + os.sep))
    return next(map(Path, found), None)
