"""A store in a file: writing it anew, copies of it, and putting one in its place.

Deleting rows leaves their content in the file and in its write-ahead log. So pages are overwritten as rows go
(`secure_delete`), and the file is then written anew: what was deleted earlier, while frames were merged, is
still in it.

SQLite's own backup copies one state of the database, whatever is written meanwhile. The copy is one file
without a log. It lies under another name until it is whole and found sound, so there is never half of one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import apsw
from msgspec import DecodeError
from msgspec.structs import replace

from turnlog.errors import BusyStoreError, StoreError
from turnlog.store.catalogue.database import OnProgress, Steps
from turnlog.store.catalogue.engine import (
    CarriedState,
    carry_over,
    list_backups,
    read_carried_state,
    record_backup,
)
from turnlog.store.catalogue.feed import Lease, find_holder, is_gone, name_holder
from turnlog.store.catalogue.schema import STEPS
from turnlog.store.catalogue.segments import load_segment
from turnlog.store.catalogue.sqlite import (
    Options,
    SqliteConnection,
    SqliteDatabase,
    check_pages,
    close_log,
    copy_database,
    flush_folder,
    flush_log,
    open_to_read,
    open_to_write,
    set_aside,
    translating,
    write_copy,
)
from turnlog.store.catalogue.store import CatalogueStore
from turnlog.store.catalogue.upgrade import FormerFile, check_facts, copy_facts, mark_state
from turnlog.store.catalogue.usage import sum_cells
from turnlog.store.interface import Backup, Flaw, Forgotten, Restored
from turnlog.store.model import Scope
from turnlog.store.search.sqlite import SqliteTextIndex
from turnlog.store.search.sqlite_index import place_lines
from turnlog.transcripts.segments import SEGMENT, Segment

_SMALL_FILE = 64 << 20
_PATIENT = Options(busy_seconds=2.0)
_INDEX = ("FTS5 table main.cells", 'table "cells"')
"""How SQLite names the index of words, which follows from the bytes."""
_LONG_NS = 24 * 3600 * 10**9
"""For how long an upgrade may take; who is gone is told before."""
_LIGHT = Options(cache_kib=256)


def create_text_tables(connection: SqliteConnection) -> None:
    """Make the tables of search."""
    SqliteTextIndex().create(connection)


def place_lines_of_texts(connection: SqliteConnection) -> None:
    """Have the index know where the lines of texts are, which searches looked up in segments."""
    place_lines(connection.driver, partial(_find_line, connection, {}))


def _find_line(
    connection: SqliteConnection, opened: dict[tuple[int, int], Segment], generation: int, number: int
) -> tuple[int, int]:
    """Return where a line begins and how long it is; of what is not found, as of hook deliveries, nothing."""
    key = generation, number // SEGMENT
    if key not in opened:
        query = "SELECT source FROM generations WHERE id = ?"
        opened.clear()
        for (source,) in connection.execute(query, (generation,)):
            with suppress(KeyError, DecodeError):
                opened[key] = load_segment(connection, source, key[1])
    try:
        line = opened[key].peek_line(number % SEGMENT)
    except (LookupError, DecodeError):
        return 0, 0
    return line.offset, line.length


SQLITE_STEPS = Steps(
    STEPS.subject,
    (*STEPS.migrations, create_text_tables, place_lines_of_texts),  # type: ignore[arg-type]
)


class SqliteEngine:
    """A store in a file."""

    blobs = None
    sum_cells = staticmethod(sum_cells)
    note_usage = None
    remote = None

    def __init__(self, path: Path, *, read_only: bool = False, options: Options | None = None) -> None:
        self.path = path
        self.database = SqliteDatabase(path, SQLITE_STEPS, options, read_only=read_only)
        self.index = SqliteTextIndex()

    def listen(self) -> None:
        """Return nothing: other processes that write to the file tell nobody."""
        return

    def flush(self) -> None:
        """Make what was committed outlast a loss of power."""
        flush_log(self.path)

    def settle(self, *, is_new: bool) -> None:
        """Write a file anew of which much is free, or whose pages are not full, as those of what is new.

        Only a small file is worth it: there that is a thirtieth. If anybody is in the way, it stays as it is.
        """
        with self.database.alone() as connection:
            pages, size = connection.pragma("page_count"), connection.pragma("page_size")
            if pages * size <= _SMALL_FILE and (is_new or connection.pragma("freelist_count") > pages // 16):
                _rewrite_file(connection)

    def purge(self) -> bool:
        """Write the file anew, so that it has nothing but rows that are there."""
        with self.database.alone() as connection:
            return _rewrite_file(connection)

    def forget(self, work: Callable[[], Forgotten]) -> Forgotten:
        """Do what deletes, and leave nothing of it in the file."""
        with self.database.alone() as connection:
            connection.execute("PRAGMA secure_delete=ON")
        try:
            forgotten = work()
        finally:
            with self.database.alone() as connection:
                connection.execute("PRAGMA secure_delete=OFF")
        return replace(forgotten, scrubbed=self.purge()) if forgotten.sessions else forgotten

    def list_flaws(self) -> list[Flaw]:
        """Return what SQLite finds wrong with the file."""
        with self.database.reading() as connection:
            found = check_pages(connection.driver)
        return [Flaw(None, message, any(name in message for name in _INDEX)) for message in found]

    def check_quickly(self) -> list[str]:
        """Return what is wrong with the file, at a glance."""
        self.database.check_current()
        with closing(open_to_read(self.path, Options())) as connection, translating(self.path):
            return check_pages(connection, quick=True)

    def measure(self) -> int:
        """Return how many bytes the file takes, with what was not yet moved into it."""
        paths = [Path(f"{self.path}{end}") for end in ("", "-wal")]
        return sum(path.stat().st_size for path in paths if path.exists())

    def back_up(self, target: Path, *, force: bool, on_progress: OnProgress | None) -> Backup:
        """Write a copy of one state of the store to a file, check it, and remember it."""
        with closing(open_to_read(self.path, Options())) as source:
            backup = write_copy(source, target, force=force, on_progress=on_progress)
        self.database.write(lambda connection: record_backup(connection, backup))
        return backup

    def list_backups(self) -> list[Backup]:
        """Return the copies that were made, by time."""
        return self.database.read(list_backups)

    def check_backup(self, source: Path) -> None:
        """Raise `StoreError` for a file that is no store, a damaged one, or one of a newer version."""
        with closing(open_to_read(source, _PATIENT, traceless=True)) as driver, translating(source):
            connection = SqliteConnection(source, driver)
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
            if not {"migrations", "sources"} <= tables:
                raise StoreError(f"{source} is not a turnlog store")
            SQLITE_STEPS.check_known(connection, str(source))
            found = check_pages(driver)
        if found:
            raise StoreError(f"{source} is damaged: {found[0]}")

    def restore(self, source: Path) -> Restored:
        """Put a copy of a backup in the place of the store, which is kept beside it; raises `StoreError`.

        Nothing is changed while another process has the store open.
        """
        self.check_backup(source)
        place = self.path
        if place.exists() and place.samefile(source):
            raise StoreError(f"{source} is the store itself")
        new = place.with_name(f".{place.name}.{os.getpid()}.new")
        try:
            with closing(open_to_read(source, _PATIENT, traceless=True)) as connection, translating(place):
                place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                copy_database(connection, new)
            forgotten = _carry_over(new, self._read_carried_state())
            kept = set_aside(place) if place.exists() else None
            with translating(place):
                os.replace(new, place)
        finally:
            _remove(new)
        if kept is not None:
            backup = Backup(os.fspath(kept), time.time_ns(), None)
            with closing(SqliteEngine(place).database) as database:
                database.write(lambda connection: record_backup(connection, backup))
        return Restored(None if kept is None else os.fspath(kept), forgotten)

    def open_lease(self, name: str, seconds: float) -> Lease:
        """Return the right to write, which is yet to be taken."""
        database = SqliteDatabase(self.path, SQLITE_STEPS, _LIGHT)
        database.make()
        return Lease(database, name, seconds=seconds)

    def _read_carried_state(self) -> CarriedState:
        """Return what the present store must not forget; nothing if it is too damaged to tell."""
        try:
            with closing(SqliteDatabase(self.path, SQLITE_STEPS, _PATIENT, read_only=True)) as database:
                return database.read(read_carried_state)
        except StoreError:
            return CarriedState()


def find_writer(path: Path, name: str) -> str | None:
    """Return who may write to a store in a file, without writing to it; None if nobody does."""
    with closing(SqliteDatabase(path, SQLITE_STEPS, _LIGHT, read_only=True)) as database:
        return database.read(lambda connection: find_holder(connection, name))


def find_in_copy(path: Path, scope: Scope, keys: Iterable[str]) -> set[str]:
    """Return which of some sessions a copy has; raises `StoreError` if it cannot be read."""
    with closing(open_to_read(path, _LIGHT, traceless=True)) as driver, translating(path):
        connection = SqliteConnection(path, driver)
        query = "SELECT key FROM sessions WHERE owner = ? AND key IN @@texts(?)"
        return {key for (key,) in connection.execute(query, (scope.owner, list(keys)))}


def _carry_over(new: Path, carried: CarriedState) -> int:
    engine = SqliteEngine(new)
    with closing(CatalogueStore(engine)) as store:
        return carry_over(engine.database, store, carried)


def _rewrite_file(connection: apsw.Connection) -> bool:
    """Write the file anew and empty the log; return False if another process is reading or writing."""
    before = connection.pragma("temp_store")
    # The copy would not fit into memory.
    connection.execute("PRAGMA temp_store=FILE")
    try:
        connection.execute("VACUUM")
        [(busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except apsw.BusyError:
        return False
    finally:
        connection.execute(f"PRAGMA temp_store={before}")
    return not busy


class FileUpgrade:
    """An archive of an earlier version in a file: it stays as it is until one of today can take its place."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.place = path.with_name(f".{path.name}.upgrade")
        """Where the archive of today is meanwhile."""

    def measure(self) -> tuple[int, int]:
        """Return how many sessions there are, and how many bytes they take."""
        with self._reading() as former:
            [(sessions,)] = former.ask("SELECT count(*) FROM sessions")
        return int(sessions), SqliteEngine(self._path).measure()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep programs of the earlier version from writing, as long as that takes; raises `StoreError`."""
        self._check_space()
        with closing(open_to_write(self._path, _PATIENT)) as driver:
            query = "SELECT holder, expires_ns FROM lease WHERE name = 'writer'"
            for holder, expires_ns in driver.execute(query).fetchall():
                if int(str(expires_ns)) > time.time_ns() and not is_gone(str(holder)):
                    raise BusyStoreError(
                        f"The archive {self._path} is in use by another process; stop that first"
                    )
            values = name_holder(), time.time_ns() + _LONG_NS
            driver.execute("REPLACE INTO lease VALUES ('writer', ?, ?)", values)
        try:
            yield
        finally:
            if self.place.exists():  # else there is no such table any more
                with closing(open_to_write(self._path, _PATIENT)) as driver:
                    driver.execute("DELETE FROM lease WHERE name = 'writer' AND holder = ?", values[:1])

    def copy(self, on_progress: OnProgress | None = None) -> None:
        """Copy all that only the archive knows; what was copied before is there already."""
        with self._reading() as former:
            with closing(SqliteDatabase(self.place, SQLITE_STEPS)) as database:
                is_same = mark_state(former, database)
            if not is_same:  # something was written since an earlier attempt
                _remove(self.place)
            with closing(SqliteDatabase(self.place, SQLITE_STEPS)) as database:
                mark_state(former, database)
                copy_facts(former, database, on_progress)

    def check(self) -> None:
        """Raise `StoreError` unless all bytes and deliveries are there that were, and nothing has changed."""
        with self._reading() as former, closing(SqliteDatabase(self.place, SQLITE_STEPS)) as database:
            if not mark_state(former, database):
                raise StoreError(f"The archive {self._path} has changed since its upgrade began; begin again")
            check_facts(former, database)

    def finish(self, *, keep: bool) -> str | None:
        """Put the archive of today in its place; return where the former one is, if it is kept."""
        close_log(self.place)
        close_log(self._path)
        with translating(self._path):
            kept = self._path.with_name(f"{self._path.name}.before-upgrade") if keep else None
            if kept is not None and not (kept.exists() and kept.samefile(self._path)):
                os.link(self._path, kept)
            os.replace(self.place, self._path)
            flush_folder(self._path.parent)
        # Not before: without its state, a copy that is still in its own place would be begun again.
        with closing(SqliteDatabase(self._path, SQLITE_STEPS)) as database:
            database.write(lambda connection: connection.execute("DROP TABLE IF EXISTS upgrade_state"))
        return None if kept is None else os.fspath(kept)

    def _check_space(self) -> None:
        """Raise `StoreError` if the disk has no room for another archive beside the one that is there."""
        from shutil import disk_usage  # with all that compresses, of which only upgrades need anything

        there = self.place.stat().st_size if self.place.exists() else 0
        needed = SqliteEngine(self._path).measure() * 6 // 5 - there
        free = disk_usage(self._path.parent).free
        if free < needed:
            raise StoreError(
                f"The upgrade needs {needed / 1e6:,.0f} MB beside {self._path}, "
                f"and {free / 1e6:,.0f} MB are free"
            )

    @contextmanager
    def _reading(self) -> Iterator[FormerFile]:
        with translating(self._path), closing(open_to_read(self._path, _PATIENT)) as driver:
            yield FormerFile(str(self._path), driver)


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
