"""The files of sessions: what they are called, where they are, and whether they are still what was read.

<session>.jsonl                                 the transcript
<session>/subagents/…/agent-<id>.jsonl          a sub-agent's, with agent-<id>.meta.json, at any depth
<session>/subagents/workflows/wf_<run>/         a workflow's sub-agents and its journal.jsonl
<session>/workflows/wf_<run>.json               a workflow's record
<session>/tool-results/                         results too large for a line
<session>/custom-title.json                     and other facts about the session

What turnlog captured of a session itself has names of its own, and is laid out alike.

Files that turnlog itself writes of a session are told from Claude Code's own by their names:
`<session>.mirror.jsonl` has the lines of a session file as the Agent SDK hands them on, with sub-agents in
`<session>.mirror/subagents/` as on disk. `<session>.stream.jsonl` has what a program and its host said to each
other. The name tells it wherever such a file is copied to.

Claude Code keeps a project's sessions in a folder named after its path, with `-` for everything that is no
ASCII letter or digit. That cannot be undone (`/a/b`, `/a-b` and `/a.b` share a folder), so a project is named
after the `cwd` that its lines tell.

What is found under a root may be a link, and a link may lead anywhere. One that leaves the root is an
`Obstacle` and is not followed; one to a folder inside is left alone, since that is found where it is.

Claude Code keeps a session in `<config dir>/projects/<project folder>/<session id>.jsonl`, spec 004 has it in
`conversations/`, and people have several config dirs, copies and exports. `locate_sessions` looks through
config dirs, `locate_path` at any file or folder. Older sub-agents lie beside the session and name it only in
their lines. `sessions-index.json` is not read, being often out of date; `memory/` holds no sessions.

Each folder is listed once. What cannot be listed or leads elsewhere is an `Obstacle`, and the search goes on.

Files are appended to, but they are also truncated, rewritten under the same inode, replaced and deleted. These
are told apart by size, inode and a fingerprint of two windows: the first bytes and the last ones of what was
read. A change of some bytes between the windows that leaves the length as it was goes unnoticed.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace


def path_text(path: str | Path) -> str:
    """Return a path as text that can be written, whatever bytes it is of."""
    return os.fsencode(path).decode("utf-8", "replace")


class CaptureKind(StrEnum):
    """What was captured, the one that says the most first."""

    MIRROR = "mirror"
    """The lines of the session's file."""
    STREAM = "stream"
    """The messages of the program, and control traffic."""


def name_capture(folder: Path, session_id: str, kind: CaptureKind) -> Path:
    """Return where what is captured of a session lies in its project's folder."""
    return folder / f"{session_id}.{kind}.jsonl"


def split_capture(stem: str) -> tuple[str, CaptureKind | None]:
    """Return the session that a file tells of, by its name without suffix, and what kind of capture it is."""
    session_id, _, word = stem.rpartition(".")
    kind = _KINDS.get(word) if session_id else None
    return (stem, None) if kind is None else (session_id, kind)


_KINDS = {kind.value: kind for kind in CaptureKind}


_AGENT = re.compile(r"agent-(.+?)(\.jsonl|\.meta\.json)")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RUN = "wf_"
_TOOL_RESULTS = "tool-results"
_PARTS = frozenset({"subagents", "workflows", _TOOL_RESULTS})


class AgentFiles(Struct, frozen=True, gc=False):
    """The files of one sub-agent; either may be missing."""

    agent_id: str
    path: Path | None = None
    meta: Path | None = None
    run_id: str | None = None
    """The workflow run that it worked for."""


class WorkflowFiles(Struct, frozen=True, gc=False):
    """The files of one workflow run; either may be missing."""

    run_id: str
    journal: Path | None = None
    record: Path | None = None


