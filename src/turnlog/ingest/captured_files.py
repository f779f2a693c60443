"""Files that turnlog captured a session in, as sources of the session that Claude Code keeps.

A session may be recorded several times: by Claude Code's own file, by a mirror that the Agent SDK writes
through `TurnlogSessionStore`, and by the stream of a program. All of them are sources of one session, whichever
was there first; it keeps the key that it had. Its messages come from Claude Code's own file, unless the mirror
goes on where that ends: a session that the SDK resumes is written to a folder that is removed afterwards. The
others are kept as captures. A capture that stands alone is a transcript as any other.

Ids that are no UUIDs may be anybody's: such files belong together only within one project's folder.

What is captured is appended, and on the disk before the writer goes on. Such files lie in
`captured/projects/<project folder>/` of turnlog's own directory, for their owner alone, and are archived as
Claude Code's own files are. Several processes may append to one: each holds a lock while it does.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from turnlog.atomic_files import make_folder
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.model import SourceKind
from turnlog.transcripts.session_files import AgentFiles, CaptureKind, SessionFiles, locate_path, split_capture

if sys.platform != "win32":
    import fcntl


_FORM = re.compile(r"(?!\.)[^/\\\0]+")
_LONGEST_NAME = 220
"""In bytes; what is added to it still fits."""


def is_file_name(name: str) -> bool:
    """Tell whether something can be a file's name, and nothing but that."""
    return _FORM.fullmatch(name) is not None and len(os.fsencode(name)) <= _LONGEST_NAME


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines, which end with newlines, and return when they are on the disk; raises `OSError`.

    What a process left unfinished that died while it wrote stays a line of its own.
    """
    with lock_file(path) as file:
        write_lines(file, lines)


@contextmanager
def lock_file(path: Path, *, waits: bool = True) -> Iterator[int]:
    """Open a file to be appended to, made if it is not there, and keep others from appending meanwhile.

    Raises `BlockingIOError` if another process does, unless it `waits` for that one.
    """
    for folder in reversed([each for each in path.parents if not each.is_dir()]):
        make_folder(folder)  # each for the owner alone, and each on the disk
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags, 0o600)
    try:
        _lock(file, waits)
        yield file
    finally:
        os.close(file)  # which lets go of the lock


def write_lines(file: int, lines: Sequence[bytes]) -> None:
    """Write lines behind what is there, and see them on the disk."""
    torn = os.fstat(file).st_size > 0 and os.lseek(file, -1, os.SEEK_END) >= 0 and os.read(file, 1) != b"\n"
    rest = memoryview(b"".join([b"\n" if torn else b"", *lines]))
    while rest:
        rest = rest[os.write(file, rest) :]
    os.fsync(file)


def _lock(file: int, waits: bool) -> None:
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))


NOTES = ("hidden", "summaries")
"""Folders beside the captured files with what is noted of sessions, as `<project folder>/<session>.json`."""
_MAINS = frozenset({SourceKind.TRANSCRIPT, SourceKind.CAPTURE})


def list_mains(session: KnownSession) -> list[KnownSource]:
    """Return the files that tell all of a session: its transcript, and what was captured besides."""
    return [each for each in session.sources if each.kind in _MAINS and each.agent_id is None]


def is_capture(source: KnownSource) -> bool:
    """Tell whether a file is a further record of a session or an agent, or was captured and is the only one."""
    has_messages = source.kind in (SourceKind.TRANSCRIPT, SourceKind.AGENT)
    return source.kind is SourceKind.CAPTURE or (has_messages and kind_of_capture(source) != "file")


def kind_of_capture(source: KnownSource) -> str:
    """Return how a file came to be: `mirror`, `stream`, or `file` for Claude Code's own."""
    path = Path(source.path)
    kinds = (split_capture(name)[1] for name in (path.stem, *path.parts))
    return next((str(kind) for kind in kinds if kind is not None), "file")


def remove_captures(sessions: Iterable[KnownSession], folder: Path) -> None:
    """Delete what turnlog's own folder has of sessions; raises `OSError`.

    Whoever forgets a session means what turnlog wrote of it, too: also what is not archived yet, and notes.
    """
    for session in sessions:
        paths = [Path(path) for path in list_own_files(session, folder)]
        mains = [path for path in paths if is_captured(os.fspath(path))]
        for path in paths:
            path.unlink(missing_ok=True)
        for path in mains:
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        for project in {session.project_folder, *(path.parent.name for path in mains)}:
            for notes in NOTES:
                (folder / notes / project / f"{session.session_id}.json").unlink(missing_ok=True)


