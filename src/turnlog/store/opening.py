"""Opening a store, whichever engine it is on, and all else that is done to one as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from turnlog.errors import StoreError
from turnlog.store.catalogue.engine import Engine, Upgrade
from turnlog.store.catalogue.feed import Lease
from turnlog.store.catalogue.sqlite_engine import FileUpgrade, SqliteEngine, find_in_copy, find_writer
from turnlog.store.catalogue.store import CatalogueSharding, CatalogueStore
from turnlog.store.interface import Backlog, Backup, MaintainedStore, Sharding
from turnlog.store.model import Scope, ServerPlace, StorePlace, find_index_place

_DUMP = b"PGDMP"
"""How copies begin that `pg_dump` makes."""


def open_store(place: StorePlace, *, read_only: bool = False) -> MaintainedStore:
    """Open the store at a place, and make it if it is not there; raises `StoreError`."""
    engine = find_engine(place, read_only=read_only)
    try:
        return CatalogueStore(engine)
    except BaseException:
        engine.database.close()
        raise


def open_lease(place: StorePlace, machine: str, *, seconds: float = 30.0) -> Lease:
    """Return the right to keep the store at a place up to date, which is yet to be taken; raises `StoreError`.

    A file has one writer. On a server, each machine's sessions have one.
    """
    return find_engine(place).open_lease(_name_lease(place, machine), seconds)


def find_holder(place: StorePlace, machine: str) -> str | None:
    """Return who has that right, without writing anything; None if nobody does."""
    if isinstance(place, ServerPlace):
        found: str | None = _load_server(place).find_writer(place, _name_lease(place, machine))
        return found
    return find_writer(place, _name_lease(place, machine))


def measure_store(place: StorePlace) -> int:
    """Return how many bytes the store at a place takes."""
    engine = find_engine(place, read_only=True)
    with closing(engine.database):
        return engine.measure()


def measure_blobs(place: StorePlace) -> int:
    """Return how many bytes the store at a place has in blobs."""
    engine = find_engine(place, read_only=True)
    with closing(engine.database):
        return 0 if engine.blobs is None else int(engine.blobs.measure())


def measure_backlog(place: StorePlace) -> Backlog | None:
    """Return what an index elsewhere has yet to learn; None if the store has its index itself."""
    if find_index_place(place) is None:
        return None
    engine = find_engine(place, read_only=True)
    with closing(engine.database):
        found: Backlog = engine.database.read(import_module("turnlog.store.catalogue.outbox").measure_backlog)
        return found


def check_index(place: StorePlace) -> None:
    """Raise `StoreError` if the index of a store cannot be reached, or is of another archive."""
    engine = find_engine(place)
    with closing(engine.database):
        if engine.remote is not None:
            engine.database.read(engine.remote.check_reachable)


def check_quickly(place: StorePlace) -> list[str]:
    """Return what is wrong with the store at a place, at a glance; raises `StoreError`."""
    engine = find_engine(place, read_only=True)
    with closing(engine.database):
        return engine.check_quickly()


def open_upgrade(place: StorePlace) -> Upgrade:
    """Return the way to make an archive of an earlier version one of today's."""
    if isinstance(place, ServerPlace):
        upgrade: Upgrade = _load_server(place).ServerUpgrade(place)
        return upgrade
    return FileUpgrade(place)


def open_sharding(place: StorePlace) -> Sharding | None:
    """Return how other processes than the writer may index texts; None if they may not."""
    engine = find_engine(place)
    return None if engine.index.sharding is None else CatalogueSharding(engine.database, engine.index.sharding)


def flush_store(place: StorePlace) -> None:
    """Make what was written outlast a loss of power."""
    find_engine(place).flush()


def find_in_backup(backup: Backup, scope: Scope, keys: Iterable[str]) -> set[str] | None:
    """Return which of some sessions a backup has; None if it is not there, or cannot be read."""
    path = Path(backup.path)
    try:
        with path.open("rb") as file:
            is_dump = file.read(len(_DUMP)) == _DUMP
        if is_dump:
            found: set[str] = import_module("turnlog.store.catalogue.postgres_engine").find_in_copy(
                path, scope, keys
            )
            return found
        return find_in_copy(path, scope, keys)
    except (StoreError, OSError, ValueError, ModuleNotFoundError):
        return None


def find_engine(place: StorePlace, *, read_only: bool = False) -> Engine:
    """Return the engine of the store at a place, which is not opened by that."""
    if not isinstance(place, ServerPlace):
        return SqliteEngine(place, read_only=read_only)
    engine: Engine = _load_server(place).PostgresEngine(place, read_only=read_only)
    return engine


def _load_server(place: ServerPlace) -> Any:
    """Return the module of the engine, which is loaded when it is asked for: its driver is optional."""
    try:
        return import_module("turnlog.store.catalogue.postgres_engine")
    except ModuleNotFoundError as error:
        raise StoreError(
            f"{place} needs {error.name}, which is not installed: pip install 'turnlog[postgres]'"
        ) from error


def _name_lease(place: StorePlace, machine: str) -> str:
    return f"machine {machine}" if isinstance(place, ServerPlace) else "writer"
