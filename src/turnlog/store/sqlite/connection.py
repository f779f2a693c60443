"""Opening a database file, and saying in our words what is wrong with one.

The file and the folder that is made for it are the owner's alone: sessions hold secrets. SQLite gives its
companions (`-wal`, `-shm`) the permissions of the file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
from msgspec import MsgspecError, Struct

from turnlog.errors import BusyStoreError, StoreError

__all__ = [
    "APPLICATION_ID",
    "Options",
    "break_off",
    "flush_log",
    "open_to_read",
    "open_to_write",
    "reading",
    "translate",
    "translate_damage",
    "writing",
]

APPLICATION_ID = 0x7475726E
"""What tells our files from other databases ("turn")."""

_PAGE_SIZE = 4096
_WAL_LIMIT = 64 << 20
"""What is left of the write-ahead log after a large write."""
_PAUSE = 0.02
"""Seconds between two attempts to open a file."""


class Options(Struct, frozen=True, gc=False, kw_only=True):
    """How a database is opened."""

    busy_seconds: float = 10.0
    """How long to wait for another process that writes."""
    cache_kib: int = 16 << 10
    secure_delete: bool = False
    """Whether deleted rows are overwritten at once: for forgetting."""
    max_pages: int = 0
    """How large the file may become, in pages; 0 for no limit."""
    application_id: int = APPLICATION_ID
    """What tells files of this kind from others."""
    lasting: bool = False
    """Whether what is committed outlasts a loss of power at once, and not only from the next checkpoint on."""


def open_to_write(path: Path, options: Options) -> apsw.Connection:
    """Open a database, which is made if it is missing; raises `StoreError`."""
    # The page's size counts only before the first page, the log's mode is kept in the file.
    synchronous = "FULL" if options.lasting else "NORMAL"
    pragmas = [f"page_size={_PAGE_SIZE}", "journal_mode=WAL", f"synchronous={synchronous}"]
    pragmas += [f"journal_size_limit={_WAL_LIMIT}", f"secure_delete={int(options.secure_delete)}"]
    if options.max_pages:
        pragmas.append(f"max_page_count={options.max_pages}")
    with translate(path):
        _make_private(path)
        return _connect(path, os.fspath(path), apsw.SQLITE_OPEN_READWRITE, options, pragmas)


def open_to_read(
    path: Path, options: Options, *, traceless: bool = False, kind: type[apsw.Connection] = apsw.Connection
) -> apsw.Connection:
    """Open a database that exists, without ever writing to it; raises `StoreError`.

    Reading makes the log's files if they are missing. `traceless` avoids that, and may fail if another process
    begins to write just then.
    """
    with translate(path):
        if not path.is_file():
            raise StoreError(f"There is no store at {path}")
        # Without a log, and where nothing may be written, nobody else can write either.
        has_log = path.with_name(f"{path.name}-wal").exists()
        frozen = not has_log and (traceless or not os.access(path.parent, os.W_OK))
        address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if frozen else ''}"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return _connect(path, address, flags, options, (), kind)


def _connect(
    path: Path,
    address: str,
    flags: int,
    options: Options,
    pragmas: Sequence[str],
    kind: type[apsw.Connection] = apsw.Connection,
) -> apsw.Connection:
    # SQLite itself does not wait where a log begins or ends: when others open or close the file just now.
    deadline = time.monotonic() + options.busy_seconds
    while True:
        connection = kind(address, flags=flags)
        try:
            _set_up(connection, path, options, pragmas)
        except apsw.BusyError:
            connection.close()
            if time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE)
        except BaseException:
            connection.close()
            raise
        else:
            return connection


def break_off(connection: apsw.Connection, seconds: float = 1.0) -> None:
    """Close a connection; what another thread asks it just now fails.

    If that thread does not let go of it in time, the end of the process does.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection.close()
        except apsw.ThreadingViolationError:
            if time.monotonic() >= deadline:
                return
            # Not before it is needed: it would also keep the log from being written back.
            connection.interrupt()
            time.sleep(_PAUSE)
        else:
            return


