"""Locks of the control database: who writes, and who waits."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path

from turnlog.errors import BusyStoreError, StoreError
from turnlog.store.control.interface import Control
from turnlog.store.control.lease import ControlLease, find_holder
from turnlog.store.control.machines import find_persons, list_locks
from turnlog.store.portable.database import Execute
from turnlog.testing.contracts.control_base import ControlBase, refuses

__all__ = ["ControlLockContract"]

_WRITERS = 4
_EACH = 15


def _is_free(lock: AbstractContextManager[None]) -> bool:
    """Tell whether a lock can be had at once."""
    try:
        with lock:
            return True
    except BusyStoreError:
        return False


class ControlLockContract(ControlBase):
    """Contracts of locks and leases."""

    def test_one_at_a_time_has_a_name(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control, closing(self.open(tmp_path)) as other:
            with control.locked("a", ["m:1", "p:x"]):
                for name in ("m:1", "p:x"):
                    assert not _is_free(other.locked("a", [name], patience=0))
            assert _is_free(other.locked("a", ["p:x", "m:1"], patience=0))

    def test_who_wants_to_be_alone_is(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control, closing(self.open(tmp_path)) as other:
            with control.alone("a"):
                assert not _is_free(other.locked("a", ["m:1"], patience=0))
                assert not _is_free(other.alone("a", patience=0))
            with control.locked("a", ["m:1"]):
                assert not _is_free(other.alone("a", patience=0))
            assert _is_free(other.alone("a", patience=0))

    def test_nobody_writes_while_everything_stands_still(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control, closing(self.open(tmp_path)) as other:
            with control.standstill():
                assert not _is_free(other.locked("a", ["m:1"], patience=0))
                assert not _is_free(other.alone("b", patience=0))
            for lock in (control.locked("a", ["m:1"]), control.alone("a")):
                with lock:
                    assert not _is_free(other.standstill(patience=0))
            assert _is_free(other.standstill(patience=0))

    def test_a_lock_is_let_go_when_something_fails(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control, closing(self.open(tmp_path)) as other:
            with refuses(StoreError, "no"), control.locked("a", ["m:1"]):
                raise StoreError("no")
            assert _is_free(other.alone("a", patience=0))

    def test_who_waits_gets_it_in_time_or_is_told(self, tmp_path: Path) -> None:
        with closing(self.open(tmp_path)) as control, closing(self.open(tmp_path)) as other:
            with control.locked("a", ["m:1"]), ThreadPoolExecutor(1) as pool:
                asked = time.monotonic()
                waiting = pool.submit(_is_free, other.locked("a", ["m:1"], patience=0.2))
                assert not waiting.result()
                assert time.monotonic() - asked >= 0.15
            with ThreadPoolExecutor(1) as pool:
                with control.locked("a", ["m:1"]):
                    waiting = pool.submit(_is_free, other.locked("a", ["m:1"], patience=30))
                    time.sleep(0.1)
                    assert not waiting.done()
                assert waiting.result()

    def test_threads_and_handles_come_one_behind_the_other(self, tmp_path: Path) -> None:
        inside: list[int] = []
        clashes: list[int] = []

        def work(control: Control) -> None:
            for each in range(_EACH):
                with control.locked("a", [f"m:{each % 3}", "p:x"]):
                    inside.append(each)
                    clashes.append(len(inside))
                    time.sleep(0.001)
                    inside.pop()

        with closing(self.open(tmp_path)) as control, closing(self.open(tmp_path)) as other:
            with ThreadPoolExecutor(_WRITERS) as pool:
                list(pool.map(work, [control, other] * (_WRITERS // 2)))
            assert clashes == [1] * _WRITERS * _EACH

    def test_writers_settle_one_behind_the_other(self, tmp_path: Path) -> None:
        inside: list[int] = []
        clashes: list[int] = []

        def work(writer: int) -> None:
            with closing(self.open(tmp_path)) as control:
                for each in range(_EACH):
                    with control.locked("a", [f"m:{writer}"]), control.settling("a"):
                        inside.append(each)
                        clashes.append(len(inside))
                        time.sleep(0.001)
                        inside.pop()

        with closing(self.open(tmp_path)) as control:
            with control.alone("a"), control.settling("a"):
                pass
            with ThreadPoolExecutor(_WRITERS) as pool:
                list(pool.map(work, range(_WRITERS)))
        assert clashes == [1] * _WRITERS * _EACH

    def test_locks_are_those_of_machines_and_their_persons(self, tmp_path: Path) -> None:
        def add(execute: Execute) -> None:
            query = "INSERT INTO @machines VALUES (?, ?, ?, ?, ?, 1, 1)"
            for owner, origin, person in (("a", b"one", "ada"), ("a", b"two", None), ("b", b"two", "ben")):
                execute(query, (owner, origin, person, b"", b""))

        with closing(self.open(tmp_path)) as control:
            control.write(add)
            assert list_locks(control, "a", ["two", "one", "new"]) == ["m:new", "m:one", "m:two", "p:ada"]
            assert list_locks(control, "b", ["two"]) == ["m:two", "p:ben"]
            assert list_locks(control, "b", []) == []
            assert find_persons(control, "a", ["one", "two", "new"]) == {"one": "ada", "two": None}

    def test_one_process_keeps_a_machine_up_to_date(self, tmp_path: Path) -> None:
        with ControlLease(self.open(tmp_path), "m") as one, ControlLease(self.open(tmp_path), "m") as two:
            assert one.find_holder() is None
            assert one.take()
            assert one.take()
            assert not two.take(0.1)
            assert not two.renew()
            two.release()
            assert one.renew()
            assert two.find_holder() == one.holder
            with ControlLease(self.open(tmp_path), "other") as third:
                assert third.take(), "another machine is another matter"
            one.release()
            assert two.take()
            assert not one.renew()
        with closing(self.open(tmp_path)) as control:
            assert find_holder(control, "m") is None, "closing lets go of it"

    def test_a_lease_that_nobody_renews_is_over(self, tmp_path: Path) -> None:
        short = ControlLease(self.open(tmp_path), "m", seconds=0.2)
        with short as one, ControlLease(self.open(tmp_path), "m") as two:
            assert one.take()
            assert two.take(10)
            assert not one.renew()
            assert one.find_holder() == two.holder
