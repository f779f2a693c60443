"""The files of one session: what its folder holds, and for what.

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
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from msgspec import Struct


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
    return SessionFiles(
        session_id=session.session_id,
        path=session.path,
        project_folder=session.project_folder,
        own_folder=session.own_folder,
        agents=(*session.agents, *pair_agents(agent_files)),
        workflows=tuple(runs[run_id] for run_id in sorted(runs)),
        tool_results=tuple(results),
        meta=tuple(meta),
        others=tuple(others),
        capture=session.capture,
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
