"""Whoever keeps the store up and is killed at any moment loses nothing and repeats nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from turnlog.ingest.live_sync import follow
from turnlog.ingest.pipeline import sync
from turnlog.ingest.verification import verify_session
from turnlog.ingest.watchers import NativeWatcher
from turnlog.store.interface import read_all
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.session_files import list_roots

ORIGIN = "0" * 31 + "1"
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])
PROJECT = 30
"""So many times one project is written to."""
LINE = {"type": "user", "sessionId": "s", "cwd": "/home/ada/tea", "timestamp": "2026-05-01T10:00:00.000Z"}


def grow(project: Path, choice: random.Random, *, deleting: bool = True) -> None:
    """Append some lines to some sessions, one of them torn, and delete one now and then."""
    project.mkdir(parents=True, exist_ok=True)
    for number in range(choice.randint(1, 6)):
        path = project / f"s{choice.randint(0, 9)}.jsonl"
        with path.open("ab") as file:
            for at in range(choice.randint(1, 40)):
                content = "word " * choice.randint(1, 400)
                line = LINE | {"uuid": f"u{number}-{at}-{choice.random()}", "message": {"content": content}}
                file.write(json.dumps(line).encode() + b"\n")
            if choice.random() < 0.3:
                file.write(b'{"type":"user","torn')
    if deleting and choice.random() < 0.2:
        victims = sorted(project.glob("*.jsonl"))
        victims[choice.randrange(len(victims))].unlink()


def sync_and_kill(config: Path, home: Path, project: Path, choice: random.Random) -> bool:
    """Write to sessions, start a sync, kill it after a while, and tell whether it was still running."""
    in_processes = choice.random() < 0.5
    grow(project, choice)
    env = {**os.environ, "TURNLOG_HOME": str(home), "CLAUDE_CONFIG_DIR": str(config)}
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", "sync", *(("--workers", "2") if in_processes else ())],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # Others take longer to begin; what they index is written as shards.
    time.sleep(choice.uniform(0.5, 1.5) if in_processes else choice.uniform(0.05, 0.6))
    running = process.poll() is None
    if running:
        process.send_signal(signal.SIGKILL)
    process.wait()
    return running


def check(config: Path, home: Path, within: Path) -> None:
    """Sync to the end; all that is outside in a folder is there, and what is kept of it follows from it."""
    place = home / "turnlog.db"
    with closing(open_store(place)) as store:
        sync(store, place, locate_sessions([config]).sessions, origin=ORIGIN, within=[config])
        known = [
            session
            for session in store.list_known(LOCAL)
            if any(Path(source.path).is_relative_to(within) for source in session.sources)
        ]
        assert [each for session in known for each in verify_session(store, LOCAL, session).disagreements] == []
        archived = {
            source.path: b"".join(read_all(store.archive, LOCAL, source.source, source.generation))
            for session in known
            for source in session.sources
        }
    for path in within.rglob("*.jsonl"):
        assert archived[str(path)] == path.read_bytes()


def follow_forever(config: Path, home: Path, begun: Event) -> None:
    """Do what `turnlog sync --watch` does; it is a process of its own that does it."""
    begun.set()
    place = home / "turnlog.db"
    watcher = NativeWatcher(list_roots([config]))
    follow(open_store(place), place, [config], origin=ORIGIN, watcher=watcher, on_report=lambda report: None)


def follow_and_kill(config: Path, home: Path, project: Path, choice: random.Random) -> bool:
    """Start to follow, write to sessions meanwhile, kill it after a while, and tell whether it was running."""
    grow(project, choice)
    begun = PROCESSES.Event()
    process = PROCESSES.Process(target=follow_forever, args=(config, home, begun))
    process.start()
    begun.wait()
    for _ in range(choice.randint(1, 6)):
        time.sleep(choice.uniform(0.0, 0.15))
        grow(project, choice, deleting=False)
    time.sleep(choice.uniform(0.0, 0.15))
    running = process.is_alive()
    process.kill()
    process.join()
    return running


def kill_often(
    tmp_path: Path,
    times: int,
    report: Callable[[str], None],
    start: Callable[[Path, Path, Path, random.Random], bool],
) -> None:
    """Kill, and check what was written since the last check; in the end, all there is.

    Every `PROJECT` times there is a new project, so that checks don't take longer and longer.
    """
    choice = random.Random(20260501)
    config, home = tmp_path / "claude", tmp_path / "home"
    home.mkdir()
    (home / "origin").write_text(f"{ORIGIN}\n")
    turn = killed = 0
    while killed < times:
        assert turn < 20 * times, "hardly any was still running when it was to be killed"
        project = config / "projects" / f"-home-ada-tea-{turn // PROJECT}"
        killed += start(config, home, project, choice)
        turn += 1
        if turn % 10 == 0:
            check(config, home, project)
    check(config, home, config)
    report(f"started {turn} times, {killed} times killed; everything verified")


def test_killing_a_sync_at_random_moments_loses_nothing(tmp_path: Path, report: Callable[[str], None]) -> None:
    kill_often(tmp_path, 20, report, sync_and_kill)


def test_killing_a_follower_at_random_moments_loses_nothing(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    kill_often(tmp_path, 10, report, follow_and_kill)


@pytest.mark.soak
def test_killing_a_sync_a_thousand_times_loses_nothing(tmp_path: Path, report: Callable[[str], None]) -> None:
    kill_often(tmp_path, 1000, report, sync_and_kill)


@pytest.mark.soak
def test_killing_a_follower_a_thousand_times_loses_nothing(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    kill_often(tmp_path, 1000, report, follow_and_kill)
