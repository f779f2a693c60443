"""Writing all or nothing to an engine without transactions: stage, commit, publish, finish.

See `turnlog.store.control.interface` for what is remembered at each step. Everything that is published may be
published again: rows have a key and the number of their write, and deleting twice is deleting once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date
from typing import Any

from turnlog.errors import BusyStoreError, StoreError
from turnlog.store.blobs.interface import Blobs
from turnlog.store.changes import NewChange
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.publication import (
    Publication,
    Staged,
    pack_ids,
    pack_publication,
    pack_staged,
    unpack_ids,
    unpack_publication,
    unpack_rows,
    unpack_staged,
)
from turnlog.store.clickhouse.reading import Reading
from turnlog.store.clickhouse.schema import STAGED, TABLES
from turnlog.store.clickhouse.tables import Table
from turnlog.store.clickhouse.usage_writing import settle_answers
from turnlog.store.control.interface import PATIENCE, Control, LostWriteError, Unfinished
from turnlog.store.identity import Scope
from turnlog.store.portable.database import Execute

__all__ = ["Connected", "Write", "name_blob", "name_folder"]

_BY_NAME = {table.name: table for table in TABLES}
_LAST = "sessions"
"""What is inserted last: with it, all else is seen."""


def name_folder(staged: Staged) -> str:
    """Return what the names of all blobs of a session begin with."""
    return f"{staged.born:%Y-%m}/{staged.session:032x}/"


def name_blob(staged: Staged, write: int) -> str:
    """Return the name of what a write adds to the bytes of a session."""
    return f"{name_folder(staged)}{write}"


class Connected:
    """What all parts of a store ask and write through."""

    _engine: Engine
    _control: Control
    _blobs: Blobs
    _retention_days: int | None = None
    """How long sessions are seen; None for as long as they are there."""

    def _reading(self, scope: Scope) -> Reading:
        return Reading(self._engine, scope, self._retention_days)

    @contextmanager
    def _writing(
        self, owner: str, names: Iterable[str] | None, sessions: Sequence[Staged] = ()
    ) -> Iterator[Write]:
        """Let somebody write, all or nothing: what is published is there behind this.

        `names` are of the machines and persons whose sessions may be changed; None is all of them. Something
        may be staged of `sessions` only.
        """
        self._engine.check_writable()
        asked = None if names is None else sorted(set(names))
        with self._locked(owner, asked):
            write = Write(self, owner, asked or (), sessions)
            try:
                yield write
            except BaseException:
                write.undo()
                raise
            write.close()

    def _recover_all(self) -> None:
        """Finish or undo what others left who died; those who live are let be."""
        for left in self._control.list_unfinished():
            with suppress(BusyStoreError):
                self._recover_alone(left, patience=0)

    @contextmanager
    def _locked(self, owner: str, names: Sequence[str] | None) -> Iterator[None]:
        """Keep others from what has these names, and see that nothing of it is left unfinished."""
        while True:
            with self._lock(owner, names):
                left = self._control.list_unfinished(owner, names or ())
                more = [each for each in left if names is not None and not _covers(names, each)]
                if not more:
                    for each in left:
                        _recover(self, each)
                    yield
                    return
            for each in more:  # others may be about to do the same, who have other names in common with it
                self._recover_alone(each)

    def _recover_alone(self, left: Unfinished, *, patience: float = PATIENCE) -> None:
        """Finish or undo a write, with the locks that it had."""
        with self._lock(left.owner, left.names or None, patience=patience):
            for each in self._control.list_unfinished(left.owner, left.names):
                if each.write == left.write:  # nobody else did meanwhile
                    _recover(self, each)

    def _lock(
        self, owner: str, names: Sequence[str] | None, *, patience: float = PATIENCE
    ) -> AbstractContextManager[None]:
        if names is None:
            return self._control.alone(owner, patience=patience)
        return self._control.locked(owner, names, patience=patience)


class Write:
    """One write: what it stages, and what it publishes at its end."""

    def __init__(self, parts: Connected, owner: str, names: Sequence[str], sessions: Sequence[Staged]) -> None:
        self._parts = parts
        self._owner = owner
        self._names = names
        self._sessions = sessions
        self._number: int | None = None
        self._is_committed = False
        self._works: list[Callable[[Execute], object]] = []
        self.publication = Publication()
        self.last_change = 0
        """The last number of the feed, once it is closed."""

    @property
    def number(self) -> int:
        """What tells the rows of this write from those of others; with it, the write is begun."""
        if self._number is None:
            self._number = self._parts._control.begin(self._owner, self._names, pack_staged(self._sessions))
        return self._number

    def concern(self, sessions: Sequence[Staged]) -> None:
        """Say of which sessions something may be staged, by whoever knows only now; before anything is."""
        assert self._number is None, "what was begun is remembered with its sessions"
        self._sessions = sessions

    def stage(self, table: Table, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows that nobody looks at before something is published; they have this write's number."""
        assert table.name in STAGED, "what is published is seen at once"
        assert self.number
        self._parts._engine.insert(table, rows)

    def put(self, staged: Staged, data: bytes) -> str:
        """Keep bytes of a session, and return the name of the blob; once for each session."""
        name = name_blob(staged, self.number)
        self._parts._blobs.put(name, data)
        return name

    def publish(self, table: Table, rows: Iterable[Sequence[Any]]) -> None:
        """Have rows inserted at the end; they have the number of this write."""
        self.publication.add(table, rows)

    def forget(self, sessions: Iterable[Staged]) -> None:
        """Have all deleted that is kept of sessions."""
        for each in sessions:
            [packed] = pack_ids([each.session])
            self.publication.forgotten.append((packed, each.born.toordinal()))

    def renew(self, table: Table, becomes: Mapping[str, str], where: str) -> None:
        """Have rows inserted anew at the end, with other values in some columns, within the engine.

        They are spelled as in a statement. Whoever finds this half done does it again: it must find the same
        rows then, or none.
        """
        self.publication.renewals.append((table.name, dict(becomes), where))

    def note_stale(self, answers: Iterable[int]) -> None:
        """Note that sightings of answers came or went."""
        self.publication.stale += pack_ids(answers)

    def note_moved(self, answers: Iterable[int]) -> None:
        """Note that sessions with sightings of answers are another's, or others see them, or no longer."""
        self.publication.moved += pack_ids(answers)

    def note_change(self, change: NewChange) -> None:
        """Note what the feed is to tell."""
        self.publication.changes.append(change)

    def also(self, work: Callable[[Execute], object]) -> None:
        """Have something done in the control database, in the transaction that commits."""
        self._works.append(work)

    def close(self) -> None:
        """Commit, publish and finish; nothing happens if there is nothing to do."""
        if self.publication.is_empty and not self._works:
            self.undo()
            self.last_change = self._parts._control.find_last_change(self._owner)
            return

        def work(execute: Execute) -> None:
            for each in self._works:
                each(execute)

        number, packed = self.number, pack_publication(self.publication)
        self._is_committed = True  # if that fails, nobody knows: whoever comes next looks
        try:
            self._parts._control.commit(number, packed, work if self._works else None)
        except LostWriteError:
            self._is_committed = False
            self.undo()
            raise
        self.last_change = _publish(self._parts, number, self._owner, self.publication)

    def undo(self) -> None:
        """Delete what was staged; if that fails now, whoever comes next does it."""
        if self._number is not None and not self._is_committed:
            with suppress(StoreError):
                _undo(self._parts, self._number, self._sessions)
                self._number = None


