"""Backups of a store on ClickHouse: one file, of one state, that takes the place of a store."""

from __future__ import annotations

import random
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from clickhouse_engine import make_address
from postgres_server import make_database
from s3_server import make_bucket
from turnlog.errors import BusyStoreError, NewerStoreError, StoreError
from turnlog.store.blobs.opening import open_blobs
from turnlog.store.clickhouse import restoring
from turnlog.store.clickhouse.backup import find_holding
from turnlog.store.clickhouse.backup_file import BackupReader, BackupWriter, Head, verify_backup
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.opening import STEPS
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.marks import MarkChange
from turnlog.store.opening import (
    check_backup,
    check_quickly,
    find_in_backup,
    measure_store,
    open_lease,
    open_store,
    restore_store,
)
from turnlog.store.people import Visibility
from turnlog.store.places import ServerPlace
from turnlog.store.postgres.wire import connect
from turnlog.testing.answers import collect_answers
from turnlog.testing.builders import make_lines
from turnlog.testing.contracts.base import keep
from turnlog.testing.contracts.people import keep_of

pytestmark = pytest.mark.soak

_AGENT = "session-1/subagents/agent-a1.jsonl"
_FILES = {"session-1.jsonl": make_lines(400), _AGENT: make_lines(2, agent_id="a1")}


@pytest.fixture
def place(tmp_path: Path) -> ServerPlace:
    return ServerPlace(make_address(), tmp_path / "home", str(tmp_path / "home" / "control.db"))


@contextmanager
def opened(place: ServerPlace) -> Iterator[ClickHouseStore]:
    place.home.mkdir(exist_ok=True)
    with closing(open_store(place)) as store:
        assert isinstance(store, ClickHouseStore)
        yield store


def test_what_is_restored_is_what_there_was(place: ServerPlace, tmp_path: Path) -> None:
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        key = _fill(store)
        before = collect_answers(store, LOCAL)
        told: list[tuple[int, int]] = []
        backup = store.back_up(file, on_progress=lambda done, size: told.append((done, size)))
        assert backup.size == file.stat().st_size
        assert told[-1][0] == told[-1][1] > 0
        epoch = store.find_epoch()
        keep(store, {"session-1.jsonl": make_lines(500)})
        keep(store, {"late.jsonl": make_lines(3)}, session_id="late")
    check_backup(place, file)
    restored = restore_store(place, file)
    assert restored.forgotten == 0
    with opened(place) as store:
        after = collect_answers(store, LOCAL)
        assert {name for name in before if before[name] != after[name]} == set()
        assert b"".join(store.archive.read_all(LOCAL, key, 0)) == make_lines(400)
        assert store.list_flaws(LOCAL) == []
        assert store.find_epoch() != epoch
        assert [each.path for each in store.list_backups()] == [str(file)]
        keep(store, {**_FILES, "session-1.jsonl": make_lines(410)})
        assert len(store.list_lines(LOCAL, key, 0)) == 410
        assert store.list_flaws(LOCAL) == []
    assert restored.kept is not None
    with closing(Engine(place.address, database=restored.kept)) as former:
        assert {each for (each,) in former.query("SELECT session_id FROM sessions FINAL")} == {
            b"session-1", b"late",
        }  # fmt: skip


def test_what_was_forgotten_since_is_forgotten_and_what_became_private_stays_so(
    place: ServerPlace, tmp_path: Path
) -> None:
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        gone, shared, kept = (keep_of(store, "ada", name) for name in ("gone", "shared", "kept"))
        store.set_visibility(LOCAL, [shared], Visibility.TEAM)
        store.back_up(file)
        store.forget(LOCAL, [gone])
        store.set_visibility(LOCAL, [shared], Visibility.PRIVATE)
        store.assign_machine(LOCAL, "machine-of-ada", "eve")
    assert restore_store(place, file).forgotten == 1
    with opened(place) as store:
        assert {each.key for each in store.list_known(LOCAL)} == {shared, kept}
        assert [each.key for each in store.list_tombstones(LOCAL)] == [gone]
        access = store.find_access(LOCAL, shared)
        assert access is not None
        assert (access.visibility, access.person) == (Visibility.PRIVATE, "eve")


