"""Watching folders: by what the system tells, and by looking."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from turnlog.ingest.watchers import (
    NativeWatcher,
    PollingWatcher,
    StopSignal,
    Watcher,
    choose_watcher,
    find_type,
    is_silent,
)

PATIENCE = 20.0
"""How long to wait for what must come."""

Open = Callable[..., Watcher]


def poll(roots: Iterable[Path]) -> Watcher:
    return PollingWatcher(roots, interval=0.05, hot_interval=0.02)


@pytest.fixture(params=[NativeWatcher, poll], ids=["native", "polling"])
def open_watcher(request: pytest.FixtureRequest) -> Iterator[Open]:
    """Make watchers of either kind, and close them again."""
    started: list[Watcher] = []

    def start(*roots: Path) -> Watcher:
        watcher: Watcher = request.param(roots)
        watcher.start()
        started.append(watcher)
        return watcher

    yield start
    for watcher in started:
        watcher.close()


def gather(watcher: Watcher, wanted: set[Path]) -> list[set[Path]]:
    """Ask until all that is wanted was told, and return each answer."""
    told: list[set[Path]] = []
    until = time.monotonic() + PATIENCE
    while not wanted <= set().union(*told):
        assert time.monotonic() < until, f"not told: {wanted - set().union(*told)}"
        told.append(watcher.wait(1.0))
    return told


def test_new_changed_and_deleted_files_are_told(open_watcher: Open, tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text("1\n")
    watcher = open_watcher(tmp_path)
    new = tmp_path / "new.jsonl"
    new.write_text("1\n")
    gather(watcher, {new})
    with old.open("a") as file:
        file.write("2\n")
    gather(watcher, {old})
    new.unlink()
    gather(watcher, {new})


def test_files_in_folders_that_are_made_later_are_told(open_watcher: Open, tmp_path: Path) -> None:
    watcher = open_watcher(tmp_path)
    folder = tmp_path / "project" / "session" / "subagents"
    folder.mkdir(parents=True)
    gather(watcher, {tmp_path / "project"})
    path = folder / "agent-1.jsonl"
    until = time.monotonic() + PATIENCE
    told: set[Path] = set()
    while path not in told:  # the system may need a moment to watch the new folder, too
        assert time.monotonic() < until
        path.write_text(f"{time.monotonic()}\n")
        told |= watcher.wait(0.2)


def test_what_changed_before_it_was_asked_for_is_told(open_watcher: Open, tmp_path: Path) -> None:
    watcher = open_watcher(tmp_path)
    paths = {tmp_path / f"{number}.jsonl" for number in range(20)}
    for path in paths:
        path.write_text("1\n")
    gather(watcher, paths)


def test_what_was_there_is_not_told(open_watcher: Open, tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text("1\n")
    assert open_watcher(tmp_path).wait(0.15) == set()


def test_a_storm_comes_in_few_sets(open_watcher: Open, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in range(50)]
    watcher = open_watcher(tmp_path)
    started = time.monotonic()

    def write() -> None:
        for number in range(2000):
            with paths[number % 50].open("a") as file:
                file.write("{}\n")

    writer = threading.Thread(target=write)
    writer.start()
    told = gather(watcher, set(paths))
    writer.join()
    while more := watcher.wait(0.2):
        told.append(more)
    took = time.monotonic() - started
    assert len(told) <= took / 0.02 + 2
    assert len(told) < 200


@pytest.mark.parametrize("name", ["projects", "there/is/none/yet/projects"])
def test_a_folder_that_comes_later_is_told(open_watcher: Open, tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    watcher = open_watcher(root, tmp_path / "never")
    assert watcher.wait(0.05) == set()
    root.mkdir(parents=True)
    gather(watcher, {root})
    path = root / "a.jsonl"
    path.write_text("1\n")
    gather(watcher, {path})


def test_a_folder_that_is_replaced_is_told_and_watched_on(open_watcher: Open, tmp_path: Path) -> None:
    root, other = tmp_path / "projects", tmp_path / "conversations"
    root.mkdir()
    other.mkdir()
    (root / "a.jsonl").write_text("1\n")
    watcher = open_watcher(root, other)
    root.rename(tmp_path / "aside")  # it keeps its inode, so that the next one has another
    root.mkdir()
    gather(watcher, {root})
    for path in (root / "b.jsonl", other / "b.jsonl"):
        path.write_text("1\n")
        gather(watcher, {path})


def test_a_folder_that_goes_is_told(open_watcher: Open, tmp_path: Path) -> None:
    root = tmp_path / "projects"
    root.mkdir()
    watcher = open_watcher(root)
    shutil.rmtree(root)
    gather(watcher, {root})
    assert watcher.wait(0.05) == set()


def test_paths_are_told_under_the_name_that_was_given(open_watcher: Open, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    watcher = open_watcher(link)
    (tmp_path / "real" / "a.jsonl").write_text("1\n")
    gather(watcher, {link / "a.jsonl"})


def test_another_thread_can_stop_it(open_watcher: Open, tmp_path: Path) -> None:
    watcher = open_watcher(tmp_path)
    threading.Timer(0.05, watcher.stop).start()
    started = time.monotonic()
    assert watcher.wait(PATIENCE) == set()
    assert watcher.stopped
    assert time.monotonic() - started < PATIENCE / 2
    watcher.stop()
    assert watcher.wait(PATIENCE) == set()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer's signal")
def test_a_signal_handler_can_stop_it(open_watcher: Open, tmp_path: Path) -> None:
    watcher = open_watcher(tmp_path)
    before = signal.signal(signal.SIGALRM, lambda *_: watcher.stop())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert watcher.wait(PATIENCE) == set()
        assert watcher.stopped
    finally:
        signal.signal(signal.SIGALRM, before)


def test_changes_are_told_until_it_is_stopped(open_watcher: Open, tmp_path: Path) -> None:
    watcher = open_watcher(tmp_path / "projects")
    (tmp_path / "projects").mkdir()
    told: list[set[Path]] = []

    def run() -> None:
        while not watcher.stopped:
            paths = watcher.wait(60.0)
            if not paths:
                continue
            told.append(paths)
            if tmp_path / "projects" / "a.jsonl" in paths:
                watcher.stop()
            (tmp_path / "projects" / "a.jsonl").write_text(f"{len(told)}\n")

    runner = threading.Thread(target=run)
    runner.start()
    (tmp_path / "projects" / "b.jsonl").write_text("1\n")
    until = time.monotonic() + PATIENCE
    while runner.is_alive() and time.monotonic() < until:
        (tmp_path / "projects" / "b.jsonl").write_text(f"{time.monotonic()}\n")
        runner.join(0.1)
    assert not runner.is_alive()
    assert all(told)


def test_waiting_takes_next_to_no_time_of_the_processor(open_watcher: Open, tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / f"{number}.jsonl").write_text("1\n")
    watcher = open_watcher(tmp_path)
    before = time.process_time()
    assert watcher.wait(1.0) == set()
    # The polling one of these tests looks forty times as often as people's, native steps are still short.
    assert time.process_time() - before < 0.5


def test_polling_takes_a_small_share_of_the_time(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"{number}.jsonl").touch()
    watcher = PollingWatcher([tmp_path], interval=0.001)
    with watcher:
        before = time.process_time()
        assert watcher.wait(1.0) == set()
        assert time.process_time() - before < 0.1


def test_polling_follows_a_file_closely_that_just_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with PollingWatcher([tmp_path], interval=0.3, hot_interval=0.01) as watcher:
        path.write_text("1\n")
        gather(watcher, {path})
        started = time.monotonic()
        path.write_text("12\n")
        gather(watcher, {path})
        assert time.monotonic() - started < 0.25
        path.unlink()
        gather(watcher, {path})


def test_many_files_change_and_all_are_told_by_polling(tmp_path: Path) -> None:
    paths = {tmp_path / f"{number}.jsonl" for number in range(200)}
    with PollingWatcher([tmp_path], interval=0.05) as watcher:
        for round_ in range(3):
            for path in paths:
                path.write_text("x" * (round_ + 1))
            gather(watcher, paths)


def test_polling_does_not_follow_links_to_folders(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "broken.jsonl").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe.jsonl")
    with PollingWatcher([tmp_path], interval=0.02) as watcher:
        (tmp_path / "a.jsonl").write_text("1\n")
        assert set().union(*gather(watcher, {tmp_path / "a.jsonl"})) == {tmp_path / "a.jsonl"}


def test_a_wish_to_stop_wakes_whoever_waits() -> None:
    stop = StopSignal()
    assert not stop.wait(0.01)
    threading.Timer(0.02, stop.set).start()
    assert stop.wait(PATIENCE)
    stop.set()
    assert stop.is_set()
    assert stop.wait(0)


MOUNTINFO = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /home/me rw shared:2 - nfs4 server:/home rw
31 30 8:2 / /home/me/local rw - xfs /dev/sdb1 rw
32 22 0:40 / /mnt/my\\040share rw - cifs //server/share rw
33 22 0:41 / /mnt/c rw - 9p drvfs rw
34 22 0:42 / /mnt/ssh rw - fuse.sshfs me@server: rw
35 22 8:3 / /mnt/ntfs rw - fuseblk /dev/sdc1 rw
36 22 0:43 / /mnt/over rw - nfs server:/over rw
37 22 8:4 / /mnt/over rw - ext4 /dev/sdd1 rw
nonsense
"""


