"""Small tables on servers that restart, are gone, or hold something else: survived, or told in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from postgres_server import PostgresServer
from turnlog.errors import BusyStoreError, StoreError
from turnlog.store.catalogue.database import Connection, Steps
from turnlog.store.catalogue.postgres import PostgresDatabase

SCHEMA = "turnlog_words"
INSERT = "INSERT INTO words VALUES (?)"
COUNT = "SELECT count(*) FROM words"


def create_words(connection: Connection) -> None:
    connection.execute("CREATE TABLE words (word @@bytes PRIMARY KEY)")


STEPS = Steps("the words", (create_words,))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Yield a cluster that may be stopped."""
    found = PostgresServer()
    yield found
    found.remove()


@pytest.fixture
def address(server: PostgresServer) -> str:
    return server.address(server.create())


@pytest.fixture
def database(address: str) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(address, SCHEMA, STEPS)) as found:
        found.make()
        yield found


def count(database: PostgresDatabase) -> int:
    [(found,)] = database.read(lambda connection: connection.execute(COUNT))
    return int(found)


def end(connection: Connection, address: str) -> None:
    """End the process that serves a connection, and wait until it has ended."""
    [(pid,)] = connection.execute("SELECT pg_backend_pid()")
    with psycopg.connect(address, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 60000)", (pid,))


def test_a_server_that_restarts_between_calls_is_not_noticed(
    server: PostgresServer, database: PostgresDatabase
) -> None:
    def read_twice(connection: Connection) -> int:
        return count(database) + len(
            connection.execute(COUNT)
        )  # several connections lie idle, all of which break

    database.read(read_twice)
    server.restart()
    assert count(database) == 0
    database.read(read_twice)
    server.restart("immediate")
    database.write(lambda connection: connection.execute(INSERT, (b"a",)))
    assert count(database) == 1


def test_reading_goes_on_when_its_connection_breaks(database: PostgresDatabase, address: str) -> None:
    times = []

    def read(connection: Connection) -> list[tuple[object, ...]]:
        times.append(1)
        if len(times) == 1:
            end(connection, address)
        return connection.execute("SELECT 7")

    assert database.read(read) == [(7,)]
    assert len(times) == 2


def test_writing_begins_again_if_it_surely_was_not_committed(database: PostgresDatabase, address: str) -> None:
    times = []

    def write(connection: Connection) -> None:
        times.append(1)
        connection.execute(INSERT, (b"a",))
        if len(times) == 1:
            end(connection, address)
        connection.execute("SELECT 1")

    def fail(connection: Connection) -> None:
        end(connection, address)
        connection.execute("SELECT 1")

    database.write(write)
    assert (len(times), count(database)) == (2, 1)
    with pytest.raises(StoreError, match="cannot be reached"):
        database.write(fail)


@pytest.mark.parametrize("is_repeatable", [False, True])
def test_writing_that_may_have_been_committed_is_only_repeated_if_that_is_safe(
    database: PostgresDatabase, address: str, is_repeatable: bool
) -> None:
    times = []

    def write(connection: Connection) -> None:
        times.append(1)
        if len(times) == 1:
            end(connection, address)  # so that the commit itself finds nobody

    if is_repeatable:
        database.write(write, is_repeatable=True)
        assert len(times) == 2
    else:
        with pytest.raises(StoreError, match="may or may not have succeeded"):
            database.write(write)
        assert len(times) == 1


def test_what_fails_leaves_nothing(database: PostgresDatabase) -> None:
    def write(connection: Connection) -> None:
        connection.execute(INSERT, (b"a",))
        raise KeyError

    with pytest.raises(KeyError):
        database.write(write)
    with pytest.raises(StoreError, match="cannot hold such a value"):
        database.write(lambda connection: connection.execute("SELECT CAST(? AS bigint)", (1 << 70,)))
    assert count(database) == 0


def test_what_waits_for_another_writer_too_long_is_told(database: PostgresDatabase, address: str) -> None:
    def write(connection: Connection) -> None:
        connection.execute("SET LOCAL lock_timeout TO '1ms'")
        connection.execute(INSERT, (b"a",))

    with psycopg.connect(address) as other:
        other.execute(f"LOCK TABLE {SCHEMA}.words".encode())
        with pytest.raises(BusyStoreError, match="did not finish in time"):
            database.write(write)
        database.try_write(lambda connection: connection.execute(INSERT, (b"b",)))
    assert count(database) == 0
    database.try_write(lambda connection: connection.execute(INSERT, (b"b",)))
    assert count(database) == 1


def test_a_server_that_is_not_there_is_told_without_a_password(tmp_path: Path) -> None:
    for address in (
        f"postgresql://ada:secret@/archive?host={tmp_path}",
        f"host={tmp_path} user=ada password=secret dbname=archive",
        "postgresql://ada:secret@[half/archive",
    ):
        with pytest.raises(StoreError) as told:
            _make(address)
        assert "secret" not in str(told.value)
        assert "postgresql://" in str(told.value)


def test_tables_are_made_once_by_all_who_open_a_database_at_once(address: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        for made in [pool.submit(_make, address) for _ in range(4)]:
            made.result()
    with psycopg.connect(address) as connection:
        assert connection.execute(f"SELECT name FROM {SCHEMA}.migrations".encode()).fetchall() == [
            ("create_words",)
        ]


def test_a_step_that_fails_leaves_nothing(address: str) -> None:
    with psycopg.connect(address) as connection:
        connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        connection.execute(f"CREATE TABLE {SCHEMA}.words (word text)".encode())
    with pytest.raises(StoreError, match="words"):
        _make(address)
    with psycopg.connect(address) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (SCHEMA,))
        assert tables.fetchall() == [("words",)]


def test_who_owns_a_database_needs_no_other_rights(server: PostgresServer) -> None:
    server.execute("CREATE ROLE ada LOGIN")
    name = server.create()
    server.execute(f"ALTER DATABASE {name} OWNER TO ada")
    _make(server.address(name).replace("postgres@", "ada@"))


def test_a_database_that_is_closed_says_so(database: PostgresDatabase) -> None:
    database.close()
    database.close()
    with pytest.raises(StoreError, match="closed"):
        count(database)
    with pytest.raises(StoreError, match="closed"):
        database.write(lambda connection: connection.execute(COUNT))


def _make(address: str) -> None:
    with closing(PostgresDatabase(address, SCHEMA, STEPS)) as database:
        database.make()
