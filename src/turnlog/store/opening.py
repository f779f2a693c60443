"""Opening a store, whichever engine it is on, and all else that is done to one as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.accounts.copies import check_copy, restore_accounts
from turnlog.store.catalogue.engine import Engine, Upgrade
from turnlog.store.catalogue.feed import Lease
from turnlog.store.catalogue.sqlite_engine import FileUpgrade, SqliteEngine, find_in_copy, find_writer
from turnlog.store.catalogue.store import CatalogueStore
from turnlog.store.interface import Backup, CaredStore, Restored
from turnlog.store.model import Scope
from turnlog.store.places import ServerPlace, StorePlace

_DUMP = b"PGDMP"
"""How copies begin that `pg_dump` makes."""


def open_store(place: StorePlace, *, read_only: bool = False) -> CaredStore:
    """Open the store at a place, and make it if it is not there; raises `StoreError`."""
    engine = _find_engine(place, read_only=read_only)
    try:
        return CatalogueStore(engine)
    except BaseException:
        engine.database.close()
        raise


def open_lease(place: StorePlace, machine: str, *, seconds: float = 30.0) -> Lease:
    """Return the right to keep the store at a place up to date, which is yet to be taken; raises `StoreError`.

    A file has one writer. On a server, each machine's sessions have one.
    """
    return _find_engine(place).open_lease(_name_lease(place, machine), seconds)


def find_holder(place: StorePlace, machine: str) -> str | None:
    """Return who has that right, without writing anything; None if nobody does."""
    if isinstance(place, ServerPlace):
        found: str | None = _load_server(place).find_writer(place, _name_lease(place, machine))
        return found
    return find_writer(place, _name_lease(place, machine))


def measure_store(place: StorePlace) -> int:
    """Return how many bytes the store at a place takes."""
    engine = _find_engine(place, read_only=True)
    try:
        return engine.measure()
    finally:
        engine.database.close()


def check_quickly(place: StorePlace) -> list[str]:
    """Return what is wrong with the store at a place, at a glance; raises `StoreError`."""
    engine = _find_engine(place, read_only=True)
    try:
        return engine.check_quickly()
    finally:
        engine.database.close()


def check_backup(place: StorePlace, source: Path) -> None:
    """Raise `StoreError` for a file that is no sound backup of a store as that at a place."""
    _find_engine(place).check_backup(source)
    if not isinstance(place, ServerPlace):
        check_copy(source)


def restore_store(place: StorePlace, source: Path) -> Restored:
    """Put a backup in the place of a store, which is kept as it was; raises `StoreError`.

    Accounts are restored along, as far as they are not newer than the backup.
    """
    if isinstance(place, ServerPlace):
        return _find_engine(place).restore(source)
    check_copy(source)
    restored = _find_engine(place).restore(source)
    return replace(restored, accounts=restore_accounts(place, source))


def open_upgrade(place: StorePlace) -> Upgrade:
    """Return the way to make an archive of an earlier version one of today's."""
    if isinstance(place, ServerPlace):
        upgrade: Upgrade = _load_server(place).ServerUpgrade(place)
        return upgrade
    return FileUpgrade(place)


def flush_store(place: StorePlace) -> None:
    """Make what was written outlast a loss of power."""
    _find_engine(place).flush()


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


def _find_engine(place: StorePlace, *, read_only: bool = False) -> Engine:
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
