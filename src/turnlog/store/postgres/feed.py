"""The feed: numbers in the order of commits, and a way to be told of them.

A number that is given before another one could be committed after it, and whoever had asked for what is behind
the later one would never see it. So whoever writes to the feed has its lock, from before the first number is
given until the transaction is over. It is taken last, when all else is written.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from turnlog.store.changes import NewChange
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeEntry, ChangeKind
from turnlog.store.packing import pack_text, unpack_text
from turnlog.store.postgres.partitions import LOCKS

__all__ = [
    "ChangeListener",
    "add_changes",
    "add_entries",
    "find_epoch",
    "find_last_change",
    "list_changes",
    "lock_feed",
    "renew_epoch",
]

_FEED = 2
_CHANNEL = "turnlog_changes"
_PAUSE = 0.25
"""Seconds until a server that is gone is tried again."""


def lock_feed(connection: Connection) -> None:
    """Wait until nobody else writes to the feed; the lock is let go with the transaction."""
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCKS, _FEED))


def add_changes(
    connection: Connection, owner: str, changes: Sequence[tuple[ChangeKind, str, int]], at_ns: int
) -> None:
    """Add entries to the feed, each with a kind, a session and its revision; the caller has its lock."""
    add_entries(
        connection, [NewChange(owner, kind, session, revision, at_ns) for kind, session, revision in changes]
    )


def add_entries(connection: Connection, changes: Sequence[NewChange]) -> None:
    """Add entries to the feed, in their order; the caller has the feed's lock."""
    if changes:
        query = """
        INSERT INTO changes (owner, kind, session, revision, at_ns, person, former, shared, origin)
        SELECT w.owner, w.kind, w.session, w.revision, w.at_ns, w.person, w.former, w.shared, w.origin
        FROM unnest(
            %s::text[], %s::text[], %s::bytea[], %s::bigint[], %s::bigint[], %s::text[], %s::text[],
            %s::boolean[], %s::bytea[]
        ) WITH ORDINALITY AS w (owner, kind, session, revision, at_ns, person, former, shared, origin, place)
        ORDER BY w.place
        """
        rows = [
            (
                each.owner,
                str(each.kind),
                pack_text(each.session),
                each.revision,
                each.at_ns,
                each.person,
                each.former,
                each.shared,
                pack_text(each.origin),
            )
            for each in changes
        ]
        connection.execute(query, [list(column) for column in zip(*rows, strict=True)])
        connection.execute(f"NOTIFY {_CHANNEL}")


def list_changes(connection: Connection, scope: Scope, after: int, limit: int) -> list[ChangeEntry]:
    """Return entries of the feed."""
    query = """
    SELECT seq, kind, session, revision, at_ns FROM changes WHERE owner = %s AND seq > %s ORDER BY seq LIMIT %s
    """
    return [
        ChangeEntry(
            seq=seq, kind=ChangeKind(kind), session=unpack_text(session), revision=revision, at_ns=at_ns
        )
        for seq, kind, session, revision, at_ns in connection.execute(query, (scope.owner, after, limit))
    ]


def find_last_change(connection: Connection, scope: Scope) -> int:
    """Return the last number of the feed."""
    query = "SELECT coalesce(max(seq), 0) FROM changes WHERE owner = %s"
    [(seq,)] = connection.execute(query, (scope.owner,))
    return int(seq)


def find_epoch(connection: Connection) -> str:
    """Return the name of the feed: a copy in another database has another one, however it was made."""
    query = "SELECT epoch || '-' || oid FROM feed, pg_database WHERE datname = current_database()"
    [(epoch,)] = connection.execute(query)
    return str(epoch)


def renew_epoch(connection: Connection) -> None:
    """Give the feed another name, in the transaction of the caller."""
    connection.execute("UPDATE feed SET epoch = md5(random()::text || clock_timestamp()::text)")


class ChangeListener:
    """Waits for changes, on a connection of its own; one thread at a time may use it."""

    def __init__(self, address: str, channel: str = _CHANNEL) -> None:
        self._address = address
        self._channel = channel
        self._connection: Connection | None = None

    def wait(self, seconds: float) -> bool:
        """Wait until something may have changed, but no longer than this; return whether it may have.

        What changed since the last call counts as well. A server that cannot be reached is waited for; whatever
        happened meanwhile may have been missed, so that is told as a change.
        """
        deadline = time.monotonic() + seconds
        try:
            if self._connection is None:
                self._connection = self._listen()
                return True
            return any(True for _ in self._connection.notifies(timeout=max(seconds, 0), stop_after=1))
        except psycopg.Error:
            self.close()
            time.sleep(max(min(_PAUSE, deadline - time.monotonic()), 0))
            return False

    def close(self) -> None:
        """Let go of the connection; the next call makes another one."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def __enter__(self) -> ChangeListener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _listen(self) -> Connection:
        connection = psycopg.connect(self._address, autocommit=True)
        try:
            connection.execute(SQL("LISTEN {}").format(Identifier(self._channel)))
        except BaseException:
            connection.close()
            raise
        return connection
