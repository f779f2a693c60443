"""Putting a backup in the place of a store.

The tables that were there are kept in the same database, in a schema with another name. What was forgotten
since the backup was made is forgotten in it, too, and the list of backups goes on.
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from psycopg import Connection
from psycopg.sql import SQL, Identifier

from turnlog.errors import BusyStoreError, NewerStoreError, StoreError
from turnlog.store.care import Backup, Restored, Tombstone
from turnlog.store.identity import Scope
from turnlog.store.postgres.backup import list_backups, read_table, run_program
from turnlog.store.postgres.failures import translate
from turnlog.store.postgres.migrations import MIGRATIONS, check_known
from turnlog.store.postgres.store import PostgresStore
from turnlog.store.postgres.tombstones import list_tombstones
from turnlog.store.postgres.wire import SCHEMA, connect, describe

__all__ = ["check_backup", "restore_store"]

_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'turnlog' AND pid <> pg_backend_pid()
"""


def check_backup(source: Path) -> None:
    """Raise `StoreError` for a file that is no backup of a store, a damaged one, or one of a newer version."""
    steps = {row["name"] for row in read_table(source, "migrations")}
    unknown = sorted(steps - {migration.__name__ for migration in MIGRATIONS})
    if unknown:
        raise NewerStoreError(f"{source} was made by a newer version of turnlog (it has {', '.join(unknown)})")
    try:
        run_program("pg_restore", None, f"--file={os.devnull}", os.fspath(source))  # all of it is read
    except StoreError as error:
        raise StoreError(f"{source} is no backup that can be read to its end ({error})") from error


def restore_store(address: str, source: Path) -> Restored:
    """Put a backup in the place of a store, which is kept beside it; raises `StoreError`.

    Nothing is changed while another process has the store open.
    """
    check_backup(source)
    name = describe(address)
    kept = f"{SCHEMA}_before_restore_{time.strftime('%Y%m%d_%H%M%S')}"
    with translate(name), closing(connect(address)) as connection:
        _check_alone(connection, name)
        is_there = _has_schema(connection, SCHEMA)
        if is_there:
            check_known(connection, name)
        tombstones, backups = _read_memory(connection) if is_there else ({}, [])
        if is_there:
            _rename(connection, SCHEMA, kept)
        try:
            # The extension is of the whole database, and not in the copy.
            connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public")
            run_program(
                "pg_restore",
                address,
                "--no-owner",
                "--single-transaction",
                "--exit-on-error",
                os.fspath(source),
            )
            forgotten = _carry_over(address, tombstones, backups)
        except BaseException:
            connection.execute(SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(Identifier(SCHEMA)))
            if is_there:
                _rename(connection, kept, SCHEMA)
            raise
    return Restored(kept if is_there else None, forgotten)


def _check_alone(connection: Connection, name: str) -> None:
    [(others,)] = connection.execute(_OTHERS).fetchall()
    if others:
        raise BusyStoreError(f"The store {name} is in use by another process; stop that first")


def _has_schema(connection: Connection, schema: str) -> bool:
    [(found,)] = connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", (schema,)).fetchall()
    return bool(found)


def _rename(connection: Connection, schema: str, name: str) -> None:
    connection.execute(SQL("ALTER SCHEMA {} RENAME TO {}").format(Identifier(schema), Identifier(name)))


def _read_memory(connection: Connection) -> tuple[dict[str, list[Tombstone]], list[Backup]]:
    """Return what the present store must not forget, its tombstones by owner."""
    rows: list[Any] = connection.execute("SELECT DISTINCT owner FROM tombstones").fetchall()
    return {owner: list_tombstones(connection, Scope(owner)) for (owner,) in rows}, list_backups(connection)


def _carry_over(address: str, tombstones: dict[str, list[Tombstone]], backups: list[Backup]) -> int:
    with closing(PostgresStore.open(address)) as store:
        forgotten = 0
        for owner, buried in tombstones.items():
            forgotten += store.forget(Scope(owner), [each.key for each in buried]).sessions
            store.bury(Scope(owner), buried)
        for backup in backups:
            store.record_backup(backup)
        store.renew_epoch()
        return forgotten
