"""SQLite: opening files, transactions, and saying in our words what goes wrong.

A file has one writer at a time; each who reads has a connection for as long as it takes, and connections are
taken up again, those first that were used last, so that what was learned through them is of use. The file and
the folder that is made for it are the owner's alone: sessions hold secrets. SQLite gives its companions
(`-wal`, `-shm`) the permissions of the file.
"""

from __future__ import annotations

import functools
import os
import re
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, TypeVar

import apsw
from msgspec import MsgspecError, Struct

from turnlog.errors import BusyStoreError, FormerStoreError, NewerStoreError, OlderStoreError, StoreError
from turnlog.store.catalogue.database import OnProgress, Row, Steps, Values, is_word
from turnlog.store.catalogue.schema import ViewerTerms, build_hook_events, build_view, list_views
from turnlog.store.interface import Backup
from turnlog.store.model import Scope, Viewer

T = TypeVar("T")

APPLICATION_ID = 0x7475726E
"""What tells our archives from other databases ("turn")."""
FORMER_TABLES = "checkpoints"
"""A table that only archives of earlier versions have: `upgrade` makes them today's."""

_PAGE_SIZE = 4096
_WAL_LIMIT = 64 << 20
"""What is left of the write-ahead log after a large write."""
_PAUSE = 0.02
"""Seconds between two attempts to open a file."""
_LONG, _GAP, _GLANCE = 0.01, 0.002, 0.001
"""After a transaction of so many seconds others get so many to begin one, for which they look so often."""
_MOST_IDLE = 8
"""How many connections wait to be taken up again."""
_PAGES = 512
"""How many pages are copied at once: 2 MiB."""
_SPELLED = {
    "@@bytes": "BLOB",
    "@@blob": "BLOB",
    "@@number": "INTEGER PRIMARY KEY",
    "@@serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "@@monthly": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "@@key": "INTEGER PRIMARY KEY",
    "@@compact": " WITHOUT ROWID",
}
_MACROS = (
    (re.compile(r"@@(?:ints|texts|blobs)\(([^)]*)\)"), r"(SELECT value FROM carray(\1))"),
    (re.compile(r"@@readable\((coalesce\([^)]*\)|[^)]*)\)"), r"CAST(\1 AS TEXT)"),
    (re.compile(r"@@lock\([^)]*\)|@@by_month\([^)]*\)"), ""),
)
_TERMS = ViewerTerms(
    owner="(SELECT owner FROM temp.viewer)",
    person="(SELECT person FROM temp.viewer)",
    team="(SELECT team FROM temp.viewer)",
    key="(SELECT key FROM temp.viewer)",
    tables="main.",
    views="temp.",
)


class Options(Struct, frozen=True, gc=False, kw_only=True):
    """How a database is opened."""

    busy_seconds: float = 10.0
    """How long to wait for another process that writes."""
    cache_kib: int = 8 << 10
    max_pages: int = 0
    """How large the file may become, in pages; 0 for no limit."""
    application_id: int = APPLICATION_ID
    """What tells files of this kind from others."""
    lasting: bool = False
    """Whether what is committed outlasts a loss of power at once, and not only from the next checkpoint on."""


