"""A store on a PostgreSQL server: copies of it, putting one in its place, and removing what was deleted.

A copy is made by `pg_dump` while others write, of one state of all tables. It lies under another name until it
is whole and was read once, so there is never half of one. When one is restored, the tables that were there are
kept in the same database, in schemas with other names; accounts stay as they are if the copy has none.

Deleting rows leaves their content in the server's files until a table is written anew, which needs the table
for itself, and is put off while others use it. What the server has in its log, and in archives of that, is its
own affair.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from typing import Any

import psycopg
from msgspec.structs import replace
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from turnlog.errors import BusyStoreError, LostStoreError, NewerStoreError, StoreError
from turnlog.store.account_backups import carry_over as carry_accounts_over
from turnlog.store.account_model import CarriedAccounts
from turnlog.store.accounts import ACCOUNT_STEPS
from turnlog.store.blobs import BlobReader, open_blobs
from turnlog.store.catalogue.blobs import BlobKeeper, create_blob_tables
from turnlog.store.catalogue.database import Connection, OnProgress, Steps
from turnlog.store.catalogue.engine import (
    CarriedState,
    RemoteIndex,
    carry_over,
    list_backups,
    read_carried_state,
    record_backup,
)
from turnlog.store.catalogue.feed import Lease, find_holder
from turnlog.store.catalogue.outbox import add_usage, create_outbox
from turnlog.store.catalogue.postgres import (
    FORMER_SCHEMA,
    LOCKS,
    UPGRADING,
    WRITING,
    ChangeListener,
    PostgresConnection,
    PostgresDatabase,
    connect,
    describe,
    translating,
)
from turnlog.store.catalogue.schema import STEPS
from turnlog.store.catalogue.store import CatalogueStore
from turnlog.store.catalogue.upgrade import FormerServer, check_facts, copy_facts, mark_state
from turnlog.store.catalogue.usage import SumCells, sum_cells
from turnlog.store.interface import Backup, Flaw, Forgotten, Restored
from turnlog.store.model import (
    ACCOUNTS_SCHEMA,
    ARCHIVE_SCHEMA,
    BLOBS_SETTING,
    INDEX_SETTING,
    IndexPlace,
    Scope,
    ServerPlace,
)
from turnlog.store.search.postgres import PostgresTextIndex

_COPY = re.compile(r"^COPY \S+ \((.*?)\) FROM stdin;\n(.*?)^\\\.$", re.MULTILINE | re.DOTALL)
"""How the rows of a table stand in what `pg_restore` prints."""
_DEBIAN = Path("/usr/lib/postgresql")
"""Where Debian has the programs that are not on the path."""
_TELLING = 150000
"""The first version of the server whose statistics can be had at once."""
_SCRUB_SECONDS = 3
"""How long to wait for others who use a table."""
_ALONE_SECONDS = 3
"""How long to wait for other connections of ours to end."""
_USED = """
SELECT c.relname::text FROM pg_class AS c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
    AND (:silent = 1 OR pg_stat_get_dead_tuples(c.oid) > 0 OR pg_stat_get_dead_tuples(c.reltoastrelid) > 0)
ORDER BY c.relname
"""
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'turnlog' AND pid <> pg_backend_pid()
"""


def create_text_tables(connection: Any) -> None:
    """Make the tables of search."""
    PostgresTextIndex().create(connection)


POSTGRES_STEPS = Steps(
    STEPS.subject,
    (*STEPS.migrations, create_text_tables),
    refused={
        create_blob_tables.__name__: f"{{}} has bytes in blobs; {BLOBS_SETTING} must say where",
        create_outbox.__name__: f"{{}} has its index elsewhere; {INDEX_SETTING} must say where",
    },
)


def list_steps(place: ServerPlace) -> Steps:
    """Return the steps of an archive: with blobs, or an index elsewhere, whoever knows of none is refused."""
    more = [create_blob_tables] if place.blobs is not None else []
    more += [create_outbox] if place.index is not None else []
    return replace(POSTGRES_STEPS, migrations=(*POSTGRES_STEPS.migrations, *more))


