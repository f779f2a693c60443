"""Watching folders: which paths changed, as the system reports it or as regular looks find it.

A watcher says which paths changed, in sets: however often a file is written between two questions, its path is
in the answer once. It is asked (`wait`) rather than calling by itself, so whoever is slow gets fewer and larger
sets and never falls behind. The folders need not exist; one that comes, goes or is replaced is itself a changed
path, and whoever watches must look at all that is in it. A watcher may miss changes, as systems do: look at
everything from time to time.

Local file systems report what changes in them (`NativeWatcher`); those over a network or a bridge do not, since
their servers tell nobody what other machines write, and are polled (`PollingWatcher`). What has to be
located again because a path changed is its target: a session, named by its transcript whether that is there or
not, or a folder that belongs to none, with all sessions under it. What `turnlog.transcripts.locate_sessions`
would not find has no target.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from turnlog.transcripts.session_files import Listing, SessionFiles, is_session_folder, locate_path, pair_agents


class StopSignal:
    """A wish to stop, which any thread and any signal handler may express."""

    def __init__(self) -> None:
        # `threading.Event` takes a lock to be set: in a signal handler that waits for the thread it interrupts.
        self._gate = threading.Lock()
        self._gate.acquire()
        self._is_set = False

    def set(self) -> None:
        """Wish to stop; again changes nothing."""
        if not self._is_set:
            self._is_set = True
            with suppress(RuntimeError):  # another thread was as fast
                self._gate.release()

    def is_set(self) -> bool:
        """Tell whether it is time to stop."""
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Wait until it is time to stop, but not longer than so many seconds; tell which."""
        if self._gate.acquire(timeout=max(seconds, 0.0)):
            self._gate.release()
        return self._is_set


class Watcher(ABC):
    """Tells what changes in some folders, from `start` to `close`."""

    def __init__(self, roots: Iterable[Path]) -> None:
        self.roots = tuple(dict.fromkeys(roots))
        self._stop = StopSignal()

    @abstractmethod
    def start(self) -> None:
        """Start watching: later changes are reported even if `wait` is called late."""

    @abstractmethod
    def wait(self, seconds: float) -> set[Path]:
        """Return what changed; empty if nothing did for so many seconds, or if it is time to stop."""

    @abstractmethod
    def close(self) -> None:
        """Release the system's resources."""

    def stop(self) -> None:
        """Make `wait` return soon; for signal handlers and other threads."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether it is time to stop."""
        return self._stop.is_set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_State = tuple[int, int, int]
"""Size, time and inode."""
_SHARE = 0.01
"""Of the time that looking at everything may take."""
_HOT_SECONDS = 300.0
"""For how long a file that changed is looked at more often."""
_HOT_FILES = 64


class PollingWatcher(Watcher):
    """Reports what is different from the last time it looked.

    All files are looked at every two seconds, or less often if there are so many that it would take more than
    one per cent of the time. Files that changed lately are looked at four times a second, so that a session
    that is being written is followed closely however many others there are.
    """

    def __init__(self, roots: Iterable[Path], *, interval: float = 2.0, hot_interval: float = 0.25) -> None:
        super().__init__(roots)
        self._interval = interval
        self._hot_interval = hot_interval

    def start(self) -> None:
        """Begin: look at what there is."""
        self._seen: dict[str, _State] = {}
        self._hot: dict[str, float] = {}
        self._next_hot = 0.0
        self._scan()

    def wait(self, seconds: float) -> set[Path]:
        """Return what changed."""
        until = time.monotonic() + seconds
        while not self.stopped:
            changed = self._look()
            now = time.monotonic()
            if changed or now >= until:
                return {Path(path) for path in changed}
            next_look = min(self._next_scan, self._next_hot) if self._hot else self._next_scan
            self._stop.wait(min(next_look, until) - now)
        return set()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _look(self) -> set[str]:
        now = time.monotonic()
        if now >= self._next_scan:
            return self._mark_hot(self._scan())
        if self._hot and now >= self._next_hot:
            self._next_hot = now + self._hot_interval
            return self._mark_hot({path for path in self._hot if self._has_changed(path)})
        return set()

    def _has_changed(self, path: str) -> bool:
        try:
            state: _State | None = _state(os.stat(path))
        except OSError:
            state = None
        if state == self._seen.get(path):
            return False
        if state is None:
            self._seen.pop(path)
        else:
            self._seen[path] = state
        return True

    def _mark_hot(self, changed: set[str]) -> set[str]:
        """Note which files to look at more often."""
        now = time.monotonic()
        for path in changed:
            self._hot.pop(path, None)
            if path in self._seen:
                self._hot[path] = now
        cold = [path for path, since in self._hot.items() if now - since > _HOT_SECONDS]
        for path in (*cold, *list(self._hot)[:-_HOT_FILES]):
            self._hot.pop(path, None)
        return changed

    def _scan(self) -> set[str]:
        started = time.monotonic()
        seen: dict[str, _State] = {}
        for root in self.roots:
            _walk(os.fspath(root), seen)
        changed = {path for path, state in seen.items() if self._seen.get(path) != state}
        changed |= self._seen.keys() - seen.keys()
        self._seen = seen
        now = time.monotonic()
        self._next_scan = now + max(self._interval, (now - started) / _SHARE)
        return changed


