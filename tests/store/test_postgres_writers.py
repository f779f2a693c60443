"""Many writers at once, and readers beside them: nothing is lost, and the feed is in the order of commits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest
from msgspec.structs import replace

from postgres_server import make_database
from turnlog.errors import StoreError
from turnlog.store.batch import DerivedRows
from turnlog.store.care import Tombstone
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL
from turnlog.store.postgres.feed import lock_feed
from turnlog.store.postgres.store import PostgresStore
from turnlog.store.postgres.tombstones import bury
from turnlog.store.postgres.writing import write_batches
from turnlog.testing.answers import read_bytes
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.testing.row_builders import make_session_row

_WRITERS = 4
_ROUNDS = 6
_PROCESS = """
import sys
from turnlog.store.postgres.store import PostgresStore
from turnlog.testing.builders import make_batch, make_key, make_lines
from turnlog.store.identity import LOCAL

address, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = PostgresStore.open(address)
for count in range(1, rounds + 1):
    known = store.find_known(LOCAL, make_key(name))
    files = {f"{name}.jsonl": make_lines(count, session_id=name)}
    store.apply([make_batch(files, session_id=name, known=known)])
store.close()
"""


def test_a_reader_that_polls_sees_each_change_once_and_in_order() -> None:
    address = make_database()
    done = Event()
    seen: list[int] = []
    with closing(PostgresStore.open(address)) as reader:

        def follow() -> None:
            while True:
                is_last = done.is_set()
                found = reader.list_changes(LOCAL, after=seen[-1] if seen else 0, limit=3)
                seen.extend(entry.seq for entry in found)
                if is_last and not found:
                    return

        def write(store: PostgresStore, number: int) -> None:
            for count in range(1, _ROUNDS + 1):
                _grow(store, f"session-{number}", count)
                store.add_deliveries(LOCAL, [_deliver(number, count)])

        following = Thread(target=follow)
        following.start()
        try:
            _run_at_once(address, [partial(write, number=at) for at in range(_WRITERS)])
        finally:
            done.set()
            following.join()
        everything = [entry.seq for entry in reader.list_changes(LOCAL)]
        assert seen == everything == sorted(set(everything))
        assert len(everything) == _WRITERS * _ROUNDS * 2
        for number in range(_WRITERS):
            name = f"session-{number}"
            data = read_bytes(reader, LOCAL, make_key(name), 0)
            assert data == make_lines(_ROUNDS, session_id=name)
        assert reader.list_flaws(LOCAL) == []


def test_of_writers_of_one_session_all_but_one_are_refused() -> None:
    address = make_database()
    with closing(PostgresStore.open(address)) as store:
        _grow(store, "session-1", 1)
        known = store.find_known(LOCAL, make_key())
        refused: list[StoreError] = []

        def write(own: PostgresStore, count: int) -> None:
            try:
                own.apply([make_batch({"session-1.jsonl": make_lines(count)}, known=known)])
            except StoreError as error:
                refused.append(error)

        _run_at_once(address, [partial(write, count=at + 2) for at in range(_WRITERS)])
        assert len(refused) == _WRITERS - 1
        assert all("another writer was faster" in str(error) for error in refused)
        after = store.find_known(LOCAL, make_key())
        assert after is not None
        assert after.revision == 2
        assert store.list_flaws(LOCAL) == []


def test_writers_of_one_new_session_make_one() -> None:
    address = make_database()
    batch = make_batch({"session-1.jsonl": make_lines(4)})
    _run_at_once(address, [lambda own: own.apply([batch]) for _ in range(_WRITERS)])
    with closing(PostgresStore.open(address)) as store:
        [known] = store.list_known(LOCAL)
        assert (known.revision, len(store.list_changes(LOCAL))) == (1, 1)
        assert read_bytes(store, LOCAL, batch.key, 0) == make_lines(4)


def test_a_delivery_that_comes_to_several_at_once_is_kept_once() -> None:
    address = make_database()
    deliveries = [_deliver(number, number) for number in range(5)]
    added: list[int] = []
    _run_at_once(
        address, [lambda own: added.append(own.add_deliveries(LOCAL, deliveries)) for _ in range(_WRITERS)]
    )
    with closing(PostgresStore.open(address)) as store:
        assert sum(added) == store.count_deliveries(LOCAL) == len(store.list_changes(LOCAL)) == 5


def test_a_session_that_is_forgotten_while_others_write_it_stays_forgotten() -> None:
    address = make_database()
    with closing(PostgresStore.open(address)) as store:
        key = _grow(store, "session-1", 1)
        known = store.find_known(LOCAL, key)

        def write(own: PostgresStore, count: int) -> None:
            with suppress(StoreError):  # somebody was faster
                own.apply([make_batch({"session-1.jsonl": make_lines(count)}, known=known)])
            own.add_deliveries(LOCAL, [_deliver(1, count, "session-1")])

        works: list[_Work] = [partial(write, count=at + 2) for at in range(3)]
        _run_at_once(address, [*works, lambda own: own.forget(LOCAL, [key])])
        assert list(store.list_known(LOCAL)) == []
        assert store.count_deliveries(LOCAL, "session-1") == 0
        assert store.list_flaws(LOCAL) == []


def test_who_waits_for_another_writer_of_the_session_then_sees_what_that_one_wrote() -> None:
    address = make_database()
    with closing(PostgresStore.open(address)) as store, closing(PostgresStore.open(address)) as other:
        batch = make_batch({"session-1.jsonl": make_lines(4)})
        store.apply([batch])
        one, two = (
            replace(
                batch, sources=(), base_revision=1, derived=DerivedRows(session=make_session_row(title=title))
            )
            for title in ("one", "two")
        )
        with ThreadPoolExecutor(1) as pool:
            with store._database.writing() as connection:
                write_batches(connection, store.archive, [one])
                waiting = pool.submit(other.apply, [two])
                _wait_until_blocked(address)
            with pytest.raises(StoreError, match="another writer was faster"):
                waiting.result()
        [session] = store.list_sessions(LOCAL).sessions
        assert (session.revision, session.row.title) == (2, "one")


def test_a_delivery_to_a_session_that_is_forgotten_meanwhile_is_not_kept() -> None:
    address = make_database()
    with closing(PostgresStore.open(address)) as store, closing(PostgresStore.open(address)) as other:
        deliveries = [_deliver(1, 1, "session-1"), _deliver(2, 1, "session-2")]
        with ThreadPoolExecutor(1) as pool:
            with store._database.writing() as connection:
                lock_feed(connection)
                waiting = pool.submit(other.add_deliveries, LOCAL, deliveries)
                _wait_until_blocked(address)
                bury(connection, LOCAL, [Tombstone("key", "session-1", 1)])
            assert waiting.result() == 1
        assert store.list_deliveries(LOCAL) == deliveries[1:]


def test_processes_write_at_once(tmp_path: Path) -> None:
    address = make_database()
    programs = [
        subprocess.Popen([sys.executable, "-c", _PROCESS, address, f"session-{number}", "3"], cwd=tmp_path)
        for number in range(2)
    ]
    assert [program.wait() for program in programs] == [0, 0]
    with closing(PostgresStore.open(address)) as store:
        assert len(store.list_changes(LOCAL)) == 6
        assert [known.revision for known in store.list_known(LOCAL)] == [3, 3]


def test_listeners_are_told_of_what_others_write() -> None:
    address = make_database()
    with (
        closing(PostgresStore.open(address)) as store,
        closing(PostgresStore.open(address)) as other,
        closing(other.listen()) as listener,
    ):
        assert listener.wait(0), "what happened before may have been missed"
        assert not listener.wait(0)
        _grow(store, "session-1", 1)
        assert listener.wait(60)
        assert not listener.wait(0)
        store.apply([])
        assert not listener.wait(0)


_Work = Callable[[PostgresStore], object]


def _run_at_once(address: str, works: list[_Work]) -> None:
    """Do each in a thread of its own, through a store of its own; what goes wrong in one is raised."""
    stores = [PostgresStore.open(address) for _ in works]
    with ThreadPoolExecutor(len(works)) as pool:
        under_way = [pool.submit(work, store) for work, store in zip(works, stores, strict=True)]
    for store in stores:
        store.close()
    for each in under_way:
        each.result()


def _wait_until_blocked(address: str) -> None:
    """Wait until somebody waits for a lock in a database."""
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with psycopg.connect(address, autocommit=True) as connection:
        while not connection.execute(query).fetchall():
            pass


def _grow(store: PostgresStore, name: str, count: int) -> str:
    known = store.find_known(LOCAL, make_key(name))
    batch = make_batch({f"{name}.jsonl": make_lines(count, session_id=name)}, session_id=name, known=known)
    store.apply([batch])
    return batch.key


def _deliver(writer: int, count: int, session_id: str = "hooked") -> HookDelivery:
    return HookDelivery(
        delivery_id=f"d-{writer}-{count}",
        received_ns=1_767_312_000_000_000_000 + count,
        payload=b'{"hook_event_name":"Notification","message":"somebody waits"}',
        session_id=session_id,
        event_name="Notification",
    )
