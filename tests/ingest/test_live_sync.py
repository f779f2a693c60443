"""Following: what changes is archived, soon, and looked at no more often than needed."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import apsw
import pytest

from turnlog.errors import BusyStoreError
from turnlog.ingest.lease import SyncRequest, hold_lease, request_sync
from turnlog.ingest.live_sync import GAP, LATER, Occasion, Schedule, SyncEvent, follow
from turnlog.ingest.machine import Exclusion, list_forgotten
from turnlog.ingest.watchers import NativeWatcher, PollingWatcher, Watcher, find_target, locate_target
from turnlog.store.interface import KnownSession, MaintainedStore, read_all
from turnlog.store.model import LOCAL, name_source
from turnlog.store.opening import open_lease, open_store
from turnlog.transcripts.session_files import list_roots

PATIENCE = 30.0
LARGE = f'{{"type":"user","padding":"{"x" * (2 << 20)}"}}\n'
"""More than is written at once."""
IDS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(100)]


def poll(roots: Iterable[Path]) -> Watcher:
    return PollingWatcher(roots, interval=0.05, hot_interval=0.02)


class Follower:
    """A store that is kept up with a config dir, in a thread."""

    def __init__(self, folder: Path, make: Callable[[Iterable[Path]], Watcher], **options: object) -> None:
        self.config = folder / ".claude"
        self.projects = self.config / "projects"
        self.place = folder / "home" / "turnlog.db"
        self.place.parent.mkdir()
        open_store(self.place).close()
        self.watcher = make(list_roots([self.config]))
        self.reports: list[SyncEvent] = []
        self.started = threading.Event()
        self.failure: BaseException | None = None
        self._options = options
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()
        assert self.started.wait(PATIENCE)

    def _run(self) -> None:
        store = open_store(self.place)
        try:
            follow(
                store,
                self.place,
                [self.config],
                origin="here",
                watcher=self.watcher,
                on_report=self._note,
                **self._options,  # type: ignore[arg-type]
            )
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self.started.set()
            store.close()

    def _note(self, report: SyncEvent) -> None:
        self.reports.append(report)
        if report.occasion is Occasion.START:
            self.started.set()

    def write(self, name: str, text: str = '{"type":"user"}\n') -> Path:
        path = self.projects / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text)
        return path

    def known(self) -> list[KnownSession]:
        store = open_store(self.place, read_only=True)
        try:
            return list(store.list_known(LOCAL))
        finally:
            store.close()

    def read(self, path: Path) -> bytes | None:
        """Return what the archive has of a file that is, or was, at a path."""
        store = open_store(self.place, read_only=True)
        try:
            for session in store.list_known(LOCAL):
                for source in session.sources:
                    if source.path == os.fspath(path):
                        return b"".join(read_all(store.archive, LOCAL, source.source, source.generation))
        finally:
            store.close()
        return None

    def until(self, is_so: Callable[[], bool]) -> None:
        limit = time.monotonic() + PATIENCE
        while not is_so():
            assert self._thread.is_alive(), self.failure
            assert time.monotonic() < limit, self.reports[-5:]
            time.sleep(0.02)

    def until_archived(self, *paths: Path) -> None:
        for path in paths:
            self.until(lambda path=path: self.read(path) == path.read_bytes())  # type: ignore[misc]

    def stop(self) -> None:
        self.watcher.stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


Make = Callable[..., Follower]


@pytest.fixture(params=[NativeWatcher, poll], ids=["native", "polling"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[Follower] = []

    def make(**options: object) -> Follower:
        made.append(Follower(tmp_path, request.param, **options))
        return made[-1]

    yield make
    for follower in made:
        if follower.started.is_set():
            follower.stop()


def test_what_was_there_is_archived_first(make: Make) -> None:
    follower = make()
    path = follower.write(f"-p/{IDS[0]}.jsonl")
    follower.start()
    assert follower.read(path) == path.read_bytes()
    assert [(each.occasion, each.paths) for each in follower.reports] == [(Occasion.START, ())]


def test_an_appended_line_is_archived(make: Make) -> None:
    follower = make()
    path = follower.write(f"-p/{IDS[0]}.jsonl")
    other = follower.write(f"-p/{IDS[1]}.jsonl")
    follower.start()
    follower.write(f"-p/{IDS[0]}.jsonl", '{"type":"user","n":2}\n')
    follower.until_archived(path)
    assert other not in {path for each in follower.reports for path in each.paths}
    assert [each.occasion for each in follower.reports[1:]] == [Occasion.CHANGE] * len(follower.reports[1:])


class AppendingWatcher(PollingWatcher):
    """Appends to a session when it is asked between pieces of something longer, and says so."""

    path: Path
    turns = 3

    def wait(self, seconds: float) -> set[Path]:
        if seconds or not self.turns:
            return super().wait(seconds)
        self.turns -= 1
        with self.path.open("a") as file:
            file.write('{"type":"user"}\n')
        return {self.path}


def test_what_is_written_during_the_first_look_is_seen_before_its_end(tmp_path: Path) -> None:
    follower = Follower(tmp_path, AppendingWatcher)
    follower.write(f"-p/{IDS[0]}.jsonl")
    live = follower.write(f"-p/{IDS[1]}.jsonl")
    others = [follower.write(f"-p/{name}.jsonl", LARGE) for name in IDS[2:8]]
    assert isinstance(follower.watcher, AppendingWatcher)
    follower.watcher.path = live
    follower.start()
    try:
        follower.until_archived(live, *others)
        start, *changes = follower.reports
        assert start.occasion is Occasion.START
        assert [each.occasion for each in changes] == [Occasion.CHANGE] * len(changes)
        assert_seen_before(follower.place, live, others)
    finally:
        follower.stop()


def test_what_is_written_while_another_process_has_work_done_is_seen_before_its_end(tmp_path: Path) -> None:
    follower = Follower(tmp_path, AppendingWatcher)
    live = follower.write(f"-p/{IDS[0]}.jsonl")
    assert isinstance(follower.watcher, AppendingWatcher)
    follower.watcher.path, follower.watcher.turns = live, 0
    elsewhere = tmp_path / "old-laptop" / ".claude" / "projects" / "-p"
    elsewhere.mkdir(parents=True)
    others = [elsewhere / f"{name}.jsonl" for name in IDS[1:7]]
    for other in others:
        other.write_text(LARGE)
    follower.start()
    try:
        follower.until_archived(live)
        follower.watcher.turns = 3
        report = request_sync(
            follower.place.parent, SyncRequest((os.fspath(tmp_path / "old-laptop"),)), PATIENCE
        )
        assert report.added == len(others)
        assert_seen_before(follower.place, live, others)
    finally:
        follower.stop()


class LateWatcher(PollingWatcher):
    """Appends to a session when another process asks for something, and says so just before."""

    path: Path
    asked: Path
    turns = 1

    def wait(self, seconds: float) -> set[Path]:
        if not seconds:
            return set()
        if not self.turns:
            return super().wait(seconds)
        while not self.stopped and not any(self.asked.glob("*.ask")):
            time.sleep(0.01)
        self.turns -= 1
        with self.path.open("a") as file:
            file.write('{"type":"user"}\n')
        return {self.path}


def test_what_was_written_just_before_somebody_asks_does_not_wait_for_the_end(tmp_path: Path) -> None:
    follower = Follower(tmp_path, LateWatcher)
    live = follower.write(f"-p/{IDS[0]}.jsonl")
    assert isinstance(follower.watcher, LateWatcher)
    follower.watcher.path, follower.watcher.asked = live, follower.place.parent / "handover"
    elsewhere = tmp_path / "old-laptop" / ".claude" / "projects" / "-p"
    elsewhere.mkdir(parents=True)
    others = [elsewhere / f"{name}.jsonl" for name in IDS[1:7]]
    for other in others:
        other.write_text(LARGE)
    follower.start()
    try:
        follower.until_archived(live)
        report = request_sync(
            follower.place.parent, SyncRequest((os.fspath(tmp_path / "old-laptop"),)), PATIENCE
        )
        assert report.added == len(others)
        assert_seen_before(follower.place, live, others)
    finally:
        follower.stop()


def assert_seen_before(place: Path, live: Path, others: Iterable[Path]) -> None:
    """Assert that changes of a session came between those of others."""
    with closing(apsw.Connection(os.fspath(place))) as connection:
        feed = [key for (key,) in connection.execute("SELECT CAST(session AS TEXT) FROM changes ORDER BY seq")]
    last = max(feed.index(name_source("here", os.fspath(other))) for other in others)
    assert feed[:last].count(name_source("here", os.fspath(live))) > 1


def test_new_sessions_projects_and_agents_are_archived(make: Make) -> None:
    follower = make()
    follower.projects.mkdir(parents=True)
    follower.start()
    paths = [
        follower.write(f"-new/{IDS[0]}.jsonl"),
        follower.write(f"-new/{IDS[0]}/subagents/agent-a1.jsonl"),
        follower.write(f"-new/{IDS[0]}/tool-results/big.txt", "much"),
        follower.write(f"-other/{IDS[1]}/subagents/agent-a2.jsonl"),
    ]
    follower.until_archived(*paths)
    assert len(follower.known()) == 2


def test_an_agent_beside_its_session_is_archived_with_it(make: Make) -> None:
    follower = make()
    follower.write(f"-p/{IDS[0]}.jsonl", f'{{"type":"user","sessionId":"{IDS[0]}"}}\n')
    follower.start()
    line = f'{{"type":"user","sessionId":"{IDS[0]}","isSidechain":true,"agentId":"a1"}}\n'
    path = follower.write("-p/agent-a1.jsonl", line)
    follower.until_archived(path)
    follower.write("-p/agent-a1.jsonl", line)
    follower.until_archived(path)
    [session] = follower.known()
    assert len(session.sources) == 2


def test_a_config_dir_that_comes_later_is_followed(make: Make) -> None:
    follower = make()
    follower.start()
    assert not follower.config.exists()
    path = follower.write(f"-p/{IDS[0]}.jsonl")
    follower.until_archived(path)
    follower.write(f"-p/{IDS[0]}.jsonl", '{"type":"user","n":2}\n')
    follower.until_archived(path)


def test_a_deleted_session_is_known_to_be_gone_and_kept(make: Make) -> None:
    follower = make()
    path = follower.write(f"-p/{IDS[0]}.jsonl")
    agent = follower.write(f"-p/{IDS[0]}/subagents/agent-a1.jsonl")
    stays = follower.write(f"-p/{IDS[1]}.jsonl")
    follower.start()
    data = path.read_bytes()
    shutil.rmtree(agent.parents[1])
    path.unlink()
    follower.until(lambda: sum(any(s.present for s in each.sources) for each in follower.known()) == 1)
    assert follower.read(path) == data
    assert follower.read(agent) is not None
    assert follower.read(stays) == stays.read_bytes()


def test_a_deleted_project_is_known_to_be_gone_and_kept(make: Make) -> None:
    follower = make()
    paths = [follower.write(f"-p/{name}.jsonl") for name in IDS[:3]]
    follower.write(f"-q/{IDS[4]}.jsonl")
    follower.start()
    shutil.rmtree(follower.projects / "-p")
    follower.until(lambda: sum(any(s.present for s in each.sources) for each in follower.known()) == 1)
    assert all(follower.read(path) for path in paths)


def test_a_session_that_is_moved_keeps_its_key(make: Make) -> None:
    follower = make()
    follower.write(f"-old/{IDS[0]}.jsonl")
    follower.start()
    [before] = follower.known()
    (follower.projects / "-old").rename(follower.projects / "-new")
    path = follower.write(f"-new/{IDS[0]}.jsonl", '{"type":"user","n":2}\n')
    follower.until_archived(path)
    time.sleep(LATER)
    [after] = follower.known()
    assert after.key == before.key
    assert all(source.present for source in after.sources)


def test_a_file_that_is_replaced_is_never_gone(make: Make) -> None:
    follower = make()
    path = follower.write(f"-p/{IDS[0]}.jsonl")
    follower.start()
    path.unlink()
    time.sleep(0.2)
    follower.write(f"-p/{IDS[0]}.jsonl", '{"type":"user","n":"other"}\n')
    follower.until_archived(path)
    assert all(each.report is None or not each.report.gone for each in follower.reports)


def test_a_storm_is_archived_whole_with_few_looks(make: Make) -> None:
    follower = make()
    paths = [follower.projects / f"-p{number % 5}" / f"{IDS[number]}.jsonl" for number in range(50)]
    follower.write(f"-p0/{IDS[0]}.jsonl")
    follower.start()
    started = time.monotonic()
    for number in range(2000):
        path = paths[number % 50]
        follower.write(os.fspath(path.relative_to(follower.projects)), f'{{"type":"user","n":{number}}}\n')
    follower.until_archived(*paths)
    took = time.monotonic() - started
    looks = Counter(path for each in follower.reports for path in each.paths)
    changes = [each for each in follower.reports if each.occasion is Occasion.CHANGE]
    assert max(looks.values()) <= took / GAP + 2
    assert max(looks.values()) <= 40  # each file was written so many times
    assert len(changes) <= took / 0.01 + 2
    assert all(each.report is not None for each in follower.reports)
    lines = sum(each.report.lines for each in follower.reports if each.report is not None)
    assert lines == 2001


def test_everything_is_looked_at_from_time_to_time(make: Make, tmp_path: Path) -> None:
    follower = make(full_seconds=0.3)
    follower.projects.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    outside = tmp_path / "elsewhere" / "file"
    outside.write_text("1")
    follower.start()
    # A hard link from where nobody watches: its changes are told to nobody.
    path = follower.write(f"-p/{IDS[0]}.jsonl")
    follower.until_archived(path)
    os.link(path, tmp_path / "elsewhere" / "link")
    with (tmp_path / "elsewhere" / "link").open("a") as file:
        file.write('{"type":"user","n":2}\n')
    follower.until_archived(path)


def test_what_is_excluded_is_not_archived(make: Make) -> None:
    follower = make(exclusion=Exclusion(["/private"]))
    follower.projects.mkdir(parents=True)
    follower.start()
    private = follower.write(f"-private/{IDS[0]}.jsonl", '{"type":"user","cwd":"/private/x"}\n')
    public = follower.write(f"-public/{IDS[1]}.jsonl", '{"type":"user","cwd":"/public"}\n')
    follower.until_archived(public)
    assert follower.read(private) is None


def test_a_session_that_is_forgotten_while_it_is_followed_does_not_come_back(make: Make) -> None:
    follower: Follower = make(forgotten=lambda: ask(follower.place, list_forgotten))
    path = follower.write(f"-p/{IDS[0]}.jsonl")
    follower.start()
    for _ in range(3):
        follower.write(f"-p/{IDS[0]}.jsonl")
        follower.until_archived(path)
    [session] = follower.known()
    ask(follower.place, lambda store: store.forget(LOCAL, [session.key]))
    for number in range(1, 4):
        follower.write(f"-p/{IDS[0]}.jsonl")
        follower.until_archived(follower.write(f"-p/{IDS[number]}.jsonl"))
    assert follower.read(path) is None
    assert len(follower.known()) == 3


T = TypeVar("T")


def ask(place: Path, work: Callable[[MaintainedStore], T]) -> T:
    """Do something with a store as another process would."""
    store = open_store(place)
    try:
        return work(store)
    finally:
        store.close()


def test_one_session_that_fails_does_not_stop_the_others(make: Make) -> None:
    follower = make()
    follower.projects.mkdir(parents=True)
    follower.start()
    good = follower.write(f"-p/{IDS[1]}.jsonl")
    bad = follower.write(f"-p/{IDS[0]}.jsonl", '{"type":"user"}\n{"torn":')
    follower.until_archived(good, bad)
    # What the archive has of it is damaged: the next look at it cannot go on in the middle of a line.
    damage(follower.place, bad)
    follower.write(f"-p/{IDS[0]}.jsonl", "1}\n")
    follower.write(f"-p/{IDS[1]}.jsonl")
    follower.until_archived(good)
    follower.until(lambda: any(each.paths == (bad,) and each.reason for each in follower.reports))
    failed = [each for each in follower.reports if each.reason]
    assert [each.again_in for each in failed] == [2.0**number for number in range(len(failed))]
    follower.write(f"-p/{IDS[1]}.jsonl")
    follower.until_archived(good)


def damage(place: Path, path: Path) -> None:
    """Replace the bytes that the archive has of a file."""
    connection = apsw.Connection(os.fspath(place))
    connection.set_busy_timeout(10_000)
    for table in ("frames", "tail_frames"):
        connection.execute(
            f"UPDATE {table} SET data = x'00' WHERE generation IN (SELECT generations.id FROM generations"
            " JOIN sources ON sources.id = generations.source WHERE sources.source = ?)",
            (name_source("here", os.fspath(path)),),
        )
    connection.close()


def test_only_one_process_follows(tmp_path: Path) -> None:
    place = tmp_path / "turnlog.db"
    with (
        hold_lease(place, lambda: None),
        pytest.raises(BusyStoreError, match=f"process {os.getpid()} on .* already"),
        hold_lease(place, lambda: None),
    ):
        raise AssertionError
    with hold_lease(place, lambda: None):
        pass


def test_a_lease_is_renewed_and_its_loss_is_told(tmp_path: Path) -> None:
    place = tmp_path / "turnlog.db"
    lost = threading.Event()
    with hold_lease(place, lost.set, seconds=0.2), open_lease(place, "here", seconds=60) as other:
        assert not other.take(0.5)
        # Nobody can take it while it is held; a machine that slept finds it with another.
        while not other.take(0.0):
            with closing(apsw.Connection(str(place))) as connection:
                connection.execute("DELETE FROM leases")
        assert lost.wait(PATIENCE)


ROOT = Path("/c/projects")


@pytest.mark.parametrize(
    ("path", "concern"),
    [
        ("", ""),
        (f"-p/{IDS[0]}.jsonl", f"-p/{IDS[0]}.jsonl"),
        ("-p/named.ndjson", "-p/named.ndjson"),
        (f"-p/{IDS[0]}", f"-p/{IDS[0]}.jsonl"),
        (f"-p/{IDS[0]}/subagents/deep/agent-1.jsonl", f"-p/{IDS[0]}.jsonl"),
        ("-p/named/tool-results/1.txt", "-p/named.jsonl"),
        ("-p/agent-1.jsonl", "-p"),
        ("-p", "-p"),
        ("-p/inner/x.jsonl", "-p/inner/x.jsonl"),
        ("-p/memory/notes.jsonl", None),
        ("-p/memory", None),
        ("memory/x.jsonl", "memory/x.jsonl"),
    ],
)
def test_a_change_concerns_a_session_or_a_folder(path: str, concern: str | None) -> None:
    expected = None if concern is None else ROOT / concern
    assert find_target(ROOT / path, [Path("/c/conversations"), ROOT], {}) == expected


def test_what_is_outside_and_files_that_are_no_sessions_concern_nobody(tmp_path: Path) -> None:
    assert find_target(Path("/elsewhere/x.jsonl"), [ROOT], {}) is None
    (tmp_path / "-p").mkdir()
    (tmp_path / "-p" / "sessions-index.json").touch()
    assert find_target(tmp_path / "-p" / "sessions-index.json", [tmp_path], {}) is None


def test_a_known_file_concerns_its_session() -> None:
    home = ROOT / "-p" / "s.jsonl"
    assert find_target(ROOT / "-p" / "agent-1.jsonl", [ROOT], {"/c/projects/-p/agent-1.jsonl": home}) == home


def test_a_folder_beside_a_transcript_is_its_session_s(tmp_path: Path) -> None:
    (tmp_path / "-p" / "named").mkdir(parents=True)
    (tmp_path / "-p" / "named.jsonl").touch()
    named = tmp_path / "-p" / "named.jsonl"
    assert find_target(tmp_path / "-p" / "named" / "x.txt", [tmp_path], {}) == named
    assert find_target(tmp_path / "-p" / "named", [tmp_path], {}) == named
    assert [files.path for files in locate_target(named)] == [named]
    assert locate_target(tmp_path / "-p" / "other.jsonl") == ()
    assert locate_target(tmp_path / "-q") == ()


A, B = Path("/a"), Path("/b")


def test_what_changes_again_at_once_waits_and_is_not_missed() -> None:
    agenda = Schedule()
    agenda.add(A, 100.0)
    assert agenda.take(100.0) == [A]
    agenda.add(A, 100.001)
    agenda.add(A, 100.002)
    assert agenda.take(100.003) == []
    assert agenda.find_next() == pytest.approx(100.0 + GAP)
    assert agenda.take(100.0 + GAP) == [A]
    assert agenda.find_next() is None


def test_what_fails_waits_longer_each_time_even_if_it_changes() -> None:
    agenda = Schedule()
    pauses = []
    now = 0.0
    for _ in range(12):
        agenda.add(A, now)
        assert agenda.take(now) == [A]
        pauses.append(agenda.fail(A, now))
        agenda.add(A, now)
        assert agenda.take(now + pauses[-1] / 2) == []
        now += pauses[-1]
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    agenda.succeed(A)
    assert agenda.fail(A, now) == 1


def test_what_is_to_be_looked_at_later_is_looked_at_now_and_then() -> None:
    agenda = Schedule()
    agenda.add(A, 100.0)
    agenda.add_later(A, 100.0)
    agenda.add(B, 100.0)
    assert agenda.take(100.0) == [A, B]
    assert agenda.take(100.5) == []
    assert agenda.take(100.0 + LATER) == [A]
    assert agenda.find_next() is None
