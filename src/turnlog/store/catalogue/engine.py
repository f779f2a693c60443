"""What is done to a store as a whole, which differs between a file and a server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from turnlog.store.catalogue.database import OnProgress
from turnlog.store.interface import ChangeListener
from turnlog.store.leases import Lease
from turnlog.store.maintenance import Backup, Flaw, Forgotten, Restored
from turnlog.store.places import StorePlace
from turnlog.store.search.index import TextIndex


class Engine(Protocol):
    """One store's engine."""

    @property
    def database(self) -> Any:
        """The `Database`, with `rows_changed`, how many rows were written through it."""

    @property
    def index(self) -> TextIndex:
        """What is searched."""

    def listen(self) -> ChangeListener | None:
        """Return what tells of changes whoever writes them; None where one has to look for them."""

    def flush(self) -> None:
        """Make what was committed outlast a loss of power."""

    def settle(self, *, is_new: bool) -> None:
        """Put files in order behind the index, of which much may be new."""

    def purge(self) -> bool:
        """Remove what was deleted from the engine's files; False if they are in use just now."""

    def forget(self, work: Callable[[], Forgotten]) -> Forgotten:
        """Do what deletes, so that nothing of it is left in the engine's files, and say whether that is so."""

    def list_flaws(self) -> list[Flaw]:
        """Return what the engine itself finds wrong."""

    def check_quickly(self) -> list[str]:
        """Return what is wrong at a glance."""

    def measure(self) -> int:
        """Return how many bytes the store takes."""

    def back_up(self, target: Path, *, force: bool, on_progress: OnProgress | None) -> Backup:
        """Write a copy of one state of the store to a file, check it, and remember it."""

    def list_backups(self) -> list[Backup]:
        """Return the copies that were made, by time."""

    def check_backup(self, source: Path) -> None:
        """Raise `StoreError` for a file that is no sound copy."""

    def restore(self, source: Path) -> Restored:
        """Put a copy in the place of the store, which is kept as it was; raises `StoreError`."""

    def open_lease(self, name: str, seconds: float) -> Lease:
        """Return the right to write, which is yet to be taken."""


class Upgrade(Protocol):
    """Making an archive of an earlier version one of today's, in another place until it is done."""

    @property
    def place(self) -> StorePlace:
        """Where the archive of today is meanwhile."""

    def measure(self) -> tuple[int, int]:
        """Return how many sessions there are, and how many bytes they take."""

    def alone(self) -> AbstractContextManager[None]:
        """Keep programs of the earlier version from writing; raises `StoreError`."""

    def copy(self, on_progress: OnProgress | None = None) -> None:
        """Copy all that only the archive knows; what was copied before is there already."""

    def check(self) -> None:
        """Raise `StoreError` unless all is there that has to be."""

    def finish(self, *, keep: bool) -> str | None:
        """Put the archive of today in its place; return where the former one is, if it is kept."""
