"""The embedded engine, as `turnlog.store.opening` asks for it: a store is a file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from turnlog.store.care import CaredStore, Restored
from turnlog.store.leases import Lease
from turnlog.store.places import StorePlace
from turnlog.store.sqlite import lease, restoring
from turnlog.store.sqlite.checking import check_pages
from turnlog.store.sqlite.connection import Options, open_to_read, translate
from turnlog.store.sqlite.opening import check_current
from turnlog.store.sqlite.store import SqliteStore

__all__ = [
    "check_backup",
    "check_quickly",
    "find_holder",
    "measure_store",
    "open_lease",
    "open_store",
    "restore_store",
]


def open_store(place: StorePlace, *, read_only: bool = False) -> CaredStore:
    """Open the store in a file."""
    return SqliteStore.open(_file(place), read_only=read_only)


def open_lease(place: StorePlace, machine: str, seconds: float) -> Lease:
    """Return the right to write to the file: whoever it is, there is one writer."""
    return lease.Lease(_file(place), seconds=seconds)


def find_holder(place: StorePlace, machine: str) -> str | None:
    """Return who writes to the file."""
    return lease.find_holder(_file(place))


def measure_store(place: StorePlace) -> int:
    """Return how many bytes the file takes, with what was not yet moved into it."""
    paths = [Path(f"{place}{end}") for end in ("", "-wal")]
    return sum(path.stat().st_size for path in paths if path.exists())


def check_quickly(place: StorePlace) -> list[str]:
    """Return what is wrong with the file, at a glance."""
    path = _file(place)
    check_current(path, Options())
    with closing(open_to_read(path, Options())) as connection, translate(path):
        return check_pages(connection, quick=True)


def check_backup(place: StorePlace, source: Path) -> None:
    """Raise `StoreError` for a file that is no sound store."""
    restoring.check_backup(source)


def restore_store(place: StorePlace, source: Path) -> Restored:
    """Put a copy of a backup in the place of the file."""
    return restoring.restore_store(_file(place), source)


def _file(place: StorePlace) -> Path:
    assert isinstance(place, Path), "a place that names a server is not ours"
    return place
