"""Opening a store, whichever engine it is on."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from turnlog.errors import StoreError
from turnlog.store.care import Backup, CaredStore
from turnlog.store.identity import Scope
from turnlog.store.sqlite.backup import find_holding
from turnlog.store.sqlite.checking import check_pages
from turnlog.store.sqlite.connection import Options, open_to_read, translate
from turnlog.store.sqlite.lease import Lease, find_holder
from turnlog.store.sqlite.opening import check_current
from turnlog.store.sqlite.restoring import check_backup, restore_store
from turnlog.store.sqlite.store import SqliteStore

__all__ = [
    "Lease",
    "check_backup",
    "check_quickly",
    "find_holder",
    "find_in_backup",
    "measure_store",
    "open_lease",
    "open_store",
    "restore_store",
]


def open_store(place: Path, *, read_only: bool = False) -> CaredStore:
    """Open the store at a place, and make it if it is not there; raises `StoreError`."""
    return SqliteStore.open(place, read_only=read_only)


def open_lease(place: Path, *, seconds: float = 30.0) -> Lease:
    """Return the right to write to the store at a place, which is yet to be taken; raises `StoreError`."""
    return Lease(place, seconds=seconds)


def measure_store(place: Path) -> int:
    """Return how many bytes the files of the store at a place take."""
    paths = [Path(f"{place}{end}") for end in ("", "-wal")]
    return sum(path.stat().st_size for path in paths if path.exists())


def check_quickly(place: Path) -> list[str]:
    """Return what is wrong with the file of the store at a place, at a glance; raises `StoreError`."""
    check_current(place, Options())
    with closing(open_to_read(place, Options())) as connection, translate(place):
        return check_pages(connection, quick=True)


def find_in_backup(backup: Backup, scope: Scope, keys: Iterable[str]) -> set[str] | None:
    """Return which of some sessions a backup has; None if it is not there, or cannot be read."""
    try:
        return find_holding(Path(backup.path), scope, keys)
    except StoreError:
        return None
