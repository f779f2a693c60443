"""Copies of a store: made while others write, checked, and remembered.

SQLite's own backup copies one state of the database, whatever is written meanwhile. The copy is one file
without a log. It lies under another name until it is whole and found sound, so there is never half of one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import apsw

from turnlog.errors import StoreError
from turnlog.store.identity import Scope
from turnlog.store.maintenance import Backup
from turnlog.store.sqlite.checking import check_pages
from turnlog.store.sqlite.connection import Options, open_to_read, reading, translate, writing
from turnlog.store.sqlite.values import pack_text, unpack_text

__all__ = ["copy_database", "find_holding", "list_backups", "record_backup", "write_backup"]

OnProgress = Callable[[int, int], None]
_PAGES = 512
"""How many pages are copied at once: 4 MiB."""


def write_backup(
    source: apsw.Connection, target: Path, *, force: bool, on_progress: OnProgress | None = None
) -> Backup:
    """Write a copy of a database to a file; raises `StoreError` if it is there, unless by `force`."""
    target = Path(os.path.abspath(target))
    if target.exists() and not force:
        raise StoreError(f"{target} already exists; nothing was overwritten")
    if target.exists() and target.samefile(source.filename):
        raise StoreError(f"{target} is the store itself")
    new = target.with_name(f".{target.name}.{os.getpid()}.new")
    with translate(target):
        try:
            copy_database(source, new, on_progress)
            os.replace(new, target)
            _sync_folder(target.parent)
        finally:
            new.unlink(missing_ok=True)
        return Backup(os.fspath(target), time.time_ns(), target.stat().st_size)


def copy_database(source: apsw.Connection, target: Path, on_progress: OnProgress | None = None) -> None:
    """Copy a database to a file of the owner's alone, and check the copy; raises `StoreError`."""
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(apsw.Connection(os.fspath(target), flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
        # A transaction on the source keeps the copy from starting over whenever somebody writes.
        with reading(source):
            source.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
            _copy_pages(source, copy, on_progress)
        copy.execute("PRAGMA journal_mode=DELETE").fetchall()
        if copy.table_exists(None, "lease"):
            with writing(copy):
                copy.execute("DELETE FROM lease")
        found = check_pages(copy)
    if found:
        raise StoreError(f"The copy of {source.filename} is damaged, as the store may be: {found[0]}")
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _copy_pages(source: apsw.Connection, copy: apsw.Connection, on_progress: OnProgress | None) -> None:
    with copy.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step(_PAGES)
            if on_progress is not None:
                on_progress(backup.page_count - backup.remaining, backup.page_count)


def record_backup(connection: apsw.Connection, backup: Backup) -> None:
    """Remember that a copy was made, in the transaction of the caller."""
    path = pack_text(backup.path)
    connection.execute("DELETE FROM backups WHERE path = ?", (path,))
    connection.execute("INSERT INTO backups VALUES (?, ?)", (path, backup.at_ns))


def list_backups(connection: apsw.Connection) -> list[Backup]:
    """Return the copies that were made, by time."""
    rows = connection.execute("SELECT path, at_ns FROM backups ORDER BY at_ns, path")
    return [Backup(unpack_text(path), at_ns, _size_of(unpack_text(path))) for path, at_ns in rows]


def find_holding(path: Path, scope: Scope, keys: Iterable[str]) -> set[str]:
    """Return which of some sessions a copy has; raises `StoreError` if it cannot be read."""
    with (
        closing(open_to_read(path, Options(cache_kib=256), traceless=True)) as connection,
        translate(path),
    ):
        query = "SELECT 1 FROM sessions WHERE owner = ? AND key = ?"
        return {key for key in keys if connection.execute(query, (scope.owner, key)).fetchall()}


def _size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
