"""Watching by looking: for network file systems, whose servers tell nobody what other machines write.

All files are looked at every two seconds, or less often if there are so many that it would take more than one
per cent of the time. Files that changed lately are looked at four times a second, so that a session that is
being written is followed closely however many others there are.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from turnlog.ingest.watcher import Watcher

_State = tuple[int, int, int]
"""Size, time and inode."""
_SHARE = 0.01
"""Of the time that looking at everything may take."""
_HOT_SECONDS = 300.0
"""For how long a file that changed is looked at more often."""
_HOT_FILES = 64


class PollingWatcher(Watcher):
    """Tells what is different from the last time."""

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
        """Do nothing: there is nothing to let go of."""

    def _look(self) -> set[str]:
        now = time.monotonic()
        if now >= self._next_scan:
            return self._warm(self._scan())
        if self._hot and now >= self._next_hot:
            self._next_hot = now + self._hot_interval
            return self._warm({path for path in self._hot if self._has_changed(path)})
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

    def _warm(self, changed: set[str]) -> set[str]:
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
        except OSError:  # it went meanwhile, or may not be read; whoever looks at the sessions says so
            continue


def _note(entry: os.DirEntry[str], seen: dict[str, _State]) -> None:
    try:
        status = entry.stat()
    except OSError:
        return
    if stat.S_ISREG(status.st_mode):
        seen[entry.path] = _state(status)


def _state(status: os.stat_result) -> _State:
    # Of a folder only its identity counts: what is in it is told by itself.
    if stat.S_ISDIR(status.st_mode):
        return 0, 0, status.st_ino
    return status.st_size, status.st_mtime_ns, status.st_ino