class SqliteConnection:
    """One connection of apsw's, for statements in the SQL of the catalogue."""

    engine: Literal["sqlite", "postgresql"] = "sqlite"

    def __init__(self, path: Path, driver: apsw.Connection) -> None:
        self._path = path
        self.driver: Any = driver
        self.cache: dict[str, Any] = {}
        self._run = driver.execute

    def execute(self, statement: str, values: Values = ()) -> list[Row]:
        """Do a statement, and return its rows."""
        try:
            return self._run(_spell(statement), _bind(values) if values else None).fetchall()
        except (apsw.Error, ValueError, OverflowError) as error:
            raise translate_error(self._path, error) from error

    def change(self, statement: str, values: Values = ()) -> int:
        """Do a statement, and return how many rows it has inserted, changed or deleted."""
        self.execute(statement, values)
        return int(self.driver.changes())

    def change_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Do a statement once for each row of values."""
        try:
            self.driver.executemany(_spell(statement), rows)
        except (apsw.Error, ValueError, OverflowError) as error:
            raise translate_error(self._path, error) from error

    def load(self, cells: Sequence[bytes]) -> list[bytes | ValueError]:
        """Return them: a file has all of it."""
        return [*cells]

    def lock(self, name: str) -> None:
        """Do nothing: who writes is alone."""

    def notify(self) -> None:
        """Do nothing: other processes look by themselves."""


@functools.cache
def _spell(statement: str) -> str:
    if "@@" in statement:
        for pattern, spelled in _MACROS:
            statement = pattern.sub(spelled, statement)
        for mark, spelled in _SPELLED.items():
            statement = statement.replace(mark, spelled)
    return statement


def _bind(values: Values) -> Any:
    if isinstance(values, Mapping):
        return {name: _pack(value) if isinstance(value, list) else value for name, value in values.items()}
    return tuple(_pack(value) if isinstance(value, list) else value for value in values)


def _pack(values: list[Any]) -> Any:
    """Return a list as SQLite takes it; text that it cannot have is nowhere."""
    if values and isinstance(values[0], int):
        return apsw.carray(array("q", values), flags=apsw.SQLITE_CARRAY_INT64)
    found = tuple(value for value in values if not isinstance(value, str) or is_word(value))
    return apsw.carray(found) if found else None


class SqliteDatabase:
    """Tables in a file."""

    def __init__(
        self,
        path: Path,
        steps: Steps,
        options: Options | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        """Open nothing yet."""
        self.path = path
        self.name = str(path)
        self.is_read_only = read_only
        self._steps = steps
        self._options = options or Options()
        self._writer: SqliteConnection | None = None
        self._is_ready = False
        self._is_closed = False
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._idle: list[tuple[Scope | None, SqliteConnection]] = []
        self._lent: set[SqliteConnection] = set()
        self._local = threading.local()

    @property
    def rows_changed(self) -> int:
        """How many rows were inserted, changed or deleted through this database."""
        return 0 if self._writer is None else int(self._writer.driver.total_changes())

    def make(self) -> None:
        """Make the file if it is missing, and bring its tables up to date."""
        if self._is_ready:
            return
        self._check_open()
        if self.is_read_only:
            self.check_current()
        else:
            if self.path.is_file():
                # Opening for writing changes a file, and one of a newer program must stay as it is.
                self._look()
            with self._write_lock:
                self._open_writer()
        self._is_ready = True

    def check_current(self) -> None:
        """Raise `StoreError` if it cannot be read: it is missing, or newer or older (`OlderStoreError`)."""
        if self._look():
            raise OlderStoreError(f"The store {self.path} has an older version; `turnlog sync` updates it")

    @contextmanager
    def reading(self, scope: Scope | None = None) -> Iterator[SqliteConnection]:
        """See one state of the database, as far as the viewer of a scope may see it."""
        viewed = scope if scope is not None and scope.viewer is not None else None
        held: dict[Scope | None, SqliteConnection] = self._local.__dict__.setdefault("held", {})
        if viewed in held:
            yield held[viewed]
            return
        self._check_open()
        if not self._is_ready:
            if not os.path.lexists(self.path):
                with read_empty(self._steps) as connection:
                    yield connection
                return
            self.make()
        connection = self._take(viewed)
        try:
            connection.execute("BEGIN")
            held[viewed] = connection
            try:
                with _translating_damage(self.path):
                    yield connection
            finally:
                del held[viewed]
                with suppress(apsw.Error):  # whoever met damage has said so; it is over all the same
                    if connection.driver.in_transaction:
                        connection.driver.execute("COMMIT")
        finally:
            self._give_back(viewed, connection)

    @contextmanager
    def writing(self) -> Iterator[SqliteConnection]:
        """Do all of it or nothing, as the only writer."""
        self._check_writable()
        self.make()
        with self._write_lock:
            connection = self._get_writer()
            with _translating_damage(self.path), transacting(connection):
                started = time.monotonic()
                # A newer program may have changed them since we began.
                self._steps.check_known(connection, self.name)
                yield connection
        if time.monotonic() - started > _LONG:
            time.sleep(_GAP)

    def read(self, work: Callable[[SqliteConnection], T], scope: Scope | None = None) -> T:
        """Do what only reads."""
        with translating(self.path), self.reading(scope) as connection:
            return work(connection)

    def write(self, work: Callable[[SqliteConnection], T], *, is_repeatable: bool = False) -> T:
        """Do all of it or nothing."""
        with translating(self.path), self.writing() as connection:
            return work(connection)

    def try_write(self, work: Callable[[SqliteConnection], object]) -> None:
        """Do all of it or nothing, unless somebody else writes just now, or the file may not be written."""
        self.make()
        if not self._write_lock.acquire(blocking=False):
            return
        try:
            connection = self._get_writer()
            connection.driver.set_busy_handler(None)
            try:
                with transacting(connection):
                    work(connection)
            except StoreError as error:
                if not isinstance(error.__cause__, apsw.BusyError | apsw.ReadOnlyError | apsw.FullError):
                    raise
            finally:
                _wait_for_others(connection.driver, self._options.busy_seconds)
        finally:
            self._write_lock.release()

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """Lend the writer's connection outside of a transaction: for what SQLite does to a whole file."""
        self._check_writable()
        self.make()
        with self._write_lock, translating(self.path):
            yield self._get_writer().driver

    def close(self) -> None:
        """Let go of the file, whatever other threads ask it just now; again does nothing."""
        with self._lock:
            self._is_closed = True
            connections = [*(connection for _, connection in self._idle), *self._lent]
            self._idle.clear()
        for connection in (*connections, *([] if self._writer is None else [self._writer])):
            break_off(connection.driver)
        self._writer = None

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"The store {self.path} is closed")

    def _check_writable(self) -> None:
        self._check_open()
        if self.is_read_only:
            raise StoreError(f"The store {self.path} is open for reading only")

    def _get_writer(self) -> SqliteConnection:
        self._check_open()
        if self._writer is None:
            raise StoreError(f"The store {self.path} is closed")
        return self._writer

    def _open_writer(self) -> None:
        if self._writer is not None:
            return
        connection = SqliteConnection(self.path, open_to_write(self.path, self._options))
        try:
            if _list_missing(connection, self._steps, self.name):
                with transacting(connection):
                    connection.driver.execute(f"PRAGMA application_id={self._options.application_id}")
                    self._steps.migrate(connection)
                    self._steps.check_known(connection, self.name)
        except BaseException:
            connection.driver.close()
            raise
        self._writer = connection

    def _look(self) -> list[str]:
        """Return the migrations that are missing, without leaving a trace; raises `NewerStoreError`."""
        try:
            return self._look_into(traceless=True)
        except NewerStoreError:
            raise
        except StoreError:
            # Others may be writing just now: then there is a log, or will be, and a usual reader is safe.
            return self._look_into(traceless=False)

    def _look_into(self, *, traceless: bool) -> list[str]:
        with closing(open_to_read(self.path, self._options, traceless=traceless)) as driver:
            return _list_missing(SqliteConnection(self.path, driver), self._steps, self.name)

    def _take(self, viewed: Scope | None) -> SqliteConnection:
        with self._lock:
            found = next((at for at in reversed(range(len(self._idle))) if self._idle[at][0] == viewed), None)
            if found is None and viewed is not None:
                found = next((at for at in range(len(self._idle)) if self._idle[at][0] is not None), None)
            if found is not None:
                known, connection = self._idle.pop(found)
                self._lent.add(connection)
        if found is None:
            connection, known = SqliteConnection(self.path, open_to_read(self.path, self._options)), None
            if viewed is not None:
                _make_views(connection)
            with self._lock:
                self._lent.add(connection)
        if viewed is not None and known != viewed:
            _set_viewer(connection, viewed)
        return connection

    def _give_back(self, viewed: Scope | None, connection: SqliteConnection) -> None:
        with self._lock:
            self._lent.discard(connection)
            self._idle.append((viewed, connection))
            gone = self._idle.pop(0)[1] if len(self._idle) > _MOST_IDLE or self._is_closed else None
        if gone is not None:
            break_off(gone.driver)


