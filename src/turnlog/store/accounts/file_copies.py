"""Copies of accounts in a file: they lie beside those of the archive, as FILE.accounts beside FILE."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from turnlog.errors import NewerStoreError, StoreError
from turnlog.store.accounts.carrying import carry_over
from turnlog.store.accounts.interface import CarriedAccounts
from turnlog.store.accounts.schema import ACCOUNT_OPTIONS, ACCOUNT_STEPS
from turnlog.store.catalogue.database import Execute
from turnlog.store.catalogue.sqlite import (
    SqliteConnection,
    SqliteDatabase,
    check_pages,
    copy_database,
    open_to_read,
    set_aside,
    translating,
    write_copy,
)

__all__ = ["back_up_accounts", "check_copy", "find_copy", "find_file", "restore_accounts"]

_FILE = "accounts.db"
_ENDING = ".accounts"


def find_file(place: Path) -> Path:
    """Return the file of the accounts that belong to a store in a file."""
    return place.with_name(_FILE)


def find_copy(target: Path) -> Path:
    """Return where the accounts are that belong to a copy of a store."""
    return target.with_name(target.name + _ENDING)


def back_up_accounts(place: Path, target: Path, *, force: bool) -> None:
    """Copy the accounts of a store, if it has any, beside a copy of it; raises `StoreError`.

    By `force`, what lies there of a copy before is overwritten, or removed if there are no accounts.
    """
    file, copy = find_file(place), find_copy(Path(os.path.abspath(target)))
    if copy.exists() and not force:
        raise StoreError(f"{copy} already exists; nothing was overwritten")
    if not file.exists():
        copy.unlink(missing_ok=True)
        return
    with closing(open_to_read(file, ACCOUNT_OPTIONS)) as connection, translating(file):
        write_copy(connection, copy, force=force)


def check_copy(source: Path) -> None:
    """Raise `StoreError` if the accounts that belong to a copy are damaged, or of a newer version."""
    copy = find_copy(source)
    if not copy.exists():
        return
    with closing(open_to_read(copy, ACCOUNT_OPTIONS, traceless=True)) as connection, translating(copy):
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").fetchall():
            raise StoreError(f"{copy} has no accounts of turnlog")
        ACCOUNT_STEPS.check_known(SqliteConnection(copy, connection), str(copy))
        found = check_pages(connection)
    if found:
        raise StoreError(f"{copy} is damaged: {found[0]}")


def restore_accounts(place: Path, source: Path) -> CarriedAccounts | None:
    """Put the accounts of a copy in their place, those that were there kept beside it; None if it has none."""
    copy, file = find_copy(source), find_file(place)
    if not copy.exists():
        return None
    new = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        with closing(open_to_read(copy, ACCOUNT_OPTIONS, traceless=True)) as connection, translating(file):
            copy_database(connection, new)
        carried = _bring_up(new, file)
        if file.exists():
            set_aside(file)
        with translating(file):
            os.replace(new, file)
    finally:
        for ending in ("", "-wal", "-shm"):
            new.with_name(new.name + ending).unlink(missing_ok=True)
    return carried


def _bring_up(new: Path, file: Path) -> CarriedAccounts:
    """Bring a copy up to what is known now; to nothing more if that is missing, or too damaged to tell."""
    restored, present = (SqliteDatabase(each, ACCOUNT_STEPS, ACCOUNT_OPTIONS) for each in (new, file))

    def carry(now: Execute | None) -> CarriedAccounts:
        return restored.write(lambda connection: carry_over(connection.execute, now))

    try:
        return present.read(lambda connection: carry(connection.execute))
    except NewerStoreError:
        raise
    except StoreError:
        return carry(None)
    finally:
        present.close()
        restored.close()
