"""Marks in their table: each change is an entry with all that it led to, and the newest entry counts.

Whoever writes marks has the feed's lock first: operations of several processes come one behind the other.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from psycopg import Connection

from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.marks import MarkChange, MarkedSession, Marks, take_back
from turnlog.store.packing import Cells, as_word, pack_text, unpack_text
from turnlog.store.postgres.chapters import select
from turnlog.store.postgres.connection import Connected
from turnlog.store.postgres.feed import add_changes, lock_feed
from turnlog.store.postgres.seen import own_only

__all__ = ["MARK_COLUMNS", "Marking", "unpack_marks"]

MARK_COLUMNS = ("name", "tags", "starred", "note", "archived")
"""What `unpack_marks` takes."""
_INSERT = f"""
INSERT INTO marks (owner, session, operation, undoes, at_ns, author, name_key, {", ".join(MARK_COLUMNS)})
VALUES ({", ".join(["%s"] * (7 + len(MARK_COLUMNS)))})
"""
_NEWEST = "(SELECT * FROM marks WHERE owner = e.owner AND session = e.id {before} ORDER BY id DESC LIMIT 1)"
_OF_NEWEST, _OF_ENTRY, _OF_EARLIER = (
    ", ".join(f"{table}.{name}" for name in MARK_COLUMNS) for table in ("n", "m", "b")
)
_CURRENT = f"""
SELECT e.id, e.key, e.revision, {_OF_NEWEST} FROM sessions AS e
LEFT JOIN LATERAL {_NEWEST.format(before="")} AS n ON true
WHERE e.owner = %(owner)s AND e.key = ANY(%(keys)s)
"""
_LAST = f"""
SELECT m.operation, e.id, e.key, e.revision, {_OF_NEWEST}, {_OF_ENTRY}, {_OF_EARLIER}
FROM marks AS m JOIN sessions AS e ON e.id = m.session JOIN access AS a ON a.session = e.id
JOIN LATERAL {_NEWEST.format(before="")} AS n ON true
LEFT JOIN LATERAL {_NEWEST.format(before="AND id < m.id")} AS b ON true
WHERE m.owner = %(owner)s AND (%(all)s OR a.person = %(author)s) AND m.operation = (
    SELECT max(m.operation) FROM marks AS m JOIN access AS a ON a.session = m.session
    WHERE m.owner = %(owner)s AND m.undoes IS NULL AND m.author IS NOT DISTINCT FROM %(author)s
    AND (%(all)s OR a.person = %(author)s) AND m.operation NOT IN (
        SELECT undoes FROM marks WHERE owner = %(owner)s AND undoes IS NOT NULL
    )
)
ORDER BY m.id
"""
_TAGS = """
SELECT tag, count(*) FROM (
    SELECT DISTINCT ON (session) tags FROM marks WHERE owner = %(owner)s ORDER BY session, id DESC
) AS m, unnest(m.tags) AS tag GROUP BY tag ORDER BY tag
"""


class _Entry(Struct, frozen=True):
    """What is to be written of one session."""

    session: int
    revision: int
    marked: MarkedSession


def unpack_marks(cells: Sequence[Any]) -> Marks:
    """Return the marks of an entry; of a session without any, those cells are all empty."""
    name, tags, starred, note, archived = cells
    if tags is None:
        return Marks()
    return Marks(
        name=unpack_text(name),
        tags=tuple(map(unpack_text, tags)),
        starred=starred,
        note=unpack_text(note),
        archived=archived,
    )


class Marking(Connected):
    """What `PostgresStore` keeps of what people say about sessions."""

    def find_marks(self, scope: Scope, key: str) -> Marks | None:
        """Return what people said about a session; None if they never did."""
        rows = self._ask(scope, _find_current, scope, [key])
        return next((unpack_marks(cells) for _, _, _, *cells in rows if cells[1] is not None), None)

    def list_tags(self, scope: Scope) -> dict[str, int]:
        """Return all tags in their order, each with the number of sessions that have it."""
        rows = self._ask(scope, select, _TAGS, {"owner": scope.owner})
        return {unpack_text(tag): count for tag, count in rows}

    def mark(self, scope: Scope, keys: Sequence[str], change: MarkChange) -> list[MarkedSession]:
        """Change the marks of sessions, and return those that are not as they were."""
        return self._write(_mark, scope, keys, change)

    def undo_mark(self, scope: Scope) -> list[MarkedSession]:
        """Take back the last call of `mark` that still stands, and return the sessions that it changed."""
        return self._write(_undo, scope)


def _find_current(connection: Connection, scope: Scope, keys: Sequence[str]) -> list[Cells]:
    wanted = [key for key in keys if as_word(key) is not None]
    return connection.execute(_CURRENT, {"owner": scope.owner, "keys": wanted}).fetchall()


def _mark(connection: Connection, scope: Scope, keys: Sequence[str], change: MarkChange) -> list[MarkedSession]:
    lock_feed(connection)
    found = {
        key: (session, revision, unpack_marks(cells))
        for session, key, revision, *cells in _find_current(connection, scope, keys)
    }
    entries = []
    for key in own_only(connection, scope, keys):
        if key in found:
            session, revision, before = found[key]
            after = change.apply(before)
            if after != before:
                entries.append(_Entry(session, revision, MarkedSession(key=key, before=before, after=after)))
    return _write(connection, scope, entries, None)


def _undo(connection: Connection, scope: Scope) -> list[MarkedSession]:
    lock_feed(connection)
    entries, size = [], len(MARK_COLUMNS)
    values = {"owner": scope.owner, "all": scope.viewer is None, "author": _find_author(scope)}
    rows = select(connection, _LAST, values)
    for _, session, key, revision, *cells in rows:
        now, changed, former = (unpack_marks(cells[at : at + size]) for at in range(0, 3 * size, size))
        after = take_back(former, changed, now)
        entries.append(_Entry(session, revision, MarkedSession(key=key, before=now, after=after)))
    return _write(connection, scope, entries, rows[0][0] if rows else None)


def _write(
    connection: Connection, scope: Scope, entries: Sequence[_Entry], undoes: int | None
) -> list[MarkedSession]:
    """Add the entries of one operation, and those of the feed."""
    if not entries:
        return []
    at_ns = time.time_ns()
    query = "SELECT coalesce(max(operation), 0) + 1 FROM marks WHERE owner = %s"
    [(operation,)] = connection.execute(query, (scope.owner,)).fetchall()
    head = (operation, undoes, at_ns, _find_author(scope))
    rows = [(scope.owner, entry.session, *head, *_pack(entry.marked.after)) for entry in entries]
    with connection.cursor() as cursor:
        cursor.executemany(_INSERT, rows)
    told = [(ChangeKind.SESSION_MARKED, entry.marked.key, entry.revision) for entry in entries]
    add_changes(connection, scope.owner, told, at_ns)
    return [entry.marked for entry in entries]


def _find_author(scope: Scope) -> str | None:
    return None if scope.viewer is None else scope.viewer.person


def _pack(marks: Marks) -> tuple[Any, ...]:
    name_key = None if marks.name is None else pack_text(marks.name.casefold())
    tags = list(map(pack_text, marks.tags))
    return name_key, pack_text(marks.name), tags, marks.starred, pack_text(marks.note), marks.archived