@contextmanager
def read_empty(steps: Steps) -> Iterator[SqliteConnection]:
    """Lend tables that have nothing in them."""
    with closing(apsw.Connection(":memory:")) as driver:
        connection = SqliteConnection(Path(":memory:"), driver)
        steps.migrate(connection)
        yield connection


def _list_missing(connection: SqliteConnection, steps: Steps, name: str) -> list[str]:
    # Asked of the file: `table_exists` knows only what this connection has seen of it.
    tables = {table for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if FORMER_TABLES in tables:
        raise FormerStoreError(f"The archive {name} is of an earlier version; `turnlog upgrade` updates it")
    if "migrations" not in tables:
        return steps.names
    steps.check_known(connection, name)
    return steps.list_missing(connection)


def _make_views(connection: SqliteConnection) -> None:
    """Put views in the place of the tables; nothing is seen until `_set_viewer` was called."""
    connection.execute("CREATE TEMP TABLE viewer (owner TEXT, person TEXT, team INTEGER, key TEXT)")
    connection.execute("INSERT INTO temp.viewer VALUES (NULL, NULL, 0, NULL)")
    for table in list_views(_TERMS):
        names = connection.execute("SELECT name FROM pragma_table_info(?, 'main')", (table,))
        view = build_view(_TERMS, table, [name for (name,) in names])
        connection.execute(f"CREATE TEMP VIEW {table} AS {view}")
    connection.execute(f"CREATE TEMP VIEW hook_events AS {build_hook_events(_TERMS)}")


def _set_viewer(connection: SqliteConnection, scope: Scope) -> None:
    viewer = scope.viewer or Viewer()
    connection.execute(
        "UPDATE temp.viewer SET owner = ?, person = ?, team = ?, key = ?",
        (scope.owner, viewer.person, int(viewer.team), viewer.session),
    )


@contextmanager
def transacting(connection: SqliteConnection) -> Iterator[None]:
    """Do all of it or nothing, as the only writer."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # On a full disk SQLite may have rolled back by itself.
        if connection.driver.in_transaction:
            connection.driver.execute("ROLLBACK")
        raise


def open_to_write(path: Path, options: Options) -> apsw.Connection:
    """Open a database, which is made if it is missing; raises `StoreError`."""
    # The page's size counts only before the first page, the log's mode is kept in the file.
    synchronous = "FULL" if options.lasting else "NORMAL"
    pragmas = [f"page_size={_PAGE_SIZE}", "journal_mode=WAL", f"synchronous={synchronous}"]
    pragmas.append(f"journal_size_limit={_WAL_LIMIT}")
    if options.max_pages:
        pragmas.append(f"max_page_count={options.max_pages}")
    with translating(path):
        _make_private(path)
        connection = _connect(path, os.fspath(path), apsw.SQLITE_OPEN_READWRITE, options, pragmas)
        _wait_for_others(connection, options.busy_seconds)
        return connection


def _wait_for_others(connection: apsw.Connection, seconds: float) -> None:
    """Have a writer wait for others, and look often: SQLite's own pauses would soon be longer than theirs."""
    deadline = 0.0

    def look_again(number: int) -> bool:
        nonlocal deadline
        if number == 0:
            deadline = time.monotonic() + seconds
        time.sleep(_GLANCE)
        return time.monotonic() < deadline

    connection.set_busy_handler(look_again)


def open_to_read(path: Path, options: Options, *, traceless: bool = False) -> apsw.Connection:
    """Open a database that exists, without ever writing to it; raises `StoreError`.

    Reading makes the log's files if they are missing. `traceless` avoids that, and may fail if another process
    begins to write just then.
    """
    with translating(path):
        if not path.is_file():
            raise StoreError(f"There is no store at {path}")
        # Without a log, and where nothing may be written, nobody else can write either.
        has_log = path.with_name(f"{path.name}-wal").exists()
        frozen = not has_log and (traceless or not os.access(path.parent, os.W_OK))
        address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if frozen else ''}"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return _connect(path, address, flags, options, ())


