"""A control database on a PostgreSQL server keeps to all contracts; others write beside each other there."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from postgres_server import start_server
from turnlog.errors import BusyStoreError, LostStoreError, NewerStoreError
from turnlog.store.control.interface import Control
from turnlog.store.control.opening import open_control
from turnlog.store.places import ServerPlace
from turnlog.testing.contracts.control_base import changes_of, make_change
from turnlog.testing.control_contract import ControlContract

_PLACES: dict[Path, ServerPlace] = {}
_KILL = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def make_place(tmp_path: Path) -> ServerPlace:
    """Return an empty database for a test."""
    if tmp_path not in _PLACES:
        server = start_server()
        _PLACES[tmp_path] = ServerPlace(server.address(server.create()), tmp_path)
    return _PLACES[tmp_path]


@pytest.fixture
def place(tmp_path: Path) -> ServerPlace:
    return make_place(tmp_path)


class TestContract(ControlContract):
    def open(self, tmp_path: Path) -> Control:
        return open_control(make_place(tmp_path))


def kill_connections(place: ServerPlace) -> None:
    with psycopg.connect(place.address, autocommit=True) as connection:
        connection.execute(_KILL)


def test_writers_of_other_names_write_beside_each_other(place: ServerPlace) -> None:
    with (
        closing(open_control(place)) as control,
        closing(open_control(place)) as other,
        control.locked("a", ["m:1"]),
        other.locked("a", ["m:2"], patience=0),
        control.locked("a", ["m:3"], patience=0),
        other.alone("b", patience=0),
    ):
        pass


def test_who_wants_to_be_alone_is_not_kept_waiting_by_those_who_come_later(place: ServerPlace) -> None:
    with closing(open_control(place)) as control, ThreadPoolExecutor(2) as pool:
        order: list[str] = []

        def be_alone() -> None:
            with control.alone("a", patience=30):
                order.append("alone")

        def come_later() -> None:
            with control.locked("a", ["m:2"], patience=30):
                order.append("later")

        with control.locked("a", ["m:1"]):
            first = pool.submit(be_alone)
            time.sleep(0.2)
            second = pool.submit(come_later)
            time.sleep(0.2)
            assert order == []
        first.result()
        second.result()
        assert order == ["alone", "later"]


def test_who_lost_the_connection_of_the_locks_is_told(place: ServerPlace) -> None:
    with closing(open_control(place)) as control, closing(open_control(place)) as other:
        with control.locked("a", ["m:1"]):
            with control.settling("a"):
                pass
            kill_connections(place)
            with other.locked("a", ["m:1"], patience=5):
                pass
            with pytest.raises(LostStoreError), control.settling("a"):
                pass
        with (
            control.locked("a", ["m:1"], patience=0),
            pytest.raises(BusyStoreError),
            other.locked("a", ["m:1"], patience=0),
        ):
            pass


def test_lost_connections_are_replaced(place: ServerPlace) -> None:
    with closing(open_control(place)) as control:
        write = control.begin("a", ["m:1"], b"")
        for step in (
            lambda: control.commit(write, b"x"),
            lambda: control.finish(write, [make_change("a", "s")]),
            lambda: control.find_last_change("a"),
            control.find_epoch,
        ):
            kill_connections(place)
            step()
        assert changes_of(control, "a") == ["s"]
        with control.locked("a", ["m:1"]):
            pass
        kill_connections(place)
        with control.locked("a", ["m:1"], patience=5), control.settling("a"):
            pass


def test_others_are_told_of_changes(place: ServerPlace) -> None:
    with closing(open_control(place)) as control, closing(open_control(place)) as other:
        listener = other.listen()
        assert listener is not None
        with closing(listener):
            assert listener.wait(5), "what happened before is unknown"
            assert not listener.wait(0.05)
            write = control.begin("a", [], b"")
            control.commit(write, b"x")
            assert not listener.wait(0.05)
            control.finish(write, [make_change("a", "s")])
            assert listener.wait(5)


def test_newer_tables_are_refused(place: ServerPlace) -> None:
    with closing(open_control(place)) as control:
        with psycopg.connect(place.address) as connection:
            connection.execute(
                "INSERT INTO turnlog_control.migrations (name, applied_ns) VALUES ('paint_writes', 1)"
            )
        with pytest.raises(NewerStoreError, match="paint_writes"):
            control.begin("a", [], b"")
    with pytest.raises(NewerStoreError, match="paint_writes"):
        open_control(place)
