"""Copies of accounts in a file, and putting one in the place of those that are there, with that of the archive.

A copy lies beside that of the archive, as FILE.accounts beside FILE. What is known of people now counts more
than what the copy knew: users, tokens and links that are there stay as they are, ended ones included, so that
nobody gets in again who was let in no longer. What was recorded stays recorded. Everybody logs in again: the
copy cannot know who logged out since.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from turnlog.errors import NewerStoreError, StoreError
from turnlog.store.account_model import CarriedAccounts
from turnlog.store.accounts import ACCOUNT_OPTIONS, ACCOUNT_STEPS, find_file
from turnlog.store.catalogue.database import Execute, Row
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
from turnlog.store.interface import Restored
from turnlog.store.model import ServerPlace, StorePlace
from turnlog.store.opening import find_engine

_KEYED_COLUMNS = {
    "users": ("name", "role", "full_name", "email", "email_key", "created_ns", "disabled_ns", "seen_ns"),
    "tokens": (
        "id", "digest", "kind", "name", "label", "created_ns", "expires_ns", "used_ns", "revoked_ns", "origin",
    ),
    "links": (
        "id", "digest", "session", "title", "created_by", "created_ns", "expires_ns", "revoked_ns", "words",
        "opened", "opened_ns",
    ),
}  # fmt: skip
"""The columns of tables whose rows are known by the first one."""
_AUDIT_COLUMNS = ("at_ns", "who", "action", "link", "session", "person", "detail")


def carry_over(restored: Execute, present: Execute | None) -> CarriedAccounts:
    """Bring a backup up to what was known before, in the transaction of the caller."""
    restored("DELETE FROM cookies")
    restored("DELETE FROM logins")
    newer = 0
    if present is not None:
        newer = sum(_carry_rows(restored, present, table) for table in _KEYED_COLUMNS)
        _carry_identities(restored, present)
        _carry_audit(restored, present)
        [(version,)] = present("SELECT max(version) FROM state")
        restored("UPDATE state SET version = ? WHERE version < ?", (version, version))
    restored("UPDATE state SET version = version + 1")
    [(users,)] = restored("SELECT count(*) FROM users")
    return CarriedAccounts(users=users, newer=newer)


def _carry_rows(restored: Execute, present: Execute, table: str) -> int:
    """Make the rows of a table what they are now, and return how many were not."""
    columns = _KEYED_COLUMNS[table]
    query = f"SELECT {', '.join(columns)} FROM {table}"
    there = {row[0]: row for row in _list_rows(restored, query)}
    changed = [row for row in _list_rows(present, query) if there.get(row[0]) != row]
    for row in changed:
        restored(f"DELETE FROM {table} WHERE {columns[0]} = ?", row[:1])
    for row in changed:
        if table == "users" and row[4] is not None:  # an address that only the backup has as somebody else's
            restored("UPDATE users SET email = ?, email_key = NULL WHERE email_key = ?", (b"", row[4]))
        places = ", ".join("?" * len(columns))
        restored(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", row)
    return len(changed)


def _carry_identities(restored: Execute, present: Execute) -> None:
    for row in _list_rows(present, "SELECT issuer, subject, name FROM identities"):
        restored("DELETE FROM identities WHERE issuer = ? AND subject = ?", row[:2])
        restored("INSERT INTO identities (issuer, subject, name) VALUES (?, ?, ?)", row)


def _carry_audit(restored: Execute, present: Execute) -> None:
    query = f"SELECT {', '.join(_AUDIT_COLUMNS)} FROM audit ORDER BY id"
    there = Counter(_list_rows(restored, query))
    for row in _list_rows(present, query):
        if there[row]:
            there[row] -= 1
        else:
            places = ", ".join("?" * len(_AUDIT_COLUMNS))
            restored(f"INSERT INTO audit ({', '.join(_AUDIT_COLUMNS)}) VALUES ({places})", row)


def _list_rows(execute: Execute, query: str) -> list[Row]:
    return [
        tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
        for row in execute(query)
    ]


_ENDING = ".accounts"


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


def check_backup(place: StorePlace, source: Path) -> None:
    """Raise `StoreError` for a file that is no sound backup of a store as that at a place."""
    find_engine(place).check_backup(source)
    if not isinstance(place, ServerPlace):
        _check_copy(source)


def restore_store(place: StorePlace, source: Path) -> Restored:
    """Put a backup in the place of a store, which is kept as it was; raises `StoreError`.

    Accounts are restored along, as far as they are not newer than the backup.
    """
    if isinstance(place, ServerPlace):
        return find_engine(place).restore(source)
    _check_copy(source)
    restored = find_engine(place).restore(source)
    return replace(restored, accounts=_restore_accounts(place, source))


def _check_copy(source: Path) -> None:
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


def _restore_accounts(place: Path, source: Path) -> CarriedAccounts | None:
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
