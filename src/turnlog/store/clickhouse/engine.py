"""ClickHouse, as `turnlog.store.opening` asks for it: a database on a server, and what is beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from turnlog.store.blobs.opening import open_blobs
from turnlog.store.care import CaredStore, Restored
from turnlog.store.clickhouse import restoring
from turnlog.store.clickhouse.checking import check_engine, measure_tables
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.opening import open_beside
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.control import lease
from turnlog.store.control.interface import Control
from turnlog.store.leases import Lease
from turnlog.store.places import ServerPlace, StorePlace, control_of

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
    server = _server(place)
    return ClickHouseStore.open(
        server.address,
        control=control_of(server),
        blobs=server.bytes_address,
        retention_days=server.retention_days,
        read_only=read_only,
    )


def open_lease(place: StorePlace, machine: str, seconds: float) -> Lease:
    """Return the right to keep a machine's sessions up to date."""
    server = _server(place)
    engine = Engine(server.address)
    try:
        control = open_beside(engine, control_of(server), server.retention_days)
    finally:
        engine.close()
    return lease.ControlLease(control, machine, seconds=seconds)


def find_holder(place: StorePlace, machine: str) -> str | None:
    """Return who has that right."""
    with _reading(place) as (_, control):
        return lease.find_holder(control, machine)


def measure_store(place: StorePlace) -> int:
    """Return how many bytes the tables and the bytes beside them take."""
    server = _server(place)
    with _reading(place) as (engine, _), closing(open_blobs(server.bytes_address)) as blobs:
        return measure_tables(engine) + sum(size for _, size in blobs.list_under())


def check_quickly(place: StorePlace) -> list[str]:
    """Return what the engine knows to be wrong with the tables."""
    with _reading(place) as (engine, _):
        return check_engine(engine)


def check_backup(place: StorePlace, source: Path) -> None:
    """Raise `StoreError` for a file that is no sound backup."""
    restoring.check_backup(source)


def restore_store(place: StorePlace, source: Path) -> Restored:
    """Put a backup in the place of the tables, which are kept in a database with another name."""
    return restoring.restore_store(_server(place), source)


@contextmanager
def _reading(place: StorePlace) -> Iterator[tuple[Engine, Control]]:
    """Lend tables that are of this version, and their control database."""
    server = _server(place)
    engine = Engine(server.address, read_only=True)
    try:
        control = open_beside(engine, control_of(server))
        try:
            yield engine, control
        finally:
            control.close()
    finally:
        engine.close()


def _server(place: StorePlace) -> ServerPlace:
    assert isinstance(place, ServerPlace), "a place that is a file is not ours"
    return place