def test_a_copy_is_of_one_state_while_others_write(place: ServerPlace, tmp_path: Path) -> None:
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        keep(store, {"s0.jsonl": make_lines(3)}, session_id="s0")
        stop = threading.Event()

        def write() -> None:
            for number in range(1, 200):
                if stop.is_set():
                    return
                keep(store, {f"s{number}.jsonl": make_lines(3)}, session_id=f"s{number}")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            store.back_up(file)
        finally:
            stop.set()
            writer.join()
    restore_store(place, file)
    with opened(place) as store:
        known = list(store.list_known(LOCAL))
        assert known
        for each in known:
            [source] = each.sources
            assert b"".join(store.archive.read_all(LOCAL, source.source, 0)) == make_lines(3)
            assert len(store.list_messages(LOCAL, each.key)) == 3
        assert store.list_flaws(LOCAL) == []


def test_a_damaged_copy_is_refused_and_nothing_is_changed(place: ServerPlace, tmp_path: Path) -> None:
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        _fill(store)
        store.back_up(file)
        before = collect_answers(store, LOCAL)
    data = file.read_bytes()
    at = data.index(b"tables/rows/") + 512 + 20  # behind the name of a member, which fills a block
    for damaged in (
        data[: len(data) // 2],
        data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],
        b"",
        b"something else" * 1000,
    ):
        file.write_bytes(damaged)
        with pytest.raises(StoreError):
            check_backup(place, file)
        with pytest.raises(StoreError):
            restore_store(place, file)
    with opened(place) as store:
        assert collect_answers(store, LOCAL) == before