def list_own_files(session: KnownSession, folder: Path) -> list[str]:
    """Return the files of a session that lie in turnlog's own folder."""
    root = os.path.realpath(folder)
    paths = [source.path for source in session.sources]
    return [path for path in paths if Path(os.path.realpath(path)).is_relative_to(root)]


def is_captured(path: str) -> bool:
    """Tell whether turnlog wrote a file, by its name."""
    return split_capture(Path(path).stem)[1] is not None


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_AHEAD = 2048
"""By how many bytes a mirror is longer that goes on where the file ends, and is not just written otherwise."""
Identity = tuple[str, str]


class SessionGroup(Struct, frozen=True, gc=False):
    """A session with all of its files, and the key that it has, if it is known."""

    files: SessionFiles
    key: str | None = None


def is_unique(session_id: str) -> bool:
    """Tell whether an id is of the kind that no other session has."""
    return _UUID.fullmatch(session_id) is not None


def identify(session_id: str, project_folder: str) -> Identity:
    """Return by what files of one session know each other."""
    return ("", session_id.lower()) if is_unique(session_id) else (project_folder, session_id)


def group_sessions(sessions: Iterable[SessionFiles], known: Iterable[KnownSession]) -> list[SessionGroup]:
    """Return sessions in their order, those that were captured together with what else there is of them.

    Further files of theirs that were not located are looked for where they are known to be.
    """
    located, stored = [*sessions], [*known]
    captured = {identify(each.session_id, each.project_folder) for each in located if each.capture is not None}
    captured |= {
        identify(each.session_id, each.project_folder)
        for each in stored
        if any(is_captured(source.path) for source in list_mains(each))
    }
    if not captured:
        return [SessionGroup(files) for files in located]
    groups: dict[Identity, _Group] = {name: _Group() for name in captured}
    for session in stored:
        group = groups.get(identify(session.session_id, session.project_folder))
        if group is not None:
            group.add_known(session)
    gathered: list[SessionGroup] = []
    for files in located:
        group = groups.get(identify(files.session_id, files.project_folder))
        if group is None:
            gathered.append(SessionGroup(files))
        else:
            group.add(files)
    return [*gathered, *(each for group in groups.values() for each in group.merge())]


class _Group:
    """All there is of sessions that share an id."""

    def __init__(self) -> None:
        self._known: dict[str, KnownSession] = {}
        self._homes: dict[str, str] = {}
        self._files: dict[str, SessionFiles] = {}

    def add_known(self, session: KnownSession) -> None:
        self._known[session.key] = session
        self._homes.update((source.path, session.key) for source in session.sources)

    def add(self, files: SessionFiles) -> None:
        self._files[os.path.abspath(files.path or files.folder)] = files

    def merge(self) -> list[SessionGroup]:
        if not self._files:
            return []
        self._locate_others()
        members = sorted(self._files.values(), key=_rank)
        homes: dict[int, str | None] = {id(each): self._find_home(each) for each in members}
        own = [each for each in members if each.capture is None]
        for each in own:  # joins what was captured before it was seen
            if homes[id(each)] is None:
                taken = {homes[id(other)] for other in own}
                homes[id(each)] = next((key for key in self._list_alone() if key not in taken), None)
        first = self._find_first(homes[id(own[0])] if own else None, own)
        buckets: dict[object, list[SessionFiles]] = {}
        for each in members:
            home: object = homes[id(each)]
            if home is None:
                home = first if each.capture is not None and first is not None else id(each)
            if each.capture is not None and first is None:
                first = home  # several captures, and nothing else
            buckets.setdefault(home, []).append(each)
        return [self._build(home, bucket) for home, bucket in buckets.items()]

    def _locate_others(self) -> None:
        """Add what is known to be there of the sessions that were located."""
        homes = {self._find_home(each) for each in self._files.values()}
        for key in [key for key in self._known if key in homes or None in homes]:
            for source in list_mains(self._known[key]):
                if source.path not in self._files and os.path.lexists(source.path):
                    for files in locate_path(Path(source.path)).sessions:
                        self.add(files)

    def _find_home(self, files: SessionFiles) -> str | None:
        paths = [files.path or files.folder.with_name(f"{files.folder.name}.jsonl")]
        paths += [path for agent in files.agents for path in (agent.path, agent.meta) if path is not None]
        found = (self._homes.get(os.path.abspath(path)) for path in paths)
        return next((key for key in found if key is not None), None)

    def _list_alone(self) -> list[str]:
        """Return the known sessions that were only captured so far."""
        return [key for key, each in self._known.items() if all(is_captured(s.path) for s in list_mains(each))]

    def _find_first(self, home: str | None, own: Sequence[SessionFiles]) -> object:
        """Return what a capture joins that is seen for the first time."""
        if own:
            return home or id(own[0])
        alone = self._list_alone()
        return next((key for key in self._known if key not in alone), None) or next(iter(alone), None)

    def _build(self, home: object, members: list[SessionFiles]) -> SessionGroup:
        session = self._known.get(home) if isinstance(home, str) else None
        if session is None and len(members) == 1:
            return SessionGroup(members[0])
        return SessionGroup(_merge(members, session), None if session is None else session.key)


