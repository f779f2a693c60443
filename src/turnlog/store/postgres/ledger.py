"""What is to be done at the end of a transaction that writes: who sees what, counting usage, telling the feed.

All need the feed's lock, and everything else is written before it is taken: whoever has it lets others wait.
"""

from __future__ import annotations

from collections.abc import Iterable

from psycopg import Connection

from turnlog.store.changes import NewChange
from turnlog.store.interface import ChangeKind
from turnlog.store.postgres.access import keep_access
from turnlog.store.postgres.feed import add_entries, lock_feed
from turnlog.store.postgres.usage_writing import settle

__all__ = ["Ledger"]


class Ledger:
    """Gathers it while a transaction writes."""

    def __init__(self) -> None:
        self._sessions: set[int] = set()
        self._messages: set[bytes] = set()
        self._moved: set[bytes] = set()
        self._written: dict[str, dict[int, int]] = {}
        self._changes: list[NewChange] = []

    def note_session(self, session: int) -> None:
        """Note that the row of a session in the lists came or went."""
        self._sessions.add(session)

    def note_messages(self, messages: Iterable[bytes]) -> None:
        """Note that sightings of messages came or went, by their packed ids."""
        self._messages.update(messages)

    def note_moved(self, messages: Iterable[bytes]) -> None:
        """Note that some of the sessions with sightings of messages are another's, or others see them now."""
        self._moved.update(messages)

    def note_written(self, owner: str, session: int, at_ns: int) -> None:
        """Note that a session may be of another project or machine than it was."""
        self._written.setdefault(owner, {})[session] = at_ns

    def note_change(self, owner: str, kind: ChangeKind, session: str, revision: int, at_ns: int) -> None:
        """Note what the feed is to tell."""
        self.add_change(NewChange(owner, kind, session, revision, at_ns))

    def add_change(self, change: NewChange) -> None:
        """Note what the feed is to tell, and to whom."""
        self._changes.append(change)

    def close(self, connection: Connection) -> None:
        """Do it, as the last of the transaction."""
        if self._sessions or self._messages or self._moved or self._changes or self._written:
            lock_feed(connection)
            for owner, sessions in self._written.items():
                self._moved |= keep_access(connection, owner, sessions)
            if self._sessions or self._messages or self._moved:
                settle(connection, self._sessions, self._messages, self._moved)
            add_entries(connection, self._changes)
