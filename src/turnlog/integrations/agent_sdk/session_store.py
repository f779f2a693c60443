"""The archive as a session store of the official Agent SDK.

    options = ClaudeAgentOptions(session_store=TurnlogSessionStore())

mirrors sessions into turnlog as they happen, and resumes from it: also sessions whose files Claude Code has
deleted by now, and those that were never mirrored, but archived from Claude Code's own files. Nothing blocks
the event loop: all work is done in threads, one call after the other.

What is appended is on the disk when `append` returns, in a file of its own (`ingest.captured_files`); the
archive follows at once, or when the process that keeps it up to date gets to it. A reader waits until it has.

The SDK's name for a project is that of its folder. Of a session, its lines are wanted as they stand in Claude
Code's own file; where a mirror goes on behind that, those of both, each once. What was only streamed has no
such lines. Besides sessions the store remembers which parts were deleted, and summaries; both lie beside the
captured files, where no sessions are looked for, and a summary that cannot be read is made again.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path, PurePath
from threading import Lock
from typing import Any, TypeVar, cast

import msgspec
from anyio import to_thread
from claude_agent_sdk import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
    fold_session_summary,
)
from msgspec import Struct, field
from msgspec.structs import replace

from turnlog.atomic_files import make_folder, write_file
from turnlog.config import Settings
from turnlog.errors import BusyStoreError, TurnlogError
from turnlog.ingest import captured_files
from turnlog.ingest.capture import archive_paths
from turnlog.ingest.lease import SyncRequest, request_sync
from turnlog.ingest.machine import find_origin
from turnlog.ingest.session_scan import SessionCache
from turnlog.store.interface import KnownSession, KnownSource, MaintainedStore, Store, find_known, find_sessions
from turnlog.store.model import LOCAL, Place, SourceKind, is_made, name_source
from turnlog.store.opening import open_store
from turnlog.transcripts.session_files import CaptureKind, list_roots, name_capture, split_capture

Entry = dict[str, Any]
METADATA = "agent_metadata"
"""The type of entries in which the SDK hands on what lies beside a sub-agent's lines in its `.meta.json`."""
REMARKS = ".metadata"
"""How the file's name ends that has all of these entries, each with where it came among the lines."""
_decode = json.JSONDecoder().raw_decode


def encode_entry(entry: Mapping[str, Any]) -> bytes:
    """Return an entry as Claude Code writes it, with its newline."""
    try:
        return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # half of a character
        return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def decode_entries(data: bytes) -> list[Entry]:
    """Return the entries that lines are; what is no object is left out, two on one line are two."""
    return [entry for line in data.split(b"\n") if line.strip() for entry in _decode_line(line)]


def _decode_line(line: bytes) -> Iterator[Entry]:
    text = line.decode("utf-8", "replace").strip()
    at = 0
    while at < len(text):
        try:
            value, at = _decode(text, at)
        except (ValueError, RecursionError):
            return
        while at < len(text) and text[at].isspace():
            at += 1
        if isinstance(value, dict):
            yield value


def id_of(entry: Mapping[str, Any]) -> str | None:
    """Return what an entry is known by; None for those that have no id."""
    uuid = entry.get("uuid")
    return uuid if isinstance(uuid, str) and uuid else None


class KnownEntries(Struct):
    """What a file had when it was last written to."""

    size: int
    lines: int = 0
    ids: set[str] = field(default_factory=set)

    def choose(self, entries: Iterable[Entry], *, apart: bool) -> tuple[list[Entry], list[Entry]]:
        """Return the entries that are new by their ids, and those that are kept `apart`, with their places."""
        new: list[Entry] = []
        remarks: list[Entry] = []
        for entry in entries:
            identity = id_of(entry)
            if apart and entry.get("type") == METADATA:
                remarks.append({"at": self.lines, "entry": entry})
            elif identity is None or identity not in self.ids:
                new.append(entry)
                self.lines += 1
                self.ids |= set() if identity is None else {identity}
        return new, remarks


def add_missing(entries: Sequence[Entry], others: Iterable[Entry]) -> list[Entry]:
    """Return entries, and among them by time those of others that have an id which none of them has."""
    known = {id_of(entry) for entry in entries} | {None}
    missing = [entry for entry in others if id_of(entry) not in known]
    merged: list[Entry] = []
    for entry in entries:
        while missing and _time_of(missing[0]) < _time_of(entry):
            merged.append(missing.pop(0))
        merged.append(entry)
    return [*merged, *missing]


def _time_of(entry: Mapping[str, Any]) -> str:
    """Return when an entry was written; what does not say so stays where it is."""
    time = entry.get("timestamp")
    return time if isinstance(time, str) else ""


