"""Small tables in a file of their own: their writing never waits for that of sessions.

Each thread that asks gets a connection of its own for as long as it asks. What is committed is on the disk.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import apsw

from turnlog.errors import NewerStoreError, StoreError
from turnlog.store.portable.database import Execute, Row
from turnlog.store.portable.steps import Steps
from turnlog.store.sqlite.connection import Options, break_off, open_to_read, open_to_write, reading, translate
from turnlog.store.sqlite.connection import writing as transacting

__all__ = ["SqliteDatabase", "bind", "read_empty"]

T = TypeVar("T")
_MOST_IDLE = 8
_TYPES = {"@@bytes": "blob", "@@serial": "integer PRIMARY KEY AUTOINCREMENT", "@": ""}


class SqliteDatabase:
    """Tables in a file, which is made when it is first written to."""

    def __init__(self, path: Path, steps: Steps, options: Options) -> None:
        self._path = path
        self._steps = steps
        self._options = options
        self._is_ready = False
        self._is_closed = False
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._idle: list[apsw.Connection] = []
        self._lent: set[apsw.Connection] = set()

    def make(self) -> None:
        """Make the file if it is missing, and bring its tables up to date."""
        self._make_ready()

    def read(self, work: Callable[[Execute], T]) -> T:
        """Do what only reads."""
        if not self._is_ready:
            if not os.path.lexists(self._path):
                return read_empty(self._steps, work)
            self._make_ready()
        with self._lend() as connection, reading(connection):
            return work(bind(connection))

    def write(self, work: Callable[[Execute], T], *, is_repeatable: bool = False) -> T:
        """Do all of it or nothing."""
        self._make_ready()
        # One thread after the other: those who wait for SQLite itself don't get their turn in order.
        with self._writing, self._lend() as connection, transacting(connection):
            # A newer program may have changed them since we began.
            self._steps.check_known(bind(connection), str(self._path))
            return work(bind(connection))

    def try_write(self, work: Callable[[Execute], object]) -> None:
        """Do all of it or nothing, unless somebody else writes just now, or the file may not be written."""
        if not self._writing.acquire(blocking=False):
            return
        try:
            with self._lend() as connection:
                connection.set_busy_timeout(0)
                try:
                    with transacting(connection):
                        work(bind(connection))
                except (apsw.BusyError, apsw.ReadOnlyError, apsw.FullError):
                    return
                finally:
                    connection.set_busy_timeout(round(self._options.busy_seconds * 1000))
        finally:
            self._writing.release()

    def close(self) -> None:
        """Let go of the file; what other threads ask just now may fail."""
        with self._lock:
            self._is_closed = True
            connections = [*self._idle, *self._lent]
            self._idle.clear()
        for connection in connections:
            break_off(connection)

    @contextmanager
    def _lend(self) -> Iterator[apsw.Connection]:
        with translate(self._path):
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def _take(self) -> apsw.Connection:
        with self._lock:
            self._check_open()
            if self._idle:
                connection = self._idle.pop()
                self._lent.add(connection)
                return connection
        connection = open_to_write(self._path, self._options)
        with self._lock:
            self._lent.add(connection)
        return connection

    def _give_back(self, connection: apsw.Connection) -> None:
        with self._lock:
            self._lent.discard(connection)
            if not self._is_closed and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"{self._path} is closed")

    def _make_ready(self) -> None:
        if self._is_ready:
            return
        self._check_open()
        if self._path.is_file():
            # Opening for writing changes a file, and one of a newer program must stay as it is.
            self._check_known()
        with self._writing, self._lend() as connection:
            if self._is_ready or not self._list_missing(connection):
                self._is_ready = True
                return
            with transacting(connection):
                connection.execute(f"PRAGMA application_id={self._options.application_id}")
                self._steps.migrate(bind(connection))
                self._steps.check_known(bind(connection), str(self._path))
        self._is_ready = True

    def _check_known(self) -> None:
        """Raise `NewerStoreError` for tables of a newer version, without leaving a trace."""
        try:
            self._look_into(traceless=True)
        except NewerStoreError:
            raise
        except StoreError:
            # Others may be writing just now: then there is a log, or will be, and a usual reader is safe.
            self._look_into(traceless=False)

    def _look_into(self, *, traceless: bool) -> None:
        opened = open_to_read(self._path, self._options, traceless=traceless)
        with closing(opened) as connection, translate(self._path):
            self._list_missing(connection)

    def _list_missing(self, connection: apsw.Connection) -> list[str]:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").fetchall():
            return self._steps.names
        execute = bind(connection)
        self._steps.check_known(execute, str(self._path))
        return self._steps.list_missing(execute)


def bind(connection: apsw.Connection) -> Execute:
    """Return what does statements on a connection."""

    def execute(statement: str, values: Sequence[object] = ()) -> list[Row]:
        return connection.execute(_spell(statement), tuple(values)).fetchall()

    return execute


def read_empty(steps: Steps, work: Callable[[Execute], T]) -> T:
    """Do what only reads, with tables that have nothing in them."""
    with closing(apsw.Connection(":memory:")) as connection:
        steps.migrate(bind(connection))
        return work(bind(connection))


@functools.cache
def _spell(statement: str) -> str:
    for mark, spelled in _TYPES.items():
        statement = statement.replace(mark, spelled)
    return statement