def _merge(members: Sequence[SessionFiles], session: KnownSession | None) -> SessionFiles:
    """Return the files of one session as one: Claude Code's own come first, then mirrors, then streams."""
    mains = {} if session is None else {source.path: source for source in list_mains(session)}
    gone = next((each for each in mains.values() if not is_captured(each.path)), None)
    base = _choose_folder(members[0], gone)
    best = _choose_transcript(base, members, mains, gone)
    agents: list[AgentFiles] = []
    captures = [each.path for each in members if each is not best and each.path is not None]
    others: list[Path] = []
    for each in sorted(members, key=lambda each: each is not best):
        told = {agent.agent_id for agent in agents}
        agents += (agent for agent in each.agents if agent.agent_id not in told)
        again = [agent for agent in each.agents if agent.agent_id in told]
        captures += (agent.path for agent in again if agent.path is not None)
        others += (agent.meta for agent in again if agent.meta is not None)
    return replace(
        base,
        path=None if best is None else best.path,
        capture=None if best is None else best.capture,
        agents=tuple(agents),
        workflows=tuple(run for each in members for run in each.workflows),
        tool_results=tuple(path for each in members for path in each.tool_results),
        meta=tuple(path for each in members for path in each.meta),
        others=(*(path for each in members for path in each.others), *others),
        captures=tuple(captures),
    )


def _choose_folder(first: SessionFiles, gone: KnownSource | None) -> SessionFiles:
    """Return where a session lies: where Claude Code keeps it, or kept it, if that is known."""
    if first.capture is None or gone is None:
        return first
    path = Path(gone.path)
    return SessionFiles(first.session_id, None, path.parent.name, path.with_suffix(""))


def _choose_transcript(
    base: SessionFiles,
    members: Sequence[SessionFiles],
    mains: Mapping[str, KnownSource],
    gone: KnownSource | None,
) -> SessionFiles | None:
    """Return the file that the messages come from; None if that is one that is gone."""
    own = next((each for each in members if each.capture is None), None)
    best, size = own, -1
    if own is not None and own.path is not None:
        size = _measure(own.path, 0)
    elif gone is not None:
        size = gone.length
    for each in members:
        if each.capture is not CaptureKind.MIRROR or each.path is None:
            continue
        known = mains.get(os.path.abspath(each.path))
        leads = known is not None and known.kind is SourceKind.TRANSCRIPT
        length = _measure(each.path, 0 if known is None else known.length)
        if length > size + (0 if leads or size < 0 else _AHEAD) or (leads and length == size):
            best, size = each, length
    if size >= 0 or gone is not None:
        return best
    streams = [each for each in members if each.path is not None]
    leading = (each for each in streams if _leads(each, mains))
    return next(leading, None) or next(iter(streams), base)


def _leads(files: SessionFiles, mains: Mapping[str, KnownSource]) -> bool:
    known = None if files.path is None else mains.get(os.path.abspath(files.path))
    return known is not None and known.kind is SourceKind.TRANSCRIPT


def _measure(path: Path, otherwise: int) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return otherwise


_RANKS = {None: 0, CaptureKind.MIRROR: 1, CaptureKind.STREAM: 2}


def _rank(files: SessionFiles) -> tuple[int, str]:
    return _RANKS[files.capture], os.fspath(files.path or files.folder)