def insert_remarks(entries: Sequence[Entry], remarks: Iterable[Entry]) -> list[Entry]:
    """Return entries with those that were kept apart, where they came among them."""
    merged = [*entries]
    for number, remark in enumerate(remarks):
        at, entry = remark.get("at"), remark.get("entry")
        if isinstance(at, int) and isinstance(entry, dict):
            merged.insert(at + number, entry)
    return merged


Name = tuple[str, str, str | None]
"""A project, a session of it, and what is meant in its folder: None for the session itself."""


class Summary(Struct, frozen=True):
    """What was made of the entries of a file, up to a byte."""

    source: str
    generation: int
    consumed: int
    data: dict[str, Any]


class Notes:
    """Notes on sessions, by project and id."""

    def __init__(self, folder: Path) -> None:
        self._hidden, self._summaries = (folder / name for name in captured_files.NOTES)

    def list_hidden(self, name: Name) -> frozenset[str]:
        """Return the parts of a session that somebody deleted."""
        try:
            data = (self._hidden / name[0] / f"{name[1]}.json").read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return frozenset()
        return frozenset(msgspec.json.decode(data, type=list[str]))

    def set_hidden(self, name: Name, *, hidden: bool) -> None:
        """Note that a part of a session is deleted, or is there again."""
        subpath, now = name[2], self.list_hidden(name)
        if subpath is not None and (subpath in now) is not hidden:
            now = now | {subpath} if hidden else now - {subpath}
            make_folder(self._hidden / name[0])
            write_file(self._hidden / name[0] / f"{name[1]}.json", msgspec.json.encode(sorted(now)))

    def find_summary(self, name: Name, source: str, generation: int) -> Summary | None:
        """Return what was made of a file's entries before."""
        try:
            data = (self._summaries / name[0] / f"{name[1]}.json").read_bytes()
            found = msgspec.json.decode(data, type=Summary)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return found if (found.source, found.generation) == (source, generation) else None

    def keep_summary(self, name: Name, summary: Summary) -> None:
        """Remember what was made of a file's entries."""
        make_folder(self._summaries / name[0])
        write_file(self._summaries / name[0] / f"{name[1]}.json", msgspec.json.encode(summary))

    def remove(self, name: Name) -> None:
        """Delete all notes on a session."""
        for folder in (self._hidden, self._summaries):
            (folder / name[0] / f"{name[1]}.json").unlink(missing_ok=True)


_SUFFIX = ".jsonl"


class ArchivedSessions:
    """The sessions of one archive, while it is open."""

    def __init__(self, store: Store, origin: str) -> None:
        """Take whose sessions are meant: those of one machine."""
        self._store = store
        self._origin = origin

    def find(self, project: str, session_id: str) -> KnownSession | None:
        """Return a session; of several with one id, the one in this project's folder."""
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
        """Return the entries of a file, with a sub-agent's metadata."""
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
    folders = {PurePath(each.path).parent.name for each in captured_files.list_mains(session)}
    return project in folders | {session.project_folder}


def _list_told(session: KnownSession) -> list[KnownSource]:
    """Return the files that have lines as Claude Code writes them, the one that tells the most first."""
    mains = [each for each in captured_files.list_mains(session) if _capture_of(each) is not CaptureKind.STREAM]
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
        self._seen: dict[Path, KnownEntries] = {}

    def append(self, name: Name, entries: Sequence[Entry]) -> None:
        """Keep entries that are not there yet, by their ids; raises `ValueError` and `OSError`."""
        path = self._locate(name)
        if not entries:
            return
        earlier: Sequence[Entry] = ()
        if not path.exists():
            earlier = self._find_earlier(name, entries)
            self._unforget(name)
        with captured_files.lock_file(path) as file:
            seen = self._read_known(path, file)
            self._seen.pop(path, None)  # unless all goes well, it is looked at again
            lines, remarks = seen.choose((*earlier, *entries), apart=path.name.startswith(_AGENT))
            captured_files.write_lines(file, [encode_entry(entry) for entry in lines])
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
        if not all(
            map(captured_files.is_file_name, (project, session_id))
        ) or subpath in self._notes.list_hidden(name):
            return None
        self._refresh(project, session_id)
        with self._open() as sessions:
            session = None if sessions is None else sessions.find(project, session_id)
            return None if sessions is None or session is None else sessions.read(session, subpath)

    def list_sessions(self, project: str) -> list[tuple[str, int]]:
        """Return the ids of a project's sessions, each with when it was last written to, in milliseconds."""
        if not captured_files.is_file_name(project):
            return []
        self._refresh(project)
        with self._open() as sessions:
            found = [] if sessions is None else [*sessions.list_project(project)]
            return [(session.session_id, _find_modified(session)) for session in found]

    def list_summaries(self, project: str, fold: Fold) -> list[tuple[str, int, dict[str, Any]]]:
        """Return what `fold` makes of each session's entries; what it made before is not made again."""
        if not captured_files.is_file_name(project):
            return []
        self._refresh(project)
        with self._open() as sessions:
            if sessions is None:
                return []
            return [
                (each.session_id, _find_modified(each), self._fold(project, sessions, each, fold))
                for each in sessions.list_project(project)
            ]

    def list_subpaths(self, project: str, session_id: str) -> list[str]:
        """Return what has lines in a session's folder."""
        if not all(map(captured_files.is_file_name, (project, session_id))):
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
                    captured_files.remove_captures([session], self._settings.captured_dir)
        self._seen = {known: seen for known, seen in self._seen.items() if known.exists()}
        self._notes.remove(name)

    def _locate(self, name: Name) -> Path:
        project, session_id, subpath = name
        parts = [] if subpath is None else subpath.split("/")
        for part in (project, session_id, *parts):
            if not captured_files.is_file_name(part):
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

    def _over(self, store: MaintainedStore) -> ArchivedSessions:
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
        request = SyncRequest(tuple(map(os.path.abspath, paths)))
        while not self._archive(paths):
            try:
                request_sync(self._settings.home, request, _PATIENCE)
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

    def _read_known(self, path: Path, file: int) -> KnownEntries:
        seen = self._seen.get(path)
        size = os.fstat(file).st_size
        if seen is None or seen.size != size:
            seen = KnownEntries(size)
            seen.choose(decode_entries(path.read_bytes()), apart=False)
        return seen

    def _write_remarks(self, path: Path, remarks: Sequence[Entry]) -> None:
        """Keep a sub-agent's metadata, and write the last of it where Claude Code would."""
        if remarks:
            captured_files.append_lines(path.with_suffix(REMARKS), [encode_entry(each) for each in remarks])
            meta = {key: value for key, value in remarks[-1]["entry"].items() if key != "type"}
            write_file(path.with_name(f"{path.stem}.meta.json"), encode_entry(meta))

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
            named = captured_files.is_unique(name[1])
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


