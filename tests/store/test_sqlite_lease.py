from __future__ import annotations

import os
import signal
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from turnlog.errors import StoreError
from turnlog.store.catalogue.feed import Lease
from turnlog.store.catalogue.sqlite_engine import SqliteEngine
from turnlog.store.catalogue.store import CatalogueStore

SPAWN = get_context("spawn")


def open_lease(path: Path, name: str = "writer", *, seconds: float = 30.0) -> Lease:
    return SqliteEngine(path).open_lease(name, seconds)


def hold(path: Path, pipe: Connection) -> None:
    """Take the lease, say so, and keep it until told to let go."""
    with open_lease(path) as lease:
        pipe.send(lease.take(5))
        pipe.recv()


def race(path: Path, pipe: Connection) -> None:
    """Take the lease many times, and write down who was inside at the same time."""
    inside = path.with_name("inside")
    clashes = 0
    with open_lease(path) as lease:
        pipe.recv()
        for _ in range(6):
            assert lease.take(30)
            try:
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                clashes += 1
            inside.unlink(missing_ok=True)
            lease.release()
    pipe.send(clashes)


def test_only_one_can_have_it(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    with open_lease(path) as one, open_lease(path) as two:
        assert one.find_holder() is None
        assert one.take()
        assert not two.take()
        assert two.find_holder() == one.holder
        one.release()
        assert two.take()
        assert one.find_holder() == two.holder
    with open_lease(path) as three:
        assert three.find_holder() is None, "closing lets go of it"


def test_leases_of_other_names_are_apart(tmp_path: Path) -> None:
    with open_lease(tmp_path / "x.db", "writer") as one, open_lease(tmp_path / "x.db", "other") as two:
        assert one.take()
        assert two.take()


def test_waiting_ends_when_it_is_let_go_of_or_time_is_up(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    with open_lease(path, seconds=0.3) as one, open_lease(path) as two:
        assert one.take()
        started = time.monotonic()
        assert not two.take(0.1)
        assert 0.1 <= time.monotonic() - started < 0.3
        assert two.take(5), "the first one expires"


def test_what_is_renewed_does_not_expire(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    with open_lease(path, seconds=0.4) as one, open_lease(path) as two:
        assert one.take()
        for _ in range(4):
            time.sleep(0.15)
            assert one.renew()
            assert not two.take()


def test_who_lost_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    with open_lease(path, seconds=0.01) as one, open_lease(path) as two:
        assert not one.renew(), "it was never taken"
        assert one.take()
        time.sleep(0.02)
        assert two.take()
        assert not one.renew()
        one.release()
        assert two.find_holder() == two.holder, "only one's own can be let go of"


def test_a_dead_holder_is_followed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=hold, args=(path, theirs))
    process.start()
    theirs.close()
    assert ours.recv()
    with open_lease(path) as lease:
        assert not lease.take()
        assert lease.find_holder() is not None
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        assert lease.find_holder() is None
        assert lease.take()


def test_a_holder_on_another_machine_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    with open_lease(path) as one, open_lease(path) as two:
        one.holder = "another-machine/999999999/abc"
        assert one.take()
        assert not two.take()


def test_processes_that_race_are_never_inside_together(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    pipes = [SPAWN.Pipe() for _ in range(3)]
    processes = [SPAWN.Process(target=race, args=(path, theirs)) for _, theirs in pipes]
    for process in processes:
        process.start()
    for ours, theirs in pipes:
        theirs.close()
        ours.send("go")
    assert [ours.recv() for ours, _ in pipes] == [0, 0, 0]
    for process in processes:
        process.join()


def test_a_lease_does_not_count_as_a_write_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "turnlog.db"
    store = CatalogueStore(SqliteEngine(path))
    before = store.writes
    with open_lease(path) as lease:
        assert lease.take()
        assert lease.renew()
    assert store.writes == before
    store.close()


def test_a_closed_lease_cannot_be_used(tmp_path: Path) -> None:
    lease = open_lease(tmp_path / "turnlog.db")
    lease.close()
    lease.close()
    with pytest.raises(StoreError, match="closed"):
        lease.take()