def _covers(names: Sequence[str], unfinished: Unfinished) -> bool:
    """Tell whether whoever has these locks has all that an unfinished write had."""
    return bool(unfinished.names) and set(unfinished.names) <= set(names)


def _recover(parts: Connected, unfinished: Unfinished) -> None:
    if unfinished.publication is None:
        if not parts._control.doom(unfinished.write):
            raise BusyStoreError(f"Write {unfinished.write} is still under way")  # its writer lives after all
        _undo(parts, unfinished.write, unpack_staged(unfinished.staged))
    else:
        publication = unpack_publication(unfinished.publication)
        _publish(parts, unfinished.write, unfinished.owner, publication)


def _undo(parts: Connected, write: int, sessions: Sequence[Staged]) -> None:
    if sessions:
        where = "write = {write:UInt64} AND session IN {sessions:Array(UInt128)}"
        values = {"write": write, "sessions": [each.session for each in sessions]}
        for table in sorted(STAGED):
            parts._engine.delete(table, where, values)
        parts._blobs.delete(name_blob(each, write) for each in sessions)
    parts._control.abandon(write)


def _publish(parts: Connected, write: int, owner: str, publication: Publication) -> int:
    """Do what a write committed, again if need be; return the last number of the feed."""
    engine = parts._engine
    for name in sorted(publication.inserts, key=lambda name: (name == _LAST, name)):
        engine.insert(_BY_NAME[name], unpack_rows(_BY_NAME[name], publication.inserts[name]))
    for name, becomes, where in publication.renewals:
        engine.command(_renew(_BY_NAME[name], {**becomes, "write": str(write)}, where))
    for name, where in publication.deletes:
        engine.delete(name, where)
    if publication.forgotten:
        _delete_sessions(parts, publication)
    stale, moved = unpack_ids(publication.stale), unpack_ids(publication.moved)
    if stale or moved:
        with parts._control.settling(owner):  # two who settle at once would count twice
            settle_answers(engine, parts._control, owner, stale, moved)
    return parts._control.finish(write, publication.changes)


def _renew(table: Table, becomes: Mapping[str, str], where: str) -> str:
    """Return the statement that inserts rows anew; values have no names there, which would hide columns."""
    into = f"{table.name} ({', '.join(table.names)})"
    cells = ", ".join(becomes.get(name, name) for name in table.names)
    return f"INSERT INTO {into} SELECT {cells} FROM {table.name} FINAL WHERE {where}"


def _delete_sessions(parts: Connected, publication: Publication) -> None:
    """Delete the rows and bytes of sessions; the session's own row first: with it, all else is out of sight."""
    staged = _unpack_forgotten(publication)
    values = {"sessions": [each.session for each in staged]}
    parts._engine.delete(_LAST, "id IN {sessions:Array(UInt128)}", values)
    for table in TABLES:
        if table.name != _LAST and "session" in table.columns:
            parts._engine.delete(table.name, "session IN {sessions:Array(UInt128)}", values)
    for each in staged:
        parts._blobs.delete_under(name_folder(each))


def _unpack_forgotten(publication: Publication) -> list[Staged]:
    """Return the sessions that a publication deletes."""
    return [
        Staged(session, date.fromordinal(born))
        for packed, born in publication.forgotten
        for session in unpack_ids([packed])
    ]
