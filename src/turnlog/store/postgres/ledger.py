"""What is to be done at the end of a transaction that writes: counting usage anew, and telling the feed.

Both need the feed's lock, and everything else is written before it is taken: whoever has it lets others wait.
"""

from __future__ import annotations

from collections.abc import Iterable

from psycopg import Connection

from turnlog.store.interface import ChangeKind
from turnlog.store.postgres.feed import Change, add_entries, lock_feed
from turnlog.store.postgres.usage_writing import settle

__all__ = ["Ledger"]


class Ledger:
    """Gathers it while a transaction writes."""

    def __init__(self) -> None:
        self._sessions: set[int] = set()
        self._messages: set[bytes] = set()
        self._changes: list[Change] = []

    def note_session(self, session: int) -> None:
        """Note that the row of a session in the lists came or went."""
        self._sessions.add(session)

    def note_messages(self, messages: Iterable[bytes]) -> None:
        """Note that sightings of messages came or went, by their packed ids."""
        self._messages.update(messages)

    def note_change(self, owner: str, kind: ChangeKind, session: str, revision: int, at_ns: int) -> None:
        """Note what the feed is to tell."""
        self._changes.append(Change(owner, kind, session, revision, at_ns))

    def close(self, connection: Connection) -> None:
        """Do it, as the last of the transaction."""
        if self._sessions or self._messages or self._changes:
            lock_feed(connection)
            if self._sessions or self._messages:
                settle(connection, self._sessions, self._messages)
            add_entries(connection, self._changes)
