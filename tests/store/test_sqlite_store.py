"""What is particular to the embedded store: files, processes, full disks, damage, how much is written."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest
from msgspec.structs import replace

from turnlog.errors import ArchiveError, BusyStoreError, StoreError
from turnlog.store.batch import SessionBatch
from turnlog.store.catalogue.sqlite import Options, break_off, open_to_read, translating
from turnlog.store.catalogue.sqlite_engine import SqliteEngine
from turnlog.store.catalogue.store import CatalogueStore
from turnlog.store.frames import FRAME_SIZE
from turnlog.store.interface import find_known, find_sessions
from turnlog.store.model import LOCAL, Place, Scope
from turnlog.testing.builders import make_batch, make_line, make_lines, make_session_row
from turnlog.testing.checks import (
    expect_derived,
    get_derived,
    read_bytes,
    read_records,
    replace_records,
    unpack_files,
)

SPAWN = get_context("spawn")
NAME = "session-1.jsonl"


def read_session(store: CatalogueStore, key: str) -> None:
    """Read calls, turns and agents of a session."""
    with store.open_session(LOCAL, key) as session:
        list(session.list_calls())
        session.list_turns()
        session.list_agents()


QUERIES: dict[str, Callable[[CatalogueStore, str], object]] = {
    "open_session": read_session,
    "find_known": lambda store, key: find_known(store, LOCAL, key),
    "find_sessions": lambda store, key: find_sessions(store, LOCAL, key),
    "list_sessions": lambda store, key: store.list_sessions(LOCAL),
    "read_feed": lambda store, key: store.read_feed(LOCAL, 0),
    "list_cells": lambda store, key: store.read_usage(LOCAL).list_cells(),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "turnlog.db"


@pytest.fixture
def store(path: Path) -> Iterator[CatalogueStore]:
    store = open_file(path)
    yield store
    store.close()


def open_file(path: Path, *, read_only: bool = False, options: Options | None = None) -> CatalogueStore:
    return CatalogueStore(SqliteEngine(path, read_only=read_only, options=options))


def keep(store: CatalogueStore, data: bytes, session_id: str = "session-1") -> SessionBatch:
    files = {f"{session_id}.jsonl": data}
    batch = make_batch(files, session_id=session_id)
    batch = make_batch(files, session_id=session_id, known=find_known(store, LOCAL, batch.key))
    store.apply([batch])
    return batch


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(path))
    rows = [*connection.execute(query)]
    connection.close()
    return rows


def make_noise(size: int, seed: int = 1) -> bytes:
    """Return lines that do not compress."""
    chance = random.Random(seed)
    return b"".join(b'{"n":"%s"}\n' % chance.randbytes(500).hex().encode() for _ in range(size // 1000))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_everything_is_the_owners_alone(store: CatalogueStore, path: Path) -> None:
    keep(store, make_lines(3))
    assert mode(path.parent) == 0o700
    assert {file.name: mode(file) for file in path.parent.iterdir()} == {
        "turnlog.db": 0o600,
        "turnlog.db-shm": 0o600,
        "turnlog.db-wal": 0o600,
    }


def test_a_file_that_others_could_read_is_closed_to_them(path: Path) -> None:
    open_file(path).close()
    path.chmod(0o644)
    open_file(path).close()
    assert mode(path) == 0o600


def test_a_folder_that_was_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    open_file(tmp_path / "turnlog.db").close()
    assert mode(tmp_path) == 0o755


def test_settings_are_what_they_should_be(store: CatalogueStore, path: Path) -> None:
    assert ask(path, "PRAGMA journal_mode") == [("wal",)]
    assert ask(path, "PRAGMA page_size") == [(4096,)]
    assert ask(path, "PRAGMA application_id") == [(0x7475726E,)]


def test_a_missing_store_is_not_made_by_a_reader(path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store"):
        open_file(path, read_only=True)
    assert not path.parent.exists()


def test_a_reader_cannot_write(store: CatalogueStore, path: Path) -> None:
    reader = open_file(path, read_only=True)
    with pytest.raises(StoreError, match="reading only"):
        keep(reader, make_lines(1))
    assert reader.writes == 0
    reader.close()


def test_a_reader_sees_what_was_written_after_it_was_opened(store: CatalogueStore, path: Path) -> None:
    reader = open_file(path, read_only=True)
    assert reader.list_sessions(LOCAL).sessions == ()
    batch = keep(store, make_lines(3))
    assert [session.key for session in reader.list_sessions(LOCAL).sessions] == [batch.key]
    assert len(read_records(reader, batch.key).messages) == 3
    reader.close()


def test_a_closed_store_says_so(path: Path) -> None:
    store = open_file(path)
    store.list_sessions(LOCAL)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.list_sessions(LOCAL)
    with pytest.raises(StoreError, match="closed"):
        store.apply([])


def use_without_rights(path: Path, pipe: Connection) -> None:
    """Say what becomes of opening a store, as somebody who may not write there."""
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        open_file(path)
    except StoreError as error:
        pipe.send(str(error))
    reader = open_file(path, read_only=True)
    pipe.send(len(reader.list_sessions(LOCAL).sessions))
    reader.close()


def test_what_is_asked_while_a_store_is_closed_is_broken_off(store: CatalogueStore, path: Path) -> None:
    connection = open_to_read(path, Options())
    begun = threading.Event()
    failures: list[str] = []

    def ask() -> None:
        connection.create_scalar_function("begin", lambda *_: begun.set(), 0)
        endless = "WITH RECURSIVE n(i) AS (SELECT begin() UNION ALL SELECT i FROM n) SELECT count(*) FROM n"
        try:
            with translating(path):
                connection.execute(endless).fetchall()
        except StoreError as error:
            failures.append(str(error))

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(30)
    break_off(connection, 30)
    asking.join(30)
    assert not asking.is_alive()
    [failure] = failures
    assert "was closed in the meantime" in failure


@pytest.mark.skipif(os.name != "posix", reason="permissions are others there")
def test_a_folder_that_may_not_be_written_can_still_be_read() -> None:
    with TemporaryDirectory() as folder:  # that of pytest is closed to other users
        path = Path(folder) / "turnlog.db"
        store = open_file(path)
        keep(store, make_lines(3))
        store.close()
        path.chmod(0o444)
        path.parent.chmod(0o555)
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=use_without_rights, args=(path, theirs))
        process.start()
        theirs.close()
        assert "turnlog.db cannot be used: " in ours.recv()
        assert ours.recv() == 1
        process.join()
        path.parent.chmod(0o700)


def test_a_file_where_the_folder_should_be_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be used"):
        open_file(tmp_path / "data" / "turnlog.db")


def test_what_is_no_database_is_refused_unharmed(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is a letter " * 1000)
    for read_only in (False, True):
        with pytest.raises(StoreError, match="not a database"):
            open_file(path, read_only=read_only)
    assert path.read_bytes() == b"this is a letter " * 1000


def test_a_database_of_another_program_is_refused_unharmed(path: Path) -> None:
    path.parent.mkdir()
    ask(path, "CREATE TABLE recipes (name)")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match="another program"):
            open_file(path, read_only=read_only)
    assert path.read_bytes() == before


def test_a_damaged_database_is_a_clear_error(path: Path) -> None:
    store = open_file(path)
    keep(store, make_lines(200))
    store.close()
    data = bytearray(path.read_bytes())
    for place in range(3 * 8192, len(data), 4096):
        data[place : place + 200] = b"\xff" * 200
    path.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged"), closing(open_file(path)) as damaged:
        keep(damaged, make_lines(300))


@pytest.mark.parametrize(
    ("damage", "query"),
    [
        ("segment_data SET packed = x'00'", "open_session"),
        ("segment_data SET packed = CAST(substr(packed, 1, 40) AS BLOB)", "open_session"),
        ("segments SET patch = 'text'", "open_session"),
        ("outlines SET data = x'c1'", "open_session"),
        ("summaries SET data = x'00'", "find_sessions"),
        ("sessions SET title = x'ff'", "list_sessions"),
        ("sessions SET title = 7", "list_sessions"),
        ("sessions SET key = CAST(x'ff' AS TEXT)", "list_sessions"),
        ("sessions SET project_folder = x'ff'", "find_known"),
        ("generations SET checkpoint = x'ff'", "find_known"),
        ("sources SET kind = 'nonsense'", "find_known"),
        ("changes SET kind = 'nonsense'", "read_feed"),
        ("usage_groups SET model = x'ff'", "list_cells"),
    ],
)
def test_a_damaged_cell_is_a_clear_error(store: CatalogueStore, path: Path, damage: str, query: str) -> None:
    batch = keep(store, make_lines(3))
    ask(path, f"UPDATE {damage}")
    with (
        closing(open_file(path, read_only=True)) as damaged,
        pytest.raises(StoreError, match=r"damaged|missing"),
    ):
        QUERIES[query](damaged, batch.key)


def test_a_number_that_is_too_large_is_a_clear_error(store: CatalogueStore) -> None:
    batch = make_batch({NAME: make_lines(1)})
    for large in (2**63, 2**70):
        derived = replace(get_derived(batch), session=make_session_row(first_time=large))
        with pytest.raises(StoreError, match="cannot hold such a value"):
            store.apply([replace(batch, derived=derived)])
    store.apply([batch])


def test_a_damaged_frame_is_named_and_the_rest_stays_readable(store: CatalogueStore, path: Path) -> None:
    data = make_noise(4 * FRAME_SIZE)
    batch = keep(store, data)
    other = keep(store, make_lines(3), "session-2")
    starts = [start for (start,) in ask(path, "SELECT start FROM frames ORDER BY start")]
    assert len(starts) >= 3
    damaged = int(str(starts[1]))
    ask(
        path,
        f"UPDATE frames SET data = zeroblob(length(data)) WHERE start = {damaged}",
    )
    fresh = open_file(path, read_only=True)
    with pytest.raises(ArchiveError) as caught:
        fresh.archive.read(LOCAL, Place(batch.key, 0, damaged + 5), 10)
    assert (caught.value.source, caught.value.generation, caught.value.offset) == (batch.key, 0, damaged)
    assert f"byte {damaged} of {batch.key}" in str(caught.value)
    assert fresh.archive.read(LOCAL, Place(batch.key, 0, 0), damaged) == data[:damaged]
    behind = int(str(starts[2]))
    assert fresh.archive.read(LOCAL, Place(batch.key, 0, behind), len(data) - behind) == data[behind:]
    assert read_bytes(fresh, LOCAL, other.key, 0) == make_lines(3)
    fresh.close()


@pytest.mark.parametrize(
    ("kept", "damage"), [(1, "tail_frames SET data = x'00'"), (2, "generations SET tail = x'00'")]
)
def test_a_file_grows_behind_a_damaged_tail(store: CatalogueStore, path: Path, kept: int, damage: str) -> None:
    noise = make_noise(2 * FRAME_SIZE)
    pieces = [noise[:1002], noise[1002:2004], noise[2004:]]
    for count in range(1, kept + 1):
        batch = keep(store, b"".join(pieces[:count]))
    ask(path, f"UPDATE {damage}")
    for count in range(kept + 1, 4):
        keep(store, b"".join(pieces[:count]))
    damaged = len(b"".join(pieces[: kept - 1]))
    with pytest.raises(ArchiveError):
        store.archive.read(LOCAL, Place(batch.key, 0, damaged), 10)
    assert store.archive.read(LOCAL, Place(batch.key, 0, 0), damaged) == noise[:damaged]
    rest = b"".join(pieces[kept:])
    assert store.archive.read(LOCAL, Place(batch.key, 0, len(noise) - len(rest)), len(rest)) == rest


def test_a_frame_that_is_used_again_is_not_outdated(store: CatalogueStore, path: Path) -> None:
    batch = keep(store, make_lines(3))
    start = Place(batch.key, 0, 0)
    for _ in range(2):
        assert store.archive.read(LOCAL, start, 40) == make_lines(3)[:40]
    longer = make_lines(9)
    keep(store, longer)
    assert store.archive.read(LOCAL, start, len(longer)) == longer
    for at, length in ((start, len(longer) + 1), (Place(batch.key, 0, 5), -1), (Place(batch.key, 1, 0), 1)):
        with pytest.raises(KeyError):
            store.archive.read(LOCAL, at, length)
    with pytest.raises(KeyError):
        store.archive.read(Scope("guest"), start, 1)
    ask(path, "UPDATE sources SET owner = 'guest'")
    with pytest.raises(KeyError):
        store.archive.read(LOCAL, start, 1)


def test_a_missing_frame_is_named(store: CatalogueStore, path: Path) -> None:
    batch = keep(store, make_noise(3 * FRAME_SIZE))
    ask(path, "DELETE FROM frames WHERE start > 0")
    with pytest.raises(ArchiveError, match="missing"):
        read_bytes(store, LOCAL, batch.key, 0)


def test_a_full_disk_loses_nothing_and_the_store_goes_on(path: Path) -> None:
    store = open_file(path, options=Options(max_pages=100))
    kept = keep(store, make_lines(3))
    for _ in range(2):
        with pytest.raises(StoreError, match="disk is full"):
            keep(store, make_noise(3 << 20), "session-2")
        assert [session.key for session in store.list_sessions(LOCAL).sessions] == [kept.key]
        assert read_bytes(store, LOCAL, kept.key, 0) == make_lines(3)
    keep(store, make_lines(4))
    assert read_bytes(store, LOCAL, kept.key, 0) == make_lines(4)
    store.close()
    roomy = open_file(path)
    keep(roomy, make_noise(3 << 20), "session-2")
    assert len(roomy.list_sessions(LOCAL).sessions) == 2
    roomy.close()
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_writer_that_takes_too_long_is_named(store: CatalogueStore, path: Path) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    hasty = open_file(path, options=Options(busy_seconds=0.05))
    with pytest.raises(BusyStoreError, match="another process"):
        keep(hasty, make_lines(1))
    other.execute("ROLLBACK")
    keep(hasty, make_lines(1))
    hasty.close()
    other.close()


def test_words_of_a_batch_that_was_refused_are_not_remembered(store: CatalogueStore, path: Path) -> None:
    batch = make_batch({NAME: make_lines(2)})
    records = unpack_files(get_derived(batch))[batch.key]
    [seen] = records.sightings
    seen = replace(seen, model="a new model")
    derived = replace_records(get_derived(batch), {batch.key: replace(records, sightings=(seen,))})
    good = replace(batch, derived=derived)
    [source] = batch.sources
    other = make_batch({"session-2.jsonl": make_lines(2)}, session_id="session-2")
    with pytest.raises(StoreError):
        store.apply([good, replace(other, sources=(replace(source, source="other", generation=3),))])
    store.apply([good])
    assert [cell.model for cell in store.read_usage(LOCAL).list_cells()] == ["a new model"]
    with closing(open_file(path, read_only=True)) as reader:
        assert [cell.model for cell in reader.read_usage(LOCAL).list_cells()] == ["a new model"]


def test_threads_read_beside_a_writer(store: CatalogueStore) -> None:
    batch = keep(store, make_lines(2))
    done = threading.Event()
    failures: list[object] = []

    def look() -> None:
        while not done.is_set():
            known = find_known(store, LOCAL, batch.key)
            source = known.sources[0] if known else None
            data = read_bytes(store, LOCAL, batch.key, 0)
            if source is None or data is None or make_lines(60)[: len(data)] != data:
                failures.append(data)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for count in range(3, 60):
        keep(store, make_lines(count))
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_live_file_takes_hardly_more_room_than_one_that_came_whole(tmp_path: Path) -> None:
    lines = [make_line(number, text=f"{number * 7919} is a number, and {number} too") for number in range(600)]
    live, whole = open_file(tmp_path / "live.db"), open_file(tmp_path / "whole.db")
    for count in range(3, len(lines) + 1, 3):
        batch = make_batch({NAME: b"".join(lines[:count])}, known=find_known(live, LOCAL, make_batch({}).key))
        live.apply([replace(batch, derived=None)])
    keep(whole, b"".join(lines))
    sizes: list[int] = []
    for store, name in ((live, "live.db"), (whole, "whole.db")):
        assert read_bytes(store, LOCAL, make_batch({}).key, 0) == b"".join(lines)
        query = """
        SELECT sum(length(data)) FROM (
            SELECT data FROM frames UNION ALL SELECT data FROM tail_frames
            UNION ALL SELECT tail FROM generations
        )
        """
        sizes.append(int(str(ask(tmp_path / name, query)[0][0])))
        store.close()
    [(frames,)] = ask(tmp_path / "live.db", "SELECT count(*) FROM tail_frames")
    assert int(str(frames)) < 12
    assert sizes[0] < sizes[1] * 1.1


@contextmanager
def tracing() -> Iterator[list[str]]:
    """List what new connections are asked."""
    queries: list[str] = []

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, lambda told: queries.append(told["sql"]))

    apsw.connection_hooks.append(watch)
    try:
        yield queries
    finally:
        apsw.connection_hooks.remove(watch)


def test_a_way_into_a_long_session_is_found_without_its_segments(store: CatalogueStore, path: Path) -> None:
    batch = keep(store, make_lines(5000))
    with tracing() as queries, closing(open_file(path, read_only=True)) as reader:
        with reader.open_session(LOCAL, batch.key) as session:
            assert session.main is not None
            assert (session.main.count_lines, session.main.count_messages) == (5000, 5000)
            assert not [query for query in queries if "packed" in query]
            assert [message.index for message in session.main.list_after(4000, 3)] == [4000, 4001, 4002]
        assert len([query for query in queries if "packed" in query]) == 1
    plan = str(ask(path, "EXPLAIN QUERY PLAN SELECT * FROM segments WHERE source = 1 ORDER BY number"))
    assert "SEARCH segments USING PRIMARY KEY (source=?)" in plan
    assert "TEMP B-TREE" not in plan


def test_a_segment_that_is_replaced_is_not_read_as_it_was(store: CatalogueStore) -> None:
    for count in (3, 5, 600, 601, 4):
        batch = keep(store, make_lines(count))
        with store.open_session(LOCAL, batch.key) as session:
            assert session.main is not None
            assert [line.number for line in session.main.list_lines()] == [*range(count)]


def test_doing_nothing_writes_nothing(store: CatalogueStore, path: Path) -> None:
    batch = keep(store, make_lines(50))
    writes, log = store.writes, path.with_name("turnlog.db-wal").stat().st_size
    store.apply([batch])
    store.apply([])
    keep(store, make_lines(50))
    assert store.writes == writes
    assert path.with_name("turnlog.db-wal").stat().st_size == log


def apply_many(path: Path, pipe: Connection) -> None:
    """Let three sessions grow, two at a time in one batch, and say after each how far they are."""
    store = open_file(path)
    count = int(pipe.recv())
    while True:
        count += 1
        batches = [grow(store, count, name) for name in ("session-1", "session-2")]
        store.apply(batches)
        pipe.send(count)


def grow(store: CatalogueStore, count: int, session_id: str) -> SessionBatch:
    files = {f"{session_id}.jsonl": make_lines(count, session_id=session_id)}
    known = find_known(store, LOCAL, make_batch({}, session_id=session_id).key)
    return make_batch(files, session_id=session_id, known=known)


def test_killed_at_any_moment_each_call_is_whole_or_absent(path: Path) -> None:
    chance = random.Random(5)
    said = 0
    for _ in range(10):
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=apply_many, args=(path, theirs))
        process.start()
        theirs.close()
        ours.send(said)
        said = ours.recv()
        time.sleep(chance.random() * 0.05)
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        while True:
            try:
                said = ours.recv()
            except (EOFError, ConnectionError):
                break
        said = check_whole(path, said)


def check_whole(path: Path, said: int) -> int:
    """Expect that both sessions are equally long, at least as long as was said, and that all of them agrees."""
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    store = open_file(path)
    counts = set()
    for session_id in ("session-1", "session-2"):
        key = make_batch({}, session_id=session_id).key
        known = find_known(store, LOCAL, key)
        assert known is not None
        count = known.sources[0].lines
        counts.add(count)
        assert read_bytes(store, LOCAL, key, 0) == make_lines(count, session_id=session_id)
        expected = make_batch(
            {f"{session_id}.jsonl": make_lines(count, session_id=session_id)}, session_id=session_id
        )
        expect_derived(store, key, get_derived(expected))
        entries = [entry for entry in store.read_feed(LOCAL, 0, limit=100_000).entries if entry.session == key]
        assert [entry.revision for entry in entries] == [*range(1, known.revision + 1)]
        assert known.revision == count
    store.close()
    [count] = counts
    assert count >= said
    return count


def write_beside(path: Path, session_id: str, pipe: Connection) -> None:
    """Let one session grow."""
    store = open_file(path)
    for count in range(1, 30):
        store.apply([grow(store, count, session_id)])
    store.close()
    pipe.send("done")


def test_two_processes_take_turns(path: Path) -> None:
    pipes = {name: SPAWN.Pipe() for name in ("session-1", "session-2")}
    processes = [
        SPAWN.Process(target=write_beside, args=(path, name, theirs)) for name, (_, theirs) in pipes.items()
    ]
    for process in processes:
        process.start()
    for ours, theirs in pipes.values():
        theirs.close()
        assert ours.recv() == "done"
    for process in processes:
        process.join()
    check_whole(path, 29)
    store = open_file(path, read_only=True)
    seqs = [entry.seq for entry in store.read_feed(LOCAL, 0).entries]
    assert seqs == [*range(1, 59)]
    store.close()


def test_a_copy_of_the_files_is_a_store(store: CatalogueStore, path: Path, tmp_path: Path) -> None:
    """A crash leaves the file with its log; both together are all that was acknowledged."""
    keep(store, make_lines(3))
    shutil.copytree(path.parent, tmp_path / "copy")
    copy = open_file(tmp_path / "copy" / path.name)
    assert len(copy.list_sessions(LOCAL).sessions) == 1
    copy.close()