def _walk(root: str, seen: dict[str, _State]) -> None:
    """Note all files of a folder, and of the folders in it that are not reached by links."""
    try:
        status = os.stat(root)
    except OSError:
        return
    seen[root] = (0, 0, status.st_ino)
    todo = [root]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                        seen[entry.path] = (0, 0, entry.inode())
                    else:
                        _note(entry, seen)
        except OSError:  # deleted meanwhile, or unreadable; the scan reports that
            continue


def _note(entry: os.DirEntry[str], seen: dict[str, _State]) -> None:
    try:
        status = entry.stat()
    except OSError:
        return
    if stat.S_ISREG(status.st_mode):
        seen[entry.path] = _state(status)


def _state(status: os.stat_result) -> _State:
    # Of a folder only its identity counts: changes inside are reported by themselves.
    if stat.S_ISDIR(status.st_mode):
        return 0, 0, status.st_ino
    return status.st_size, status.st_mtime_ns, status.st_ino


_QUICK_MS = 5
_CALM_MS = 50
_QUIET_SECONDS = 60.0
"""After so long without a change, steps are long."""
_GATHER_MS = 50
"""For how long changes are gathered while they keep coming."""
_CHECK_SECONDS = 1.0
"""How often to see whether a folder came, went or was replaced: the system does not tell."""
_POLL_MS = 2000

_Identity = tuple[int, int]


class NativeWatcher(Watcher):
    """Reports what the system does: inotify, FSEvents, ReadDirectoryChangesW, through watchfiles.

    watchfiles' own `watch` sleeps for one step between looks at what the system reported. At 5 ms an appended
    line is known in 10 ms, for 1 % of a core while nothing happens; at 50 ms it takes no time that could be
    measured. So steps are short while there is something to follow, and long after a quiet while: for that its
    documented backend `RustNotify` is asked directly.
    """

    def start(self) -> None:
        """Begin."""
        self._active = self._checked = time.monotonic()
        self._notify: RustNotify | None = None
        self._there = self._identify()
        self._open()

    def wait(self, seconds: float) -> set[Path]:
        """Return what changed."""
        until = time.monotonic() + seconds
        while not self.stopped:
            found = self._check_roots()
            left = until - time.monotonic()
            found |= self._listen(min(max(left, 0.0), _CHECK_SECONDS))
            if not found.isdisjoint(self.roots):
                self._checked = 0.0
                found |= self._check_roots()
            if found:
                self._active = time.monotonic()
            if found or time.monotonic() >= until:
                return found
        return set()

    def close(self) -> None:
        """Release the system's resources."""
        if self._notify is not None:
            self._notify.close()
            self._notify = None

    def _open(self) -> None:
        """Watch the folders that are there, each under its real name: some systems tell only that."""
        self._names = {os.path.realpath(root): os.fspath(root) for root in self._there}
        if not self._names:
            self._notify = None
            return
        try:
            self._notify = RustNotify(list(self._names), False, False, 0, True, True)
        except FileNotFoundError:  # gone in this moment; the next check sees to it
            self._notify, self._there = None, {}
        except OSError:  # more folders than the system watches for one user
            self._notify = RustNotify(list(self._names), False, True, _POLL_MS, True, True)

    def _check_roots(self) -> set[Path]:
        """Return the folders that came, went or were replaced, and watch those that are there now."""
        if time.monotonic() - self._checked < _CHECK_SECONDS:
            return set()
        self._checked = time.monotonic()
        now = self._identify()
        changed = {root for root in self.roots if now.get(root) != self._there.get(root)}
        if not changed:
            return set()
        old, self._there = self._notify, now
        self._open()
        return changed | self._drain(old)

    def _drain(self, old: RustNotify | None) -> set[Path]:
        """Return what the former watcher still reported; the two overlap, so that no change is missed."""
        if old is None:
            return set()
        told = old.watch(1, 1, 1, None)
        old.close()
        return self._translate(told) if isinstance(told, set) else set()

    def _identify(self) -> dict[Path, _Identity]:
        there: dict[Path, _Identity] = {}
        for root in self.roots:
            try:
                status = os.stat(root)
            except OSError:
                continue
            there[root] = (status.st_dev, status.st_ino)
        return there

    def _listen(self, seconds: float) -> set[Path]:
        if self._notify is None:
            self._stop.wait(seconds)
            return set()
        is_quiet = time.monotonic() - self._active > _QUIET_SECONDS
        step = _CALM_MS if is_quiet else _QUICK_MS
        try:
            told = self._notify.watch(_GATHER_MS, step, max(int(seconds * 1000), 1), self._stop)
        except WatchfilesRustInternalError:  # nobody knows what was missed
            self._notify.close()
            self._open()
            return set(self._there)
        if told == "signal":
            raise KeyboardInterrupt
        return self._translate(told) if isinstance(told, set) else set()

    def _translate(self, told: set[tuple[int, str]]) -> set[Path]:
        return {Path(self._rename(path)) for _, path in told}

    def _rename(self, path: str) -> str:
        for real, name in self._names.items():
            if real != name and path.startswith(real) and path[len(real) : len(real) + 1] in ("", os.sep):
                return name + path[len(real) :]
        return path


