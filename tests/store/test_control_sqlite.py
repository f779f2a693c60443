"""A control database in a file keeps to all contracts, and its locks go with the processes that have them."""

from __future__ import annotations

import os
import signal
import stat
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import apsw
import pytest

from turnlog.errors import BusyStoreError, NewerStoreError, OlderStoreError, StoreError
from turnlog.store.control.interface import Control
from turnlog.store.control.opening import open_control
from turnlog.store.places import ServerPlace
from turnlog.store.portable.database import Execute
from turnlog.testing.control_contract import ControlContract

SPAWN = get_context("spawn")


class TestContract(ControlContract):
    def open(self, tmp_path: Path) -> Control:
        return open_control(tmp_path / "control.db")


def hold(path: Path, pipe: Connection) -> None:
    """Begin a write, say so, and never end it."""
    control = open_control(path)
    with control.locked("a", ["m:1"]):
        pipe.send(control.begin("a", ["m:1"], b"staged"))
        pipe.recv()


def test_a_lock_goes_with_its_process_and_what_that_left_is_known(tmp_path: Path) -> None:
    path = tmp_path / "control.db"
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=hold, args=(path, there))
    process.start()
    write = here.recv()
    with closing(open_control(path)) as control:
        with pytest.raises(BusyStoreError), control.locked("a", ["m:2"], patience=0.05):
            pass
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with control.locked("a", ["m:1"], patience=10):
            assert [each.write for each in control.list_unfinished("a", ["m:1"])] == [write]


def test_the_files_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "control.db"
    with closing(open_control(path)) as control, control.alone("a"):
        files = list(path.parent.iterdir())
        assert {"control.db", "control.db.lock"} <= {file.name for file in files}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_names_that_lead_to_one_file_have_one_lock(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    with (
        closing(open_control(tmp_path / "folder" / "control.db")) as control,
        closing(open_control(tmp_path / "link" / "control.db")) as other,
        control.alone("a"),
        pytest.raises(BusyStoreError),
        other.alone("a", patience=0),
    ):
        pass


def test_steps_of_what_it_is_beside_are_done_once_and_again_if_they_failed(tmp_path: Path) -> None:
    done: list[str] = []

    def make_tables(execute: Execute) -> None:
        done.append("made")
        if len(done) == 1:
            raise StoreError("no")

    with pytest.raises(StoreError, match="no"):
        open_control(tmp_path / "control.db", (make_tables,))
    for _ in range(2):
        open_control(tmp_path / "control.db", (make_tables,)).close()
    assert done == ["made", "made"]


def test_what_only_reads_makes_nothing(tmp_path: Path) -> None:
    def make_tables(execute: Execute) -> None:
        raise AssertionError("nothing is to be made")

    path = tmp_path / "control.db"
    with pytest.raises(StoreError, match="no control database"):
        open_control(path, create=False)
    assert list(tmp_path.iterdir()) == []
    open_control(path).close()
    with pytest.raises(OlderStoreError, match="older"):
        open_control(path, (make_tables,), create=False)
    open_control(path, create=False).close()


def test_a_newer_one_is_refused_also_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "control.db"
    with closing(open_control(path)) as control:
        with closing(apsw.Connection(str(path))) as connection:
            connection.execute("INSERT INTO migrations (name, applied_ns) VALUES ('paint_writes', 1)")
        with pytest.raises(NewerStoreError, match="paint_writes"):
            control.begin("a", [], b"")
    for create in (True, False):
        with pytest.raises(NewerStoreError, match="paint_writes"):
            open_control(path, create=create)


def test_other_engines_cannot_keep_it(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="Expected a file or a PostgreSQL database"):
        open_control(ServerPlace("clickhouse://db/turnlog", tmp_path))
