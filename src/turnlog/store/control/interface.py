"""What a control database does.

It is small, and has transactions: the order of writers, what they are about to publish, and the feed. Beside
that it has what people and machines said and is little: marks, machines, rules, tombstones, leases.

A write has three steps. `begin` gives it a number, and remembers whose it is. Then facts are staged elsewhere,
under that number. `commit` remembers what is to be published, packed: from now on it will be, whoever does it.
`finish` is called when it was: it adds the entries of the feed, and forgets the rest. Whoever dies before
`commit` leaves something to be undone, whoever dies behind it something to be done; `list_unfinished` tells,
and whoever has the locks of a write knows that nobody else is at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from msgspec import Struct

from turnlog.errors import StoreError
from turnlog.store.changes import NewChange
from turnlog.store.interface import ChangeEntry, ChangeListener
from turnlog.store.portable.database import Execute

__all__ = ["PATIENCE", "Control", "LostWriteError", "StoredChange", "Unfinished"]

T = TypeVar("T")
PATIENCE = 120.0
"""Seconds to wait for other writers."""


class LostWriteError(StoreError):
    """A write that had not come to its commit was undone by others, who took its writer for dead."""


class StoredChange(Struct, frozen=True, gc=False):
    """An entry of the feed, with what says who may see it."""

    entry: ChangeEntry
    change: NewChange


class Unfinished(Struct, frozen=True, gc=False):
    """A write that was begun and is not finished."""

    write: int
    owner: str
    names: tuple[str, ...]
    """Of its locks; empty if it was alone."""
    staged: bytes
    """What `begin` was given."""
    publication: bytes | None
    """What `commit` was given; None if it did not come to that."""


class Control(Protocol):
    """The control database of a store; several threads and processes may use it."""

    def locked(
        self, owner: str, names: Iterable[str], *, patience: float = PATIENCE
    ) -> AbstractContextManager[None]:
        """Let one writer at a time through for each of some names (of machines, persons), beside others.

        Raises `BusyStoreError` if they take longer than `patience` seconds.
        """

    def alone(self, owner: str, *, patience: float = PATIENCE) -> AbstractContextManager[None]:
        """Let one writer through, and nobody beside it."""

    def standstill(self, *, patience: float = PATIENCE) -> AbstractContextManager[None]:
        """Keep everybody from writing, whoever's it is."""

    def settling(self, owner: str) -> AbstractContextManager[None]:
        """Let one writer of an owner at a time do what concerns the sessions of others, too.

        It has its locks, and takes no others behind this one. Raises `LostStoreError` if it lost them.
        """

    def begin(self, owner: str, names: Sequence[str], staged: bytes) -> int:
        """Return the number of a new write, larger than all before it; when this returns, it is remembered."""

    def commit(self, write: int, publication: bytes, work: Callable[[Execute], object] | None = None) -> None:
        """Remember what is to be published; `work` is done in the same transaction.

        Raises `LostWriteError` if others undid the write; then nothing of it will ever be seen.
        """

    def finish(self, write: int, changes: Sequence[NewChange]) -> int:
        """Add entries to the feed, and forget the write; return the last number of the feed."""

    def doom(self, write: int) -> bool:
        """Say that a write will be undone: its writer cannot commit any more. Return False if it has."""

    def abandon(self, write: int) -> None:
        """Forget a write that was undone."""

    def list_unfinished(self, owner: str | None = None, names: Iterable[str] = ()) -> list[Unfinished]:
        """Return writes that are not finished, in their order: all, or those of an owner, with some names.

        Those that were alone count as having all names.
        """

    def read(self, work: Callable[[Execute], T]) -> T:
        """Do what only reads, by one statement."""

    def write(self, work: Callable[[Execute], T], *, is_repeatable: bool = False) -> T:
        """Do all of it or nothing; when this returns, it outlasts a loss of power."""

    def list_changes(self, owner: str, after: int, limit: int) -> list[StoredChange]:
        """Return entries of the feed, in order."""

    def find_last_change(self, owner: str) -> int:
        """Return the last number of the feed; 0 if there is none."""

    def find_epoch(self) -> str:
        """Return the name of the feed."""

    def renew_epoch(self) -> None:
        """Give the feed another name."""

    def listen(self) -> ChangeListener | None:
        """Return what tells of changes; None where one has to look for them."""

    def find_store(self) -> str:
        """Return the name of the store that this database belongs to."""

    def find_now(self, execute: Execute) -> int:
        """Return the time by the clock that all processes have in common, in nanoseconds since 1970."""

    def scrub(self) -> bool:
        """Remove from the files what was deleted before; return False if they are in use just now."""

    def close(self) -> None:
        """Let go of it; again does nothing."""
