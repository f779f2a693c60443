"""Whether the process of a session lives, by Claude Code's own files: `sessions/<pid>.json` in its folder.

Claude Code writes one for each of its processes and removes it when that ends in order; what is left of others
says that they are gone. They are nobody's promise: what cannot be read says nothing. A number of a process may
be another's by now, so the time at which it was started is compared: on Linux as `/proc` counts it, elsewhere
as `ps` tells it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from turnlog.server.board.columns import ProcessState

_FOLDER = "sessions"
_MOST, _LARGEST = 1000, 1 << 16
_PATIENCE = 2.0
_SYSTEMS = frozenset({"darwin", "linux", "win32"})


class SessionProcess(Struct, frozen=True, gc=False, rename="camel"):
    """What such a file says, as far as it is used."""

    pid: int
    session_id: str
    proc_start: str | int | None = None
    pid_domain: str | None = None


_decode = msgspec.json.Decoder(SessionProcess).decode


def list_processes(config_dirs: Iterable[Path]) -> Iterator[SessionProcess]:
    """Yield what Claude Code says of its processes."""
    for folder in config_dirs:
        try:
            names = sorted(os.listdir(folder / _FOLDER))[:_MOST]
        except OSError:
            continue
        for name in names:
            found = _read(folder / _FOLDER / name) if name.endswith(".json") else None
            if found is not None:
                yield found


def find_processes(config_dirs: Iterable[Path]) -> dict[str, ProcessState]:
    """Return what is known of the processes of sessions, by their ids."""
    told = list(list_processes(config_dirs))
    starts = _list_starts([each.pid for each in told])
    found: dict[str, ProcessState] = {}
    for each in told:
        state = _judge(each, starts)
        if found.get(each.session_id) is not ProcessState.ALIVE:  # one that lives is enough
            found[each.session_id] = state
    return found


def _read(path: Path) -> SessionProcess | None:
    try:
        with path.open("rb") as file:
            return _decode(file.read(_LARGEST))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _judge(told: SessionProcess, starts: Mapping[int, str]) -> ProcessState:
    if told.pid <= 0 or (told.pid_domain in _SYSTEMS and told.pid_domain != sys.platform):
        return ProcessState.UNKNOWN
    if not _exists(told.pid):
        return ProcessState.GONE
    start = starts.get(told.pid)
    if told.proc_start is None or start is None or _is_other_clock(str(told.proc_start), start):
        return ProcessState.ALIVE
    is_same = " ".join(str(told.proc_start).split()) == start
    return ProcessState.ALIVE if is_same else ProcessState.GONE


def _is_other_clock(told: str, found: str) -> bool:
    """Tell whether two times cannot be compared, one being a count and the other a date."""
    return told.strip().isdigit() != found.isdigit()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError, OSError):
        return True
    return not _is_dead(pid)


def _is_dead(pid: int) -> bool:
    """Tell whether a process has ended, and is only waited for."""
    return _read_stat(pid)[:1] == ["Z"]


def _list_starts(pids: list[int]) -> dict[int, str]:
    """Return when processes were started, as Claude Code notes it on this system."""
    if sys.platform == "linux":
        found = {pid: _read_stat(pid) for pid in pids}
        return {pid: parts[19] for pid, parts in found.items() if len(parts) > 19}
    if os.name != "posix" or not pids:
        return {}
    return _ask_ps(pids)


def _read_stat(pid: int) -> list[str]:
    """Return what `/proc` says of a process, behind its name, which may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _ask_ps(pids: list[int]) -> dict[int, str]:
    command = ["ps", "-o", "pid=,lstart=", "-p", ",".join(map(str, pids))]
    try:
        told = subprocess.run(
            command,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    parts = (line.split() for line in told.splitlines())
    return {int(words[0]): " ".join(words[1:]) for words in parts if len(words) > 1 and words[0].isdigit()}
