"""Putting a backup in the place of a store.

The tables that were there are kept in the same database, in schemas with other names; accounts stay as they are
if the backup has none. What the store must not forget is in `remembering`.
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

from psycopg import Connection
from psycopg.sql import SQL, Identifier

from turnlog.errors import BusyStoreError, NewerStoreError, StoreError
from turnlog.store.accounts.carrying import CarriedAccounts
from turnlog.store.accounts.carrying import carry_over as carry_accounts_over
from turnlog.store.accounts.schema import ACCOUNT_STEPS
from turnlog.store.care import Restored
from turnlog.store.portable.postgres_database import bind
from turnlog.store.postgres.backup import has_accounts, read_table, run_program
from turnlog.store.postgres.failures import translate
from turnlog.store.postgres.migrations import MIGRATIONS, check_known, create_people_tables, list_missing
from turnlog.store.postgres.opening import make_current
from turnlog.store.postgres.remembering import read_memory
from turnlog.store.postgres.store import PostgresStore
from turnlog.store.postgres.wire import ACCOUNTS, SCHEMA, connect, describe, wait_alone
from turnlog.store.remembering import Memory, carry_over

__all__ = ["check_backup", "restore_store"]


def check_backup(source: Path) -> None:
    """Raise `StoreError` for a file that is no backup of a store, a damaged one, or one of a newer version."""
    steps = {row["name"] for row in read_table(source, "migrations") if row.get("is_additive") != "t"}
    unknown = sorted(steps - {migration.__name__ for migration in MIGRATIONS})
    if unknown:
        raise NewerStoreError(f"{source} was made by a newer version of turnlog (it has {', '.join(unknown)})")
    try:
        run_program("pg_restore", None, f"--file={os.devnull}", os.fspath(source))  # all of it is read
    except StoreError as error:
        raise StoreError(f"{source} is not a complete backup ({error})") from error


def restore_store(address: str, source: Path) -> Restored:
    """Put a backup in the place of a store, which is kept beside it; raises `StoreError`.

    Nothing is changed while another process has the store open.
    """
    check_backup(source)
    name = describe(address)
    suffix = f"_before_restore_{time.strftime('%Y%m%d_%H%M%S')}"
    with translate(name), closing(connect(address)) as connection:
        _check_alone(connection, name)
        is_there = _has_schema(connection, SCHEMA)
        if is_there:
            check_known(connection, name)
        memory = _remember(connection, address) if is_there else Memory()
        replaced = [SCHEMA, ACCOUNTS] if has_accounts(source) else [SCHEMA]
        moved = [schema for schema in replaced if _has_schema(connection, schema)]
        for schema in moved:
            _rename(connection, schema, schema + suffix)
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
            forgotten = _carry_over(address, memory)
            accounts = _carry_accounts(connection, ACCOUNTS + suffix) if ACCOUNTS in replaced else None
        except BaseException:
            for schema in replaced:
                connection.execute(SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(Identifier(schema)))
            for schema in moved:
                _rename(connection, schema + suffix, schema)
            raise
    return Restored(SCHEMA + suffix if is_there else None, forgotten, accounts)


def _carry_accounts(connection: Connection, kept: str) -> CarriedAccounts:
    """Bring the accounts of the backup up to what was known before."""
    with connection.transaction():
        restored = bind(connection, ACCOUNTS)
        ACCOUNT_STEPS.check_known(restored, "the backup")
        ACCOUNT_STEPS.migrate(restored)
        return carry_accounts_over(restored, bind(connection, kept) if _has_schema(connection, kept) else None)


def _check_alone(connection: Connection, name: str) -> None:
    if not wait_alone(connection):
        raise BusyStoreError(f"The store {name} is in use by another process; stop that first")


def _has_schema(connection: Connection, schema: str) -> bool:
    [(found,)] = connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", (schema,)).fetchall()
    return bool(found)


def _rename(connection: Connection, schema: str, name: str) -> None:
    connection.execute(SQL("ALTER SCHEMA {} RENAME TO {}").format(Identifier(schema), Identifier(name)))


def _remember(connection: Connection, address: str) -> Memory:
    """Return what the present store must not forget."""
    has_people = create_people_tables.__name__ not in list_missing(connection)
    make_current(address)
    return read_memory(connection, has_people=has_people)


def _carry_over(address: str, memory: Memory) -> int:
    with closing(PostgresStore.open(address)) as store:
        return carry_over(store, memory)