class PostgresEngine:
    """A store in a database on a server."""

    def __init__(self, place: ServerPlace, *, read_only: bool = False) -> None:
        self.place = place
        self.address = place.address
        self.database = _open(place, read_only=read_only)
        self._sweeps: list[Callable[[], bool | None]] = []
        """What removes elsewhere what was deleted; False if that is in use."""
        self.index: PostgresTextIndex = PostgresTextIndex()
        self.sum_cells: SumCells = sum_cells
        self.note_usage: Callable[[Connection, Iterable[int]], object] | None = None
        self.remote: RemoteIndex | None = None
        if place.index is not None:
            self._index_elsewhere(place.index)
        self.blobs: BlobKeeper | None = None
        if place.blobs is not None and self.database.blobs is not None:
            self.blobs = BlobKeeper(place.blobs, self.database.blobs, self.database)
            self._sweeps.append(self.blobs.sweep)

    def _index_elsewhere(self, place: IndexPlace) -> None:
        server = import_module("turnlog.store.clickhouse").ClickHouse(place.address)
        index = import_module("turnlog.store.search.clickhouse").ClickHouseTextIndex(server, self.database)
        self.index, self.remote, self.note_usage = index, index, add_usage
        self.sum_cells = import_module("turnlog.store.clickhouse_usage").ClickHouseUsage(server).sum_cells

        def sweep() -> bool:
            self.database.write(index.forget)
            return bool(server.scrub())

        self._sweeps.append(sweep)

    def listen(self) -> ChangeListener:
        """Return what tells of changes, whoever writes them."""
        return self.database.listen()

    def flush(self) -> None:
        """Do nothing: what the server has committed lasts."""

    def settle(self, *, is_new: bool) -> None:
        """Delete blobs that nobody needs any more: the server's own files are its affair."""
        if self.blobs is not None:
            with suppress(LostStoreError):  # the next one does it
                self.blobs.collect()

    def purge(self) -> bool:
        """Write tables anew from which something was deleted; return False if one of them is in use."""
        self.database.make()
        with translating(self.database.name), closing(connect(self.address, self.place.schema)) as driver:
            connection, is_done = PostgresConnection(self.database.name, driver), True
            driver.execute(f"SET lock_timeout TO '{_SCRUB_SECONDS}s'")
            is_silent = driver.info.server_version < _TELLING
            for (table,) in connection.execute(_USED, {"silent": int(is_silent)}):
                try:
                    driver.execute(f"VACUUM (FULL, ANALYZE) {table}".encode())
                except psycopg.errors.LockNotAvailable:
                    is_done = False
        for sweep in self._sweeps:
            try:
                is_done = sweep() is not False and is_done
            except LostStoreError:
                is_done = False
        return is_done

    def forget(self, work: Callable[[], Forgotten]) -> Forgotten:
        """Do what deletes, and leave nothing of it in the tables' files."""
        forgotten = work()
        if not forgotten.sessions:
            return forgotten
        # In a transaction of its own, which may wait for whoever writes: words that no text has any more go.
        self.database.write(self.index.settle)
        return replace(forgotten, scrubbed=self.purge())

    def list_flaws(self) -> list[Flaw]:
        """Return what the server knows to be wrong with its files."""
        found = [] if self.blobs is None else [*self.blobs.list_flaws()]
        return [*(Flaw(None, message) for message in self.check_quickly()), *found]

    def check_quickly(self) -> list[str]:
        """Return what the server knows to be wrong with the database; raises `StoreError` without its blobs."""
        if self.blobs is not None:
            self.blobs.check()
        query = "SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database()"
        [(failures,)] = self.database.read(lambda connection: connection.execute(query))
        return [f"the server found {failures} damaged pages (checksum failures)"] if failures else []

    def measure(self) -> int:
        """Return how many bytes the tables and indexes take."""
        query = """
        SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class AS c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
        """
        [(size,)] = self.database.read(lambda connection: connection.execute(query))
        return int(size)

    def back_up(self, target: Path, *, force: bool, on_progress: OnProgress | None) -> Backup:
        """Write a copy of one state of the tables to a file, check it, and remember it."""
        target = Path(os.path.abspath(target))
        if target.exists() and not force:
            raise StoreError(f"{target} already exists; nothing was overwritten")
        size = self.measure()  # a copy is smaller
        new = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            if on_progress is not None:
                on_progress(0, size)
            schemas = (
                f"--schema={name}" for name in (ARCHIVE_SCHEMA, ACCOUNTS_SCHEMA)
            )  # what is not there is left out
            _run_program("pg_dump", self.address, "--format=custom", *schemas, "--no-owner", f"--file={new}")
            _run_program("pg_restore", None, f"--file={os.devnull}", os.fspath(new))  # all of it is read
            if on_progress is not None:
                on_progress(size, size)
            with new.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(new, target)
            backup = Backup(os.fspath(target), time.time_ns(), target.stat().st_size)
        except OSError as error:
            raise StoreError(f"{target} cannot be written: {error.strerror or error}") from error
        finally:
            new.unlink(missing_ok=True)
        self.database.write(lambda connection: record_backup(connection, backup))
        return backup

    def list_backups(self) -> list[Backup]:
        """Return the copies that were made, by time."""
        return self.database.read(list_backups)

    def check_backup(self, source: Path) -> None:
        """Raise `StoreError` for a file that is no backup of a store, damaged, or of a newer version."""
        steps = (row["name"] for row in _read_table(source, "migrations") if row["is_additive"] == "0")
        if unknown := list_steps(self.place).list_unknown(steps, str(source)):
            raise NewerStoreError(
                f"{source} was made by a newer version of turnlog (it has {', '.join(unknown)})"
            )
        try:
            _run_program("pg_restore", None, f"--file={os.devnull}", os.fspath(source))  # all of it is read
        except StoreError as error:
            raise StoreError(f"{source} is not a complete backup ({error})") from error

    def restore(self, source: Path) -> Restored:
        """Put a copy in the place of the tables; nothing is changed while others have the store open."""
        self.check_backup(source)
        self.database.close()
        name = self.database.name
        with translating(name), closing(connect(self.address, "public")) as driver:
            if not _wait_alone(driver):
                raise BusyStoreError(f"The store {name} is in use by another process; stop that first")
            is_there = _has_schema(driver, ARCHIVE_SCHEMA)
            carried = self._read_carried_state() if is_there else CarriedState()
            listed = _run_program("pg_restore", None, "--list", os.fspath(source))
            has_accounts = re.search(rf" SCHEMA - {ACCOUNTS_SCHEMA}\b", listed) is not None
            replaced = [ARCHIVE_SCHEMA, ACCOUNTS_SCHEMA] if has_accounts else [ARCHIVE_SCHEMA]
            suffix = _find_free_suffix(driver)
            moved = [schema for schema in replaced if _has_schema(driver, schema)]
            driver.execute(
                f"DROP SCHEMA IF EXISTS {ARCHIVE_SCHEMA}_seen CASCADE".encode()
            )  # made again from the tables
            for schema in moved:
                driver.execute(f"ALTER SCHEMA {schema} RENAME TO {schema}{suffix}".encode())
            try:
                # The extension is of the whole database, and not in the copy.
                driver.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public")
                given = "--no-owner", "--single-transaction", "--exit-on-error", os.fspath(source)
                _run_program("pg_restore", self.address, *given)
                forgotten = self._carry_over(carried)
                accounts = self._carry_accounts(ACCOUNTS_SCHEMA + suffix) if has_accounts else None
            except BaseException:
                for schema in replaced:
                    driver.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
                for schema in moved:
                    driver.execute(f"ALTER SCHEMA {schema}{suffix} RENAME TO {schema}".encode())
                raise
        return Restored(ARCHIVE_SCHEMA + suffix if is_there else None, forgotten, accounts)

    def open_lease(self, name: str, seconds: float) -> Lease:
        """Return the right to write what a machine has, which is yet to be taken."""
        database = _open(self.place)
        database.make()
        return Lease(database, name, seconds=seconds)

    def _read_carried_state(self) -> CarriedState:
        with closing(_open(self.place, read_only=True)) as database:
            return database.read(read_carried_state)

    def _carry_over(self, carried: CarriedState) -> int:
        engine = PostgresEngine(self.place)
        with closing(CatalogueStore(engine)) as store:
            return carry_over(engine.database, store, carried)

    def _carry_accounts(self, kept: str) -> CarriedAccounts:
        """Bring the accounts of the copy up to what was known before."""
        restored = PostgresDatabase(self.address, ACCOUNTS_SCHEMA, ACCOUNT_STEPS)
        with closing(restored), closing(connect(self.address, kept)) as driver:
            present = PostgresConnection(restored.name, driver).execute if _has_schema(driver, kept) else None
            return restored.write(lambda connection: carry_accounts_over(connection.execute, present))


