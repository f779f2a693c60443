"""Marks in their table: each change is an entry with all that it led to, and the newest entry counts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import json

from turnlog.store.catalogue.database import MOST, Connection, pack_text, unpack_text
from turnlog.store.catalogue.feed import add_change, lock_feed
from turnlog.store.catalogue.people import list_own
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.marks import MarkChange, MarkedSession, Marks, take_back

MARK_COLUMNS = ("name", "tags", "is_starred", "note", "is_archived")
"""What `unpack_marks` takes."""
_COLUMNS = ", ".join(MARK_COLUMNS)
_INSERT = f"""
INSERT INTO marks (owner, session, operation, undoes, at_ns, author, name_key, {_COLUMNS})
VALUES ({", ".join("?" * (7 + len(MARK_COLUMNS)))}) RETURNING id
"""
_decode_tags = json.Decoder(tuple[str, ...]).decode


def unpack_marks(cells: Sequence[Any]) -> Marks:
    """Return the marks of an entry; of a session without any, those cells are all empty."""
    name, tags, starred, note, archived = cells
    if tags is None:
        return Marks()
    return Marks(
        name=unpack_text(name),
        tags=_decode_tags(tags),
        starred=bool(starred),
        note=unpack_text(note),
        archived=bool(archived),
    )


def mark_sessions(
    connection: Connection, scope: Scope, keys: Iterable[str], change: MarkChange
) -> list[MarkedSession]:
    """Change the marks of sessions, in the transaction of the caller; return those that differ by that."""
    lock_feed(connection)
    writer = _Writer(connection, scope, None)
    own, values = list_own(scope)
    done = []
    for key in keys:
        query = f"SELECT e.id, e.revision FROM sessions AS e WHERE {own} AND e.key IN @@texts(:keys)"
        for session, revision in connection.execute(query, {**values, "keys": [key]}):
            before = _find_newest(connection, session)
            done += writer.write(session, key, revision, before, change.apply(before))
    return done


def undo_marks(connection: Connection, scope: Scope) -> list[MarkedSession]:
    """Take back the newest of one's own operations that still stands; return the sessions that it was about."""
    lock_feed(connection)
    own, values = list_own(scope)
    query = f"""
    SELECT max(m.operation) FROM marks AS m JOIN sessions AS e ON e.id = m.session
    WHERE m.owner = :owner AND coalesce(m.author, '') = :author AND m.undoes IS NULL AND {own}
    AND m.operation NOT IN (SELECT undoes FROM marks WHERE owner = m.owner AND undoes IS NOT NULL)
    """
    [(operation,)] = connection.execute(query, {**values, "author": _name_author(scope) or ""})
    if operation is None:
        return []
    entries = connection.execute(
        "SELECT m.id, m.session, e.key, e.revision FROM marks AS m JOIN sessions AS e ON e.id = m.session "
        f"WHERE m.owner = :owner AND m.operation = :operation AND {own} ORDER BY m.id",
        {**values, "operation": operation},
    )
    writer = _Writer(connection, scope, operation)
    done = []
    for entry, session, key, revision in entries:
        now = _find_newest(connection, session)
        before, after = (_find_newest(connection, session, each) for each in (entry, entry + 1))
        done += writer.write(session, key, revision, now, take_back(before, after, now))
    return done


class _Writer:
    """Writes the entries of one operation."""

    def __init__(self, connection: Connection, scope: Scope, undoes: int | None) -> None:
        self._connection = connection
        self._owner = scope.owner
        self._author = _name_author(scope)
        self._undoes = undoes
        self._at_ns = time.time_ns()
        query = "SELECT coalesce(max(operation), 0) + 1 FROM marks WHERE owner = ?"
        [(self._operation,)] = connection.execute(query, (scope.owner,))

    def write(self, session: int, key: str, revision: int, before: Marks, after: Marks) -> list[MarkedSession]:
        """Add an entry, and one in the feed; none for what stays the same, unless it is taken back."""
        if before == after and self._undoes is None:
            return []
        entry = (
            pack_text(after.name),
            json.encode(after.tags),
            int(after.starred),
            pack_text(after.note),
            int(after.archived),
        )
        name_key = None if after.name is None else pack_text(after.name.casefold())
        head = (self._owner, session, self._operation, self._undoes, self._at_ns, self._author, name_key)
        [(number,)] = self._connection.execute(_INSERT, (*head, *entry))
        query = "UPDATE sessions SET mark = ?, is_archived = ? WHERE id = ?"
        self._connection.execute(query, (number, int(after.archived), session))
        add_change(self._connection, self._owner, ChangeKind.SESSION_MARKED, key, revision, self._at_ns)
        return [MarkedSession(key=key, before=before, after=after)]


def _name_author(scope: Scope) -> str | None:
    return None if scope.viewer is None else scope.viewer.person


def _find_newest(connection: Connection, session: int, before: int = MOST) -> Marks:
    """Return the marks by the newest entry of a session, or the newest before another one."""
    query = f"SELECT {_COLUMNS} FROM marks WHERE session = ? AND id < ? ORDER BY id DESC LIMIT 1"
    rows = connection.execute(query, (session, before))
    return unpack_marks(rows[0]) if rows else Marks()