def test_a_copy_of_a_newer_version_is_refused(
    place: ServerPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        store.back_up(file)
    monkeypatch.setattr(restoring, "STEPS", STEPS[:1])
    with pytest.raises(NewerStoreError, match="create_clickhouse_tables"):
        check_backup(place, file)


def test_a_restoring_that_fails_leaves_the_store_as_it_was(
    place: ServerPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        _fill(store)
        store.back_up(file)
        keep(store, {"late.jsonl": make_lines(3)}, session_id="late")
        before = collect_answers(store, LOCAL)

    def fail(*_: object) -> int:
        raise RuntimeError("no power")

    monkeypatch.setattr(restoring, "carry_over", fail)
    with pytest.raises(RuntimeError):
        restore_store(place, file)
    with opened(place) as store:
        assert collect_answers(store, LOCAL) == before
        keep(store, {"later.jsonl": make_lines(3)}, session_id="later")
        assert store.list_flaws(LOCAL) == []
    with closing(Engine(place.address)) as engine:
        [(here,)] = engine.query("SELECT currentDatabase()")
        query = "SELECT name FROM system.databases WHERE startsWith(name, {name:String})"
        assert engine.query(query, {"name": here}) == [(here,)]
    assert sorted(path.name for path in place.home.iterdir() if "control" not in path.name) == ["blobs"]


def test_a_store_in_use_is_not_replaced(place: ServerPlace, tmp_path: Path) -> None:
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        store.back_up(file)
    with open_lease(place, "here") as lease:
        assert lease.take()
        with pytest.raises(BusyStoreError, match="in use"):
            restore_store(place, file)


def test_a_store_whose_control_database_is_lost_is_restored(place: ServerPlace, tmp_path: Path) -> None:
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        key = _fill(store)
        store.back_up(file)
    (place.home / "control.db").unlink()
    with pytest.raises(StoreError, match="another control database"):
        open_store(place)
    assert restore_store(place, file).kept is not None
    with opened(place) as store:
        assert [each.key for each in store.list_known(LOCAL)] == [key]
        assert store.list_flaws(LOCAL) == []


def test_a_copy_is_restored_where_nothing_is(place: ServerPlace, tmp_path: Path) -> None:
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        _fill(store)
        store.back_up(file)
        before = collect_answers(store, LOCAL)
    other = ServerPlace(make_address(), tmp_path / "other")
    other.home.mkdir()
    assert restore_store(other, file).kept is None
    with opened(other) as store:
        assert collect_answers(store, LOCAL) == before


def test_a_control_database_on_a_server_is_restored_and_kept_beside(tmp_path: Path) -> None:
    address = make_database()
    place = ServerPlace(make_address(), tmp_path / "home", control=address)
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        key = _fill(store)
        gone = keep(store, {"gone.jsonl": make_lines(3)}, session_id="gone").key
        store.back_up(file)
        store.forget(LOCAL, [gone])
        store.mark(LOCAL, [key], MarkChange(name="named anew"))
    assert restore_store(place, file).forgotten == 1
    with opened(place) as store:
        assert [each.key for each in store.list_known(LOCAL)] == [key]
        [marked] = store.undo_mark(LOCAL)
        assert (marked.before.name, marked.after.name) == ("named", None)
        assert store.mark(LOCAL, [key], MarkChange(name="again"))
        assert store.list_flaws(LOCAL) == []
    with closing(connect(address)) as connection:
        query = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'turnlog_control%' ORDER BY nspname"
        names = [name for (name,) in connection.execute(query)]
    assert len(names) == 2
    assert names[1].startswith("turnlog_control_before_restore_")


def test_bytes_in_a_bucket_are_copied_and_put_back(tmp_path: Path) -> None:
    place = ServerPlace(make_address(), tmp_path / "home", blobs=make_bucket())
    file = tmp_path / "copy.tar"
    with opened(place) as store:
        key = _fill(store)
        store.back_up(file)
        keep(store, {"session-1.jsonl": make_lines(500)})
    with closing(open_blobs(place.bytes_address)) as blobs:
        blobs.delete([next(name for name, _ in blobs.list_under())])
    restore_store(place, file)
    with opened(place) as store:
        assert b"".join(store.archive.read_all(LOCAL, key, 0)) == make_lines(400)
        keep(store, {**_FILES, "session-1.jsonl": make_lines(410)})
        assert b"".join(store.archive.read_all(LOCAL, key, 0)) == make_lines(410)


def test_large_things_are_copied_in_little_memory(tmp_path: Path) -> None:
    size, piece = 64 << 20, random.Random(5).randbytes(1 << 20)
    tracemalloc.start()
    try:
        with (tmp_path / "copy.tar").open("wb") as file:
            writer = BackupWriter(file, Head(0, []))
            writer.add_stream("tables/rows", (piece for _ in range(size // len(piece))))
            writer.add_blob("a/b/1", size, lambda start, length: bytes(min(length, size - start)))
            writer.close()
        assert verify_backup(tmp_path / "copy.tar") == Head(0, [])
        [(name, read)] = (
            (name, sum(map(len, pieces)))
            for name, pieces in BackupReader(tmp_path / "copy.tar").read_streams("tables/")
        )
        assert (name, read) == ("rows", size)
        assert tracemalloc.get_traced_memory()[1] < size // 2
    finally:
        tracemalloc.stop()


def test_copies_are_not_overwritten_and_tell_what_they_have(place: ServerPlace, tmp_path: Path) -> None:
    file = tmp_path / "copy.tar"
    file.write_bytes(b"mine")
    with opened(place) as store:
        with pytest.raises(StoreError, match="there already"):
            store.back_up(file)
        assert file.read_bytes() == b"mine"
        key = _fill(store)
        store.back_up(file, force=True)
        assert find_holding(file, LOCAL, [key, "another"]) == {key}
        assert find_holding(file, Scope("somebody"), [key]) == set()
        [backup] = store.list_backups()
        assert find_in_backup(backup, LOCAL, [key, "another"]) == {key}
        with pytest.raises(StoreError, match="cannot be written"):
            store.back_up(tmp_path / "nowhere" / "copy.tar")
        assert store.scrub()
    assert check_quickly(place) == []
    assert measure_store(place) > 0


def _fill(store: ClickHouseStore) -> str:
    key = keep(store, _FILES).key
    store.mark(LOCAL, [key], MarkChange(name="named", tags=("one",)))
    told = HookDelivery(delivery_id="d", received_ns=5, payload=b'{"message":"said"}', session_id="session-1")
    store.add_deliveries(LOCAL, [told])
    return key