def _find_modified(session: KnownSession) -> int:
    """Return when a session's files were last written to, as far as is known."""
    times = [
        0 if each.checkpoint is None else each.checkpoint.modified_ns
        for each in captured_files.list_mains(session)
    ]
    return max(times, default=0) // 1_000_000


T = TypeVar("T")


class TurnlogSessionStore(SessionStore):
    """Keeps and gives back the SDK's sessions, with all optional methods."""

    def __init__(self, home: str | os.PathLike[str] | None = None, *, settings: Settings | None = None) -> None:
        """Use the archive that the environment names (`TURNLOG_HOME`, `TURNLOG_STORE`), or that in `home`.

        Raises `ConfigError` for settings that say anything wrong.
        """
        given = settings or Settings.from_env()
        self._mirror = Mirror(given if home is None else replace(given, home=Path(home), store=None))
        self._lock = Lock()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Keep entries: when this returns, they are on the disk. Those whose `uuid` is there are left out."""
        name, given = _name(key), cast("list[Entry]", list(entries))
        await self._run(lambda: self._mirror.append(name, given))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries of a session or a part of it, whether its files are there or not."""
        name = _name(key)
        found = await self._run(lambda: self._mirror.load(name))
        return cast("list[SessionStoreEntry] | None", found)

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, mirrored or archived."""
        found = await self._run(lambda: self._mirror.list_sessions(project_key))
        return [{"session_id": session_id, "mtime": modified} for session_id, modified in found]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the SDK's own summaries of a project's sessions; only what is new of them is read."""
        found = await self._run(lambda: self._mirror.list_summaries(project_key, _make_fold(project_key)))
        return [
            {"session_id": session_id, "mtime": modified, "data": data} for session_id, modified, data in found
        ]

    async def delete(self, key: SessionKey) -> None:
        """Forget a session for good, as `turnlog forget` does; files of Claude Code's own are not touched.

        A part of a session is only not told any more: the archive has it until the session is forgotten.
        """
        name = _name(key)
        await self._run(lambda: self._mirror.delete(name))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return what else belongs to a session, as `subagents/agent-…`."""
        return await self._run(lambda: self._mirror.list_subpaths(key["project_key"], key["session_id"]))

    async def _run(self, work: Callable[[], T]) -> T:
        return await to_thread.run_sync(self._do, work)

    def _do(self, work: Callable[[], T]) -> T:
        with self._lock:
            return work()


def _name(key: SessionKey) -> Name:
    return key["project_key"], key["session_id"], key.get("subpath") or None


def _make_fold(project: str) -> Fold:
    def fold(before: dict[str, Any] | None, entries: Sequence[Entry]) -> dict[str, Any]:
        # The summary's own id and time are not part of what is made of entries.
        key: SessionKey = {"project_key": project, "session_id": ""}
        known: SessionSummaryEntry | None = (
            None if before is None else {"session_id": "", "mtime": 0, "data": before}
        )
        return fold_session_summary(known, key, cast("list[SessionStoreEntry]", list(entries)))["data"]

    return fold
