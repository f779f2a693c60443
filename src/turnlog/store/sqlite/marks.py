"""Marks in their table: each change is an entry with all that it led to, and the newest entry counts."""

from __future__ import annotations

import time
from collections.abc import Iterable

import apsw
from msgspec import json

from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.marks import MarkChange, MarkedSession, Marks, take_back
from turnlog.store.sqlite.people import list_own
from turnlog.store.sqlite.values import Cells

MARK_COLUMNS = ("name", "tags", "starred", "note", "archived")
"""What `unpack_marks` takes."""
_COLUMNS = ", ".join(MARK_COLUMNS)
_INSERT = f"""
INSERT INTO marks (owner, session, operation, undoes, at_ns, author, name_key, {_COLUMNS})
VALUES ({", ".join("?" * (7 + len(MARK_COLUMNS)))})
"""
_decode_tags = json.Decoder(tuple[str, ...]).decode


def unpack_marks(cells: Cells) -> Marks:
    """Return the marks of an entry; of a session without any, those cells are all empty."""
    name, tags, starred, note, archived = cells
    if tags is None:
        return Marks()
    return Marks(name=name, tags=_decode_tags(tags), starred=bool(starred), note=note, archived=bool(archived))


def mark_sessions(
    connection: apsw.Connection, scope: Scope, keys: Iterable[str], change: MarkChange
) -> list[MarkedSession]:
    """Change the marks of sessions, in the transaction of the caller; return those that differ by that."""
    writer = _Writer(connection, scope, None)
    done = []
    for key in keys:
        session = _find_own(connection, scope, key)
        if session is not None:
            before = _find_newest(connection, session)
            done += writer.write(session, key, before, change.apply(before))
    return done


def undo_marks(connection: apsw.Connection, scope: Scope) -> list[MarkedSession]:
    """Take back the newest of one's own operations that still stands; return the sessions that it was about."""
    own, values = list_own(scope)
    query = f"""
    SELECT max(m.operation) FROM marks AS m JOIN sessions AS e ON e.id = m.session
    WHERE m.owner = ? AND m.author IS ? AND m.undoes IS NULL AND {own}
    AND m.operation NOT IN (SELECT undoes FROM marks WHERE owner = m.owner AND undoes IS NOT NULL)
    """
    [(operation,)] = connection.execute(query, (scope.owner, _name_author(scope), *values))
    if operation is None:
        return []
    entries: list[Cells] = connection.execute(
        "SELECT m.id, m.session, e.key FROM marks AS m JOIN sessions AS e ON e.id = m.session "
        f"WHERE m.owner = ? AND m.operation = ? AND {own} ORDER BY m.id",
        (scope.owner, operation, *values),
    ).fetchall()
    writer = _Writer(connection, scope, operation)
    done = []
    for entry, session, key in entries:
        now = _find_newest(connection, session)
        before, after = (_find_newest(connection, session, each) for each in (entry, entry + 1))
        done += writer.write(session, key, now, take_back(before, after, now))
    return done


class _Writer:
    """Writes the entries of one operation."""

    def __init__(self, connection: apsw.Connection, scope: Scope, undoes: int | None) -> None:
        self._connection = connection
        self._owner = scope.owner
        self._author = _name_author(scope)
        self._undoes = undoes
        self._at_ns = time.time_ns()
        query = "SELECT ifnull(max(operation), 0) + 1 FROM marks WHERE owner = ?"
        [(self._operation,)] = connection.execute(query, (scope.owner,))

    def write(self, session: int, key: str, before: Marks, after: Marks) -> list[MarkedSession]:
        """Add an entry, and one in the feed; none for what stays the same, unless it is taken back."""
        if before == after and self._undoes is None:
            return []
        entry = (
            after.name,
            json.encode(after.tags).decode(),
            after.starred,
            after.note,
            after.archived,
        )
        name_key = None if after.name is None else after.name.casefold()
        head = (self._owner, session, self._operation, self._undoes, self._at_ns, self._author, name_key)
        self._connection.execute(_INSERT, (*head, *entry))
        self._connection.execute(
            "INSERT INTO changes (owner, kind, session, revision, at_ns) "
            "SELECT owner, ?, key, revision, ? FROM sessions WHERE id = ?",
            (str(ChangeKind.SESSION_MARKED), self._at_ns, session),
        )
        return [MarkedSession(key=key, before=before, after=after)]


def _find_session(connection: apsw.Connection, scope: Scope, key: str) -> int | None:
    query = "SELECT id FROM sessions WHERE owner = ? AND key = ?"
    return next((int(found) for (found,) in connection.execute(query, (scope.owner, key))), None)


def _find_own(connection: apsw.Connection, scope: Scope, key: str) -> int | None:
    own, values = list_own(scope)
    query = f"SELECT e.id FROM sessions AS e WHERE e.owner = ? AND e.key = ? AND {own}"
    return next((int(found) for (found,) in connection.execute(query, (scope.owner, key, *values))), None)


def _name_author(scope: Scope) -> str | None:
    return None if scope.viewer is None else scope.viewer.person


def _find_newest(connection: apsw.Connection, session: int, before: int | None = None) -> Marks:
    found = _load_newest(connection, session, before)
    return Marks() if found is None else unpack_marks(found)


def _load_newest(connection: apsw.Connection, session: int, before: int | None) -> Cells | None:
    """Return the newest entry of a session, or the newest before another one."""
    query = f"SELECT {_COLUMNS} FROM marks WHERE session = ? AND id < ? ORDER BY id DESC LIMIT 1"
    return connection.execute(query, (session, (1 << 63) - 1 if before is None else before)).fetchone()