class SessionFiles(Struct, frozen=True, gc=False):
    """All files of one session, each tuple in the order of paths."""

    session_id: str
    """After the file's name; what the lines say counts more."""
    path: Path | None
    """The transcript; None when only other files of the session are left."""
    project_folder: str
    """The name of the folder it lies in."""
    own_folder: Path | None = None
    """The session's own folder, where it is not the one beside the transcript that is called as it."""
    agents: tuple[AgentFiles, ...] = ()
    workflows: tuple[WorkflowFiles, ...] = ()
    tool_results: tuple[Path, ...] = ()
    meta: tuple[Path, ...] = ()
    """Facts about the session, as JSON."""
    others: tuple[Path, ...] = ()
    """What nobody knows the use of."""
    capture: CaptureKind | None = None
    """What kind of capture `path` is; None if it is Claude Code's own file."""
    captures: tuple[Path, ...] = ()
    """Further files of lines that tell of the same session or of its agents; `path` tells more."""

    @property
    def folder(self) -> Path:
        """The session's own folder, which need not exist: of thousands of sessions, few are asked for it."""
        if self.own_folder is not None:
            return self.own_folder
        return Path() if self.path is None else self.path.with_suffix("")


def find_offloaded(session: SessionFiles, name_or_path: str) -> Path | None:
    """Return the file of a tool result that is kept outside its line, or None.

    A line gives a name or a path, which may come from another machine: then what stands behind `tool-results`
    counts. Nothing outside the session's folder is ever returned, by whatever way a path leads there.
    """
    parts = re.split(r"[/\\]", name_or_path)
    if _TOOL_RESULTS in parts:
        parts = parts[len(parts) - parts[::-1].index(_TOOL_RESULTS) :]
    elif os.path.isabs(name_or_path) or len(parts) > 1:
        return None
    path = os.path.join(session.folder, _TOOL_RESULTS, *parts)
    try:
        inside = is_inside(path, os.fspath(session.folder))
    except (OSError, ValueError):  # a name that no file can have
        return None
    return Path(path) if inside and os.path.isfile(path) else None


def is_session_folder(name: str, listing: Listing) -> bool:
    """Tell whether a folder is a session's own, even if the transcript is gone."""
    return _UUID.fullmatch(name) is not None or not _PARTS.isdisjoint(listing.folders)


def read_session_folder(lister: FolderLister, session: SessionFiles, listing: Listing) -> SessionFiles:
    """Return `session` with all that its folder holds, whose own names are in `listing`."""
    agent_files: list[Path] = []
    runs: dict[str, WorkflowFiles] = {}
    results: list[Path] = []
    meta: list[Path] = []
    others: list[Path] = []
    for parts in _walk(lister, os.fspath(session.folder), listing):
        path = session.folder.joinpath(*parts)
        name, parent = parts[-1], parts[-2] if len(parts) > 1 else ""
        if parts[0] == _TOOL_RESULTS and parent:
            results.append(path)
        elif _AGENT.fullmatch(name):
            agent_files.append(path)
        elif name == "journal.jsonl" and parent.startswith(_RUN):
            record = runs[parent].record if parent in runs else None
            runs[parent] = WorkflowFiles(parent, path, record)
        elif name.startswith(_RUN) and name.endswith(".json") and parent == "workflows":
            run_id = name.removesuffix(".json")
            journal = runs[run_id].journal if run_id in runs else None
            runs[run_id] = WorkflowFiles(run_id, journal, path)
        else:
            (meta if name.endswith(".json") and not parent else others).append(path)
    return replace(
        session,
        agents=(*session.agents, *pair_agents(agent_files)),
        workflows=tuple(runs[run_id] for run_id in sorted(runs)),
        tool_results=tuple(results),
        meta=tuple(meta),
        others=tuple(others),
    )


def pair_agents(paths: list[Path]) -> list[AgentFiles]:
    """Return the sub-agents that some files belong to, in the order of paths; other files are left out."""
    found: dict[tuple[Path, str], dict[str, Path]] = {}
    for path in paths:
        match = _AGENT.fullmatch(path.name)
        if match:
            found.setdefault((path.parent, match[1]), {})[match[2]] = path
    return [
        AgentFiles(
            agent_id=agent_id,
            path=files.get(".jsonl"),
            meta=files.get(".meta.json"),
            run_id=parent.name if parent.name.startswith(_RUN) else None,
        )
        for (parent, agent_id), files in sorted(found.items())
    ]


