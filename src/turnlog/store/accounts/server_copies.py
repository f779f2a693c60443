"""Copies of accounts on a PostgreSQL server whose store is elsewhere: files as those of accounts in a file.

What is put back is brought up to what is known now before it is written, so nothing is lost that was there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from turnlog.errors import StoreError
from turnlog.store.accounts.carrying import (
    AUDIT_COLUMNS,
    IDENTITY_COLUMNS,
    KEYED_COLUMNS,
    CarriedAccounts,
    carry_over,
)
from turnlog.store.accounts.file_copies import find_copy
from turnlog.store.accounts.keeping import take_turn
from turnlog.store.accounts.schema import ACCOUNT_OPTIONS, ACCOUNT_STEPS
from turnlog.store.portable.database import Execute
from turnlog.store.portable.postgres_database import PostgresDatabase
from turnlog.store.portable.sqlite_database import SqliteDatabase
from turnlog.store.postgres.wire import ACCOUNTS
from turnlog.store.sqlite.backup import copy_database, write_backup
from turnlog.store.sqlite.connection import open_to_read, translate

__all__ = ["back_up_accounts", "restore_accounts"]

T = TypeVar("T")
_COLUMNS = {**KEYED_COLUMNS, "identities": IDENTITY_COLUMNS, "audit": AUDIT_COLUMNS}
"""Of all tables that are copied: who is logged in just now is not."""
_ORDERS = {"audit": " ORDER BY id"}


def back_up_accounts(address: str, target: Path, *, force: bool) -> None:
    """Copy the accounts in a database, if there are any, beside a copy of a store; raises `StoreError`."""
    copy = find_copy(Path(os.path.abspath(target)))
    if copy.exists() and not force:
        raise StoreError(f"{copy} already exists; nothing was overwritten")
    with closing(PostgresDatabase(address, ACCOUNTS, ACCOUNT_STEPS)) as server:
        if server.list_missing() == ACCOUNT_STEPS.names:
            copy.unlink(missing_ok=True)
            return
        with TemporaryDirectory(dir=copy.parent, prefix=".turnlog-accounts-") as folder:
            file = Path(folder, "accounts.db")
            _with_file(file, lambda copied: server.write(lambda present: _copy(present, copied)))
            with closing(open_to_read(file, ACCOUNT_OPTIONS)) as connection, translate(file):
                write_backup(connection, copy, force=force)


def restore_accounts(address: str, source: Path) -> CarriedAccounts | None:
    """Put the accounts of a copy into a database, as far as they are not newer; None if it has none."""
    copy = find_copy(source)
    if not copy.exists():
        return None
    with closing(PostgresDatabase(address, ACCOUNTS, ACCOUNT_STEPS)) as server:

        def restore(present: Execute) -> CarriedAccounts:
            with TemporaryDirectory(prefix="turnlog-accounts-") as folder:
                file = Path(folder, "accounts.db")
                with (
                    closing(open_to_read(copy, ACCOUNT_OPTIONS, traceless=True)) as connection,
                    translate(copy),
                ):
                    copy_database(connection, file)
                take_turn(present, ends=True)

                def carry(restored: Execute) -> CarriedAccounts:
                    carried = carry_over(restored, present)
                    _copy(restored, present)
                    return carried

                return _with_file(file, carry)

        return server.write(restore)


def _with_file(file: Path, work: Callable[[Execute], T]) -> T:
    with closing(SqliteDatabase(file, ACCOUNT_STEPS, ACCOUNT_OPTIONS)) as database:
        return database.write(work)


def _copy(source: Execute, target: Execute) -> None:
    """Make the rows of one database those of another; nobody comes in by what was there before."""
    take_turn(source, ends=False)
    for table in ("cookies", "logins", *_COLUMNS):
        target(f"DELETE FROM @{table}")
    for table, columns in _COLUMNS.items():
        names, places = ", ".join(columns), ", ".join("?" * len(columns))
        for row in source(f"SELECT {names} FROM @{table}{_ORDERS.get(table, '')}"):
            target(f"INSERT INTO @{table} ({names}) VALUES ({places})", row)
    [(version,)] = source("SELECT version FROM @state")
    target("UPDATE @state SET version = ?", (version,))
