"""Machines: the name of this one, what it leaves out, and who owns those that push.

Its name is random, made once and kept in the data directory. People know the machine by its host name and user
instead, which are saved in the store once.

What a person excludes is not archived. A pattern is a path, in which `*` stands for anything within a name and
`**` for anything at all. It is held against the session's files and against the directories that its lines name
as their own; a directory excludes all that lies in it. The lines are asked because the names of project folders
are ambiguous. Forgotten sessions are left out as well: they leave a tombstone in the store, by which they and
the copies of them in backups are recognised.

A machine that pushes for the first time becomes its person's. One that has sessions already does not: anybody
who learned its name could claim them, so an admin has to assign it. `KnownMachines` asks the store at most
twice a minute for each machine, since machines push all the time.
"""

from __future__ import annotations

import os
import platform
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from uuid import uuid4

from msgspec import Struct

from turnlog.errors import TakenMachineError, UploadError
from turnlog.store.interface import MaintainedStore, Store, Tombstone
from turnlog.store.model import LOCAL, Machine, Scope
from turnlog.store.opening import find_in_backup
from turnlog.transcripts.session_files import SessionFiles

_NAME = "origin"
_FORM = re.compile(r"[0-9a-f]{32}")


def find_origin(home: Path) -> str:
    """Return the name of this machine, made when it is first asked for; raises `OSError`."""
    path = home / _NAME
    if not path.exists():
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        # An import statement would load it for commands that only read the name.
        write_file = import_module("turnlog.atomic_files").write_file
        with suppress(FileExistsError):  # another process made it just now
            write_file(path, f"{uuid4().hex}\n".encode(), overwrite=False)
    name = path.read_text("ascii").strip()
    if _FORM.fullmatch(name):
        return name
    raise OSError(f"{path} does not contain a machine name")


def read_origin(home: Path) -> str | None:
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
    """Return the name of the user who runs this; empty if the system has none."""
    try:
        user: str = import_module("getpass").getuser()  # most commands need nobody's name
        return user
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
        return []  # reading the file reports why


# Any other name may well be another session's.
_UNIQUE = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


class BackupMatches(Struct, frozen=True, gc=False):
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


def find_in_backups(store: MaintainedStore, keys: Sequence[str], scope: Scope = LOCAL) -> BackupMatches:
    """Return the backups that have some of a few sessions."""
    found = [(backup.path, find_in_backup(backup, scope, keys)) for backup in store.list_backups()]
    return BackupMatches(
        tuple(path for path, held in found if held), tuple(path for path, held in found if held is None)
    )


MACHINE_TAKEN = "machine_taken"
"""The error code for a machine that belongs to another person."""
MACHINE_UNASSIGNED = "machine_unassigned"
"""The error code for a machine that has sessions without an owner."""
_SECONDS = 30.0
_MOST = 10_000
_LONGEST_NAME = 200
"""Characters of what a machine is called."""


class _Registration(Struct, frozen=True, gc=False):
    person: str | None
    host: str
    user: str
    at: float


class KnownMachines:
    """Remembers whose machines are; for several threads."""

    def __init__(
        self, store: MaintainedStore, scope: Scope = LOCAL, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._scope = scope
        self._clock = clock
        self._registered: dict[str, _Registration] = {}
        self._known: dict[str, Machine] = {}
        self._known_at = 0.0
        self._lock = threading.Lock()

    def register(self, origin: str, person: str | None, host: str, user: str) -> None:
        """Note that something comes from a machine; raises `UploadError` if it may not come from this person.

        Without `person`, its owner stays as it is. Raises `StoreError`.
        """
        host, user = host[:_LONGEST_NAME], user[:_LONGEST_NAME]
        with self._lock:
            now, last = self._clock(), self._registered.get(origin)
            is_fresh = last is not None and now - last.at < _SECONDS
            if is_fresh and last is not None and (last.person, last.host, last.user) == (person, host, user):
                return
            if person is not None:
                self._check(origin, now)
            try:
                self._store.save_machine(self._scope, origin, person=person, host=host, user=user)
            except TakenMachineError:
                self._registered.pop(origin, None)
                reason = "This machine belongs to another person; an admin can reassign it"
                raise UploadError(MACHINE_TAKEN, reason) from None
            self._registered[origin] = _Registration(person, host, user, now)
            while len(self._registered) > _MOST:
                del self._registered[next(iter(self._registered))]

    def forget(self, origin: str) -> None:
        """Ask anew when something next comes from a machine: somebody said whose it is."""
        with self._lock:
            self._registered.pop(origin, None)
            self._known_at = 0.0

    def _check(self, origin: str, now: float) -> None:
        """Raise `UploadError` for a machine with sessions that are nobody's."""
        if origin not in self._known or not self._known_at or now - self._known_at >= _SECONDS:
            self._known = {machine.origin: machine for machine in self._store.list_machines(self._scope)}
            self._known_at = now
        known = self._known.get(origin)
        if known is not None and known.person is None and known.sessions:
            reason = "This machine has sessions here without an owner; an admin has to assign it first"
            raise UploadError(MACHINE_UNASSIGNED, reason)