def _walk(lister: FolderLister, folder: str, listing: Listing) -> Iterator[tuple[str, ...]]:
    """Yield each file under a session's folder as its steps from there."""
    todo: list[tuple[tuple[str, ...], Listing]] = [((), listing)]
    while todo:
        steps, found = todo.pop()
        for name in found.files:
            yield (*steps, name)
        for name in reversed(found.folders):
            inner = (*steps, name)
            todo.append((inner, lister.list_folder(os.path.join(folder, *inner), folder)))


_LONGEST = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_OTHER = re.compile(r"[^A-Za-z0-9]")


def project_name(cwds: Iterable[str], folder: str) -> str:
    """Return the path of the project, given the `cwd`s of a session in order, and the name of its folder.

    A session may change its directory: the `cwd` that the folder is named after counts, else the first. Without
    any the folder's name stands as it is.
    """
    first = ""
    for cwd in cwds:
        if cwd and is_named_after(folder, cwd):
            return cwd
        first = first or cwd
    return first or folder


def project_folder_name(path: str) -> str:
    """Return the name of the folder that Claude Code keeps the sessions of the directory `path` in.

    `path` is absolute and without symlinks. A long one is cut, and told apart by a hash; native builds of the
    program use another hash than this one, so that for long paths only the part before it can be relied on.
    """
    path = unicodedata.normalize("NFC", path)
    name = _replace(path)
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}-{_hash(path)}"


@lru_cache(maxsize=1024)  # a project has many sessions
def is_named_after(folder: str, path: str) -> bool:
    """Tell whether `folder` is a name that Claude Code gives to the folder of `path`, with whichever hash."""
    name = _replace(unicodedata.normalize("NFC", path))
    if len(name) <= _LONGEST:
        return folder == name
    return folder.startswith(f"{name[:_LONGEST]}-")


def _replace(path: str) -> str:
    # JavaScript counts in UTF-16: a character beyond the basic plane is two.
    return _OTHER.sub(lambda match: "-" * (1 + (match[0] > "\uffff")), path)


def _hash(path: str) -> str:
    """Return JavaScript's usual 32-bit string hash in base 36."""
    units = memoryview(path.encode("utf-16-le", "surrogatepass")).cast("H")
    value = 0
    for unit in units:
        value = (31 * value + unit) & 0xFFFFFFFF
    return _base_36(min(value, (1 << 32) - value))