def _connect(path: Path, address: str, flags: int, options: Options, pragmas: Sequence[str]) -> apsw.Connection:
    # SQLite itself does not wait where a log begins or ends: when others open or close the file just now.
    deadline = time.monotonic() + options.busy_seconds
    while True:
        connection = apsw.Connection(address, flags=flags)
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


def _set_up(connection: apsw.Connection, path: Path, options: Options, pragmas: Sequence[str]) -> None:
    connection.set_busy_timeout(round(options.busy_seconds * 1000))
    # In this order: another process may be making the tables just now, and the mark comes with the first one.
    if (
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        and connection.pragma("application_id") != options.application_id
    ):
        raise StoreError(f"{path} is another program's database; nothing was changed")
    common = (f"cache_size=-{options.cache_kib}", "temp_store=MEMORY", "foreign_keys=OFF")
    for pragma in (*common, *pragmas):
        # One by one: several in one text would stop at the first that returns a row.
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _make_private(path: Path) -> None:
    """Make the file and the folders that are missing; what is ours already is closed to others."""
    if os.fspath(path.parent) and not path.parent.is_dir():
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.parent.mkdir(mode=0o700)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            with suppress(FileNotFoundError):
                if os.name == "posix" and file.stat().st_mode & 0o077:
                    file.chmod(0o600)


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
    with translating(path), suppress(FileNotFoundError):  # then the file has it, which a checkpoint has flushed
        log = os.open(f"{os.fspath(path)}-wal", os.O_RDWR)
        try:
            os.fsync(log)
        finally:
            os.close(log)


