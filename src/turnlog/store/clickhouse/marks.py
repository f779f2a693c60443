"""Marks: those of now are in the session's row, and the control database has each change, to take it back.

Whoever writes marks has a lock of all marks, besides those of the machines: operations of several processes
come one behind the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.changes import NewChange
from turnlog.store.clickhouse.access import list_own
from turnlog.store.clickhouse.reading import MARKED
from turnlog.store.clickhouse.record import Session, with_marks
from turnlog.store.clickhouse.session_schema import SESSIONS
from turnlog.store.clickhouse.transaction import Connected, Write
from turnlog.store.control.machines import name_machine
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.marks import MarkChange, MarkedSession, Marks, take_back
from turnlog.store.packing import as_word, pack_row, unpack_row, unpack_text
from turnlog.store.portable.database import Execute, Row

__all__ = ["Marking"]

_LOCK = "marks"
_WAS_MARKED = "SELECT 1 FROM @marks WHERE owner = ? AND session = ? LIMIT 1"
_OPERATIONS = """
SELECT max(operation) FROM @marks WHERE owner = ? AND undoes IS NULL AND operation < ? AND {}
AND operation NOT IN (SELECT undoes FROM @marks WHERE owner = ? AND undoes IS NOT NULL)
"""
_ENTRIES = "SELECT session, before, after FROM @marks WHERE owner = ? AND operation = ? ORDER BY id"
_NEXT = "SELECT coalesce(max(operation), 0) + 1 FROM @marks WHERE owner = ?"
_ADD = """
INSERT INTO @marks (owner, session, operation, undoes, at_ns, author, before, after)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_TAGS = "SELECT arrayJoin(tags) AS tag, count() FROM summaries FINAL GROUP BY tag ORDER BY tag"
_NO_OPERATION = (1 << 63) - 1


class _Entry(Struct, frozen=True):
    """What is to be written of one session."""

    session: Session
    marked: MarkedSession


class _Operation(Struct, frozen=True):
    """What was said at once, of the sessions that may be changed."""

    number: int
    changes: dict[str, tuple[Marks, Marks]]
    """What marks were, and became, by the sessions' keys."""
    sessions: dict[str, Session]


class Marking(Connected):
    """What `ClickHouseStore` keeps of what people say about sessions."""

    def find_marks(self, scope: Scope, key: str) -> Marks | None:
        """Return what people said about a session; None if they never did."""
        session = self._reading(scope).find([key], MARKED).get(key)
        if session is None:
            return None
        found = self._control.read(lambda execute: execute(_WAS_MARKED, (scope.owner, key)))
        return session.marks if found else None

    def list_tags(self, scope: Scope) -> dict[str, int]:
        """Return all tags in their order, each with the number of sessions that have it."""
        return {unpack_text(tag): count for tag, count in self._reading(scope).query(_TAGS)}

    def mark(self, scope: Scope, keys: Sequence[str], change: MarkChange) -> list[MarkedSession]:
        """Change the marks of sessions, and return those that are not as they were."""
        reading = self._reading(scope)
        names = [key for key in keys if as_word(key) is not None]
        found = list_own(reading, names, MARKED)
        if not found:
            return []
        with self._writing(scope.owner, _list_locks(found.values())) as write:
            entries = []
            for key, session in list_own(reading, found).items():
                after = change.apply(session.marks)
                if after != session.marks:
                    marked = MarkedSession(key=key, before=session.marks, after=after)
                    entries.append(_Entry(session, marked))
            _write(write, scope, entries, None)
        return [entry.marked for entry in entries]

    def undo_mark(self, scope: Scope) -> list[MarkedSession]:
        """Take back the last call of `mark` that still stands, and return the sessions that it changed."""
        while (last := self._find_last_mark(scope)) is not None:
            with self._writing(scope.owner, _list_locks(last.sessions.values())) as write:
                now = self._find_last_mark(scope)
                if now is None or now.number != last.number:
                    continue  # somebody was faster, and the sessions of another one are others
                entries = []
                for key, session in now.sessions.items():
                    before, after = now.changes[key]
                    marks = take_back(before, after, session.marks)
                    marked = MarkedSession(key=key, before=session.marks, after=marks)
                    entries.append(_Entry(session, marked))
                _write(write, scope, entries, now.number)
            return [entry.marked for entry in entries]
        return []

    def _find_last_mark(self, scope: Scope) -> _Operation | None:
        """Return the last operation that still stands, by who asks, of which there are sessions."""
        if scope.viewer is not None and scope.viewer.person is None:
            return None
        author = _find_author(scope)
        whose, named = ("author IS NULL", ()) if author is None else ("author = ?", (author,))
        query, last = _OPERATIONS.format(whose), _NO_OPERATION
        while True:
            values = (scope.owner, last, *named, scope.owner)
            [(number,)] = self._control.read(_ask(query, values))
            if number is None:
                return None
            rows = self._control.read(_ask(_ENTRIES, (scope.owner, number)))
            changes = {
                key: (unpack_row(Marks, bytes(before)), unpack_row(Marks, bytes(after)))
                for key, before, after in rows
            }
            sessions = list_own(self._reading(scope), changes)
            if sessions:
                return _Operation(number, changes, sessions)
            last = number


def _list_locks(sessions: Iterable[Session]) -> list[str]:
    return [_LOCK, *{name_machine(unpack_text(session.origin)) for session in sessions}]


def _ask(query: str, values: tuple[object, ...]) -> Callable[[Execute], list[Row]]:
    return lambda execute: execute(query, values)


def _write(write: Write, scope: Scope, entries: Sequence[_Entry], undoes: int | None) -> None:
    """Have the sessions of one operation published, with its entries and those of the feed."""
    if not entries:
        return
    at_ns = time.time_ns()

    def work(execute: Execute) -> None:
        [(operation,)] = execute(_NEXT, (scope.owner,))
        for entry in entries:
            marked = entry.marked
            told = (
                operation,
                undoes,
                at_ns,
                _find_author(scope),
                pack_row(marked.before),
                pack_row(marked.after),
            )
            execute(_ADD, (scope.owner, marked.key, *told))

    write.also(work)
    write.publish(
        SESSIONS,
        (replace(with_marks(entry.session, entry.marked.after), write=write.number).cells for entry in entries),
    )
    for entry in entries:
        session = entry.session
        write.note_change(
            NewChange(scope.owner, ChangeKind.SESSION_MARKED, entry.marked.key, session.revision, at_ns)
        )


def _find_author(scope: Scope) -> str | None:
    return None if scope.viewer is None else scope.viewer.person