def flush_log(path: Path) -> None:
    """Make what was written outlast a loss of power: SQLite leaves that to the next checkpoint."""
    with suppress(FileNotFoundError):  # all of it is in the file itself, which a checkpoint has flushed
        log = os.open(f"{os.fspath(path)}-wal", os.O_RDWR)
        try:
            os.fsync(log)
        finally:
            os.close(log)


@contextmanager
def translate(path: Path) -> Iterator[None]:
    """Raise what goes wrong with a database as `StoreError`, in a sentence."""
    try:
        with translate_damage(path):
            yield
    except OSError as error:
        raise StoreError(f"The store {path} cannot be used: {error.strerror or error}") from error
    except (ValueError, OverflowError) as error:
        # Text that is none, numbers of more than 64 bits: damage when it is read, misuse when it is written.
        raise StoreError(f"The store {path} cannot hold such a value, or it is damaged ({error})") from error


@contextmanager
def translate_damage(path: Path) -> Iterator[None]:
    """Raise as `StoreError` what only a database raises: callers do things of their own meanwhile."""
    try:
        yield
    except apsw.Error as error:
        kind, reason = next(
            ((kind, reason) for known, kind, reason in _REASONS if isinstance(error, known)),
            (StoreError, "cannot do that"),
        )
        raise kind(f"The store {path} {reason} ({error})") from error
    except MsgspecError as error:
        raise StoreError(f"The store {path} cannot hold such a value, or it is damaged ({error})") from error


_REASONS: tuple[tuple[type[apsw.Error], type[StoreError], str], ...] = (
    (apsw.FullError, StoreError, "has no space left: the disk is full, and nothing was written"),
    (apsw.ReadOnlyError, StoreError, "is not writable"),
    (apsw.PermissionsError, StoreError, "may not be opened"),
    (apsw.CantOpenError, StoreError, "cannot be opened"),
    (apsw.NotADBError, StoreError, "is not a database, or is damaged"),
    (apsw.CorruptError, StoreError, "is damaged"),
    (apsw.IOError, StoreError, "cannot be read or written"),
    (apsw.BusyError, BusyStoreError, "is being written by another process, which did not finish in time"),
    (apsw.LockedError, BusyStoreError, "is being written by another process, which did not finish in time"),
    (apsw.InterruptError, StoreError, "was closed in the meantime"),
    (apsw.ConstraintError, StoreError, "already has other rows in that place"),
)


@contextmanager
def writing(connection: apsw.Connection) -> Iterator[None]:
    """Do all of it or nothing, as the only writer."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # On a full disk SQLite may have rolled back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def reading(connection: apsw.Connection) -> Iterator[None]:
    """See one state of the database in several queries."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            with suppress(apsw.CorruptError):  # whoever met the damage has said so; it is over all the same
                connection.execute("COMMIT")


def _set_up(connection: apsw.Connection, path: Path, options: Options, pragmas: Sequence[str]) -> None:
    connection.set_busy_timeout(round(options.busy_seconds * 1000))
    _check_kind(connection, path, options.application_id)
    common = (f"cache_size=-{options.cache_kib}", "temp_store=MEMORY", "foreign_keys=OFF")
    for pragma in (*common, *pragmas):
        # One by one: several in one text would stop at the first that returns a row.
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _check_kind(connection: apsw.Connection, path: Path, application_id: int) -> None:
    # In this order: another process may be making the tables just now, and the mark comes with the first one.
    if not connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall():
        return
    if connection.pragma("application_id") != application_id:
        raise StoreError(f"{path} is another program's database; nothing was changed")


def _make_private(path: Path) -> None:
    """Make the file and the folders that are missing; what is ours already is closed to others."""
    if os.fspath(path.parent) and not path.parent.is_dir():
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.parent.mkdir(mode=0o700)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        _close_to_others(path)


def _close_to_others(path: Path) -> None:
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with suppress(FileNotFoundError):
            if os.name == "posix" and file.stat().st_mode & 0o077:
                file.chmod(0o600)
