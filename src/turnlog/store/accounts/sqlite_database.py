"""Accounts in a file of their own, beside the archive: their writing never waits for that of sessions.

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
from turnlog.store.accounts.database import Execute, Row
from turnlog.store.accounts.schema import check_known, list_missing, migrate
from turnlog.store.sqlite.connection import Options, break_off, open_to_read, open_to_write, reading, translate
from turnlog.store.sqlite.connection import writing as transacting

__all__ = ["OPTIONS", "SqliteDatabase", "bind", "read_empty"]

T = TypeVar("T")
_APPLICATION_ID = 0x7475726F
"""What tells a file of accounts from an archive ("turo")."""
OPTIONS = Options(cache_kib=1 << 10, application_id=_APPLICATION_ID, lasting=True)
_MOST_IDLE = 8
_TYPES = {"@@bytes": "blob", "@@serial": "integer PRIMARY KEY AUTOINCREMENT", "@": ""}


class SqliteDatabase:
    """The accounts in a file, which is made when it is first written to."""

    def __init__(self, path: Path, options: Options = OPTIONS) -> None:
        self._path = path
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
                return read_empty(work)
            self._make_ready()
        with self._lend() as connection, reading(connection):
            return work(bind(connection))

    def write(self, work: Callable[[Execute], T], *, is_repeatable: bool = False) -> T:
        """Do all of it or nothing."""
        self._make_ready()
        # One thread after the other: those who wait for SQLite itself don't get their turn in order.
        with self._writing, self._lend() as connection, transacting(connection):
            check_known(
                bind(connection), str(self._path)
            )  # a newer program may have changed them since we began
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
            raise StoreError(f"The accounts in {self._path} are closed")

    def _make_ready(self) -> None:
        if self._is_ready:
            return
        self._check_open()
        if self._path.is_file():
            # Opening for writing changes a file, and one of a newer program must stay as it is.
            _look(self._path, self._options)
        with self._writing, self._lend() as connection:
            if self._is_ready or _is_current(connection, self._path):
                self._is_ready = True
                return
            with transacting(connection):
                connection.execute(f"PRAGMA application_id={self._options.application_id}")
                migrate(bind(connection))
                check_known(bind(connection), str(self._path))
        self._is_ready = True


def bind(connection: apsw.Connection) -> Execute:
    """Return what does statements on a connection."""

    def execute(statement: str, values: Sequence[object] = ()) -> list[Row]:
        return connection.execute(_spell(statement), tuple(values)).fetchall()

    return execute


def read_empty(work: Callable[[Execute], T]) -> T:
    """Do what only reads, with tables that have nothing in them."""
    with closing(apsw.Connection(":memory:")) as connection:
        migrate(bind(connection))
        return work(bind(connection))


def _look(path: Path, options: Options) -> None:
    """Raise `NewerStoreError` for a file of a newer version, without leaving a trace."""
    try:
        _look_into(path, options, traceless=True)
    except NewerStoreError:
        raise
    except StoreError:
        # Others may be writing just now: then there is a log, or will be, and a usual reader is safe.
        _look_into(path, options, traceless=False)


def _look_into(path: Path, options: Options, *, traceless: bool) -> None:
    with closing(open_to_read(path, options, traceless=traceless)) as connection, translate(path):
        _is_current(connection, path)


def _is_current(connection: apsw.Connection, path: Path) -> bool:
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").fetchall():
        return False
    execute = bind(connection)
    check_known(execute, str(path))
    return not list_missing(execute)


@functools.cache
def _spell(statement: str) -> str:
    for mark, spelled in _TYPES.items():
        statement = statement.replace(mark, spelled)
    return statement
