"""A control database, but for what its engines do differently: locks, telling others, and the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar
from uuid import uuid4

from msgspec import msgpack

from turnlog.store.changes import NewChange
from turnlog.store.control.interface import PATIENCE, LostWriteError, StoredChange, Unfinished
from turnlog.store.interface import ChangeEntry, ChangeKind, ChangeListener
from turnlog.store.portable.database import Execute, PortableDatabase, Row, pack_text, unpack_text

__all__ = ["StoredControl"]

T = TypeVar("T")
_AT_ONCE = 50
"""How many entries of the feed are added by one statement."""
_DOOMED = b""
"""Stands for what is published by a write that others are about to undo."""
_COLUMNS = "seq, owner, kind, session, revision, at_ns, person, former, shared, origin"
_PLACES = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class StoredControl:
    """What both kinds of control databases have in common."""

    def __init__(self, database: PortableDatabase) -> None:
        self._database = database

    def make(self) -> None:
        """Make what is missing, and bring it up to date."""
        self._database.make()

    def list_missing(self) -> list[str]:
        """Return the names of the steps that `make` would do."""
        return self._database.list_missing()

    def locked(
        self, owner: str, names: Iterable[str], *, patience: float = PATIENCE
    ) -> AbstractContextManager[None]:
        """Let one writer at a time through for each of some names."""
        raise NotImplementedError

    def alone(self, owner: str, *, patience: float = PATIENCE) -> AbstractContextManager[None]:
        """Let one writer through, and nobody beside it."""
        raise NotImplementedError

    def standstill(self, *, patience: float = PATIENCE) -> AbstractContextManager[None]:
        """Keep everybody from writing, whoever's it is."""
        raise NotImplementedError

    def settling(self, owner: str) -> AbstractContextManager[None]:
        """Let one writer of an owner at a time do what concerns the sessions of others, too."""
        raise NotImplementedError

    def listen(self) -> ChangeListener | None:
        """Return what tells of changes."""
        return None

    def find_now(self, execute: Execute) -> int:
        """Return the time by the clock that all processes have in common, in nanoseconds since 1970."""
        return time.time_ns()

    def begin(self, owner: str, names: Sequence[str], staged: bytes) -> int:
        """Return the number of a new write."""

        def work(execute: Execute) -> int:
            [number] = _take_numbers(execute, "writes", 1)
            values = (number, owner, msgpack.encode([pack_text(name) for name in sorted(names)]), staged)
            execute("INSERT INTO @writes (id, owner, names, staged) VALUES (?, ?, ?, ?)", values)
            return number

        # One that was begun, and of which we never heard, is undone as any other whose writer died.
        return self._database.write(work, is_repeatable=True)

    def commit(self, write: int, publication: bytes, work: Callable[[Execute], object] | None = None) -> None:
        """Remember what is to be published."""

        def commit(execute: Execute) -> None:
            query = "UPDATE @writes SET publication = ? WHERE id = ? AND publication IS NULL RETURNING id"
            if execute(query, (publication, write)):
                if work is not None:
                    work(execute)
            elif execute("SELECT publication FROM @writes WHERE id = ?", (write,)) in ([], [(_DOOMED,)]):
                raise LostWriteError(f"Write {write} took so long that others undid it; nothing was written")

        self._database.write(commit, is_repeatable=True)

    def finish(self, write: int, changes: Sequence[NewChange]) -> int:
        """Add entries to the feed, and forget the write; again does nothing."""

        def work(execute: Execute) -> int:
            found = execute("DELETE FROM @writes WHERE id = ? RETURNING owner", (write,))
            if found and changes:
                _add_changes(execute, changes)
                self._announce(execute)
            owners = [owner for (owner,) in found] or [change.owner for change in changes]
            return _find_last(execute, owners[0]) if owners else 0

        return self._database.write(work, is_repeatable=True)

    def doom(self, write: int) -> bool:
        """Say that a write will be undone; return False if it was committed."""
        query = "UPDATE @writes SET publication = ? WHERE id = ? AND (publication IS NULL OR publication = ?)"
        values = (_DOOMED, write, _DOOMED)
        return bool(self._database.write(lambda execute: execute(f"{query} RETURNING id", values)))

    def abandon(self, write: int) -> None:
        """Forget a write that was undone."""
        self._database.write(
            lambda execute: execute("DELETE FROM @writes WHERE id = ?", (write,)), is_repeatable=True
        )

    def list_unfinished(self, owner: str | None = None, names: Iterable[str] = ()) -> list[Unfinished]:
        """Return writes that are not finished, in their order."""
        query = "SELECT id, owner, names, staged, publication FROM @writes ORDER BY id"
        wanted = set(names)
        found = (
            Unfinished(
                write=write,
                owner=whose,
                names=tuple(map(unpack_text, msgpack.decode(bytes(packed), type=list[bytes]))),
                staged=bytes(staged),
                publication=None if publication in (None, _DOOMED) else bytes(publication),
            )
            for write, whose, packed, staged, publication in self._database.read(lambda execute: execute(query))
        )
        return [
            each
            for each in found
            if owner is None
            or (each.owner == owner and (not wanted or not each.names or wanted & set(each.names)))
        ]

    def read(self, work: Callable[[Execute], T]) -> T:
        """Do what only reads, by one statement."""
        return self._database.read(work)

    def write(self, work: Callable[[Execute], T], *, is_repeatable: bool = False) -> T:
        """Do all of it or nothing."""
        return self._database.write(work, is_repeatable=is_repeatable)

    def list_changes(self, owner: str, after: int, limit: int) -> list[StoredChange]:
        """Return entries of the feed, in order."""
        query = f"SELECT {_COLUMNS} FROM @changes WHERE owner = ? AND seq > ? ORDER BY seq LIMIT ?"
        rows = self._database.read(lambda execute: execute(query, (owner, after, limit)))
        return list(map(_build_change, rows))

    def find_last_change(self, owner: str) -> int:
        """Return the last number of the feed; 0 if there is none."""
        return self._database.read(lambda execute: _find_last(execute, owner))

    def find_epoch(self) -> str:
        """Return the name of the feed."""
        [(epoch,)] = self._database.read(lambda execute: execute("SELECT epoch FROM @feed"))
        return str(epoch)

    def renew_epoch(self) -> None:
        """Give the feed another name."""
        self._database.write(lambda execute: execute("UPDATE @feed SET epoch = ?", (uuid4().hex,)))

    def find_store(self) -> str:
        """Return the name of the store that this database belongs to."""
        query = "SELECT value FROM @facts WHERE name = 'store'"
        [(name,)] = self._database.read(lambda execute: execute(query))
        return bytes(name).decode()

    def scrub(self) -> bool:
        """Remove from the files what was deleted before."""
        return self._database.scrub()

    def close(self) -> None:
        """Let go of it; again does nothing."""
        self._database.close()

    def _announce(self, execute: Execute) -> None:
        """Tell others that there are changes, once they are committed."""


