"""The feed: what happened, numbered in the order of commits; and who keeps a store up to date.

A number that is given before another one could be committed after it, and whoever had asked for what is behind
the later one would never see it. So whoever writes to the feed has its lock, from before the first number is
given until the transaction is over. It is taken last, when all else is written.

One process at a time keeps a machine's sessions up to date; the others know it by a row that expires. A `sync`
beside a running server sees that there is a writer, and leaves the work to it. A holder that crashed is found
out at once on its own machine, elsewhere when its lease expires.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Sequence
from uuid import uuid4

from turnlog.errors import BusyStoreError
from turnlog.store.catalogue.database import Connection, Database, Row, pack_text, unpack_text
from turnlog.store.interface import ChangeEntry, ChangeKind, Feed
from turnlog.store.model import Scope

_PAUSE = 0.05
"""Seconds between two attempts to take it."""


def name_holder() -> str:
    """Return a name for this process, by which others can tell whether it still runs."""
    return f"{_name_host()}/{os.getpid()}/{uuid4().hex}"


def is_gone(holder: str) -> bool:
    """Tell whether a holder is a process of this machine that ended."""
    host, pid, _ = holder.rsplit("/", 2)
    return host == _name_host() and not is_running(int(pid))


def _name_host() -> str:
    """Return a name for what process ids are about: a machine, or a container on one."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{platform.node()}{space}"


def is_running(pid: int) -> bool:
    """Tell whether a process of this machine runs; where nobody can know, it does."""
    if os.name != "posix":
        return True  # there, asking by signal would end the process; a lease expires in time
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def lock_feed(connection: Connection) -> None:
    """Wait until nobody else writes to the feed; the lock is let go with the transaction."""
    connection.lock("feed")


def lock_sessions(connection: Connection, owner: str, keys: Iterable[str]) -> None:
    """Wait until nobody else writes or forgets some sessions; this comes before the feed's lock."""
    if connection.engine == "postgresql":  # else there is one writer
        query = """
        SELECT s.id FROM sources AS s JOIN sessions AS e ON e.id = s.session
        WHERE e.owner = ? AND e.key IN @@texts(?) ORDER BY s.id @@lock(s)
        """
        connection.execute(query, (owner, [*keys]))


def add_change(
    connection: Connection,
    owner: str,
    kind: ChangeKind,
    session: str,
    revision: int,
    at_ns: int,
    *,
    person: str | None = None,
    former: str | None = None,
    is_shared: bool = False,
    origin: str | None = None,
) -> None:
    """Add an entry; the caller has the feed's lock."""
    cells = person, former, int(is_shared), pack_text(origin)
    _add(connection, [(owner, str(kind), pack_text(session), revision, at_ns, *cells)])


def add_revisions(connection: Connection, entries: Iterable[tuple[str, ChangeKind, str, int, int]]) -> None:
    """Add entries of sessions that are in other revisions: owner, kind, session, revision and time of each."""
    _add(
        connection,
        [
            (owner, str(kind), pack_text(session), revision, at_ns, None, None, 0, None)
            for owner, kind, session, revision, at_ns in entries
        ],
    )


