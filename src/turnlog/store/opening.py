"""Opening a store, whichever engine it is on."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.accounts.file_copies import check_copy, restore_accounts
from turnlog.store.care import Backup, CaredStore, Restored
from turnlog.store.identity import Scope
from turnlog.store.leases import Lease
from turnlog.store.places import ServerPlace, StorePlace
from turnlog.store.sqlite import engine as embedded
from turnlog.store.sqlite.backup import find_holding
from turnlog.store.sqlite.connection import flush_log

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


_MAKERS = {b"PGDMP": "postgres"}
"""How the backups begin that are no files of stores: those that `pg_dump` makes."""


class _Engine(Protocol):
    """What an engine's module `engine` has; each is called by the function here of the same name."""

    def open_store(self, place: StorePlace, *, read_only: bool = False) -> CaredStore: ...
    def open_lease(self, place: StorePlace, machine: str, seconds: float) -> Lease: ...
    def find_holder(self, place: StorePlace, machine: str) -> str | None: ...
    def measure_store(self, place: StorePlace) -> int: ...
    def check_quickly(self, place: StorePlace) -> list[str]: ...
    def check_backup(self, place: StorePlace, source: Path) -> None: ...
    def restore_store(self, place: StorePlace, source: Path) -> Restored: ...


def open_store(place: StorePlace, *, read_only: bool = False) -> CaredStore:
    """Open the store at a place, and make it if it is not there; raises `StoreError`."""
    return _find_engine(place).open_store(place, read_only=read_only)


def open_lease(place: StorePlace, machine: str = "", *, seconds: float = 30.0) -> Lease:
    """Return the right to keep the store at a place up to date, which is yet to be taken; raises `StoreError`.

    A file has one writer. On a server, each machine's sessions have one.
    """
    return _find_engine(place).open_lease(place, machine, seconds)


def find_holder(place: StorePlace, machine: str = "") -> str | None:
    """Return who has that right, without writing anything; None if nobody does."""
    return _find_engine(place).find_holder(place, machine)


def measure_store(place: StorePlace) -> int:
    """Return how many bytes the store at a place takes."""
    return _find_engine(place).measure_store(place)


def check_quickly(place: StorePlace) -> list[str]:
    """Return what is wrong with the store at a place, at a glance; raises `StoreError`."""
    return _find_engine(place).check_quickly(place)


def check_backup(place: StorePlace, source: Path) -> None:
    """Raise `StoreError` for a file that is no sound backup of a store as that at a place."""
    _find_engine(place).check_backup(place, source)
    if not isinstance(place, ServerPlace):
        check_copy(source)


def restore_store(place: StorePlace, source: Path) -> Restored:
    """Put a backup in the place of a store, which is kept as it was; raises `StoreError`.

    Accounts are restored along, as far as they are not newer than the backup.
    """
    if isinstance(place, ServerPlace):
        return _find_engine(place).restore_store(place, source)
    check_copy(source)
    restored = _find_engine(place).restore_store(place, source)
    return replace(restored, accounts=restore_accounts(place, source))


def flush_store(place: StorePlace) -> None:
    """Make what was written outlast a loss of power: a server has seen to it, a file may not."""
    if not isinstance(place, ServerPlace):
        flush_log(place)


def find_in_backup(backup: Backup, scope: Scope, keys: Iterable[str]) -> set[str] | None:
    """Return which of some sessions a backup has; None if it is not there, or cannot be read."""
    path = Path(backup.path)
    try:
        engine = _find_maker(path)
        if engine is not None:
            found: set[str] = import_module(f"turnlog.store.{engine}.backup").find_holding(path, scope, keys)
            return found
        return find_holding(path, scope, keys)
    except (StoreError, OSError, ModuleNotFoundError):
        return None


def _find_maker(path: Path) -> str | None:
    """Return the engine that made a backup; None for a store in a file."""
    with path.open("rb") as file:
        begins = file.read(max(map(len, _MAKERS)))
    return next((engine for mark, engine in _MAKERS.items() if begins.startswith(mark)), None)


def _find_engine(place: StorePlace) -> _Engine:
    if not isinstance(place, ServerPlace):
        return embedded
    try:
        # Loaded when it is asked for: the drivers of servers are optional.
        return cast(_Engine, import_module(f"turnlog.store.{place.engine}.engine"))
    except ModuleNotFoundError as error:
        raise StoreError(
            f"{place} needs {error.name}, which is not installed: pip install 'turnlog[{place.engine}]'"
        ) from error