def check_pages(connection: apsw.Connection, *, quick: bool = False) -> list[str]:
    """Return what SQLite finds wrong with the file, at most so much."""
    pragma = "quick_check" if quick else "integrity_check"
    found: list[str] = []
    try:
        found += (str(text) for (text,) in connection.execute(f"PRAGMA {pragma}(20)"))
    except apsw.CorruptError as error:  # it is too damaged to go on
        found.append(str(error))
    return [] if found == ["ok"] else found


def write_copy(
    source: apsw.Connection, target: Path, *, force: bool, on_progress: OnProgress | None = None
) -> Backup:
    """Write a copy of a database to a file; raises `StoreError` if it is there, unless by `force`."""
    target = Path(os.path.abspath(target))
    if target.exists() and not force:
        raise StoreError(f"{target} already exists; nothing was overwritten")
    if target.exists() and target.samefile(source.filename):
        raise StoreError(f"{target} is the store itself")
    new = target.with_name(f".{target.name}.{os.getpid()}.new")
    with translating(target):
        try:
            copy_database(source, new, on_progress)
            os.replace(new, target)
            flush_folder(target.parent)
        finally:
            new.unlink(missing_ok=True)
        return Backup(os.fspath(target), time.time_ns(), target.stat().st_size)


def copy_database(source: apsw.Connection, target: Path, on_progress: OnProgress | None = None) -> None:
    """Copy a database to a file of the owner's alone, and check the copy; raises `StoreError`."""
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(apsw.Connection(os.fspath(target), flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
        # A transaction on the source keeps the copy from starting over whenever somebody writes.
        with source:
            source.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
            with copy.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(_PAGES)
                    if on_progress is not None:
                        on_progress(backup.page_count - backup.remaining, backup.page_count)
        copy.execute("PRAGMA journal_mode=DELETE").fetchall()
        if copy.table_exists(None, "leases"):
            copy.execute("DELETE FROM leases")
        found = check_pages(copy)
    if found:
        raise StoreError(f"The copy of {source.filename} is damaged, as the store may be: {found[0]}")
    with target.open("rb") as file:
        os.fsync(file.fileno())


def set_aside(place: Path) -> Path:
    """Give a file another name, as one without a log; raises `BusyStoreError` if it is in use."""
    name = f"{place.name}.before-restore-{time.strftime('%Y%m%d-%H%M%S')}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))  # some may be of the same second
    kept = next(path for path in map(place.with_name, names) if not path.exists())
    close_log(place)
    with translating(place):
        os.replace(place, kept)
        for ending in ("-wal", "-shm"):  # of a store that is too damaged to be opened
            log = place.with_name(place.name + ending)
            if log.exists():
                os.replace(log, kept.with_name(kept.name + ending))
    return kept


def close_log(place: Path) -> None:
    """Move all into the one file, which only works if nobody else has it open; raises `BusyStoreError`."""
    try:
        with closing(apsw.Connection(os.fspath(place), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(2000)
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
            connection.execute("BEGIN IMMEDIATE; COMMIT")
    except (apsw.BusyError, apsw.LockedError) as error:
        raise BusyStoreError(f"The store {place} is in use by another process; stop that first") from error
    except apsw.Error:
        pass  # it is damaged, which may be why another one is wanted


def flush_folder(folder: Path) -> None:
    """Return when it is on the disk which files a folder has."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def translating(path: Path) -> Iterator[None]:
    """Raise what goes wrong with a database as `StoreError`, in a sentence."""
    try:
        yield
    except (apsw.Error, OSError, ValueError, OverflowError, MsgspecError) as error:
        raise translate_error(path, error) from error


@contextmanager
def _translating_damage(path: Path) -> Iterator[None]:
    """Raise as `StoreError` what only a database raises: callers do things of their own meanwhile."""
    try:
        yield
    except (apsw.Error, MsgspecError) as error:
        raise translate_error(path, error) from error


def translate_error(path: Path, error: Exception) -> StoreError:
    """Return what went wrong in our words."""
    if isinstance(error, apsw.Error):
        kind, reason = next(
            ((kind, reason) for known, kind, reason in _REASONS if isinstance(error, known)),
            (StoreError, "cannot do that"),
        )
        return kind(f"The store {path} {reason} ({error})")
    if isinstance(error, OSError):
        return StoreError(f"The store {path} cannot be used: {error.strerror or error}")
    # Text that is none, numbers of more than 64 bits: damage when it is read, misuse when it is written.
    return StoreError(f"The store {path} cannot hold such a value, or it is damaged ({error})")


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