def _take_numbers(execute: Execute, name: str, count: int) -> range:
    """Return the next numbers; nobody else gets any before the transaction is over."""
    query = "UPDATE @counters SET value = value + ? WHERE name = ? RETURNING value"
    [(last,)] = execute(query, (count, name))
    return range(last - count + 1, last + 1)


def _add_changes(execute: Execute, changes: Sequence[NewChange]) -> None:
    numbers = _take_numbers(execute, "changes", len(changes))
    rows = [
        (seq, each.owner, str(each.kind), pack_text(each.session), each.revision, each.at_ns, each.person,
         each.former, None if each.shared is None else int(each.shared), pack_text(each.origin))
        for seq, each in zip(numbers, changes, strict=True)
    ]  # fmt: skip
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        places = ", ".join([_PLACES] * len(some))
        cells = [cell for row in some for cell in row]
        execute(f"INSERT INTO @changes ({_COLUMNS}) VALUES {places}", cells)


def _find_last(execute: Execute, owner: str) -> int:
    [(seq,)] = execute("SELECT coalesce(max(seq), 0) FROM @changes WHERE owner = ?", (owner,))
    return int(seq)


def _build_change(row: Row) -> StoredChange:
    seq, owner, kind, session, revision, at_ns, person, former, shared, origin = row
    change = NewChange(
        owner=owner,
        kind=ChangeKind(kind),
        session=unpack_text(session),
        revision=revision,
        at_ns=at_ns,
        person=person,
        former=former,
        shared=None if shared is None else bool(shared),
        origin=unpack_text(origin),
    )
    entry = ChangeEntry(seq=seq, kind=change.kind, session=change.session, revision=revision, at_ns=at_ns)
    return StoredChange(entry=entry, change=change)
