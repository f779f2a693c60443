"""Bytes beside a store on ClickHouse: few blobs, none that nobody needs, and none missed while one reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from clickhouse_engine import make_address, make_store, reopen
from s3_server import make_bucket
from turnlog.errors import ArchiveError, StoreError
from turnlog.store.blobs.folder import FolderBlobs
from turnlog.store.clickhouse.blob_upkeep import expire_blobs, hold_blobs, scrub_blobs, tidy_blobs
from turnlog.store.clickhouse.publication import Staged
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.identity import LOCAL
from turnlog.testing.answers import read_bytes
from turnlog.testing.builders import make_batch, make_line, make_lines
from turnlog.testing.contracts.base import keep

TRANSCRIPT = "session-1.jsonl"
AGENT = "session-1/subagents/agent-a1.jsonl"
LATER = time.time_ns() + 3600 * 1_000_000_000


@contextmanager
def made(folder: Path) -> Iterator[ClickHouseStore]:
    with closing(make_store(folder)) as store:
        yield store


def grow(store: ClickHouseStore, times: int, first: int = 0) -> tuple[str, bytes]:
    """Let a session grow, a line at a time; return its key and its bytes."""
    data = b"".join(make_line(number, text=f"{number} " * 2000) for number in range(first))
    for number in range(first, first + times):
        data += make_line(number, text=f"{number} " * 2000)
        batch = keep(store, {TRANSCRIPT: data})
    return batch.key, data


def list_blobs(store: ClickHouseStore) -> list[str]:
    """Return the names of all blobs of sessions."""
    return [name for name, _ in store._blobs.list_under() if not name.startswith("about/")]


def read_blobs(store: ClickHouseStore) -> list[bytes]:
    return [store._blobs.get(name, 0, 1 << 30) for name in list_blobs(store)]


def test_no_two_stores_share_a_place_for_bytes(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        [source] = keep(store, {TRANSCRIPT: make_lines(4)}).sources
    with pytest.raises(StoreError, match="those of another store"):
        ClickHouseStore.open(make_address(), control=tmp_path / "other.db", blobs=str(tmp_path / "blobs"))
    with closing(reopen(tmp_path)) as store:
        assert read_bytes(store, LOCAL, source.source, 0) == make_lines(4)


def test_a_write_adds_one_blob_to_a_session(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        keep(store, {TRANSCRIPT: make_lines(900), AGENT: make_lines(5, agent_id="a1")})
        [name] = list_blobs(store)
        keep(store, {TRANSCRIPT: make_lines(901), AGENT: make_lines(6, agent_id="a1")})
        assert len(list_blobs(store)) == 2
        keep(store, {TRANSCRIPT: make_lines(901), AGENT: make_lines(6, agent_id="a1")})
        assert len(list_blobs(store)) == 2
        assert {each.rpartition("/")[0] for each in list_blobs(store)} == {name.rpartition("/")[0]}


def test_blobs_of_former_tails_are_tidied_away(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        key, data = grow(store, 14)
        assert len(list_blobs(store)) == 14
        assert tidy_blobs(store, LATER) > 8
        left = list_blobs(store)
        assert len(left) <= 5
        assert read_bytes(store, LOCAL, key, 0) == data
        key, data = grow(store, 2, first=14)
        assert tidy_blobs(store, LATER + 1) == 0, "that was done just now"
        assert tidy_blobs(store, LATER * 2) > 0
        assert read_bytes(store, LOCAL, key, 0) == data
        assert tidy_blobs(store, LATER * 3) == 0


def test_a_blob_of_a_write_under_way_is_not_tidied_away(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        key, _ = grow(store, 3)
        [(session, born)] = store._engine.query("SELECT id, born FROM sessions FINAL")
        staged = Staged(session, born)
        with store._writing(LOCAL.owner, ["m:elsewhere"], [staged]) as write:
            name = write.put(staged, b"new")
            tidy_blobs(store, LATER)
            assert name in list_blobs(store)
        assert name not in list_blobs(store), "nothing was published"
        assert read_bytes(store, LOCAL, key, 0)


def test_nothing_is_tidied_away_while_somebody_holds_it(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        grow(store, 5)
        before = list_blobs(store)
        with hold_blobs(store._control, LATER):
            assert tidy_blobs(store, LATER) == 0
            assert list_blobs(store) == before
        assert tidy_blobs(store, LATER) > 0


def test_months_that_are_not_kept_go(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        for month in ("2025-12", "2026-01", "2026-02"):
            store._blobs.put(f"{month}/abc/1", b"x")
        assert expire_blobs(store, date(2027, 1, 1)) == 0
        store._retention_days = 30
        assert expire_blobs(store, date(2026, 1, 30)) == 0, "it may still be the day before elsewhere"
        assert expire_blobs(store, date(2026, 1, 31)) == 1
        assert list_blobs(store) == ["2026-01/abc/1", "2026-02/abc/1"]
        assert expire_blobs(store, date(2026, 3, 2)) == 0
        assert expire_blobs(store, date(2026, 3, 3)) == 1
        assert list_blobs(store) == ["2026-02/abc/1"]


class _Interrupted(FolderBlobs):
    """Blobs with which something happens just before they are first read."""

    def __init__(self, folder: Path, work: Callable[[], object]) -> None:
        super().__init__(folder)
        self.works = [work]
        self.missed = 0

    def get(self, name: str, start: int, length: int) -> bytes:
        for work in (self.works.pop() for _ in self.works[:1]):
            work()
        try:
            return super().get(name, start, length)
        except KeyError:
            self.missed += 1
            raise


def test_who_was_told_of_a_blob_before_looks_again(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        key, data = grow(store, 6)
        blobs = store._blobs

        def work() -> None:
            store._blobs = blobs
            grow(store, 5, first=6)
            assert tidy_blobs(store, LATER) > 0
            store._blobs = interrupted

        interrupted = store._blobs = _Interrupted(tmp_path / "blobs", work)
        assert read_bytes(store, LOCAL, key, 0) == data
        assert interrupted.missed > 0


def test_bytes_that_are_gone_are_told_and_can_be_put_back(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        key, data = grow(store, 12)
        store._blobs.delete(list_blobs(store))
        with pytest.raises(ArchiveError, match="bytes are missing") as raised:
            read_bytes(store, LOCAL, key, 0)
        assert (raised.value.source, raised.value.offset) == (key, 0)
        _, data = grow(store, 5, first=12)
        assert store.mend(LOCAL, key, 0, lambda start, length: data[start : start + length]) > 0
        assert read_bytes(store, LOCAL, key, 0) == data
        tidy_blobs(store, LATER)
        assert read_bytes(store, LOCAL, key, 0) == data


def test_a_file_that_moved_leaves_no_bytes_in_its_former_session(tmp_path: Path) -> None:
    agent = make_line(0, text=f"outstandingly unlikely {uuid4()}", agent_id="a1")
    with made(tmp_path) as store:
        former = keep(store, {TRANSCRIPT: make_lines(3), AGENT: agent})
        [source] = [each for each in former.sources if each.path.endswith(AGENT)]
        [frame] = source.frames
        stayed = replace(source, start=source.length, frames=(), lines=(), texts=(), texts_from=None)
        batch = make_batch({"session-2.jsonl": make_lines(2)}, session_id="session-2")
        store.apply([replace(batch, sources=(*batch.sources, stayed), derived=None)])
        assert b"".join(read_blobs(store)).count(frame.data) == 2, "a blob has all that a write added"
        with hold_blobs(store._control, LATER):
            assert not scrub_blobs(store, LATER)
        assert scrub_blobs(store, LATER)
        assert b"".join(read_blobs(store)).count(frame.data) == 1
        assert read_bytes(store, LOCAL, source.source, 0) == agent
        assert read_bytes(store, LOCAL, former.key, 0) == make_lines(3)
        store.forget(LOCAL, [batch.key])
        assert frame.data not in b"".join(read_blobs(store))
        assert read_bytes(store, LOCAL, former.key, 0) == make_lines(3)


@pytest.mark.parametrize("count", [1, 40])
def test_bytes_may_be_in_a_bucket(tmp_path: Path, count: int) -> None:
    bucket = make_bucket()
    store = ClickHouseStore.open(make_address(), control=tmp_path / "control.db", blobs=bucket)
    with closing(store):
        key, data = grow(store, 3, first=count)
        assert read_bytes(store, LOCAL, key, 0) == data
        assert tidy_blobs(store, LATER) > 0
        assert read_bytes(store, LOCAL, key, 0) == data
        assert list_blobs(store) != []
        store.forget(LOCAL, [key])
        assert list_blobs(store) == []
    assert list(tmp_path.rglob("blobs")) == []
