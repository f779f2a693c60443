"""Deliveries lie safely in the spool, and come into the store once, whatever else lies there."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from turnlog.errors import StoreError
from turnlog.ingest.spool import LARGEST, Spool, SpoolCounts, find_time, is_delivery_id, make_delivery_id
from turnlog.ingest.spool_import import Imported, SpoolImporter, import_spool
from turnlog.store.catalogue.sqlite_engine import SqliteEngine
from turnlog.store.catalogue.store import CatalogueStore
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL, Scope
from turnlog.store.opening import open_store
from turnlog.transcripts.hooks import HookDelivery, build_delivery

NOW = 1_790_000_000_123_456_789


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MaintainedStore]:
    store = open_store(tmp_path / "turnlog.db")
    yield store
    store.close()


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


def make_payload(name: str = "Stop", session: str = "s1", **fields: object) -> bytes:
    return json.dumps({"session_id": session, "hook_event_name": name, **fields}).encode()


def put(spool: Spool, name: str | bytes, content: bytes = b"") -> Path:
    """Write a file as a hook does."""
    spool.folder.mkdir(mode=0o700, exist_ok=True)
    path = spool.folder / os.fsdecode(name)
    path.write_bytes(content or make_payload())
    return path


def list_ids(store: MaintainedStore) -> list[str]:
    return [delivery.delivery_id for delivery in store.list_deliveries(LOCAL)]


def list_aside(spool: Spool) -> list[str]:
    return sorted(os.listdir(spool.folder / "aside"))


def test_what_a_hook_wrote_is_kept_and_then_removed(spool: Spool, store: MaintainedStore) -> None:
    put(spool, f"{NOW}-a1.json", make_payload("PreToolUse", tool_name="Bash"))
    put(spool, f"{NOW + 5}-a2.json")
    assert spool.count() == SpoolCounts(2, 0)
    assert import_spool(spool, store) == Imported(added=2)
    first, second = store.list_deliveries(LOCAL)
    assert (first.delivery_id, first.received_ns, first.tool_name) == (f"{NOW}-a1", NOW, "Bash")
    assert first.payload == make_payload("PreToolUse", tool_name="Bash")
    assert second.received_ns == NOW + 5
    assert os.listdir(spool.folder) == []
    assert import_spool(spool, store) == Imported()


def test_there_may_be_no_spool_at_all(spool: Spool, store: MaintainedStore) -> None:
    assert import_spool(spool, store) == Imported()
    assert spool.count() == SpoolCounts(0, 0)


def test_a_batch_holds_many_and_is_private(spool: Spool, store: MaintainedStore) -> None:
    frames = [build_delivery(f"{NOW + number}-x", NOW + number, make_payload(n=number)) for number in range(50)]
    name = spool.write(frames)
    assert spool.folder.stat().st_mode & 0o777 == 0o700
    assert (spool.folder / name).stat().st_mode & 0o777 == 0o600
    assert spool.read(name) == Spool(spool.folder).read(name) == frames
    assert import_spool(spool, store) == Imported(added=50)
    assert [delivery.payload for delivery in store.list_deliveries(LOCAL)] == [f.payload for f in frames]


def test_the_same_delivery_by_both_ways_is_kept_once(spool: Spool, store: MaintainedStore) -> None:
    put(spool, f"{NOW}-a1.json")
    spool.write([build_delivery(f"{NOW}-a1", NOW, make_payload())])
    assert import_spool(spool, store).added == 1
    put(spool, f"{NOW}-a1.json")
    assert import_spool(spool, store).added == 0
    assert list_ids(store) == [f"{NOW}-a1"]


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\x00" * 10,
        b"[]",
        b"no json",
        make_payload()[:-1],
        b'{"hook_event_name":"Stop","session_id":"s"',
        b"\xff",
    ],
)
def test_what_is_no_delivery_is_kept_aside(spool: Spool, store: MaintainedStore, content: bytes) -> None:
    put(spool, f"{NOW}-bad.json", content)
    put(spool, f"{NOW}-good.json")
    assert import_spool(spool, store) == Imported(added=1, quarantined=1)
    assert (spool.folder / "aside" / f"{NOW}-bad.json").read_bytes() == content
    assert spool.count() == SpoolCounts(0, 1)


def test_an_empty_file_is_kept_aside(spool: Spool, store: MaintainedStore) -> None:
    put(spool, f"{NOW}-empty.json").write_bytes(b"")
    assert import_spool(spool, store) == Imported(quarantined=1)


def test_a_bad_part_of_a_batch_does_not_take_the_others_along(spool: Spool, store: MaintainedStore) -> None:
    frames = [
        build_delivery("1-a", NOW, make_payload()),
        build_delivery("1-b", NOW, b"bad"),
        build_delivery("1-c", NOW, make_payload()),
    ]
    spool.write(frames)
    assert import_spool(Spool(spool.folder), store) == Imported(added=2, quarantined=1)
    assert list_ids(store) == ["1-a", "1-c"]
    assert (spool.folder / "aside" / "1-b.json").read_bytes() == b"bad"


def test_a_damaged_batch_is_kept_aside(spool: Spool, store: MaintainedStore) -> None:
    name = spool.write([build_delivery("1-a", NOW, make_payload())])
    path = spool.folder / name
    path.write_bytes(path.read_bytes()[:-3])
    assert import_spool(Spool(spool.folder), store) == Imported(quarantined=1)


HOSTILE = [
    b"x.json",
    b"1.json",
    b"1-.json",
    b"1-..json",
    b"1- a.json",
    b"1-\xff\xfe.json",
    b"1-\n.json",
    "1-é.json".encode(),
    "١-a.json".encode(),
    b"1-a.JSON",
    b"notes.txt",
    b"1-" + b"a" * 200 + b".json",
    b"-rf.json",
    b"9" * 30 + b"-a.json",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_no_hook_gives_is_kept_aside(spool: Spool, store: MaintainedStore, name: bytes) -> None:
    put(spool, name)
    assert import_spool(spool, store) == Imported(quarantined=1)
    assert list_aside(spool) == [os.fsdecode(name)]


def test_links_and_pipes_are_not_followed(spool: Spool, store: MaintainedStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(make_payload())
    spool.folder.mkdir()
    (spool.folder / f"{NOW}-link.json").symlink_to(secret)
    os.mkfifo(spool.folder / f"{NOW}-pipe.json")
    (spool.folder / f"{NOW}-folder.json").mkdir()
    assert import_spool(spool, store) == Imported(quarantined=2)
    assert list_ids(store) == []
    assert secret.exists()


def test_what_is_too_large_is_kept_aside_unread(spool: Spool, store: MaintainedStore) -> None:
    path = put(spool, f"{NOW}-large.json")
    os.truncate(path, LARGEST + 1)
    assert import_spool(spool, store) == Imported(quarantined=1)


def test_what_is_aside_already_is_not_written_over(spool: Spool, store: MaintainedStore) -> None:
    for content in (b"one", b"two"):
        put(spool, f"{NOW}-bad.json", content)
        import_spool(spool, store)
    kept = {(spool.folder / "aside" / name).read_bytes() for name in list_aside(spool)}
    assert kept == {b"one", b"two"}


def test_what_is_being_written_is_left_alone_until_it_is_abandoned(
    spool: Spool, store: MaintainedStore
) -> None:
    path = put(spool, f".{NOW}-a.tmp", b'{"half')
    assert import_spool(spool, store) == Imported()
    assert path.exists()
    os.utime(path, (time.time() - 7200,) * 2)
    import_spool(spool, store)
    assert list_aside(spool) == [f"{NOW}-a.tmp"]
    assert spool.count() == SpoolCounts(0, 1)


class FailingStore(CatalogueStore):
    """A store that cannot be written to."""

    def add_deliveries(self, scope: Scope, deliveries: Sequence[HookDelivery]) -> int:
        raise StoreError("the disk is full")


def test_a_file_stays_until_the_store_has_it(spool: Spool, tmp_path: Path, store: MaintainedStore) -> None:
    put(spool, f"{NOW}-a.json")
    failing = FailingStore(SqliteEngine(tmp_path / "other.db"))
    with pytest.raises(StoreError, match="full"):
        import_spool(spool, failing)
    failing.close()
    assert spool.count().waiting == 1
    assert import_spool(spool, store).added == 1


def test_who_is_told_is_told_before_the_file_goes(spool: Spool, store: MaintainedStore) -> None:
    path = put(spool, f"{NOW}-a.json")
    told: list[tuple[str, bool, list[str]]] = []

    def on_imported(deliveries: Sequence[HookDelivery]) -> None:
        told.extend((delivery.delivery_id, path.exists(), list_ids(store)) for delivery in deliveries)

    import_spool(spool, store, on_imported=on_imported)
    assert told == [(f"{NOW}-a", True, [f"{NOW}-a"])]


def test_a_disk_that_is_full_is_told_and_leaves_nothing(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    spool.folder.mkdir()
    with pytest.raises(OSError, match="No space"):
        spool.write([build_delivery("1-a", 1, b"{}")])
    assert os.listdir(spool.folder) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_told(spool: Spool, store: MaintainedStore) -> None:
    put(spool, f"{NOW}-a.json")
    spool.folder.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            spool.write([build_delivery("1-a", 1, make_payload())])
        assert import_spool(spool, store) == Imported(added=1, failed=1)
        assert import_spool(spool, store) == Imported(failed=1)
    finally:
        spool.folder.chmod(0o700)


def test_files_that_cannot_be_removed_are_imported_once(
    spool: Spool, store: MaintainedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Spool, name: str) -> None:
        raise PermissionError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Spool, "remove", fail)
    for number in range(20):
        put(spool, f"{NOW + number}-a.json")
    assert import_spool(spool, store) == Imported(added=20, failed=20)
    assert import_spool(spool, store) == Imported(added=0, failed=20)


def test_several_at_once_take_each_delivery_up_once(spool: Spool, tmp_path: Path) -> None:
    count, takers = 600, 4
    for number in range(count):
        put(spool, f"{NOW + number}-a.json", make_payload(n=number))
    told: list[str] = []
    taken: list[Imported] = []

    def take() -> None:
        own = open_store(tmp_path / "turnlog.db")
        taken.append(import_spool(spool, own, on_imported=lambda new: told.extend(d.delivery_id for d in new)))
        own.close()

    open_store(tmp_path / "turnlog.db").close()
    threads = [threading.Thread(target=take) for _ in range(takers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == takers
    assert sum(each.added for each in taken) == count
    assert sum(each.failed + each.quarantined for each in taken) == 0
    assert set(told) == {f"{NOW + number}-a" for number in range(count)}
    store = open_store(tmp_path / "turnlog.db")
    assert sorted(list_ids(store)) == sorted(set(told))
    store.close()
    assert spool.count() == SpoolCounts(0, 0)


def test_memory_does_not_grow_with_the_number_of_files(
    spool: Spool, store: MaintainedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names come from a made-up folder: so many files take long to make."""
    total, left = 100_000, [100_000]

    def list_names(self: Spool) -> Iterator[str]:
        for number in range(total - left[0], total):
            yield f"{NOW + number}-abcdef.json"

    def read(self: Spool, name: str) -> list[HookDelivery]:
        left[0] -= 1
        return []

    monkeypatch.setattr(Spool, "list_names", list_names)
    monkeypatch.setattr(Spool, "read", read)
    monkeypatch.setattr(Spool, "remove", lambda self, name: None)
    tracemalloc.start()
    import_spool(spool, store)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert left == [0]
    assert peak < 4 << 20


