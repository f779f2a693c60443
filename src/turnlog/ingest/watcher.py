"""Watching folders: what every way of doing it has in common.

A watcher says which paths changed, in sets: however often a file is written between two questions, its path
is in the answer once. It is asked (`wait`) rather than calling by itself, so whoever is slow gets fewer and
larger sets and never falls behind. The folders need not exist; one that comes, goes or is replaced is itself
a changed path, and whoever watches must look at all that is in it. A watcher may miss changes, as systems do:
look at everything from time to time.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

OnChange = Callable[[set[Path]], None]
_LONG = 60.0


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
        """Begin: what changes from now on is told, even if it is asked for later."""

    @abstractmethod
    def wait(self, seconds: float) -> set[Path]:
        """Return what changed; empty if nothing did for so many seconds, or if it is time to stop."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what the system gave."""

    def stop(self) -> None:
        """Make `wait` and `run` return soon; for signal handlers and other threads."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether it is time to stop."""
        return self._stop.is_set()

    def run(self, on_change: OnChange) -> None:
        """Tell what changes until it is time to stop."""
        with self:
            while not self.stopped:
                paths = self.wait(_LONG)
                if paths:
                    on_change(paths)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
