"""Servers that restart, are gone, or hold something else: it is survived, or told in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest

from postgres_server import PostgresServer, make_database, start_server
from turnlog.errors import BusyStoreError, NewerStoreError, OlderStoreError, StoreError
from turnlog.store.identity import LOCAL, Place
from turnlog.store.postgres.connection import Database
from turnlog.store.postgres.migrations import MIGRATIONS
from turnlog.store.postgres.opening import make_current
from turnlog.store.postgres.store import PostgresStore
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.contracts.base import keep

_FILES = {"session-1.jsonl": make_lines(4)}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Yield a cluster that may be stopped."""
    found = PostgresServer()
    yield found
    found.remove()


@pytest.fixture
def address(server: PostgresServer) -> str:
    found = server.address(server.create())
    make_current(found)
    return found


def test_a_server_that_restarts_between_calls_is_not_noticed(server: PostgresServer, address: str) -> None:
    with closing(PostgresStore.open(address)) as store:
        keep(store, _FILES)
        before = collect_answers(store, LOCAL)
        with store._database.reading(), store._database.reading():
            pass  # several connections lie idle, all of which break
        server.restart()
        assert collect_answers(store, LOCAL) == before
        server.restart("immediate")
        keep(store, {"session-1.jsonl": make_lines(6)})
        assert len(store.list_lines(LOCAL, make_key(), 0)) == 6


def test_reading_goes_on_when_its_connection_breaks(address: str) -> None:
    with closing(PostgresStore.open(address)) as store:
        times = []

        def read(connection: psycopg.Connection) -> int:
            times.append(1)
            if len(times) == 1:
                _end(address, connection)
            [(found,)] = connection.execute("SELECT 7").fetchall()
            return int(found)

        assert store._read(LOCAL, read) == 7
        times.clear()
        assert store._ask(LOCAL, read) == 7
        assert len(times) == 2


def test_writing_begins_again_if_it_surely_was_not_committed(address: str) -> None:
    with closing(PostgresStore.open(address)) as store:
        times = []

        def write(connection: psycopg.Connection) -> None:
            times.append(1)
            connection.execute("INSERT INTO backups VALUES ('x', 1)")
            if len(times) == 1:
                _end(address, connection)
            connection.execute("SELECT 1")

        store._write(write)
        assert (len(times), len(store.list_backups())) == (2, 1)
        times[:] = []
        with pytest.raises(StoreError, match="cannot be reached"):
            store._write(lambda connection: _end_and_ask(address, connection))


def test_writing_that_may_have_been_committed_is_only_repeated_if_that_is_safe(address: str) -> None:
    with closing(PostgresStore.open(address)) as store:
        for is_repeatable in (False, True):
            times: list[int] = []

            def write(connection: psycopg.Connection, times: list[int] = times) -> None:
                times.append(1)
                if len(times) == 1:
                    _end(address, connection)  # so that the commit itself finds nobody

            if is_repeatable:
                store._database.write(write, is_repeatable=True)
                assert len(times) == 2
            else:
                with pytest.raises(StoreError, match="may or may not have succeeded"):
                    store._database.write(write)
                assert len(times) == 1


def test_batches_are_applied_once_though_the_server_restarts_meanwhile(
    server: PostgresServer, address: str
) -> None:
    begun = Event()
    with closing(PostgresStore.open(address)) as store:

        def restart() -> None:
            begun.wait()
            server.restart()

        thread = Thread(target=restart)
        thread.start()
        for count in range(1, 13):
            known = store.find_known(LOCAL, make_key())
            store.apply([make_batch({"session-1.jsonl": make_lines(count)}, known=known)])
            begun.set()
        thread.join()
        after = store.find_known(LOCAL, make_key())
        assert after is not None
        assert after.revision == len(store.list_changes(LOCAL)) == 12
        assert store.list_flaws(LOCAL) == []


def test_listening_goes_on_when_the_server_restarts(server: PostgresServer, address: str) -> None:
    with closing(PostgresStore.open(address)) as store, closing(store.listen()) as listener:
        assert listener.wait(0)
        server.restart()
        while not listener.wait(1):
            pass
        keep(store, _FILES)
        assert listener.wait(60)


def test_a_server_that_is_not_there_is_told_without_a_password(tmp_path: Path) -> None:
    for address in (
        f"postgresql://ada:secret@/archive?host={tmp_path}",
        f"host={tmp_path} user=ada password=secret dbname=archive",
        "postgresql://ada:secret@[half/archive",
    ):
        with pytest.raises(StoreError) as told:
            PostgresStore.open(address)
        assert "secret" not in str(told.value)
        assert "postgresql://" in str(told.value)


def test_a_database_of_a_newer_version_is_refused_and_not_touched() -> None:
    address = make_database()
    with closing(PostgresStore.open(address)) as store:
        keep(store, _FILES)
    _execute(address, "INSERT INTO turnlog.migrations VALUES ('fly_to_the_moon', 1)")
    before = _dump(address)
    for read_only in (False, True):
        with pytest.raises(NewerStoreError, match="fly_to_the_moon"):
            PostgresStore.open(address, read_only=read_only)
    assert _dump(address) == before


def test_who_only_reads_makes_no_tables() -> None:
    server = start_server()
    address = server.address(server.create())
    with pytest.raises(StoreError, match="There is no store"):
        PostgresStore.open(address, read_only=True)
    assert _execute(address, "SELECT count(*) FROM pg_namespace WHERE nspname = 'turnlog'") == [(0,)]
    make_current(address)
    _execute(address, f"DELETE FROM turnlog.migrations WHERE name = '{MIGRATIONS[-1].__name__}'")
    with pytest.raises(OlderStoreError):
        PostgresStore.open(address, read_only=True)


