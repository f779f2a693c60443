"""A control database in a file. There is one writer at a time, whatever it writes.

Who writes has a lock on a file beside it, which goes with the process; and a lock within the process, which
threads wait at in turn.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from turnlog.errors import BusyStoreError
from turnlog.store.control.interface import PATIENCE
from turnlog.store.control.keeping import StoredControl
from turnlog.store.control.schema import CONTROL_OPTIONS
from turnlog.store.portable.sqlite_database import SqliteDatabase
from turnlog.store.portable.steps import Steps
from turnlog.store.sqlite.connection import translate

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["SqliteControl"]

_PAUSE = 0.005
"""Seconds until a file is tried again that another process has locked; it becomes ten times as long."""
_guard = threading.Lock()
_locks: dict[str, threading.Lock] = {}
"""One for each file that this process writes to."""


class SqliteControl(StoredControl):
    """A control database in a file, which `make` makes."""

    def __init__(self, path: Path, steps: Steps) -> None:
        super().__init__(SqliteDatabase(path, steps, CONTROL_OPTIONS))
        self._path = path
        real = os.path.realpath(path)
        self._file = f"{real}.lock"
        with _guard:
            self._lock = _locks.setdefault(real, threading.Lock())

    @contextmanager
    def locked(self, owner: str, names: Iterable[str], *, patience: float = PATIENCE) -> Iterator[None]:
        """Let one writer at a time through."""
        with self.alone(owner, patience=patience):
            yield

    @contextmanager
    def alone(self, owner: str, *, patience: float = PATIENCE) -> Iterator[None]:
        """Let one writer through, and nobody beside it."""
        deadline = time.monotonic() + patience
        if not self._lock.acquire(timeout=patience):
            raise self._describe_busy()
        try:
            file = self._open_locked(deadline)
            try:
                yield
            finally:
                os.close(file)  # and with it the lock
        finally:
            self._lock.release()

    @contextmanager
    def standstill(self, *, patience: float = PATIENCE) -> Iterator[None]:
        """Keep everybody from writing."""
        with self.alone("", patience=patience):  # there is one lock for all
            yield

    def settling(self, owner: str) -> AbstractContextManager[None]:
        """Let one writer at a time through: who writes has the lock already."""
        return nullcontext()

    def _open_locked(self, deadline: float) -> int:
        with translate(self._path):
            file = os.open(self._file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        pause = _PAUSE
        while not _try_lock(file):
            if time.monotonic() >= deadline:
                os.close(file)
                raise self._describe_busy()
            time.sleep(pause)
            pause = min(pause * 1.5, _PAUSE * 10)
        return file

    def _describe_busy(self) -> BusyStoreError:
        return BusyStoreError(f"The store of {self._path} is being written by others, who did not end in time")


def _try_lock(file: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
