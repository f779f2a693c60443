"""Who writes to the file: one process at a time (`turnlog.store.leases`).

SQLite itself allows one transaction at a time; the lease is about more.
"""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from types import TracebackType

import apsw

from turnlog.errors import BusyStoreError, StoreError
from turnlog.store.leases import is_gone, name_holder, take_in_time
from turnlog.store.sqlite.connection import Options, open_to_read, translate, writing
from turnlog.store.sqlite.migrations import check_current, open_migrated

__all__ = ["Lease", "find_holder"]


class Lease:
    """The right to write to a store for a time; it must be renewed before that is over."""

    def __init__(self, path: Path, name: str = "writer", *, seconds: float = 30.0) -> None:
        self._path = path
        self._name = name
        self._nanoseconds = round(seconds * 1e9)
        self.holder = name_holder()
        """By what name this one is known."""
        self._connection: apsw.Connection | None = open_migrated(path, Options(cache_kib=256))

    def take(self, wait_seconds: float = 0.0) -> bool:
        """Take it, or wait for it; return whether it is ours. One's own is renewed."""
        return take_in_time(self, wait_seconds)

    def try_once(self) -> bool:
        """Take it if it is free; return whether it is ours."""
        try:
            with translate(self._path), writing(self._open()):
                found = self._find_row()
                if found is not None and found[0] != self.holder and not _is_over(*found):
                    return False
                self._write()
                return True
        except BusyStoreError:
            return False

    def renew(self) -> bool:
        """Hold it for another while; return False if it was lost to somebody else, or let go."""
        with translate(self._path), writing(self._open()):
            found = self._find_row()
            if found is None or found[0] != self.holder:
                return False
            self._write()
            return True

    def release(self) -> None:
        """Let others have it; nothing happens if it is not ours."""
        with translate(self._path), writing(self._open()):
            self._open().execute("DELETE FROM lease WHERE name = ? AND holder = ?", (self._name, self.holder))

    def find_holder(self) -> str | None:
        """Return the holder, None if there is none that lives."""
        with translate(self._path):
            found = self._find_row()
        return None if found is None or _is_over(*found) else found[0]

    def close(self) -> None:
        """Let go of it, and of the file."""
        if self._connection is not None:
            try:
                self.release()
            finally:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> apsw.Connection:
        if self._connection is None:
            raise StoreError(f"The lease of {self._path} is closed")
        return self._connection

    def _find_row(self) -> tuple[str, int] | None:
        query = "SELECT holder, expires_ns FROM lease WHERE name = ?"
        for holder, expires_ns in self._open().execute(query, (self._name,)):
            return holder, expires_ns
        return None

    def _write(self) -> None:
        self._open().execute("DELETE FROM lease WHERE name = ?", (self._name,))
        expires_ns = time.time_ns() + self._nanoseconds
        self._open().execute("INSERT INTO lease VALUES (?, ?, ?)", (self._name, self.holder, expires_ns))


def find_holder(path: Path, name: str = "writer") -> str | None:
    """Return who may write to a store, without writing to it; None if nobody does."""
    options = Options(cache_kib=256)
    check_current(path, options)
    with closing(open_to_read(path, options)) as connection, translate(path):
        query = "SELECT holder, expires_ns FROM lease WHERE name = ?"
        for holder, expires_ns in connection.execute(query, (name,)):
            return None if _is_over(str(holder), int(expires_ns)) else str(holder)
    return None


def _is_over(holder: str, expires_ns: int) -> bool:
    return expires_ns <= time.time_ns() or is_gone(holder)
