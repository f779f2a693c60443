"""Where the Agent SDK's sessions are written to and read from, without any waiting for others' loops.

What is appended is on the disk when `append` returns, in a file of its own (`ingest.capture.files`); the
archive follows at once, or when the process that keeps it up to date gets to it. Whoever reads waits until it
has.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from turnlog.config import Settings
from turnlog.errors import BusyStoreError, TurnlogError
from turnlog.ingest.capture import archive_paths
from turnlog.ingest.captured_files import is_unique, list_mains, remove_captures
from turnlog.ingest.durable_files import append_lines, is_file_name, lock_file, write_lines, write_safely
from turnlog.ingest.lease import Request, hand_over
from turnlog.ingest.origin import find_origin
from turnlog.ingest.session_cache import SessionCache
from turnlog.integrations.agent_sdk.mirroring.archive import ArchivedSessions
from turnlog.integrations.agent_sdk.mirroring.entries import (
    REMARKS,
    Entry,
    Seen,
    decode_entries,
    encode_entry,
    id_of,
)
from turnlog.integrations.agent_sdk.mirroring.notes import Name, Notes, Summary
from turnlog.store.interface import CaredStore, KnownSession
from turnlog.store.model import LOCAL, name_source
from turnlog.store.opening import open_store
from turnlog.store.places import is_made
from turnlog.transcripts.files.captures import CaptureKind, name_capture
from turnlog.transcripts.files.locate import list_roots

Fold = Callable[[dict[str, Any] | None, Sequence[Entry]], dict[str, Any]]
"""Takes what was made of earlier entries, and further ones."""

_AGENT = "agent-"
_PATIENCE = 5.0
_LONG_PATIENCE = 30.0
_logger = logging.getLogger(__name__)


class Mirror:
    """Sessions by project and id, over one archive. It may be used by one thread at a time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._notes = Notes(settings.captured_dir)
        self._cache = SessionCache()
        self._seen: dict[Path, Seen] = {}

    def append(self, name: Name, entries: Sequence[Entry]) -> None:
        """Keep entries that are not there yet, by their ids; raises `ValueError` and `OSError`."""
        path = self._locate(name)
        if not entries:
            return
        earlier: Sequence[Entry] = ()
        if not path.exists():
            earlier = self._find_earlier(name, entries)
            self._unforget(name)
        with lock_file(path) as file:
            seen = self._look_at(path, file)
            self._seen.pop(path, None)  # unless all goes well, it is looked at again
            lines, remarks = seen.choose((*earlier, *entries), apart=path.name.startswith(_AGENT))
            write_lines(file, [encode_entry(entry) for entry in lines])
            self._seen[path] = replace(seen, size=os.fstat(file).st_size)
        self._write_remarks(path, remarks)
        self._notes.set_hidden(name, hidden=False)
        try:
            self._archive(self._list_mirror(name))
        except (TurnlogError, OSError) as error:
            _logger.warning("the appended lines are in %s, and are not archived yet: %s", path, error)

    def load(self, name: Name) -> list[Entry] | None:
        """Return all entries, each once; None if there never were any."""
        project, session_id, subpath = name
        if not all(map(is_file_name, (project, session_id))) or subpath in self._notes.list_hidden(name):
            return None
        self._refresh(project, session_id)
        with self._open() as sessions:
            session = None if sessions is None else sessions.find(project, session_id)
            return None if sessions is None or session is None else sessions.read(session, subpath)

    def list_sessions(self, project: str) -> list[tuple[str, int]]:
        """Return the ids of a project's sessions, each with when it was last written to, in milliseconds."""
        if not is_file_name(project):
            return []
        self._refresh(project)
        with self._open() as sessions:
            found = [] if sessions is None else [*sessions.list_project(project)]
            return [(session.session_id, _tell_modified(session)) for session in found]

    def list_summaries(self, project: str, fold: Fold) -> list[tuple[str, int, dict[str, Any]]]:
        """Return what `fold` makes of each session's entries; what it made before is not made again."""
        if not is_file_name(project):
            return []
        self._refresh(project)
        with self._open() as sessions:
            if sessions is None:
                return []
            return [
                (each.session_id, _tell_modified(each), self._fold(project, sessions, each, fold))
                for each in sessions.list_project(project)
            ]

    def list_subpaths(self, project: str, session_id: str) -> list[str]:
        """Return what has lines in a session's folder."""
        if not all(map(is_file_name, (project, session_id))):
            return []
        self._refresh(project, session_id)
        hidden = self._notes.list_hidden((project, session_id, None))
        with self._open() as sessions:
            session = None if sessions is None else sessions.find(project, session_id)
            found = [] if sessions is None or session is None else sessions.list_subpaths(session)
            return [subpath for subpath in found if subpath not in hidden]

    def delete(self, name: Name) -> None:
        """Forget a session for good, with all that turnlog wrote of it; a part is only not told any more."""
        project, session_id, subpath = name
        path = self._locate(name)
        if subpath is not None:
            path.unlink(missing_ok=True)
            self._notes.set_hidden(name, hidden=True)
            return
        self._refresh(project, session_id)
        place = self._settings.place
        if is_made(place):
            with closing(open_store(place)) as store:
                session = self._over(store).find(project, session_id)
                if session is not None:
                    store.forget(LOCAL, [session.key])
                    remove_captures([session], self._settings.captured_dir)
        self._seen = {known: seen for known, seen in self._seen.items() if known.exists()}
        self._notes.remove(name)

    def _locate(self, name: Name) -> Path:
        project, session_id, subpath = name
        parts = [] if subpath is None else subpath.split("/")
        for part in (project, session_id, *parts):
            if not is_file_name(part):
                raise ValueError(f"Expected a valid file name, got {part!r}")
        main = name_capture(self._settings.captured_dir / "projects" / project, session_id, CaptureKind.MIRROR)
        return main if subpath is None else main.with_suffix("").joinpath(*parts[:-1], f"{parts[-1]}.jsonl")

    def _list_mirror(self, name: Name) -> list[Path]:
        """Return where a session's mirror is: its folder, while only sub-agents wrote to it."""
        main = self._locate((*name[:2], None))
        return [main if main.exists() else main.with_suffix("")]

    @contextmanager
    def _open(self) -> Iterator[ArchivedSessions | None]:
        place = self._settings.place
        if not is_made(place):
            yield None
            return
        with closing(open_store(place, read_only=True)) as store:
            yield self._over(store)

    def _over(self, store: CaredStore) -> ArchivedSessions:
        return ArchivedSessions(store, find_origin(self._settings.home))

    def _archive(self, paths: Sequence[Path]) -> bool:
        """Archive what is new; False if another process is about to."""
        done = archive_paths(self._settings.place, paths, exclude=self._settings.exclude, cache=self._cache)
        return done is not None

    def _refresh(self, project: str, session_id: str | None = None) -> None:
        """See that the archive has what there is of a project, or of one session."""
        roots = list_roots(self._settings.session_dirs)
        paths = [root / project for root in roots]
        if session_id is not None:
            names = (session_id, *(f"{session_id}.{kind}" for kind in CaptureKind))
            paths = [path / f"{name}.jsonl" for path in paths for name in names]
            paths += [path.with_suffix("") for path in paths if not path.exists()]
        paths = [path for path in paths if path.exists()]
        if not paths:
            return
        end = time.monotonic() + _LONG_PATIENCE
        request = Request(tuple(map(os.path.abspath, paths)))
        while not self._archive(paths):
            try:
                hand_over(self._settings.home, request, _PATIENCE)
            except BusyStoreError:
                if time.monotonic() >= end:
                    raise
            else:
                return

    def _find_earlier(self, name: Name, entries: Sequence[Entry]) -> list[Entry]:
        """Return what a mirror begins with: what is archived of the session, if these entries go on from it."""
        with self._open() as sessions:
            session = None if sessions is None else sessions.find(*name[:2])
            earlier = None if sessions is None or session is None else sessions.read(session, name[2])
        known = {id_of(entry) for entry in earlier or ()} - {None}
        follows = not any(id_of(entry) in known or entry in (earlier or ()) for entry in entries)
        return earlier or [] if follows else []

    def _look_at(self, path: Path, file: int) -> Seen:
        seen = self._seen.get(path)
        size = os.fstat(file).st_size
        if seen is None or seen.size != size:
            seen = Seen(size)
            seen.choose(decode_entries(path.read_bytes()), apart=False)
        return seen

    def _write_remarks(self, path: Path, remarks: Sequence[Entry]) -> None:
        """Keep what is said about a sub-agent, and put the last of it where Claude Code would."""
        if remarks:
            append_lines(path.with_suffix(REMARKS), [encode_entry(each) for each in remarks])
            meta = {key: value for key, value in remarks[-1]["entry"].items() if key != "type"}
            write_safely(path.parent, f"{path.stem}.meta.json", encode_entry(meta))

    def _unforget(self, name: Name) -> None:
        """Let a session come back that was forgotten, and is written to again."""
        place = self._settings.place
        if not is_made(place):
            return
        with closing(open_store(place)) as store:
            buried = store.list_tombstones(LOCAL)
            own = name_source(
                find_origin(self._settings.home), os.path.abspath(self._locate((*name[:2], None)))
            )
            named = is_unique(name[1])
            keys = [each.key for each in buried if each.key == own or (named and each.session_id == name[1])]
            store.delete_tombstones(LOCAL, keys)

    def _fold(
        self, project: str, sessions: ArchivedSessions, session: KnownSession, fold: Fold
    ) -> dict[str, Any]:
        source = sessions.find_only(session)
        if source is None:  # several files, of which each has something that the others have not
            return fold(None, sessions.read(session, None) or [])
        name = (project, session.session_id, None)
        known = self._notes.find_summary(name, source.source, source.generation)
        if known is None or known.consumed != source.consumed:
            start, before = (0, None) if known is None else (known.consumed, known.data)
            data = fold(before, sessions.read_source(source, start))
            known = Summary(source.source, source.generation, source.consumed, data)
            self._notes.keep_summary(name, known)
        return known.data


def _tell_modified(session: KnownSession) -> int:
    """Return when a session's files were last written to, as far as is known."""
    times = [0 if each.checkpoint is None else each.checkpoint.modified_ns for each in list_mains(session)]
    return max(times, default=0) // 1_000_000
