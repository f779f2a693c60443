"""Opening a store, and all else that is done to one as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.accounts.file_copies import check_copy, restore_accounts
from turnlog.store.identity import Scope
from turnlog.store.leases import Lease
from turnlog.store.maintenance import Backup, CaredStore, Restored
from turnlog.store.places import StorePlace
from turnlog.store.sqlite import lease, restoring
from turnlog.store.sqlite.backup import find_holding
from turnlog.store.sqlite.checking import check_pages
from turnlog.store.sqlite.connection import Options, flush_log, open_to_read, translate
from turnlog.store.sqlite.migrations import check_current
from turnlog.store.sqlite.store import SqliteStore

__all__ = [
    "check_backup",
    "check_quickly",
    "find_holder",
    "find_in_backup",
    "flush_store",
    "measure_store",
    "open_lease",
    "open_store",
    "restore_store",
]


def open_store(place: StorePlace, *, read_only: bool = False) -> CaredStore:
    """Open the store at a place, and make it if it is not there; raises `StoreError`."""
    return SqliteStore.open(place, read_only=read_only)


def open_lease(place: StorePlace, *, seconds: float = 30.0) -> Lease:
    """Return the right to keep a store up to date, which is yet to be taken; raises `StoreError`."""
    return lease.Lease(place, seconds=seconds)


def find_holder(place: StorePlace) -> str | None:
    """Return who has that right, without writing anything; None if nobody does."""
    return lease.find_holder(place)


def measure_store(place: StorePlace) -> int:
    """Return how many bytes the store at a place takes, with what was not yet moved into its file."""
    paths = [Path(f"{place}{end}") for end in ("", "-wal")]
    return sum(path.stat().st_size for path in paths if path.exists())


def check_quickly(place: StorePlace) -> list[str]:
    """Return what is wrong with the store at a place, at a glance; raises `StoreError`."""
    check_current(place, Options())
    with closing(open_to_read(place, Options())) as connection, translate(place):
        return check_pages(connection, quick=True)


def check_backup(source: Path) -> None:
    """Raise `StoreError` for a file that is no sound backup of a store."""
    restoring.check_backup(source)
    check_copy(source)


def restore_store(place: StorePlace, source: Path) -> Restored:
    """Put a backup in the place of a store, which is kept as it was; raises `StoreError`.

    Accounts are restored along, as far as they are not newer than the backup.
    """
    check_copy(source)
    restored = restoring.restore_store(place, source)
    return replace(restored, accounts=restore_accounts(place, source))


def flush_store(place: StorePlace) -> None:
    """Make what was written outlast a loss of power."""
    flush_log(place)


def find_in_backup(backup: Backup, scope: Scope, keys: Iterable[str]) -> set[str] | None:
    """Return which of some sessions a backup has; None if it is not there, or cannot be read."""
    try:
        return find_holding(Path(backup.path), scope, keys)
    except (StoreError, OSError):
        return None