def _open(place: ServerPlace, *, read_only: bool = False) -> PostgresDatabase:
    blobs = None if place.blobs is None else BlobReader(open_blobs(place.blobs))
    return PostgresDatabase(
        place.address, place.schema, list_steps(place), read_only=read_only, has_views=True, blobs=blobs
    )


_UPGRADING = 7
"""The second half of the number of the advisory lock of whoever upgrades."""
_MOVED = "moved_to_another_schema"
"""A step that earlier versions do not know: they refuse tables in which it is recorded, also while they run."""
_IDENTITIES = (("sessions", "id"), ("marks", "id"), ("hook_deliveries", "id"), ("changes", "seq"))


class ServerUpgrade:
    """An archive of an earlier version in a database: its tables stay where they are until all is done."""

    def __init__(self, place: ServerPlace) -> None:
        self._place = place
        self.place = ServerPlace(place.address, place.home, place.schema + UPGRADING)
        """Where the archive of today is meanwhile."""
        self._name = describe(place.address)

    def measure(self) -> tuple[int, int]:
        """Return how many sessions there are, and how many bytes they take."""
        with self._reading() as former:
            [(sessions,)] = former.ask("SELECT count(*) FROM sessions")
            [(size,)] = former.ask(
                "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class "
                f"WHERE relnamespace = '{FORMER_SCHEMA}'::regnamespace AND relkind = 'r'"
            )
            return int(sessions), int(size)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep servers of the earlier version from writing, from now on; raises `StoreError`."""
        with translating(self._name), closing(connect(self._place.address, FORMER_SCHEMA)) as driver:
            query = "SELECT pg_try_advisory_lock(%s, %s)"
            [(is_ours,)] = driver.execute(query, (LOCKS, _UPGRADING)).fetchall()
            if not is_ours:
                raise BusyStoreError(f"The archive in {self._name} is being upgraded by another process")
            with driver.transaction():
                # Whoever is writing comes to an end, and whoever comes next looks at the steps first.
                driver.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCKS, WRITING))
                query = "INSERT INTO migrations (name, applied_ns) VALUES (%s, %s) ON CONFLICT DO NOTHING"
                driver.execute(query, (_MOVED, time.time_ns()))
            yield

    def copy(self, on_progress: OnProgress | None = None) -> None:
        """Copy all that only the archive knows; what was copied before is there already."""
        with self._reading() as former, closing(_open(self.place)) as database:
            if not mark_state(former, database):
                raise StoreError(f"The archive in {self._name} has changed since its upgrade began")
            database.make_months(former.list_months())
            copy_facts(former, database, on_progress)
            database.write(lambda connection: _go_on_numbering(former, connection))

    def check(self) -> None:
        """Raise `StoreError` unless all bytes and deliveries are there that were."""
        with self._reading() as former, closing(_open(self.place)) as database:
            check_facts(former, database)

    def finish(self, *, keep: bool) -> str | None:
        """Put the archive of today in its place; return where the former one is, if it is kept."""
        new, schema = self.place.schema, self._place.schema
        with (
            translating(self._name),
            closing(connect(self._place.address, new)) as driver,
            driver.transaction(),
        ):
            driver.execute("DROP TABLE IF EXISTS upgrade_state")
            driver.execute(f"DROP SCHEMA IF EXISTS {new}_seen CASCADE".encode())  # made again from the tables
            driver.execute(f"ALTER SCHEMA {new} RENAME TO {schema}".encode())
            if keep:
                return FORMER_SCHEMA
            driver.execute(f"DROP SCHEMA IF EXISTS {FORMER_SCHEMA}_seen CASCADE".encode())
            # One table stays, by which programs of the earlier version are told.
            driver.execute(
                f"DROP SCHEMA {FORMER_SCHEMA} CASCADE; CREATE SCHEMA {FORMER_SCHEMA}; "
                f"CREATE TABLE {FORMER_SCHEMA}.migrations "
                "(name text PRIMARY KEY, applied_ns bigint NOT NULL, is_additive boolean DEFAULT false); "
                f"INSERT INTO {FORMER_SCHEMA}.migrations VALUES ('{_MOVED}', {time.time_ns()})".encode()
            )
            return None

    @contextmanager
    def _reading(self) -> Iterator[FormerServer]:
        with translating(self._name), closing(connect(self._place.address, FORMER_SCHEMA)) as driver:
            yield FormerServer(self._name, driver)


def _go_on_numbering(former: FormerServer, connection: PostgresConnection) -> None:
    """Let numbers that are given from now on be behind those that were given."""
    for table, column in _IDENTITIES:
        query = f"""
        SELECT setval(pg_get_serial_sequence('{table}', '{column}'), greatest(1, coalesce(max({column}), 1)))
        FROM {table}
        """
        connection.execute(query)
    [(last,)] = former.ask(
        "SELECT greatest((SELECT max(id) FROM sources), (SELECT max(id) FROM generations), 1)"
    )
    connection.execute("SELECT setval('ids', ?)", (last,))


def find_writer(place: ServerPlace, name: str) -> str | None:
    """Return who writes what a machine has, without writing anything; None if nobody does."""
    with closing(_open(place, read_only=True)) as database:
        return database.read(lambda connection: find_holder(connection, name))


def find_in_copy(path: Path, scope: Scope, keys: Iterable[str]) -> set[str]:
    """Return which of some sessions a copy has; raises `StoreError` if it cannot be read."""
    held = {row["key"] for row in _read_table(path, "sessions") if row["owner"] == scope.owner}
    return held.intersection(keys)


def _read_table(source: Path, table: str) -> list[dict[str, str]]:
    """Return the rows of a table in a copy, as text; raises `StoreError` if it is no copy of a store."""
    given = ("--data-only", f"--schema={ARCHIVE_SCHEMA}", f"--table={table}", "--file=-", os.fspath(source))
    try:
        script = _run_program("pg_restore", None, *given)
    except StoreError as error:
        raise StoreError(f"{source} is not a backup of a store on a server, or is damaged ({error})") from error
    found = _COPY.search(script)
    if found is None:
        raise StoreError(f"{source} is not a backup of a turnlog store")
    names = found[1].split(", ")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in found[2].splitlines()]


def _run_program(name: str, address: str | None, *given: str) -> str:
    """Run a program of PostgreSQL's and return what it prints; raises `StoreError` if it fails."""
    environment = dict(os.environ)
    command: list[str] = [_find_program(name), *given]
    if address is not None:
        parts = conninfo_to_dict(address)
        password = parts.pop("password", None)
        if password is not None:  # what a program is called with can be seen by others
            environment["PGPASSWORD"] = str(password)
        command.insert(1, f"--dbname={make_conninfo('', **parts)}")
    done = _run(command, environment)
    if done.returncode:
        message = " ".join(done.stderr.decode(errors="replace").split())
        raise StoreError(f"{name} failed: {message or f'it ended with {done.returncode}'}")
    return done.stdout.decode(errors="replace")