def test_who_only_reads_does_not_write() -> None:
    address = make_database()
    with closing(PostgresStore.open(address)) as store:
        keep(store, _FILES)
    with closing(PostgresStore.open(address, read_only=True)) as reader:
        assert len(reader.list_lines(LOCAL, make_key(), 0)) == 4
        with pytest.raises(StoreError, match="open for reading only"):
            reader.apply([])


def test_tables_of_another_program_are_left_alone() -> None:
    server = start_server()
    address = server.address(server.create())
    _execute(address, "CREATE TABLE sessions (id text); CREATE TABLE migrations (name text)")
    _execute(address, "INSERT INTO migrations VALUES ('theirs')")
    with closing(PostgresStore.open(address)) as store:
        keep(store, _FILES)
    assert _execute(address, "SELECT count(*) FROM public.sessions") == [(0,)]


def test_tables_are_made_once_by_all_who_open_a_database_at_once() -> None:
    server = start_server()
    address = server.address(server.create())
    with ThreadPoolExecutor(4) as pool:
        for opened in [pool.submit(PostgresStore.open, address) for _ in range(4)]:
            opened.result().close()
    names = _execute(address, "SELECT name FROM turnlog.migrations ORDER BY applied_ns")
    assert [name for (name,) in names] == [migration.__name__ for migration in MIGRATIONS]


def test_a_step_that_fails_leaves_nothing() -> None:
    server = start_server()
    address = server.address(server.create())
    _execute(address, "CREATE SCHEMA turnlog; CREATE TABLE turnlog.changes (seq text)")
    with pytest.raises(StoreError, match="changes"):
        PostgresStore.open(address)
    tables = _execute(address, "SELECT count(*) FROM pg_tables WHERE schemaname = 'turnlog'")
    assert tables == [(1,)]


def test_values_that_no_column_can_hold_are_refused_and_what_is_there_stays() -> None:
    with closing(PostgresStore.open(make_database())) as store:
        keep(store, _FILES)
        before = collect_answers(store, LOCAL)
        batch = make_batch({"session-2.jsonl": make_lines(2)}, session_id="session-2", seen_ns=1 << 70)
        with pytest.raises(StoreError):
            store.apply([batch])
        assert collect_answers(store, LOCAL) == before


def test_names_that_no_column_can_hold_name_nothing() -> None:
    with closing(PostgresStore.open(make_database())) as store:
        keep(store, _FILES)
        for name in ("a\0b", "\ud83d", ""):
            assert store.find_known(LOCAL, name) is None
            assert not store.list_lines(LOCAL, name, 0)
            assert not store.archive.list_generations(LOCAL, name)
            assert not store.list_messages(LOCAL, name)
            assert not store.list_agents(LOCAL, name)
            assert store.weigh(LOCAL, [name]).sessions == store.forget(LOCAL, [name]).sessions == 0
            assert store.lift(LOCAL, [name]) == 0
            with pytest.raises(KeyError):
                store.archive.read(LOCAL, Place(name, 0, 0), 1)
            with pytest.raises(StoreError):
                store.rewrite(LOCAL, name, 1, {}, None)


def test_who_owns_a_database_needs_no_other_rights(server: PostgresServer) -> None:
    server.execute("CREATE ROLE ada LOGIN")
    name = server.create()
    server.execute(f"ALTER DATABASE {name} OWNER TO ada")
    address = server.address(name).replace("postgres@", "ada@")
    with closing(PostgresStore.open(address)) as store:
        key = keep(store, _FILES).key
        assert store.list_flaws(LOCAL) == []
        assert store.forget(LOCAL, [key]).scrubbed


def test_a_store_that_is_closed_says_so() -> None:
    store = PostgresStore.open(make_database())
    store.close()
    store.close()
    for ask in (
        lambda: store.find_last_change(LOCAL),
        lambda: store.apply([]),
        lambda: store.archive.read(LOCAL, Place("x", 0, 0), 1),
    ):
        with pytest.raises(StoreError, match="closed"):
            ask()


def test_what_waits_for_another_writer_too_long_is_told() -> None:
    address = make_database()
    first, second = Database(address), Database(address)
    for each in (first, second):
        each.open()
    try:
        with first.writing() as holding:
            holding.execute("LOCK TABLE backups")
            with pytest.raises(BusyStoreError, match="did not finish in time"):
                second.write(_lock_soon)
    finally:
        first.close()
        second.close()


def _end(address: str, connection: psycopg.Connection) -> None:
    """End the process that serves a connection, and wait until it has ended."""
    pid = connection.info.backend_pid
    with psycopg.connect(address, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 60000)", (pid,))


def _end_and_ask(address: str, connection: psycopg.Connection) -> None:
    _end(address, connection)
    connection.execute("SELECT 1")


def _lock_soon(connection: psycopg.Connection) -> None:
    connection.execute("SET LOCAL lock_timeout TO '1ms'")
    connection.execute("LOCK TABLE backups")


def _execute(address: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def _dump(address: str) -> list[tuple[object, ...]]:
    tables = _execute(address, "SELECT tablename FROM pg_tables WHERE schemaname = 'turnlog' ORDER BY 1")
    return [(table, *_execute(address, f"SELECT * FROM turnlog.{table}")) for (table,) in tables]
