"""PostgreSQL, as `turnlog.store.opening` asks for it: a store is a database on a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.store.care import CaredStore, Restored
from turnlog.store.leases import Lease
from turnlog.store.places import ServerPlace, StorePlace
from turnlog.store.postgres import lease, restoring
from turnlog.store.postgres.checking import check_server, measure
from turnlog.store.postgres.connection import Database
from turnlog.store.postgres.opening import check_current, make_current
from turnlog.store.postgres.store import PostgresStore

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
    """Open the store in a database."""
    return PostgresStore.open(_address(place), read_only=read_only)


def open_lease(place: StorePlace, machine: str, seconds: float) -> Lease:
    """Return the right to keep a machine's sessions up to date."""
    make_current(_address(place))
    database = Database(_address(place))
    database.open()
    return lease.PostgresLease(database, machine, seconds=seconds)


def find_holder(place: StorePlace, machine: str) -> str | None:
    """Return who has that right."""
    with _reading(place) as database:
        return lease.find_holder(database, machine)


def measure_store(place: StorePlace) -> int:
    """Return how many bytes the tables and indexes take."""
    with _reading(place) as database:
        return database.ask(measure)


def check_quickly(place: StorePlace) -> list[str]:
    """Return what the server knows to be wrong with the database."""
    with _reading(place) as database:
        return database.ask(lambda connection: list(check_server(connection)))


def check_backup(place: StorePlace, source: Path) -> None:
    """Raise `StoreError` for a file that is no sound backup."""
    restoring.check_backup(source)


def restore_store(place: StorePlace, source: Path) -> Restored:
    """Put a backup in the place of the tables, which are kept in a schema with another name."""
    return restoring.restore_store(_address(place), source)


@contextmanager
def _reading(place: StorePlace) -> Iterator[Database]:
    """Lend a database that is of this version."""
    check_current(_address(place))
    database = Database(_address(place), read_only=True)
    database.open()
    try:
        yield database
    finally:
        database.close()


def _address(place: StorePlace) -> str:
    assert isinstance(place, ServerPlace), "a place that is a file is not ours"
    return place.address
