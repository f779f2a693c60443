"""Who keeps a machine's sessions up to date: one process of it at a time (`turnlog.store.leases`).

Any number of machines write at once; but two processes of one would do the same work twice. Time is the
server's, so that clocks that differ do no harm.
"""

from __future__ import annotations

from types import TracebackType

from psycopg import Connection

from turnlog.store.leases import is_gone, name_holder, take_in_time
from turnlog.store.postgres.connection import Database

__all__ = ["PostgresLease", "find_holder"]


class PostgresLease:
    """The right to write what one machine has, for a time."""

    def __init__(self, database: Database, machine: str, *, seconds: float = 30.0) -> None:
        self._database = database
        self._machine = machine
        self._seconds = seconds
        self.holder = name_holder()
        """By what name this one is known."""

    def take(self, wait_seconds: float = 0.0) -> bool:
        """Take it, or wait for it; return whether it is ours. One's own is renewed."""
        return take_in_time(self, wait_seconds)

    def try_once(self) -> bool:
        """Take it if it is free; return whether it is ours."""
        return self._database.write(self._take, is_repeatable=True)

    def renew(self) -> bool:
        """Hold it for another while; return False if it was lost to somebody else, or let go."""
        return self._database.write(self._renew, is_repeatable=True)

    def release(self) -> None:
        """Let others have it; nothing happens if it is not ours."""
        self._database.write(self._delete, is_repeatable=True)

    def find_holder(self) -> str | None:
        """Return the holder, None if there is none that lives."""
        return self._database.ask(_find, self._machine)

    def close(self) -> None:
        """Let go of it, and of the connection; again does nothing."""
        if not self._database.is_closed:
            try:
                self.release()
            finally:
                self._database.close()

    def __enter__(self) -> PostgresLease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self, connection: Connection) -> bool:
        # Of several that find nobody there, one is first to write the row, and the others wait for it.
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self._machine,))
        if _find(connection, self._machine) not in (None, self.holder):
            return False
        self._write(connection)
        return True

    def _renew(self, connection: Connection) -> bool:
        query = "SELECT holder FROM leases WHERE machine = %s FOR UPDATE"
        if connection.execute(query, (self._machine,)).fetchall() != [(self.holder,)]:
            return False
        self._write(connection)
        return True

    def _write(self, connection: Connection) -> None:
        connection.execute("DELETE FROM leases WHERE machine = %s", (self._machine,))
        connection.execute(
            "INSERT INTO leases VALUES (%s, %s, clock_timestamp() + make_interval(secs => %s))",
            (self._machine, self.holder, self._seconds),
        )

    def _delete(self, connection: Connection) -> None:
        values = (self._machine, self.holder)
        connection.execute("DELETE FROM leases WHERE machine = %s AND holder = %s", values)


def find_holder(database: Database, machine: str) -> str | None:
    """Return who writes what a machine has, without writing anything; None if nobody does."""
    return database.ask(_find, machine)


def _find(connection: Connection, machine: str) -> str | None:
    query = "SELECT holder FROM leases WHERE machine = %s AND expires > clock_timestamp()"
    found = [str(holder) for (holder,) in connection.execute(query, (machine,))]
    return next((holder for holder in found if not is_gone(holder)), None)
