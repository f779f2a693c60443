"""Opening a database with the tables of today."""

from __future__ import annotations

from pathlib import Path

import apsw

from turnlog.errors import NewerStoreError, OlderStoreError, StoreError
from turnlog.store.sqlite.connection import Options, open_to_read, open_to_write, translate
from turnlog.store.sqlite.migrations import check_known, list_missing, migrate

__all__ = ["check_current", "open_migrated"]


def check_current(path: Path, options: Options) -> None:
    """Raise `StoreError` if a database cannot be read: it is missing, or newer or older (`OlderStoreError`)."""
    if _look(path, options):
        raise OlderStoreError(f"The store {path} has an older version; `turnlog sync` updates it")


def open_migrated(path: Path, options: Options) -> apsw.Connection:
    """Open a database for writing, and bring its tables up to date; raises `StoreError`."""
    if path.is_file():
        # Opening for writing changes a file, and one of a newer program must stay as it is.
        _look(path, options)
    connection = open_to_write(path, options)
    try:
        with translate(path):
            check_known(connection, path)
            migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _look(path: Path, options: Options) -> list[str]:
    """Return the migrations that are missing, without leaving a trace; raises `NewerStoreError`."""
    try:
        return _list_missing(path, options, traceless=True)
    except NewerStoreError:
        raise
    except StoreError:
        # Others may be writing just now: then there is a log, or will be, and a usual reader is safe.
        return _list_missing(path, options, traceless=False)


def _list_missing(path: Path, options: Options, *, traceless: bool) -> list[str]:
    connection = open_to_read(path, options, traceless=traceless)
    try:
        with translate(path):
            check_known(connection, path)
            return list_missing(connection)
    finally:
        connection.close()
