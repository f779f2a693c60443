"""An archive whose frames and segments are in blobs: what goes there, who reads it, and who may die when."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from postgres_server import make_archive, start_server
from s3_server import make_bucket
from turnlog.config import Settings
from turnlog.errors import ArchiveError, ConfigError, LostStoreError, NewerStoreError, StoreError
from turnlog.ingest.change_check import DERIVATION
from turnlog.ingest.pipeline import sync
from turnlog.ingest.verification import Subject, check_archive, verify_session
from turnlog.store.account_backups import restore_store
from turnlog.store.blobs import FolderBlobs
from turnlog.store.catalogue.blobs import BlobKeeper
from turnlog.store.catalogue.postgres import PostgresDatabase
from turnlog.store.catalogue.schema import UNSEEN, ViewerTerms, list_views
from turnlog.store.interface import MaintainedStore, Maintenance, Store
from turnlog.store.model import (
    ARCHIVE_SCHEMA,
    LOCAL,
    BlobPlace,
    Place,
    ServerPlace,
    find_place,
    name_place,
    name_source,
)
from turnlog.store.opening import check_quickly, measure_blobs, open_store
from turnlog.testing.builders import ORIGIN, make_batch, make_line
from turnlog.testing.checks import collect_answers, read_bytes
from turnlog.transcripts.segments import SEGMENT
from turnlog.transcripts.session_files import locate_path

FILE_TEXTS = {"cells", "new_cells", "text_runs", "vocabulary", "search_state"}
NEVER = 1e9
"""Hours."""
LINES = 2 * SEGMENT + 40


@pytest.fixture
def place(tmp_path: Path) -> ServerPlace:
    return ServerPlace(make_archive(), tmp_path, blobs=BlobPlace(str(tmp_path / "blobs"), 0))


@pytest.fixture
def store(place: ServerPlace) -> Iterator[MaintainedStore]:
    with closing(open_store(place)) as opened:
        yield opened


def execute(place: ServerPlace, statement: str, *values: object) -> list[tuple[Any, ...]]:
    options = f"-c search_path={ARCHIVE_SCHEMA},public"
    with psycopg.connect(place.address, autocommit=True, options=options) as driver:
        cursor = driver.execute(statement.encode(), values or None)
        return list(cursor.fetchall()) if cursor.description else []


def make_long(name: str = "session-1", seed: str = "", count: int = LINES) -> bytes:
    """Return lines of two full segments and some more, of several frames, which can hardly be compressed."""
    return b"".join(
        make_line(
            number,
            session_id=name,
            type="assistant" if number % 2 else "user",
            text=f"line {number}",
            requestId=Random(f"{seed or name} {number}").randbytes(1100).hex(),
        )
        for number in range(count)
    )


def find_file(place: ServerPlace, name: str = "session-1") -> Path:
    return place.home / "claude" / "projects" / "-p" / f"{name}.jsonl"


def key_of(place: ServerPlace, name: str = "session-1") -> str:
    return name_source(ORIGIN, str(find_file(place, name)))


def keep_long(store: Store, place: ServerPlace, name: str = "session-1", data: bytes | None = None) -> str:
    """Bring a store up to date with a file, and return the session's key."""
    path = find_file(place, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(make_long(name) if data is None else data)
    sync(store, place, locate_path(path).sessions, origin=ORIGIN, workers=0)
    return key_of(place, name)


def read_anew(place: ServerPlace, key: str) -> bytes | None:
    """Return the bytes of a session as who has just come reads them."""
    with closing(open_store(place)) as store:
        return read_bytes(store, LOCAL, key, 0)


def list_files(place: ServerPlace) -> set[str]:
    """Return the names of all blobs in the folder."""
    folder = place.home / "blobs"
    files = (path for path in folder.rglob("*") if path.is_file())
    return {f"{path.relative_to(folder).parts[0]}/{path.name}" for path in files}


def list_used(place: ServerPlace) -> set[str]:
    """Return the names that frames and segments have."""
    query = """
    SELECT data FROM frames WHERE is_blob(data) UNION SELECT packed FROM segment_data WHERE is_blob(packed)
    """
    return {name.decode() for (name,) in execute(place, query)}


def count_inside(place: ServerPlace) -> tuple[int, int]:
    """Return how many frames and full segments are in the database itself."""
    [(frames,)] = execute(place, "SELECT count(*) FROM frames WHERE NOT is_blob(data)")
    query = """
    SELECT count(*) FROM segment_data JOIN segments USING (source, number)
    WHERE lines = %s AND NOT is_blob(packed)
    """
    [(segments,)] = execute(place, query, SEGMENT)
    return frames, segments


def collect(store: MaintainedStore) -> None:
    store.maintain(Maintenance.MOVE)


def rewrite(store: MaintainedStore, key: str) -> None:
    """Write anew what follows from a session's lines: then nothing refers to its former segments any more."""
    [known] = store.list_known(LOCAL, key=key)
    derived = verify_session(store, LOCAL, known).derived
    store.rewrite(LOCAL, key, known.revision, derived, DERIVATION)


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """List what is asked of the folder."""
    asked: list[str] = []

    def get(blobs: FolderBlobs, name: str, run: Callable[..., bytes] = FolderBlobs.get) -> bytes:
        asked.append(name)
        return run(blobs, name)

    with monkeypatch.context() as patched:
        patched.setattr(FolderBlobs, "get", get)
        yield asked


# What goes where.


def test_sealed_frames_and_full_segments_are_in_blobs_and_what_grows_is_not(
    store: MaintainedStore, place: ServerPlace
) -> None:
    key = keep_long(store, place)
    assert count_inside(place) == (0, 0)
    assert list_files(place) == list_used(place)
    kinds = [name.partition("/")[0] for name in list_used(place)]
    assert kinds.count("segments") == 2
    assert kinds.count("frames") >= 2
    assert execute(place, "SELECT count(*) FROM segment_data WHERE NOT is_blob(packed)") == [(1,)]
    assert execute(place, "SELECT count(*) FROM tail_frames") == [(1,)]
    assert read_bytes(store, LOCAL, key, 0) == make_long()
    assert measure_blobs(place) == sum(path.stat().st_size for path in place.home.rglob("blobs/*/*/*"))
    assert store.list_flaws(LOCAL) == []


def test_a_bucket_has_them_as_a_folder_does(place: ServerPlace) -> None:
    place = replace(place, blobs=BlobPlace(make_bucket()))
    with closing(open_store(place)) as store:
        key = keep_long(store, place)
        assert count_inside(place) == (0, 0)
    with closing(open_store(place)) as store:
        assert read_bytes(store, LOCAL, key, 0) == make_long()
        assert [*_verify(store)] == []
        assert store.forget(LOCAL, [key]).scrubbed
        assert execute(place, "SELECT name FROM blobs") == []


def test_a_file_that_grows_line_by_line_gets_there_as_well(store: MaintainedStore, place: ServerPlace) -> None:
    data, lines = b"", make_long().splitlines(keepends=True)
    for number in range(0, LINES, 30):
        data = b"".join(lines[: number + 30])
        key = keep_long(store, place, data=data)
    assert count_inside(place) == (0, 0)
    assert len(list_used(place)) > 3
    assert read_bytes(store, LOCAL, key, 0) == data
    collect(store)
    assert list_files(place) == list_used(place)


def test_answers_are_those_of_an_archive_without_blobs(place: ServerPlace) -> None:
    batches = [
        make_batch({f"{name}.jsonl": make_long(name)}, session_id=name) for name in ("session-1", "session-2")
    ]
    found = []
    for each in (replace(place, blobs=None, address=make_archive()), place):
        with closing(open_store(each)) as store:
            store.apply(batches)
            found.append({**collect_answers(store, LOCAL), "read_feed": None})
    assert count_inside(place) == (0, 0)
    assert found[0] == found[1]


def test_a_window_that_is_cold_takes_two_requests_and_none_when_it_is_warm(
    store: MaintainedStore, place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = keep_long(store, place)
    with closing(open_store(place)) as other, counting(monkeypatch) as asked:

        def look(first: int) -> list[str]:
            asked.clear()
            with other.open_session(LOCAL, key) as session:
                [chapter] = session.chapters
                records = [*chapter.list_messages(first, 20)]
                lines = [
                    chapter.load(line // SEGMENT).lines[line % SEGMENT]
                    for each in records
                    for line in each.lines
                ]
                chapter.read_bytes([(line.offset, line.length) for line in lines])
            return [name.partition("/")[0] for name in asked]

        assert look(10) == ["segments", "frames"]
        assert look(12) == []
        assert look(LINES - 25) in ([], ["frames"])  # the last segment is in the database


def test_several_frames_are_asked_for_at_once(
    store: MaintainedStore, place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, length = keep_long(store, place), len(make_long())
    together = threading.Barrier(2, timeout=20)

    def get(blobs: FolderBlobs, name: str, run: Callable[..., bytes] = FolderBlobs.get) -> bytes:
        together.wait()
        return run(blobs, name)

    monkeypatch.setattr(FolderBlobs, "get", get)
    with closing(open_store(place)) as other:
        assert other.archive.read(LOCAL, Place(key, 0, 0), length) == make_long()


# Before there were blobs, and where there are none.


def test_what_is_older_stays_in_the_tables_until_it_is_moved(place: ServerPlace) -> None:
    with closing(open_store(replace(place, blobs=None))) as store:
        key = keep_long(store, place)
        before = collect_answers(store, LOCAL)
    with closing(open_store(place)) as store:
        assert collect_answers(store, LOCAL) == before
        keep_long(store, place, "session-2")
        frames, segments = count_inside(place)
        assert frames >= 2
        assert segments == 2
        assert [*_verify(store)] == []
        between: list[None] = []
        assert store.maintain(Maintenance.MOVE, lambda: between.append(None))
        assert between
        assert count_inside(place) == (0, 0)
        assert [*_verify(store)] == []
        after = collect_answers(store, LOCAL, store.list_known(LOCAL, key=key))
        assert {name: after[name] for name in _OF_SESSION} == {name: before[name] for name in _OF_SESSION}


_OF_SESSION = ("open_session", "list_generations", "read_all")


def test_whoever_does_not_say_where_blobs_are_is_refused(place: ServerPlace) -> None:
    bare = replace(place, blobs=None)
    with closing(open_store(bare)) as running, closing(open_store(place)) as store:
        key = keep_long(store, place)
        with pytest.raises(StoreError, match="TURNLOG_BLOBS must say where"):
            keep_long(running, bare, "session-2")
        with pytest.raises(StoreError, match="TURNLOG_BLOBS must say where"):
            read_bytes(running, LOCAL, key, 0)
        for work in (open_store, check_quickly):
            with pytest.raises(StoreError, match="TURNLOG_BLOBS must say where") as raised:
                work(bare)
            assert not isinstance(raised.value, NewerStoreError)
        assert read_bytes(store, LOCAL, key, 0) == make_long()


def test_of_every_table_it_is_decided_who_sees_what_is_in_it(
    store: MaintainedStore, place: ServerPlace
) -> None:
    keep_long(store, place)
    query = """
    SELECT relname::text FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'p')
    AND NOT relispartition
    """
    tables = {name for (name,) in execute(place, query, ARCHIVE_SCHEMA)}
    viewed = {*list_views(ViewerTerms("owner", "person", "team", "key", "tables.", "views."))}
    assert tables == (viewed | UNSEEN - FILE_TEXTS) | {"blobs"}


def test_settings_say_where_blobs_are(tmp_path: Path) -> None:
    env = {"TURNLOG_HOME": str(tmp_path), "TURNLOG_STORE": "postgresql://db/turnlog", "PATH": "/bin"}
    assert Settings.from_env(env).place == ServerPlace("postgresql://db/turnlog", tmp_path)
    env |= {"TURNLOG_BLOBS": "s3://key:hunter2@bucket/prefix?region=x"}
    place = Settings.from_env(env).place
    assert place == ServerPlace(
        "postgresql://db/turnlog", tmp_path, blobs=BlobPlace("s3://key:hunter2@bucket/prefix?region=x", 24)
    )
    assert isinstance(place, ServerPlace)
    assert str(place.blobs) == "s3://bucket/prefix"
    env |= {"TURNLOG_BLOBS_GRACE": "0.5"}
    place = Settings.from_env(env).place
    assert find_place(name_place({"PATH": "/bin", "TURNLOG_BLOBS": "x"}, place), tmp_path) == place
    assert name_place(env, tmp_path / "turnlog.db") == {"TURNLOG_HOME": str(tmp_path), "PATH": "/bin"}
    for wrong in ("ten", "-1", "nan", "inf"):
        with pytest.raises(ConfigError, match="TURNLOG_BLOBS: Expected hours in TURNLOG_BLOBS_GRACE"):
            Settings.from_env({**env, "TURNLOG_BLOBS_GRACE": wrong})
    with pytest.raises(ConfigError, match="TURNLOG_BLOBS: Expected s3://") as raised:
        Settings.from_env({**env, "TURNLOG_BLOBS": "https://hunter2@bucket"})
    assert "hunter2" not in str(raised.value)
    del env["TURNLOG_STORE"]
    with pytest.raises(ConfigError, match="TURNLOG_BLOBS: An archive in a file has all of it there"):
        Settings.from_env(env)


# What is shared, and what is no longer needed.


def make_short(name: str) -> bytes:
    """Return a file with one sealed frame and one full segment."""
    return make_long(name, count=SEGMENT + 60)


def make_shared(name: str) -> bytes:
    """Return a file whose sealed frames are the same in every session: its first lines."""
    return make_short("session-1") + make_line(9999, session_id=name)


def test_the_same_bytes_are_there_once_until_the_last_session_is_forgotten(
    store: MaintainedStore, place: ServerPlace
) -> None:
    one = keep_long(store, place, "session-1", make_shared("session-1"))
    first = {name for name in list_files(place) if name.startswith("frames")}
    two = keep_long(store, place, "session-2", make_shared("session-2"))
    assert {name for name in list_files(place) if name.startswith("frames")} == first
    assert store.forget(LOCAL, [one]).scrubbed
    assert first <= list_files(place)
    assert read_bytes(store, LOCAL, two, 0) == make_shared("session-2")
    assert store.forget(LOCAL, [two]).scrubbed
    assert list_files(place) == set()
    assert execute(place, "SELECT name FROM blobs") == []


def test_forgetting_deletes_what_only_that_session_referred_to_lately_as_well(place: ServerPlace) -> None:
    place = replace(place, blobs=BlobPlace(str(place.home / "blobs"), NEVER))
    with closing(open_store(place)) as store:
        keep_long(store, place, "session-2")
        other = list_files(place)
        key = keep_long(store, place)
        mine = list_files(place) - other
        rewrite(store, key)
        collect(store)
        assert mine < list_files(place) - other  # the former segments stay for a while
        assert store.forget(LOCAL, [key]).scrubbed
        assert list_files(place) == other


def test_what_nothing_refers_to_goes_when_its_time_has_come(store: MaintainedStore, place: ServerPlace) -> None:
    key = keep_long(store, place)
    before = list_files(place)
    rewrite(store, key)
    with closing(open_store(replace(place, blobs=BlobPlace(str(place.home / "blobs"), 1)))) as patient:
        patient.maintain()
        assert before < list_files(place)
    store.maintain()
    assert list_files(place) == list_used(place)
    assert len(before - list_files(place)) == 2
    assert [*_verify(store)] == []


def test_what_is_written_in_vain_leaves_no_blobs(
    store: MaintainedStore, place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch({"session-1.jsonl": make_short("session-1")})
    store.apply([batch])
    store.forget(LOCAL, [batch.key])
    store.apply([batch])  # of somebody who does not know of that
    assert list_files(place) == set()
    store.delete_tombstones(LOCAL, [batch.key])

    def put(blobs: FolderBlobs, name: str, data: bytes, run: Callable[..., None] = FolderBlobs.put) -> None:
        if len(collected) < 3:  # it takes so long that others give it up
            collected.append(name)
            collect(store)
        run(blobs, name, data)

    collected: list[str] = []
    monkeypatch.setattr(FolderBlobs, "put", put)
    store.apply([batch])
    assert list_files(place) == list_used(place)
    assert list_files(place).isdisjoint(collected)
    assert read_anew(place, batch.key) == make_short("session-1")


def test_while_the_blobs_are_away_nothing_is_lost_and_forgetting_is_finished_later(
    store: MaintainedStore, place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = keep_long(store, place)

    def fail(*_: object) -> None:
        raise LostStoreError("The blobs cannot be reached")

    with monkeypatch.context() as patched:
        for name in ("put", "get", "delete"):
            patched.setattr(FolderBlobs, name, fail)
        with pytest.raises(LostStoreError):
            keep_long(store, place, "session-2")
        store.maintain()
        with closing(open_store(place)) as other, pytest.raises(LostStoreError):
            read_bytes(other, LOCAL, key, 0)
        with pytest.raises(LostStoreError):
            check_quickly(place)
        assert not store.forget(LOCAL, [key]).scrubbed
        assert list_files(place) != set()
    keep_long(store, place, "session-2")
    assert store.maintain(Maintenance.PURGE)
    assert list_files(place) == list_used(place)
    assert check_quickly(place) == []
    assert [*_verify(store)] == []


# Damage.


def _verify(store: MaintainedStore, *, repair: bool = False) -> Iterator[tuple[Subject, str]]:
    for step in check_archive(store, LOCAL, repair=repair):
        yield from ((each.subject, each.message) for each in step.checked.left)


@pytest.mark.parametrize("kind", ["frames", "segments"])
@pytest.mark.parametrize("is_gone", [True, False])
def test_damage_is_found_and_repaired(
    store: MaintainedStore, place: ServerPlace, kind: str, is_gone: bool
) -> None:
    keep_long(store, place, "session-1", make_shared("session-1"))
    two = keep_long(store, place, "session-2", make_shared("session-2"))
    find_file(place, "session-2").unlink()
    found = sorted(name for name in list_files(place) if name.startswith(kind))[0]
    _, _, name = found.partition("/")
    blob = place.home / "blobs" / kind / name[:2] / name
    blob.unlink() if is_gone else blob.write_bytes(blob.read_bytes()[:-3])
    with closing(open_store(place)) as other:
        told = [*_verify(other)]
        assert told
        expected = f"The blob {found} is {'missing' if is_gone else 'damaged'}"
        assert any(expected in message for _, message in told), told
        left = [*_verify(other, repair=True)]
        if kind == "frames":  # the other session's file is nowhere
            assert [subject for subject, _ in left] == [Subject.BYTES]
            with pytest.raises(ArchiveError):
                read_bytes(other, LOCAL, two, 0)
            other.forget(LOCAL, [two])
        else:
            assert left == []
        assert [*_verify(other)] == []
        assert count_inside(place) == (0, 0)
        collect(other)
        assert list_files(place) == list_used(place)


def test_a_count_that_is_wrong_is_found(store: MaintainedStore, place: ServerPlace) -> None:
    keep_long(store, place)
    [(name,)] = execute(
        place,
        "UPDATE blobs SET refs = refs + 1 WHERE name = (SELECT name FROM blobs LIMIT 1) RETURNING name",
    )
    [flaw] = store.list_flaws(LOCAL)
    assert flaw.message == f"1 rows refer to the blob {name.decode()}, 2 are counted"


# Who dies when.

_WRITER = """
import os, signal, sys
from pathlib import Path
from turnlog.store.blobs import FolderBlobs
from turnlog.store.catalogue.postgres import PostgresDatabase
from turnlog.store.interface import Maintenance
from turnlog.store.model import LOCAL, BlobPlace, ServerPlace
from turnlog.store.opening import open_store
sys.path.insert(0, {tests!r})
from store.test_archive_blobs import *
place = ServerPlace({address!r}, Path({home!r}), blobs=BlobPlace({blobs!r}, 0))
store = open_store(place)
left = {steps}

def dying(run):
    def work(*given, **more):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return run(*given, **more)
    return work

for kind, name in ((FolderBlobs, "put"), (FolderBlobs, "delete"), (PostgresDatabase, "write")):
    setattr(kind, name, dying(getattr(kind, name)))
{work}
"""


def run_killed(place: ServerPlace, work: str, steps: int) -> bool:
    """Do something in a process that is killed before one of its steps; tell whether it was."""
    assert place.blobs is not None
    script = _WRITER.format(
        address=place.address, home=str(place.home), blobs=place.blobs.address, steps=steps, work=work,
        tests=str(Path(__file__).parents[1]),
    )  # fmt: skip
    ran = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert ran.returncode in (0, -9), ran.stderr.decode()
    return ran.returncode != 0


@pytest.mark.parametrize(
    "work",
    ["keep_long(store, place, 'session-2', make_short('session-2'))", "store.forget(LOCAL, [key_of(place)])",
     "rewrite(store, key_of(place)); collect(store)"],
)  # fmt: skip
def test_whoever_is_killed_at_any_step_leaves_nothing_lost_and_nothing_behind(
    place: ServerPlace, work: str
) -> None:
    names, steps = ("session-1", "session-2"), 0
    keys = [key_of(place, name) for name in names]
    while True:
        with closing(open_store(place)) as store:
            keep_long(store, place, data=make_short("session-1"))
        was_killed = run_killed(place, work, steps)
        with closing(open_store(place)) as store:
            there = {session.key for session in store.list_known(LOCAL)}
            for name, key in zip(names, keys, strict=True):
                if key in there:
                    assert read_bytes(store, LOCAL, key, 0) == make_short(name)
            assert keys[0] in there or "forget" in work
            assert store.list_flaws(LOCAL) == []
            collect(store)
            assert list_files(place) == list_used(place)
            store.forget(LOCAL, keys)
            store.delete_tombstones(LOCAL, keys)
            assert list_files(place) == set()
        if not was_killed:
            break
        steps += 1
    assert steps >= 3


class Turns:
    """Lets two threads go on step by step, in an order that is given."""

    def __init__(self, order: Sequence[str]) -> None:
        self._order = [*order]
        self._changed = threading.Condition()
        self._ended: set[str] = set()
        self._own = threading.local()

    def run(self, name: str, work: Callable[[], object]) -> None:
        """Do the work of one of them."""
        self._own.name = name
        try:
            work()
        finally:
            del self._own.name
            with self._changed:
                self._ended.add(name)
                self._changed.notify_all()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until it is this thread's turn, and do a step; those who have ended have none."""
        name = getattr(self._own, "name", None)
        if name is None:
            yield
            return
        with self._changed:
            assert self._changed.wait_for(lambda: self._is_next(name), timeout=60)
            try:
                yield
            finally:
                del self._order[:1]
                self._changed.notify_all()

    def _is_next(self, name: str) -> bool:
        while self._order and self._order[0] in self._ended:
            self._order.pop(0)
        return not self._order or self._order[0] == name


_STEPS = 3, 5
"""Of a writer, and of who forgets and deletes: each transaction, and what is asked of the folder."""


def test_a_writer_that_takes_the_same_bytes_up_again_never_meets_who_deletes_them(
    place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every order of their steps: a session is forgotten while another one comes that has the same bytes."""
    turns = Turns([])

    def stepwise(run: Callable[..., Any]) -> Callable[..., Any]:
        def work(*given: Any, **more: Any) -> Any:
            with turns.turn():
                return run(*given, **more)

        return work

    steps = (FolderBlobs, "put"), (FolderBlobs, "delete"), (PostgresDatabase, "write"), (BlobKeeper, "_ask")
    for kind, name in steps:
        monkeypatch.setattr(kind, name, stepwise(getattr(kind, name)))
    # Nothing is written anew, which takes longer than all else.
    monkeypatch.setattr("turnlog.store.catalogue.postgres_engine._USED", "SELECT '' WHERE :silent = 2")
    # One sealed frame, and no full segment.
    same = b"".join(make_line(number, requestId=Random(number).randbytes(6000).hex()) for number in range(60))
    data = {name: same + make_line(60, session_id=name) for name in ("session-1", "session-2")}
    one, two = (make_batch({f"{name}.jsonl": each}, session_id=name) for name, each in data.items())
    met = 0
    with closing(open_store(place)) as store, closing(open_store(place)) as other:
        for chosen in combinations(range(sum(_STEPS)), _STEPS[0]):
            store.apply([one])
            shared = list_files(place)
            turns = Turns(["writer" if at in chosen else "collector" for at in range(sum(_STEPS))])
            with ThreadPoolExecutor(2) as pool:
                writing = pool.submit(turns.run, "writer", lambda: other.apply([two]))
                deleting = pool.submit(turns.run, "collector", lambda: store.forget(LOCAL, [one.key]))
                writing.result()
                deleting.result()
            met += shared.isdisjoint(list_used(place))
            assert read_anew(place, two.key) == data["session-2"], chosen
            assert store.list_flaws(LOCAL) == []
            collect(store)
            assert list_files(place) == list_used(place), chosen
            store.forget(LOCAL, [two.key])
            store.delete_tombstones(LOCAL, [one.key, two.key])
            assert list_files(place) == set()
    assert 0 < met < 56  # now the one is faster, now the other


def test_who_deletes_waits_for_a_transaction_that_refers_to_a_blob(
    store: MaintainedStore, place: ServerPlace
) -> None:
    rewrite(store, keep_long(store, place))
    [(free,), *_] = execute(place, "SELECT name FROM blobs WHERE refs = 0")
    options = f"-c search_path={ARCHIVE_SCHEMA},public"
    with psycopg.connect(place.address, options=options) as writer:
        writer.execute("UPDATE segment_data SET packed = %s WHERE number = 0", (free,))
        collector = threading.Thread(target=collect, args=(store,))
        collector.start()
        collector.join(0.5)
        assert collector.is_alive()
        writer.commit()
        collector.join()
    assert free.decode() in list_files(place) & list_used(place)
    assert [*_verify(store)] == []
    with (
        psycopg.connect(place.address, options=options) as writer,
        pytest.raises(psycopg.errors.ForeignKeyViolation),
    ):
        writer.execute("UPDATE segment_data SET packed = %s WHERE number = 0", (b"segments/" + b"0" * 40,))


def test_many_write_forget_and_collect_at_once(place: ServerPlace) -> None:
    names = [f"session-{number}" for number in range(3)]
    batches = {name: make_batch({f"{name}.jsonl": make_shared(name)}, session_id=name) for name in names}

    def work(name: str) -> None:
        random, batch = Random(name), batches[name]
        with closing(open_store(place)) as store:
            for _ in range(5):
                store.apply([batch])
                if random.random() < 0.7:
                    store.forget(LOCAL, [batch.key])
                    store.delete_tombstones(LOCAL, [batch.key])
                collect(store)
            store.apply([batch])

    with ThreadPoolExecutor(len(names)) as pool:
        [*pool.map(work, names)]
    with closing(open_store(place)) as store:
        for name, batch in batches.items():
            assert read_bytes(store, LOCAL, batch.key, 0) == make_shared(name)
        assert store.list_flaws(LOCAL) == []
        collect(store)
        assert list_files(place) == list_used(place)


def test_a_database_that_restarts_meanwhile_is_not_noticed(
    store: MaintainedStore, place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(blobs: FolderBlobs, name: str, data: bytes, run: Callable[..., None] = FolderBlobs.put) -> None:
        run(blobs, name, data)
        if name.startswith("segments") and not restarted:
            restarted.append(name)
            start_server().restart("immediate")

    restarted: list[str] = []
    monkeypatch.setattr(FolderBlobs, "put", put)
    key = keep_long(store, place)
    assert restarted
    assert read_bytes(store, LOCAL, key, 0) == make_long()
    start_server().restart("immediate")
    store.forget(LOCAL, [key])
    assert list_files(place) == set()


# Copies of the database.


def test_a_copy_of_the_database_and_the_blobs_are_a_backup(place: ServerPlace, tmp_path: Path) -> None:
    with closing(open_store(place)) as store:
        one, two = keep_long(store, place), keep_long(store, place, "session-2")
        store.back_up(tmp_path / "copy")
        store.forget(LOCAL, [two])
    with pytest.raises(StoreError, match="TURNLOG_BLOBS must say where"):
        restore_store(replace(place, blobs=None), tmp_path / "copy")
    restore_store(place, tmp_path / "copy")
    with closing(open_store(place)) as store:
        assert read_bytes(store, LOCAL, one, 0) == make_long()
        assert [session.key for session in store.list_known(LOCAL)] == [one]
        assert [*_verify(store)] == []
        keep_long(store, place, "session-3")
        assert [*_verify(store)] == []