@pytest.mark.parametrize(
    ("path", "kind", "silent"),
    [
        ("/var/lib", "ext4", False),
        ("/home/me/.claude/projects", "nfs4", True),
        ("/home/me", "nfs4", True),
        ("/home/meadow", "ext4", False),
        ("/home/me/local/.claude", "xfs", False),
        ("/mnt/my share/x", "cifs", True),
        ("/mnt/c/Users", "9p", True),
        ("/mnt/ssh/x", "fuse.sshfs", True),
        ("/mnt/ntfs/x", "fuseblk", False),
        ("/mnt/over/x", "ext4", False),
    ],
)
def test_file_systems_that_tell_nothing_are_recognised(
    tmp_path: Path, path: str, kind: str, silent: bool
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTINFO)
    assert find_type(Path(path), mounts) == kind
    assert is_silent(Path(path), mounts) is silent
    expected = PollingWatcher if silent else NativeWatcher
    assert isinstance(choose_watcher([Path(path)], mounts=mounts), expected)


def test_where_the_system_does_not_say_it_is_believed_to_tell(tmp_path: Path) -> None:
    assert find_type(tmp_path, tmp_path / "nothing") is None
    assert not is_silent(tmp_path, tmp_path / "nothing")


@pytest.mark.parametrize(
    ("polling", "value", "expected"),
    [
        (True, None, PollingWatcher),
        (False, "1", NativeWatcher),
        (None, "1", PollingWatcher),
        (None, "true", PollingWatcher),
        (None, "false", NativeWatcher),
        (None, "", NativeWatcher),
        (None, None, NativeWatcher),
    ],
)
def test_polling_can_be_asked_for(
    tmp_path: Path, polling: bool | None, value: str | None, expected: type[Watcher]
) -> None:
    env = {} if value is None else {"WATCHFILES_FORCE_POLLING": value}
    watcher = choose_watcher([tmp_path], polling=polling, env=env, mounts=tmp_path / "nothing")
    assert type(watcher) is expected


def test_a_wish_beats_the_file_system(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTINFO)
    env = {"WATCHFILES_FORCE_POLLING": "disabled"}
    assert isinstance(choose_watcher([Path("/home/me")], env=env, mounts=mounts), NativeWatcher)