def test_an_importer_imports_what_is_there_and_what_comes(spool: Spool, store: MaintainedStore) -> None:
    put(spool, f"{NOW}-a.json")
    taker = SpoolImporter(spool, store)
    taker.start()
    try:
        wait_for(lambda: list_ids(store) == [f"{NOW}-a"])
        put(spool, f"{NOW + 1}-b.json")  # nobody wakes it
        wait_for(lambda: len(list_ids(store)) == 2)
        wait_for(lambda: spool.count().waiting == 0)
    finally:
        taker.stop()


def test_an_importer_goes_on_after_a_failure(
    spool: Spool, store: MaintainedStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fails = [True]
    add = CatalogueStore.add_deliveries

    def add_or_fail(self: CatalogueStore, scope: Scope, deliveries: Sequence[HookDelivery]) -> int:
        if fails:
            raise StoreError("busy")
        return add(self, scope, deliveries)

    monkeypatch.setattr(CatalogueStore, "add_deliveries", add_or_fail)
    put(spool, f"{NOW}-a.json")
    taker = SpoolImporter(spool, store)
    taker.start()
    try:
        wait_for(lambda: "busy" in caplog.text)
        fails.clear()
        taker.wake()
        wait_for(lambda: list_ids(store) == [f"{NOW}-a"])
    finally:
        taker.stop()
    assert caplog.text.count("busy") == 1


def test_names_of_deliveries_tell_when_they_were_made() -> None:
    assert is_delivery_id(make_delivery_id())
    assert not is_delivery_id("../1-a")
    assert not is_delivery_id("1-a\n")
    later = NOW + 10
    assert find_time(f"{NOW}-a", later) == NOW
    assert find_time("1790000000000000000-a", later) == later
    assert find_time("5-a", later) == later
    assert find_time(f"{NOW * 5}-a", later) == later
    assert find_time("what", later) == later


def wait_for(is_so: object) -> None:
    assert callable(is_so)
    while not is_so():
        time.sleep(0.01)
