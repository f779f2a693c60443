"""This machine: the name by which data is known to come from it, and what it leaves out.

Its name is random, made once and kept in the data directory. People know the machine by its host name and user
instead, which the store is told once.

What a person excludes is not archived. A pattern is a path, in which `*` stands for anything within a name and
`**` for anything at all. It is held against the session's files and against the directories that its lines name
as their own; a directory excludes all that lies in it. The lines are asked because the names of project folders
are ambiguous. Forgotten sessions are left out as well: they leave a tombstone in the store, by which they and
the copies of them in backups are recognised.
"""

from __future__ import annotations

import getpass
import os
import platform
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from uuid import uuid4

from msgspec import Struct

from turnlog.store.interface import MaintainedStore, Store, Tombstone
from turnlog.store.model import LOCAL, Scope
from turnlog.store.opening import find_in_backup
from turnlog.transcripts.session_files import SessionFiles

_NAME = "origin"
_FORM = re.compile(r"[0-9a-f]{32}")


def find_origin(home: Path) -> str:
    """Return the name of this machine, made when it is first asked for; raises `OSError`."""
    path = home / _NAME
    if not path.exists():
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
    name = path.read_text("ascii").strip()
    if _FORM.fullmatch(name):
        return name
    raise OSError(f"{path} does not contain a machine name")


def _make(path: Path) -> None:
    """Make the file, there all at once, unless another process just did."""
    new = path.with_name(f".{_NAME}.{uuid4().hex}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(f"{uuid4().hex}\n")
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def peek_origin(home: Path) -> str | None:
    """Return the name of this machine, if it has one that can be read; nothing is written."""
    try:
        name = (home / _NAME).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return name if _FORM.fullmatch(name) else None


def find_host() -> str:
    """Return what this computer calls itself."""
    return platform.node()


def find_user() -> str:
    """Return what the system calls whoever runs this; nothing if nobody has that number."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def save_machine_name(store: Store, origin: str, scope: Scope = LOCAL) -> None:
    """Tell a store how this machine is called, if it has sessions of it and was never told."""
    for machine in store.list_machines(scope):
        if machine.origin == origin and not machine.host:
            store.save_machine(scope, origin, host=find_host(), user=find_user(), at_ns=machine.last_ns)


_FIRST_LINES = 64
"""How many lines are asked for their directory: the first that has one is near the top."""


class Exclusion:
    """Patterns of what is not to be archived."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = [_compile(os.path.expanduser(pattern)) for pattern in patterns if pattern.strip()]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def excludes(self, files: SessionFiles) -> bool:
        """Tell whether a session is excluded, by where it lies or by where it was at work."""
        if not self._patterns:
            return False
        paths = [os.fspath(files.folder)] if files.path is None else [os.fspath(files.path)]
        if self._matches(paths):
            return True
        transcripts = [files.path, *(agent.path for agent in files.agents)]
        return any(self._matches(_list_directories(path)) for path in transcripts if path is not None)

    def excludes_paths(self, paths: Iterable[str]) -> bool:
        """Tell whether any of some files or directories is excluded."""
        return self._matches(paths)

    def _matches(self, paths: Iterable[str]) -> bool:
        return any(pattern.fullmatch(path) for path in paths for pattern in self._patterns)


def _compile(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*|\?)", pattern.rstrip("/"))
    meanings = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meanings.get(part, re.escape(part)) for part in parts) + "(/.*)?", re.DOTALL)


def _list_directories(path: Path) -> list[str]:
    # An import statement would load all types of lines with this module, even where nothing is excluded.
    read_lines = import_module("turnlog.transcripts.line_reader").read_lines
    try:
        cwds = (getattr(line.entry, "cwd", None) for line in islice(read_lines(path), _FIRST_LINES))
        return [cwd for cwd in dict.fromkeys(cwds) if isinstance(cwd, str)]
    except OSError:
        return []  # whoever reads the file is told why


# Any other name may well be another session's.
_UNIQUE = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


class Holding(Struct, frozen=True, gc=False):
    """Copies of a store, by what they have of some sessions."""

    holding: tuple[str, ...]
    """The paths of those that have some."""
    unknown: tuple[str, ...]
    """Of those that may: they are not where they were made, or cannot be read."""


def list_forgotten(store: MaintainedStore, scope: Scope = LOCAL) -> frozenset[str]:
    """Return the keys of sessions that were forgotten, and those of their ids that are unique."""
    tombstones = store.list_tombstones(scope)
    ids = {each.session_id for each in tombstones if each.session_id and _UNIQUE.fullmatch(each.session_id)}
    return frozenset({each.key for each in tombstones} | ids)


def find_tombstones(store: MaintainedStore, name: str, scope: Scope = LOCAL) -> list[Tombstone]:
    """Return what is left of the sessions whose id or key begins with a name; what has it in full is meant."""
    found = [
        each
        for each in store.list_tombstones(scope)
        if each.key.startswith(name) or (each.session_id or "").startswith(name)
    ]
    exact = [each for each in found if name in (each.key, each.session_id)]
    return exact or found


def list_holding(store: MaintainedStore, keys: Sequence[str], scope: Scope = LOCAL) -> Holding:
    """Return the backups that have some of a few sessions."""
    found = [(backup.path, find_in_backup(backup, scope, keys)) for backup in store.list_backups()]
    return Holding(
        tuple(path for path, held in found if held), tuple(path for path, held in found if held is None)
    )
