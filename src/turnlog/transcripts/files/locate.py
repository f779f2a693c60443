"""Finding the sessions.

Claude Code keeps a session in `<config dir>/projects/<project folder>/<session id>.jsonl`, spec 004 has it in
`conversations/`, and people have several config dirs, copies and exports. `locate_sessions` looks through
config dirs, `locate_path` at any file or folder. Older sub-agents lie beside the session and name it
only in their lines. `sessions-index.json` is not read, being often out of date; `memory/` holds no sessions.

Each folder is listed once. What cannot be listed or leads elsewhere is an `Obstacle`, and the search goes on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from turnlog.transcripts.files.session_files import (
    AgentFiles,
    FolderLister,
    Listing,
    Obstacle,
    ObstacleKind,
    SessionFiles,
    is_session_folder,
    pair_agents,
    read_session_folder,
    split_capture,
)

_ROOTS = ("projects", "conversations")
_SUFFIXES = (".jsonl", ".ndjson")
_MEMORY = "memory"
_NAME = re.compile(r"(?!\.)[^/\\\0]+")
_AGENT_LINES = 8
"""How many lines of a sub-agent are looked at for its session: the first has it, unless it is broken."""
_LONGEST = 1 << 20
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


def locate_sessions(config_dirs: Iterable[Path]) -> Located:
    """Find all sessions of some config dirs; of those that are one folder by two names, only once."""
    search = _Search()
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


def locate_path(path: Path) -> Located:
    """Find the session that a file is, or all sessions under a folder: a config dir, a project's, any other.

    A file may have any name. What lies beside it and belongs to the session is found with it.
    """
    path = Path(os.path.abspath(path))
    search = _Search()
    if not path.is_dir():
        search.look_at(path)
        return search.located()
    listing = FolderLister().list_folder(os.fspath(path), os.fspath(path))
    if not set(_ROOTS).isdisjoint(listing.folders):
        return locate_sessions([path])
    if is_session_folder(path.name, listing):
        search.look_at(path.with_name(f"{path.name}.jsonl"), folder_is_enough=True)
    else:
        search.walk(path)
    return search.located()


class _Search:
    """One search: what it found so far, and what stood in its way."""

    def __init__(self) -> None:
        self.lister = FolderLister()
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
            inner = self._sort_folders(folder, listing, is_root=folder == root)
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
        names = {path.stem, _find_session_id(path) or path.stem}
        beside = [agent for agent in agents if agent.path and _find_session_id(agent.path) in names]
        folder = path.parent / path.stem
        listing = self._list(folder) if path.stem in around.folders else None
        self._add(path.stem, path if path.is_file() else None, path.parent, listing, beside)

    def _list(self, folder: Path) -> Listing:
        return self.lister.list_folder(os.fspath(folder), os.fspath(folder))

    def _sort_folders(self, folder: Path, listing: Listing, is_root: bool) -> dict[str, Listing]:
        """Return the folders inside, each with what it holds."""
        names = [name for name in listing.folders if name != _MEMORY or is_root]
        return {name: self._list(folder / name) for name in names}

    def _add_sessions(
        self, folder: Path, listing: Listing, inner: dict[str, Listing]
    ) -> list[tuple[Path, Listing]]:
        """Add the sessions of one folder, and return the folders in it that belong to none."""
        agents = pair_agents([folder / name for name in listing.files if name.startswith("agent-")])
        beside = self._by_session(agents)
        taken = {path.name for agent in agents for path in (agent.path, agent.meta) if path is not None}
        # There are thousands, and asking a `Path` for its parts takes longer than listing it.
        parts = ((name, *os.path.splitext(name)) for name in listing.files if name not in taken)
        transcripts = [(stem, folder / name) for name, stem, suffix in parts if suffix in _SUFFIXES]
        stems = {stem for stem, _ in transcripts}
        bare = {name for name in inner if is_session_folder(name, inner[name])} | beside.keys()
        for session_id, path in sorted([*transcripts, *((name, None) for name in bare - stems)], key=_by_id):
            self._add(session_id, path, folder, inner.pop(session_id, None), beside.get(session_id, []))
        return [(folder / name, found) for name, found in inner.items()]

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


def _by_id(session: tuple[str, Path | None]) -> tuple[str, str]:
    return session[0], os.fspath(session[1] or "")


def _expand(path: str, home: Path) -> Path:
    if path == "~" or path.startswith("~/"):
        return home / path[2:]
    return Path(path)


def _find_session_id(path: Path) -> str | None:
    """Return the session that a file's first lines name, or None. It must do as a file's name."""
    try:
        with path.open("rb") as file:
            first = file.readline(_LONGEST)
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
    read_lines = import_module("turnlog.transcripts.files.reader").read_lines
    for line in islice(read_lines(path, chunk_size=1 << 16), _AGENT_LINES):
        session_id = getattr(line.entry, "session_id", None)
        if isinstance(session_id, str) and _NAME.fullmatch(session_id):
            return session_id
    return None
