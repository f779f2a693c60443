"""What the store knows of sessions, in memory: a change of one session must not cost a look at all of them.

It is filled from the store, and kept up by whoever writes. Only the one writer may rely on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from turnlog.ingest.captured_files import Identity, identify, list_mains
from turnlog.ingest.change_check import find_transcript, key_of, list_kinds
from turnlog.ingest.planning import find_former
from turnlog.store.interface import KnownSession, Knows, find_known
from turnlog.store.model import Scope
from turnlog.transcripts.session_files import Checkpoint, SessionFiles

_Inode = tuple[int, int]


class KnownSessions:
    """All known sessions of one machine, by key, by path and by inode."""

    def __init__(self, store: Knows, scope: Scope, origin: str) -> None:
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
