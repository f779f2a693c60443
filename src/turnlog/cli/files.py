"""Which files a command line names.

A file is a session with all that lies beside it (sub-agents, workflows), a folder all sessions under it. A name
that does not exist is misuse; unreadable files in a folder are warned of, and the rest is read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from turnlog.cli.terminal import MisuseError, NothingFoundError, warn
from turnlog.transcripts.session_files import Located, Obstacle, locate_path, locate_sessions, path_text

STDIN = "-"
"""Names standard input where a file can be named."""
STDIN_NAME = "standard input"
_CHUNK = 1 << 18


class FoundSession(Struct, frozen=True):
    """Files of one session."""

    name: str
    project_folder: str
    paths: tuple[Path, ...]
    sizes: tuple[int, ...]
    """How many bytes each file has; 0 if that cannot be told."""


class FoundFiles(Struct, frozen=True):
    """The files to read, in order, each once."""

    sessions: tuple[FoundSession, ...]
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files."""
        return tuple(path for session in self.sessions for path in session.paths)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many bytes each of them has."""
        return tuple(size for session in self.sessions for size in session.sizes)

    def describe(self) -> str:
        """Return what there is, in words."""
        return path_text(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files"


def find_files(paths: Iterable[Path]) -> FoundFiles:
    """Return the files that some names stand for, and warn of what stood in the way.

    What lies beside a file that is named, its sub-agents, comes with it.
    """
    located: list[Located] = []
    for path in paths:
        _require(path)
        found = locate_path(path)
        if not path.is_dir():  # it keeps the name that it was given
            found = Located(
                tuple(replace(each, path=path) for each in found.sessions),
                tuple(replace(each, path=path) for each in found.strays),
                found.obstacles,
            )
        if not (found.sessions or found.strays):
            raise NothingFoundError(f"{path_text(path)}: no session files in this folder")
        located.append(found)
    return _gather(located)


def find_own_files(config_dirs: Iterable[Path]) -> FoundFiles:
    """Return all files of the sessions on this machine."""
    there = [path for path in config_dirs if path.is_dir()]
    found = _gather([locate_sessions(there)])
    if not found.paths:
        places = ", ".join(path_text(path) for path in config_dirs)
        raise NothingFoundError(f"no sessions of Claude Code in {places}; name files with --path")
    return found


def require_file(path: Path) -> None:
    """Raise `MisuseError` for what is not a file that can be read."""
    _require(path)
    if path.is_dir():
        raise MisuseError(f"{path_text(path)} is a folder, not a file")


def read_stdin() -> Iterator[bytes]:
    """Yield all bytes of standard input."""
    if sys.stdin is not None:
        while chunk := sys.stdin.buffer.read(_CHUNK):
            yield chunk


def _require(path: Path) -> None:
    try:
        if path.is_dir():
            os.listdir(path)
        elif path.exists() and not path.is_file():
            raise MisuseError(f"{path_text(path)}: not a regular file")
        else:
            path.open("rb").close()
    except ValueError as error:  # a name that no file can have
        raise MisuseError(f"{path_text(path)}: {error}") from error


def _gather(located: Iterable[Located]) -> FoundFiles:
    seen: set[tuple[int, int]] = set()
    sessions: list[FoundSession] = []
    obstacles: list[Obstacle] = []
    for found in located:
        for name, folder, listed in _list_sessions(found):
            first = [(path, size) for path in listed if (size := _measure_first(path, seen)) is not None]
            if first:
                sessions.append(FoundSession(name, folder, *zip(*first, strict=True)))
        for obstacle in found.obstacles:
            warn(f"{path_text(obstacle.path)}: {obstacle.reason or obstacle.kind}")
            obstacles.append(obstacle)
    return FoundFiles(tuple(sessions), tuple(obstacles))


def _measure_first(path: Path, seen: set[tuple[int, int]]) -> int | None:
    """Return the size of a file that comes up for the first time, by whichever name; else None."""
    try:
        status = os.stat(path)
    except OSError:  # reading it reports why
        return 0
    place = status.st_dev, status.st_ino
    if status.st_ino and place in seen:  # where the file system has no such numbers, each is another file
        return None
    seen.add(place)
    return status.st_size


def _list_sessions(found: Located) -> Iterator[tuple[str, str, list[Path]]]:
    for session in found.sessions:
        paths = [] if session.path is None else [session.path]
        paths += (agent.path for agent in session.agents if agent.path is not None)
        yield session.session_id, session.project_folder, paths
    for agent in found.strays:
        if agent.path is not None:
            yield agent.path.stem, agent.path.parent.name, [agent.path]
