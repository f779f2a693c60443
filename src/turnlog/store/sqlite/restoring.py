"""Putting a backup in the place of a store.

The store that was there is kept beside it. What was forgotten since the backup was made is forgotten in it,
too, and the list of backups goes on. So does what was said about people: whose the machines are, the rules, and
which sessions are shared. Else what was made private since then would be shared again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw
from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import BusyStoreError, StoreError
from turnlog.store.identity import LOCAL
from turnlog.store.maintenance import Backup, Restored, Tombstone
from turnlog.store.people import Machine, ProjectRule, SessionAccess, Visibility
from turnlog.store.sqlite.backup import copy_database, list_backups
from turnlog.store.sqlite.checking import check_pages
from turnlog.store.sqlite.connection import Options, open_to_read, translate, writing
from turnlog.store.sqlite.forgetting import list_tombstones
from turnlog.store.sqlite.migrations import check_known, list_missing, separate_people
from turnlog.store.sqlite.people import list_access, list_machines, list_rules
from turnlog.store.sqlite.store import SqliteStore

__all__ = ["check_backup", "restore_store"]

_OPTIONS = Options(busy_seconds=2.0)


def check_backup(source: Path) -> None:
    """Raise `StoreError` for a file that is no store, a damaged one, or one of a newer version."""
    with closing(open_to_read(source, _OPTIONS, traceless=True)) as connection, translate(source):
        check_known(connection, source)
        if "create_tables" in list_missing(connection):
            raise StoreError(f"{source} is not a turnlog store")
        found = check_pages(connection)
    if found:
        raise StoreError(f"{source} is damaged: {found[0]}")


def restore_store(place: Path, source: Path) -> Restored:
    """Put a copy of a backup in the place of a store, which is kept beside it; raises `StoreError`.

    Nothing is changed while another process has the store open.
    """
    check_backup(source)
    if place.exists() and place.samefile(source):
        raise StoreError(f"{source} is the store itself")
    new = place.with_name(f".{place.name}.{os.getpid()}.new")
    try:
        with closing(open_to_read(source, _OPTIONS, traceless=True)) as connection, translate(place):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy_database(connection, new)
        forgotten = _carry_over(new, _read_memory(place))
        kept = _set_aside(place) if place.exists() else None
        with translate(place):
            os.replace(new, place)
    finally:
        for ending in ("", "-wal", "-shm"):
            new.with_name(new.name + ending).unlink(missing_ok=True)
    if kept is not None:
        with closing(SqliteStore.open(place)) as store:
            store.record_backup(Backup(os.fspath(kept), time.time_ns(), None))
    return Restored(None if kept is None else os.fspath(kept), forgotten)


class _Memory(Struct, frozen=True):
    """What a store must not forget."""

    tombstones: list[Tombstone] = []
    backups: list[Backup] = []
    machines: list[Machine] = []
    rules: list[ProjectRule] | None = None
    """None if it is of a time before there were any."""
    access: list[SessionAccess] = []


def _read_memory(place: Path) -> _Memory:
    """Return what the present store must not forget; nothing if it is too damaged to tell."""
    try:
        with closing(open_to_read(place, _OPTIONS)) as connection, translate(place):
            check_known(connection, place)
            memory = _Memory(list_tombstones(connection, LOCAL), list_backups(connection))
            if separate_people.__name__ in list_missing(connection):
                return memory
            return replace(
                memory,
                machines=list_machines(connection, LOCAL),
                rules=list_rules(connection, LOCAL),
                access=list_access(connection, LOCAL),
            )
    except StoreError:
        return _Memory()


def _carry_over(new: Path, memory: _Memory) -> int:
    with closing(SqliteStore.open(new)) as store:
        forgotten = store.forget(LOCAL, [each.key for each in memory.tombstones]).sessions
        store.bury(LOCAL, memory.tombstones)
        for backup in memory.backups:
            store.record_backup(backup)
        if memory.rules is not None:
            _carry_people_over(store, memory, memory.rules)
        store.renew_epoch()
        return forgotten


def _carry_people_over(store: SqliteStore, memory: _Memory, rules: Sequence[ProjectRule]) -> None:
    for machine in memory.machines:
        store.save_machine(LOCAL, machine.origin, host=machine.host, user=machine.user, at_ns=machine.last_ns)
        store.save_machine(LOCAL, machine.origin, person=machine.person, reassign=True)
    for former in store.list_rules(LOCAL):
        if former not in rules:
            store.set_rule(LOCAL, former.pattern, None)
    for rule in rules:
        store.set_rule(LOCAL, rule.pattern, rule.visibility)
    for chosen in (None, *Visibility):
        store.set_visibility(LOCAL, [each.key for each in memory.access if each.chosen is chosen], chosen)


def _set_aside(place: Path) -> Path:
    """Give the store another name, as one file without a log, and return it."""
    kept = place.with_name(f"{place.name}.before-restore-{time.strftime('%Y%m%d-%H%M%S')}")
    if kept.exists():
        raise StoreError(f"{kept} already exists; nothing was overwritten")
    _close_log(place)
    with translate(place):
        os.replace(place, kept)
        for ending in ("-wal", "-shm"):  # of a store that is too damaged to be opened
            log = place.with_name(place.name + ending)
            if log.exists():
                os.replace(log, kept.with_name(kept.name + ending))
    return kept


def _close_log(place: Path) -> None:
    """Move all into the one file, which only works if nobody else has it open; raises `BusyStoreError`."""
    try:
        with closing(apsw.Connection(os.fspath(place), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(round(_OPTIONS.busy_seconds * 1000))
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
            with writing(connection):
                pass
    except (apsw.BusyError, apsw.LockedError) as error:
        raise BusyStoreError(f"The store {place} is in use by another process; stop that first") from error
    except apsw.Error:
        return  # it is damaged, which may be why another one is wanted