def _add(connection: Connection, rows: Sequence[Row]) -> None:
    if rows:
        connection.change_many(
            "INSERT INTO changes (owner, kind, session, revision, at_ns, person, former, is_shared, origin) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        connection.notify()


def find_last(connection: Connection) -> int:
    """Return the last number of the feed, whosever entry it is."""
    [(seq,)] = connection.execute("SELECT coalesce(max(seq), 0) FROM changes")
    return int(seq)


def read_feed(connection: Connection, scope: Scope, after: int | None, limit: int) -> Feed:
    """Return the feed's name, how far it goes, and its entries behind one."""
    # From the end on: with one owner, the last entry is the first that is looked at.
    query = "SELECT epoch, (SELECT seq FROM changes WHERE owner = ? ORDER BY seq DESC LIMIT 1) FROM feed"
    [(epoch, last)] = connection.execute(query, (scope.owner,))
    if connection.engine == "postgresql":  # a copy in another database has another name, however it was made
        [(number,)] = connection.execute(
            "SELECT oid::bigint FROM pg_database WHERE datname = current_database()"
        )
        epoch = f"{epoch}-{number}"
    query = """
    SELECT seq, kind, session, revision, at_ns FROM changes WHERE seq > ? AND owner = ? ORDER BY seq LIMIT ?
    """
    rows = [] if after is None else connection.execute(query, (after, scope.owner, limit))
    entries = tuple(
        ChangeEntry(
            seq=seq, kind=ChangeKind(kind), session=unpack_text(session), revision=revision, at_ns=at_ns
        )
        for seq, kind, session, revision, at_ns in rows
    )
    return Feed(epoch, last or 0, entries)


def renew_epoch(connection: Connection) -> None:
    """Give the feed another name: what was numbered before means nothing here."""
    connection.execute("UPDATE feed SET epoch = ?", (os.urandom(8).hex(),))


class Lease:
    """The right to write to a store for a time; it must be renewed before that is over."""

    def __init__(self, database: Database, name: str, *, seconds: float) -> None:
        self._database = database
        self._name = name
        self._nanoseconds = round(seconds * 1e9)
        self._is_closed = False
        self.holder = name_holder()
        """By what name this one is known."""

    def take(self, wait_seconds: float = 0.0) -> bool:
        """Take it, or wait for it; return whether it is ours. One's own is renewed."""
        deadline = time.monotonic() + wait_seconds
        while not self._try_once():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(_PAUSE, left))
        return True

    def _try_once(self) -> bool:

        def take(connection: Connection) -> bool:
            # Of several that find nobody there, one is first to write the row, and the others wait for it.
            connection.lock(f"lease {self._name}")
            if find_holder(connection, self._name) not in (None, self.holder):
                return False
            self._write(connection)
            return True

        try:
            return self._database.write(take, is_repeatable=True)
        except BusyStoreError:
            return False

    def renew(self) -> bool:
        """Hold it for another while; return False if it was lost to somebody else, or let go."""

        def renew(connection: Connection) -> bool:
            connection.lock(f"lease {self._name}")
            found = connection.execute("SELECT holder FROM leases WHERE name = ?", (self._name,))
            if found != [(self.holder,)]:
                return False
            self._write(connection)
            return True

        return self._database.write(renew, is_repeatable=True)

    def release(self) -> None:
        """Let others have it; nothing happens if it is not ours."""
        query, values = "DELETE FROM leases WHERE name = ? AND holder = ?", (self._name, self.holder)
        self._database.write(lambda connection: connection.execute(query, values), is_repeatable=True)

    def find_holder(self) -> str | None:
        """Return the holder, None if there is none that lives."""
        return self._database.read(lambda connection: find_holder(connection, self._name))

    def close(self) -> None:
        """Let go of it, and of the database; again does nothing."""
        if not self._is_closed:
            self._is_closed = True
            try:
                self.release()
            finally:
                self._database.close()

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, connection: Connection) -> None:
        connection.execute("DELETE FROM leases WHERE name = ?", (self._name,))
        expires_ns = _now(connection) + self._nanoseconds
        connection.execute("INSERT INTO leases VALUES (?, ?, ?)", (self._name, self.holder, expires_ns))


def find_holder(connection: Connection, name: str) -> str | None:
    """Return who may write; None if nobody does who lives."""
    rows = connection.execute("SELECT holder, expires_ns FROM leases WHERE name = ?", (name,))
    now = _now(connection) if rows else 0
    return next((str(holder) for holder, ends in rows if ends > now and not is_gone(holder)), None)


def _now(connection: Connection) -> int:
    """Return the time in nanoseconds: a server's own, so that clocks that differ do no harm."""
    if connection.engine == "sqlite":
        return time.time_ns()
    [(now,)] = connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint")
    return int(now)
