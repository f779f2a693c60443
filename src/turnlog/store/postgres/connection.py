"""The connections of a store, lent out one by one.

A server may restart at any time. A connection that broke while it was idle is replaced before it is used. One
that breaks in the middle ends what was under way: reading is then done again, and so is writing that surely was
not committed. Only where it breaks while the commit itself is under way, nobody can tell; then what changes
nothing when it is done twice is done again, and anything else ends with an error that says so.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Concatenate, LiteralString, ParamSpec, TypeVar, cast

import psycopg
import psycopg_pool
from psycopg import Connection
from psycopg.sql import Composed

from turnlog.errors import StoreError
from turnlog.store.identity import Scope
from turnlog.store.postgres.failures import CollisionError, LostError, is_lost, translate
from turnlog.store.postgres.migrations import keep_known
from turnlog.store.postgres.partitions import MissingMonthError, make_month
from turnlog.store.postgres.seen import begin_seen
from turnlog.store.postgres.wire import CountedConnection, configure, describe, list_settings

__all__ = ["Connected", "Database"]

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 16
"""How many connections one store has at once."""
_WAIT_SECONDS = 30.0
"""How long to wait for a connection, or for a server that restarts."""
_TRIES = 8
"""How often writing begins again that collided with that of others."""
_ALIVE: LiteralString = "SELECT 1"
_READ: LiteralString = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE: LiteralString = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

# Whoever is to be told is told by an exception.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class Database:
    """The connections of one store."""

    def __init__(
        self, address: str, *, read_only: bool = False, guard: Callable[[Connection, str], None] = keep_known
    ) -> None:
        self.address = address
        self._guard = guard
        """What refuses tables that a newer program changed since we began, before each writing."""
        self.name = describe(address)
        """As it may be shown."""
        self.is_read_only = read_only
        self.is_closed = False
        self.writes = 0
        """How many rows were written through it."""
        self._pool: psycopg_pool.ConnectionPool[CountedConnection] = psycopg_pool.ConnectionPool(
            address,
            connection_class=CountedConnection,
            kwargs=list_settings(address),
            configure=configure,
            min_size=0,
            max_size=_MOST,
            timeout=_WAIT_SECONDS,
            open=False,
            name="turnlog",
            num_workers=1,
        )

    def open(self) -> None:
        """Begin to lend connections."""
        self._pool.open()

    def close(self) -> None:
        """Let go of all connections; what other threads ask just now may fail. Again does nothing."""
        self.is_closed = True
        self._pool.close()

    @contextmanager
    def asking(self, *, is_checked: bool = False) -> Iterator[Connection]:
        """Lend a connection for single statements: each sees what was committed when it began."""
        with translate(self.name):
            connection = self._begin(_ALIVE) if is_checked else self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a connection to read through: all statements see one state. Never within another one."""
        with self._transacting(_READ) as connection:
            yield connection

    @contextmanager
    def looking(self, scope: Scope) -> Iterator[Connection]:
        """Lend a connection to read through, on which there is only what the viewer of a scope may see."""
        with self._transacting(begin_seen(_READ, scope)) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Lend a connection to write through, all or nothing."""
        if self.is_read_only:
            raise StoreError(f"The store {self.name} is open for reading only")
        with self._transacting(_WRITE) as connection:
            self._guard(connection, self.name)
            yield connection

    def ask(self, work: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        """Do what asks one statement, again if the connection breaks."""
        try:
            with self.asking() as connection:
                return work(connection, *given, **named)
        except LostError:
            with self.asking(is_checked=True) as connection:
                return work(connection, *given, **named)

    def read(self, work: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        """Do what asks several statements of one state, again if the connection breaks."""
        try:
            with self.reading() as connection:
                return work(connection, *given, **named)
        except LostError:
            with self.reading() as connection:
                return work(connection, *given, **named)

    def look(
        self, scope: Scope, work: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs
    ) -> T:
        """Do what reads, with only what the viewer of a scope may see, again if the connection breaks."""
        try:
            with self.looking(scope) as connection:
                return work(connection, *given, **named)
        except LostError:
            with self.looking(scope) as connection:
                return work(connection, *given, **named)

    def write(self, work: Callable[[Connection], T], *, is_repeatable: bool = False) -> T:
        """Do what writes, all or nothing: again if it collided with others, or surely was not committed.

        With `is_repeatable`, it is done again also if it may have been committed: that must change nothing.
        """
        collisions = losses = 0
        while True:
            try:
                with self.writing() as connection:
                    return work(connection)
            except MissingMonthError as error:
                self._make_month(error.month)
            except CollisionError:
                collisions += 1
                if collisions == _TRIES:
                    raise
                time.sleep(random.uniform(0, 0.02 * collisions))
            except LostError as error:
                losses += 1
                if losses > 1 or (error.is_unsure and not is_repeatable):
                    raise

    def _make_month(self, month: int) -> None:
        with self.writing() as connection:
            make_month(connection, month)

    @contextmanager
    def _transacting(self, begin: LiteralString | Composed) -> Iterator[Connection]:
        with translate(self.name):
            connection = self._begin(begin)
            try:
                try:
                    yield connection
                except BaseException:
                    with suppress(psycopg.Error):
                        connection.execute("ROLLBACK")
                    raise
                self._commit(connection, is_written=begin is _WRITE)
            finally:
                self._give_back(connection)

    def _begin(self, statement: LiteralString | Composed) -> CountedConnection:
        """Return a connection that lives, behind a first statement; those that broke in their idleness go."""
        for left in reversed(range(_MOST + 1)):
            connection = self._take()
            try:
                connection.execute(statement)
            except psycopg.Error as error:
                self._give_back(connection)
                if not left or not is_lost(error):
                    raise
            except BaseException:
                self._give_back(connection)
                raise
            else:
                return connection
        raise AssertionError("unreachable")

    def _commit(self, connection: Connection, *, is_written: bool) -> None:
        try:
            connection.execute("COMMIT")
        except psycopg.Error as error:
            if not is_lost(error):
                raise
            lost = LostError(
                f"The store {self.name} was lost during a commit, which may or may not have succeeded ({error})"
            )
            lost.is_unsure = is_written
            raise lost from error

    def _take(self) -> CountedConnection:
        if self.is_closed:
            raise StoreError(f"The store {self.name} is closed")
        return self._pool.getconn()

    def _give_back(self, connection: Connection) -> None:
        counted = cast(CountedConnection, connection)
        self.writes += counted.written
        counted.written = 0
        self._pool.putconn(counted)


class Connected:
    """What all parts of a store ask and write through.

    `_read`, `_ask` and `_write` call a function with a connection and what else it is given; unlike the others,
    they begin again where that is safe. A function that reads makes one statement (`_ask`), or several of one
    state (`_read`), and is told on whose behalf: for a viewer, there is only what that one may see.
    """

    _database: Database

    def _reading(self, scope: Scope) -> AbstractContextManager[Connection]:
        return self._database.reading() if scope.viewer is None else self._database.looking(scope)

    def _ask(
        self, scope: Scope, work: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs
    ) -> T:
        if scope.viewer is not None:
            return self._database.look(scope, work, *given, **named)
        return self._database.ask(work, *given, **named)

    def _read(
        self, scope: Scope, work: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs
    ) -> T:
        if scope.viewer is not None:
            return self._database.look(scope, work, *given, **named)
        return self._database.read(work, *given, **named)

    def _write(self, work: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        return self._database.write(lambda connection: work(connection, *given, **named))