def _run(command: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError as error:
        raise StoreError(f"{command[0]} cannot be run: {error.strerror or error}") from error


def _find_program(name: str) -> str:
    """Return a program, the newest that there is: it knows older servers, too."""
    folders = [path for path in _DEBIAN.glob("*/bin") if path.parent.name.isdigit() and (path / name).exists()]
    if folders:
        return os.fspath(max(folders, key=lambda path: int(path.parent.name)) / name)
    found = shutil.which(name)
    if found is None:
        raise StoreError(f"Backups of a store on a server need {name}, which is not installed")
    return found


def _wait_alone(driver: psycopg.Connection[Any]) -> bool:
    """Wait until no other connection of ours is left: they end a little later than those who had them."""
    deadline = time.monotonic() + _ALONE_SECONDS
    while True:
        [(count,)] = driver.execute(_OTHERS).fetchall()
        if not count or time.monotonic() >= deadline:
            return not count
        time.sleep(0.05)


def _find_free_suffix(driver: psycopg.Connection[Any]) -> str:
    """Return what former schemas are called by, of which there may be some of the same second."""
    base = f"_before_restore_{time.strftime('%Y%m%d_%H%M%S')}"
    names = chain([base], (f"{base}_{number}" for number in count(2)))
    schemas = ARCHIVE_SCHEMA, ACCOUNTS_SCHEMA
    return next(name for name in names if not any(_has_schema(driver, schema + name) for schema in schemas))


def _has_schema(driver: psycopg.Connection[Any], schema: str) -> bool:
    [(found,)] = driver.execute("SELECT to_regnamespace(%s) IS NOT NULL", (schema,)).fetchall()
    return bool(found)
