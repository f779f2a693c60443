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
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from turnlog.ingest.following import follow
from turnlog.ingest.native_watcher import NativeWatcher
from turnlog.ingest.pipeline import sync
from turnlog.ingest.verification import verify_session
from turnlog.store.identity import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.files.locate import list_roots

ORIGIN = "0" * 31 + "1"
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])
LINE = {"type": "user", "sessionId": "s", "cwd": "/home/ada/tea", "timestamp": "2026-05-01T10:00:00.000Z"}


def grow(config: Path, choice: random.Random, *, deleting: bool = True) -> None:
    """Append some lines to some sessions, one of them torn, and delete one now and then."""
    project = config / "projects" / "-home-ada-tea"
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


def sync_and_kill(config: Path, home: Path, choice: random.Random) -> bool:
    """Start a sync, kill it after some seconds, and tell whether it was still running."""
    env = {**os.environ, "TURNLOG_HOME": str(home), "CLAUDE_CONFIG_DIR": str(config)}
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", "sync"],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(choice.uniform(0.25, 1.0))
    running = process.poll() is None
    if running:
        process.send_signal(signal.SIGKILL)
    process.wait()
    return running


def check(config: Path, home: Path, kept: dict[str, bytes]) -> None:
    """Sync to the end; all that is or ever was outside is there, and everything follows from it."""
    place = home / "turnlog.db"
    store = open_store(place)
    sync(store, place, locate_sessions([config]).sessions, origin=ORIGIN, within=[config])
    known = list(store.list_known(LOCAL))
    assert [each for session in known for each in verify_session(store, LOCAL, session).disagreements] == []
    archived = {
        source.path: b"".join(store.archive.read_all(LOCAL, source.source, source.generation))
        for session in known
        for source in session.sources
    }
    for path in (config / "projects").rglob("*.jsonl"):
        kept[str(path)] = path.read_bytes()
        assert archived[str(path)] == kept[str(path)]
    store.close()


def follow_forever(config: Path, home: Path, begun: Event) -> None:
    """Do what `turnlog sync --watch` does; it is a process of its own that does it."""
    begun.set()
    place = home / "turnlog.db"
    watcher = NativeWatcher(list_roots([config]))
    follow(open_store(place), place, [config], origin=ORIGIN, watcher=watcher, on_report=lambda report: None)


def follow_and_kill(config: Path, home: Path, choice: random.Random) -> bool:
    """Start to follow, write to sessions meanwhile, kill it after a while, and tell whether it was running."""
    begun = PROCESSES.Event()
    process = PROCESSES.Process(target=follow_forever, args=(config, home, begun))
    process.start()
    begun.wait()
    for _ in range(choice.randint(1, 6)):
        time.sleep(choice.uniform(0.0, 0.15))
        grow(config, choice, deleting=False)
    time.sleep(choice.uniform(0.0, 0.15))
    running = process.is_alive()
    process.kill()
    process.join()
    return running


def kill_often(
    tmp_path: Path,
    times: int,
    report: Callable[[str], None],
    start: Callable[[Path, Path, random.Random], bool],
) -> None:
    choice = random.Random(20260501)
    config, home = tmp_path / "claude", tmp_path / "home"
    home.mkdir()
    (home / "origin").write_text(f"{ORIGIN}\n")
    kept: dict[str, bytes] = {}
    killed = 0
    for turn in range(times):
        grow(config, choice)
        killed += start(config, home, choice)
        if turn % 10 == 9:
            check(config, home, kept)
    check(config, home, kept)
    report(f"started {times} times, {killed} times killed; everything verified")
    assert killed


def test_killing_a_sync_at_random_moments_loses_nothing(tmp_path: Path, report: Callable[[str], None]) -> None:
    kill_often(tmp_path, 50, report, sync_and_kill)


def test_killing_a_follower_at_random_moments_loses_nothing(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    kill_often(tmp_path, 25, report, follow_and_kill)


@pytest.mark.soak
def test_killing_a_sync_a_thousand_times_loses_nothing(tmp_path: Path, report: Callable[[str], None]) -> None:
    kill_often(tmp_path, 1000, report, sync_and_kill)


@pytest.mark.soak
def test_killing_a_follower_a_thousand_times_loses_nothing(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    kill_often(tmp_path, 1000, report, follow_and_kill)