MOUNTS = Path("/proc/self/mountinfo")
_SILENT = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "drvfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs",
     "ncp", "nfs", "nfs4", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)  # fmt: skip
_OCTAL = re.compile(rb"\\([0-7]{3})")


def is_silent(path: Path, mounts: Path = MOUNTS) -> bool:
    """Tell whether changes under a path, which need not exist yet, may come without notice."""
    kind = find_type(path, mounts)
    # `fuseblk` is a disk of this machine, `fuse.…` mostly something far away.
    return kind is not None and (kind in _SILENT or kind == "fuse" or kind.startswith("fuse."))


def find_type(path: Path, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the file system that a path is on; None where the system does not say."""
    try:
        lines = mounts.read_bytes().splitlines()
    except OSError:
        return None
    place = os.fsencode(os.path.realpath(path))
    best, kind = b"", None
    for line in lines:
        fields, _, rest = line.partition(b" - ")
        parts = fields.split(b" ")
        if len(parts) < 5 or not rest:
            continue
        point = _OCTAL.sub(lambda match: bytes([int(match[1], 8)]), parts[4])
        # Of two that are mounted over one another the later one is seen.
        if len(point) >= len(best) and _is_under(place, point):
            best, kind = point, rest.split(b" ")[0].decode("ascii", "replace")
    return kind


def _is_under(place: bytes, point: bytes) -> bool:
    return place == point or place.startswith(point.rstrip(b"/") + b"/")


_FORCE = "WATCHFILES_FORCE_POLLING"
_NO = frozenset({"false", "disable", "disabled"})


def choose_watcher(
    roots: Iterable[Path],
    *,
    polling: bool | None = None,
    env: Mapping[str, str] | None = None,
    mounts: Path = MOUNTS,
) -> Watcher:
    """Return a watcher of some folders; it polls if asked to, or where the system reports no changes.

    What `polling` leaves open, `WATCHFILES_FORCE_POLLING` of `env` decides as it does for watchfiles.
    """
    roots = tuple(roots)
    if polling is None:
        polling = _read_polling_setting(env or {})
    if polling is None:
        polling = any(is_silent(root, mounts) for root in roots)
    return PollingWatcher(roots) if polling else NativeWatcher(roots)


def _read_polling_setting(env: Mapping[str, str]) -> bool | None:
    wish = env.get(_FORCE, "")
    return wish.lower() not in _NO if wish else None


_SUFFIXES = (".jsonl", ".ndjson")
_MEMORY = "memory"


def is_transcript(target: Path) -> bool:
    """Tell whether a target is one session, not a folder."""
    return target.suffix in _SUFFIXES


def find_target(path: Path, roots: Sequence[Path], homes: Mapping[str, Path]) -> Path | None:
    """Return the target of a change at a path: a transcript, a folder, or None for nothing.

    `homes` has the transcripts that known files belong to.
    """
    known = homes.get(os.fspath(path))
    if known is not None:
        return known
    root = next((root for root in roots if path.is_relative_to(root)), None)
    if root is None or path == root:
        return root
    folder, parts = root, path.relative_to(root).parts
    for depth, name in enumerate(parts[:-1]):
        if name == _MEMORY and depth:
            return None
        if _is_session(folder / name, parts[depth + 1]):
            return _name_transcript(folder / name)
        folder /= name
    return _find_last(path, len(parts))


def _find_last(path: Path, depth: int) -> Path | None:
    if is_transcript(path):
        # A sub-agent beside sessions names its own only in its lines.
        return path.parent if pair_agents([path]) else path
    if path.is_file() or (path.name == _MEMORY and depth > 1):
        return None
    return _name_transcript(path) if _is_session(path, "") else path


def _is_session(folder: Path, inside: str) -> bool:
    return is_session_folder(folder.name, Listing(folders=(inside,))) or _name_transcript(folder).is_file()


def _name_transcript(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{_SUFFIXES[0]}")


def locate_target(target: Path) -> tuple[SessionFiles, ...]:
    """Return the sessions that are there of a target."""
    if not is_transcript(target):
        return locate_path(target).sessions if target.is_dir() else ()
    if target.is_file():
        return locate_path(target).sessions
    folder = target.with_suffix("")
    return locate_path(folder).sessions if folder.is_dir() else ()
