"""A control database on a PostgreSQL server, in a schema of its own.

Locks are advisory ones of a connection, which whoever writes has for itself meanwhile: they go with it. Writers
of other names write beside each other. If the connection breaks, others may take over; so what is committed is
told by the row of the write itself (`doom`), and what must be done by one at a time needs the connection once
more (`settling`). Pools in between must leave a session its connection.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b

import psycopg
from psycopg import Connection

from turnlog.errors import BusyStoreError
from turnlog.store.control.interface import PATIENCE
from turnlog.store.control.keeping import StoredControl
from turnlog.store.portable.database import Execute
from turnlog.store.portable.postgres_database import PostgresDatabase
from turnlog.store.portable.steps import Steps
from turnlog.store.postgres.failures import is_lost, translate
from turnlog.store.postgres.feed import ChangeListener
from turnlog.store.postgres.wire import CONTROL, connect, describe

__all__ = ["PostgresControl"]

_CHANNEL = "turnlog_control_changes"
_EVERYBODY = "everybody"
"""The name of the lock that all writers share."""
_SETTLING = "settling"
_MOST_IDLE = 4
_UNLOCK = "SELECT pg_advisory_unlock_all()"
_NOW = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000000 AS bigint)"


class PostgresControl(StoredControl):
    """A control database in a PostgreSQL database, which `make` makes."""

    def __init__(self, address: str, steps: Steps) -> None:
        super().__init__(PostgresDatabase(address, CONTROL, steps))
        self._address = address
        self._name = describe(address)
        self._guard = threading.Lock()
        self._idle: list[Connection] = []
        self._is_closed = False
        self._held = threading.local()

    @contextmanager
    def locked(self, owner: str, names: Iterable[str], *, patience: float = PATIENCE) -> Iterator[None]:
        """Let one writer at a time through for each of some names, beside others."""
        # In one order, so that no two wait for each other.
        keys = sorted({_number(owner, name) for name in names})
        wide = [(_number("", _EVERYBODY), True), (_number(owner), True)]
        with self._holding([*wide, *((key, False) for key in keys)], patience):
            yield

    @contextmanager
    def alone(self, owner: str, *, patience: float = PATIENCE) -> Iterator[None]:
        """Let one writer through, and nobody beside it."""
        with self._holding([(_number("", _EVERYBODY), True), (_number(owner), False)], patience):
            yield

    @contextmanager
    def standstill(self, *, patience: float = PATIENCE) -> Iterator[None]:
        """Keep everybody from writing, whoever's it is."""
        with self._holding([(_number("", _EVERYBODY), False)], patience):
            yield

    @contextmanager
    def settling(self, owner: str) -> Iterator[None]:
        """Let one writer of an owner at a time through; raises `LostStoreError` if it lost its locks."""
        connection: Connection = self._held.connection
        lock = [(_number(owner, _SETTLING), False)]
        with translate(self._name):
            self._lock(connection, lock, time.monotonic() + PATIENCE)
        try:
            yield
        finally:
            with suppress(psycopg.Error):
                connection.execute("SELECT pg_advisory_unlock(%s)", (lock[0][0],))

    def listen(self) -> ChangeListener:
        """Return what tells of changes whoever writes them."""
        return ChangeListener(self._address, _CHANNEL)

    def find_now(self, execute: Execute) -> int:
        """Return the server's time, so that clocks that differ do no harm."""
        [(now,)] = execute(_NOW)
        return int(now)

    def close(self) -> None:
        """Let go of all connections; again does nothing."""
        super().close()
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _announce(self, execute: Execute) -> None:
        execute(f"NOTIFY {_CHANNEL}")

    @contextmanager
    def _holding(self, locks: list[tuple[int, bool]], patience: float) -> Iterator[None]:
        connection = self._take(locks, patience)
        former = getattr(self._held, "connection", None)
        self._held.connection = connection
        try:
            yield
        finally:
            self._held.connection = former
            self._give_back(connection)

    def _take(self, locks: list[tuple[int, bool]], patience: float) -> Connection:
        """Return a connection that has the locks; one that broke in its idleness is replaced."""
        deadline = time.monotonic() + patience
        with translate(self._name):
            while True:
                with self._guard:
                    connection = self._idle.pop() if self._idle else None
                is_fresh = connection is None
                if connection is None:
                    connection = connect(self._address)
                try:
                    self._lock(connection, locks, deadline)
                except psycopg.Error as error:
                    connection.close()
                    if is_fresh or not is_lost(error):
                        raise
                except BaseException:
                    connection.close()
                    raise
                else:
                    return connection

    def _lock(self, connection: Connection, locks: list[tuple[int, bool]], deadline: float) -> None:
        calls = [f"advisory_lock{'_shared' if is_shared else ''}(%s)" for _, is_shared in locks]
        keys = [key for key, _ in locks]
        tried = f"SELECT {', '.join(f'pg_try_{call}' for call in calls)}"
        [are_ours] = connection.execute(tried.encode(), keys).fetchall()
        if all(are_ours):
            return
        if len(locks) > 1:
            connection.execute(_UNLOCK)  # whoever waits has none but those that come before
        for key, call in zip(keys, calls, strict=True):
            left = round((deadline - time.monotonic()) * 1000)
            if left <= 0:
                raise BusyStoreError(f"The store {self._name} is being written by others")
            connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{left}ms",))
            connection.execute(f"SELECT pg_{call}".encode(), (key,))

    def _give_back(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            connection.execute(_UNLOCK)
            with self._guard:
                if not self._is_closed and len(self._idle) < _MOST_IDLE:
                    self._idle.append(connection)
                    return
        connection.close()


def _number(owner: str, name: str = "") -> int:
    """Return the number of the lock of a name; without one, of that which all writers share."""
    digest = blake2b(digest_size=8)
    for part in ("turnlog control", owner, name):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return int.from_bytes(digest.digest(), "big", signed=True)
