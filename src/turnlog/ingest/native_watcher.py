"""Watching by what the system tells: inotify, FSEvents, ReadDirectoryChangesW, through watchfiles.

watchfiles' own `watch` sleeps for one step between looks at what the system told. At 5 ms an appended line is
known in 10 ms, for 1 % of a core while nothing happens; at 50 ms it takes no time that could be measured. So
steps are short while there is something to follow, and long after a quiet while: for that its documented
backend `RustNotify` is asked directly.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from turnlog.ingest.watcher import Watcher

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
    """Tells what the system tells."""

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
        """Let go of what the system gave."""
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
        """Return what was told before another took over; the two overlap, so that nothing is between them."""
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