def _base_36(value: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


class ObstacleKind(StrEnum):
    """Why something on the way was not read."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    OUTSIDE = "outside"
    """A link out of the folder that it stands in."""


class Obstacle(Struct, frozen=True, gc=False):
    """Something on the way that was not read."""

    path: Path
    kind: ObstacleKind
    reason: str = ""


class Listing(Struct, frozen=True, gc=False):
    """The names in one folder, sorted."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


class FolderLister:
    """Lists folders and gathers what stood in the way."""

    def __init__(self) -> None:
        self.obstacles: list[Obstacle] = []

    def list_folder(self, folder: str, root: str) -> Listing:
        """List one folder; links must stay under `root`."""
        files: list[str] = []
        folders: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._sort(entry, root, files, folders)
        except OSError as error:
            self.report(folder, error)
        return Listing(tuple(sorted(files)), tuple(sorted(folders)))

    def report(self, path: str, error: OSError) -> None:
        """Note that `path` could not be read."""
        gone = isinstance(error, FileNotFoundError | NotADirectoryError)
        kind = ObstacleKind.MISSING if gone else ObstacleKind.UNREADABLE
        self.obstacles.append(Obstacle(Path(path), kind, error.strerror or str(error)))

    def _sort(self, entry: os.DirEntry[str], root: str, files: list[str], folders: list[str]) -> None:
        if entry.is_symlink():
            if not is_inside(entry.path, root):
                self.obstacles.append(
                    Obstacle(Path(entry.path), ObstacleKind.OUTSIDE, "a link out of its folder")
                )
                return
            if entry.is_dir():
                return
        elif entry.is_dir():
            folders.append(entry.name)
            return
        if entry.is_file():
            files.append(entry.name)
        else:
            self.obstacles.append(Obstacle(Path(entry.path), ObstacleKind.UNREADABLE, "not a regular file"))


def is_inside(path: str, root: str) -> bool:
    """Tell whether `path` is under `root` when all links are followed."""
    real, real_root = os.path.realpath(path), os.path.realpath(root)
    return real.startswith(real_root.rstrip(os.sep) + os.sep)


_ROOTS = ("projects", "conversations")
_SUFFIXES = (".jsonl", ".ndjson")
_MEMORY = "memory"
_NAME = re.compile(r"(?!\.)[^/\\\0]+")
_AGENT_LINES = 8
"""How many lines of a sub-agent are looked at for its session: the first has it, unless it is broken."""
_LONGEST_LINE = 1 << 20
"""How long a first line may be to be looked at by itself."""


class Located(Struct, frozen=True, gc=False):
    """What a search found, in the order of roots, then of paths."""

    sessions: tuple[SessionFiles, ...] = ()
    strays: tuple[AgentFiles, ...] = ()
    """Sub-agents whose session nobody knows."""
    obstacles: tuple[Obstacle, ...] = ()


def list_config_dirs(env: Mapping[str, str], home: Path) -> list[Path]:
    """Return where Claude Code's data may be: `CLAUDE_CONFIG_DIR`, else its usual places, there or not.

    The variable may name several, with commas or the system's path separator between them.
    """
    given = env.get("CLAUDE_CONFIG_DIR", "").replace(os.pathsep, ",").split(",")
    named = [_expand(part.strip(), home) for part in given if part.strip()]
    xdg = env.get("XDG_CONFIG_HOME")
    usual = [home / ".claude", (Path(xdg) if xdg else home / ".config") / "claude"]
    return list(dict.fromkeys(named or usual))


def list_roots(config_dirs: Iterable[Path]) -> list[Path]:
    """Return the folders of config dirs that sessions are kept in, there or not."""
    return [config / name for config in config_dirs for name in _ROOTS]


def locate_sessions(config_dirs: Iterable[Path], is_settled: Callable[[str], bool] | None = None) -> Located:
    """Find all sessions of some config dirs; of those that are one folder by two names, only once.

    Where a session is nothing but its transcript, `is_settled` is asked about that file's path, and the session
    is left out if nobody has to know more: of thousands, this is so of nearly all.
    """
    search = _Search(is_settled)
    for config in config_dirs:
        try:
            names = set(os.listdir(config))
        except OSError as error:
            search.lister.report(os.fspath(config), error)
            continue
        for name in _ROOTS:
            if name in names:
                search.walk(config / name)
    return search.located()


def locate_path(path: Path, is_settled: Callable[[str], bool] | None = None) -> Located:
    """Find the session that a file is, or all sessions under a folder: a config dir, a project's, any other.

    A file may have any name. What lies beside it and belongs to the session is found with it. In folders,
    sessions are left out as `locate_sessions` does.
    """
    path = Path(os.path.abspath(path))
    search = _Search(is_settled)
    if not path.is_dir():
        search.look_at(path)
        return search.located()
    listing = FolderLister().list_folder(os.fspath(path), os.fspath(path))
    if not set(_ROOTS).isdisjoint(listing.folders):
        return locate_sessions([path], is_settled)
    if is_session_folder(path.name, listing):
        search.look_at(path.with_name(f"{path.name}.jsonl"), folder_is_enough=True)
    else:
        search.walk(path)
    return search.located()


class _Search:
    """One search: what it found so far, and what stood in its way."""

    def __init__(self, is_settled: Callable[[str], bool] | None) -> None:
        self.lister = FolderLister()
        self._is_settled = is_settled
        self._sessions: list[SessionFiles] = []
        self._strays: list[AgentFiles] = []
        self._seen: set[str] = set()

    def located(self) -> Located:
        return Located(tuple(self._sessions), tuple(self._strays), tuple(self.lister.obstacles))

    def walk(self, root: Path) -> None:
        """Find the sessions of a folder and of all folders in it."""
        real = os.path.realpath(root)
        if real in self._seen:
            return
        self._seen.add(real)
        todo = [(root, self._list(root))]
        while todo:
            folder, listing = todo.pop()
            names = (name for name in listing.folders if name != _MEMORY or folder == root)
            inner = {name: self._list(folder / name) for name in names}
            todo += reversed(self._add_sessions(folder, listing, inner))

    def look_at(self, path: Path, folder_is_enough: bool = False) -> None:
        """Find the one session whose transcript is, or was, at `path`."""
        if not path.is_file() and not folder_is_enough:
            kind = ObstacleKind.UNREADABLE if path.exists() else ObstacleKind.MISSING
            self.lister.obstacles.append(Obstacle(path, kind, "not a file"))
            return
        around = FolderLister().list_folder(os.fspath(path.parent), os.fspath(path.parent))
        agents = pair_agents([path.parent / name for name in around.files if name.startswith("agent-")])
        own = [agent for agent in agents if agent.path == path]
        if own:
            self._strays += own
            return
        names = {path.stem, (_find_session_id(path) if agents else None) or path.stem}
        beside = [agent for agent in agents if agent.path and _find_session_id(agent.path) in names]
        folder = path.parent / path.stem
        listing = self._list(folder) if path.stem in around.folders else None
        self._add(path.stem, path if path.is_file() else None, path.parent, listing, beside)

    def _list(self, folder: Path) -> Listing:
        return self.lister.list_folder(os.fspath(folder), os.fspath(folder))

    def _add_sessions(
        self, folder: Path, listing: Listing, inner: dict[str, Listing]
    ) -> list[tuple[Path, Listing]]:
        """Add the sessions of one folder, and return the folders in it that belong to none."""
        agents = pair_agents([folder / name for name in listing.files if name.startswith("agent-")])
        beside = self._by_session(agents)
        taken = {path.name for agent in agents for path in (agent.path, agent.meta) if path is not None}
        # There are thousands, and asking a `Path` for its parts takes longer than listing it.
        parts = ((name, *os.path.splitext(name)) for name in listing.files if name not in taken)
        transcripts = [(stem, name) for name, stem, suffix in parts if suffix in _SUFFIXES]
        bare = {name for name in inner if is_session_folder(name, inner[name])} | beside.keys()
        bare.difference_update(stem for stem, _ in transcripts)
        is_settled, prefix = self._is_settled, os.path.join(folder, "")
        for session_id, name in sorted([*transcripts, *((each, "") for each in bare)]):
            own, agents_beside = inner.pop(session_id, None), beside.get(session_id, [])
            if is_settled is not None and own is None and not agents_beside and is_settled(prefix + name):
                continue
            self._add(session_id, folder / name if name else None, folder, own, agents_beside)
        return [(folder / name, listing) for name, listing in inner.items()]

    def _by_session(self, agents: list[AgentFiles]) -> dict[str, list[AgentFiles]]:
        """Return the sub-agents that lie beside sessions, by the session that their lines name."""
        found: dict[str, list[AgentFiles]] = {}
        for agent in agents:
            session_id = _find_session_id(agent.path) if agent.path else None
            if session_id is None:
                self._strays.append(agent)
            else:
                found.setdefault(session_id, []).append(agent)
        return found

    def _add(
        self,
        stem: str,
        path: Path | None,
        parent: Path,
        listing: Listing | None,
        beside: list[AgentFiles],
    ) -> None:
        session_id, capture = split_capture(stem)
        folder = parent / stem if path is None else None
        session = SessionFiles(session_id, path, parent.name, folder, tuple(beside), capture=capture)
        if listing is not None:
            session = read_session_folder(self.lister, session, listing)
        self._sessions.append(session)


def _expand(path: str, home: Path) -> Path:
    if path == "~" or path.startswith("~/"):
        return home / path[2:]
    return Path(path)


def _find_session_id(path: Path) -> str | None:
    """Return the session that a file's first lines name, or None. It must do as a file's name."""
    try:
        with path.open("rb") as file:
            first = file.readline(_LONGEST_LINE)
        return _find_plainly(first) or _find_in_lines(path)
    except OSError:
        return None  # whoever reads the file is told why


class _Named(Struct, rename="camel"):
    """A line as today's program writes them, as far as it matters here."""

    type: Literal["user", "assistant"]
    uuid: str
    session_id: str


_decode_named = msgspec.json.Decoder(_Named).decode


def _find_plainly(line: bytes) -> str | None:
    """Return what nearly every first line says, without loading the types of all others."""
    try:
        session_id = _decode_named(line).session_id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return session_id if _NAME.fullmatch(session_id) else None


def _find_in_lines(path: Path) -> str | None:
    # An import statement would load all types with this module, or stand inside a function.
    read_lines = import_module("turnlog.transcripts.line_reader").read_lines
    for line in islice(read_lines(path, chunk_size=1 << 16), _AGENT_LINES):
        session_id = getattr(line.entry, "session_id", None)
        if isinstance(session_id, str) and _NAME.fullmatch(session_id):
            return session_id
    return None


_SIZE = 4096

ReadAt = Callable[[int, int], bytes]
"""Takes where to read, and how many bytes."""


class Change(StrEnum):
    """What happened to a file since it was last read."""

    NEW = "new"
    """It was not read before."""
    UNCHANGED = "unchanged"
    """Nothing that is a line came, and nothing went."""
    APPENDED = "appended"
    TRUNCATED = "truncated"
    """It is shorter than what was read of it."""
    REWRITTEN = "rewritten"
    """Other bytes stand where lines were read."""
    REPLACED = "replaced"
    """It is another file under the same name."""
    VANISHED = "vanished"
    UNREADABLE = "unreadable"
    """It is there, but may not or cannot be read."""


class Checkpoint(Struct, frozen=True, gc=False):
    """How far a file was read."""

    source: str
    offset: int
    """Up to where it was read. Who reads lines goes on behind the last newline, or behind the last object where
    none follows it yet."""
    size: int
    fingerprint: str
    """Of the first and the last bytes before `offset`."""
    inode: int = 0
    """0 where the file system has none."""
    device: int = 0
    modified_ns: int = 0
    generation: int = 0
    """How many times the file had to be read anew."""
    in_array: bool = False
    """Whether `offset` is between the items of an array."""


class Windows:
    """The first and the last bytes of what was read so far, as they were then."""

    __slots__ = ("_first", "_last")

    def __init__(self, first: bytes = b"", last: bytes = b"") -> None:
        """Begin with the first bytes of a file, and the last ones behind those; each at most a window full."""
        self._first = first
        self._last = last

    def add(self, data: bytes) -> None:
        """Take what was read next."""
        missing = _SIZE - len(self._first)
        if missing:
            self._first += data[:missing]
            data = data[missing:]
        if data:
            self._last = data[-_SIZE:] if len(data) >= _SIZE else (self._last + data)[-_SIZE:]

    @property
    def fingerprint(self) -> str:
        """A digest of both; of all that was read if it is little."""
        return blake2b(self._first + self._last, digest_size=16).hexdigest()


def read_windows(offset: int, read_at: ReadAt) -> Windows:
    """Read the first and the last bytes before `offset`."""
    first = min(offset, _SIZE)
    last = min(offset - first, _SIZE)
    return Windows(read_at(0, first), read_at(offset - last, last) if last else b"")


def is_untouched(known: Checkpoint, status: os.stat_result) -> bool:
    """Tell whether a file was read to its end and has the size, the time and the inode that it had then.

    Such a file need not be opened.
    """
    then = known.offset, known.modified_ns, known.inode, known.device
    return then == (status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)


def compare(known: Checkpoint, status: os.stat_result, read_at: ReadAt) -> tuple[Change, Windows]:
    """Tell what became of a file: if nothing that was read has changed, it is `APPENDED`, if by nothing.

    With it come the windows before `known.offset`, to go on with; of a file that has to be read anew, none.
    """
    moved = bool(known.inode and status.st_ino and known.inode != status.st_ino)
    same_times = (known.size, known.modified_ns) == (status.st_size, status.st_mtime_ns)
    if moved and not same_times:
        return Change.REPLACED, Windows()
    if status.st_size < known.offset:
        return Change.TRUNCATED, Windows()
    windows = read_windows(known.offset, read_at)
    if windows.fingerprint != known.fingerprint:
        return Change.REPLACED if moved else Change.REWRITTEN, Windows()
    return Change.APPENDED, windows
