"""A sync that is killed at any moment loses nothing and repeats nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from turnlog.ingest.pipeline import sync
from turnlog.ingest.verification import verify_session
from turnlog.store.identity import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions

LINE = {"type": "user", "sessionId": "s", "cwd": "/home/ada/tea", "timestamp": "2026-05-01T10:00:00.000Z"}


def grow(config: Path, choice: random.Random) -> None:
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
    if choice.random() < 0.2:
        victims = sorted(project.glob("*.jsonl"))
        victims[choice.randrange(len(victims))].unlink()


def sync_and_kill(config: Path, home: Path, after: float) -> bool:
    """Start a sync, kill it after some seconds, and tell whether it was still running."""
    env = {**os.environ, "TURNLOG_HOME": str(home), "CLAUDE_CONFIG_DIR": str(config)}
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", "sync"],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after)
    running = process.poll() is None
    if running:
        process.send_signal(signal.SIGKILL)
    process.wait()
    return running


def check(config: Path, home: Path, kept: dict[str, bytes]) -> None:
    """Sync to the end; all that is or ever was outside is there, and everything follows from it."""
    place = home / "turnlog.db"
    store = open_store(place)
    sync(store, place, locate_sessions([config]).sessions, origin="0" * 31 + "1", within=[config])
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


def kill_often(tmp_path: Path, times: int, report: Callable[[str], None]) -> None:
    choice = random.Random(20260501)
    config, home = tmp_path / "claude", tmp_path / "home"
    home.mkdir()
    (home / "origin").write_text("0" * 31 + "1\n")
    kept: dict[str, bytes] = {}
    killed = 0
    for turn in range(times):
        grow(config, choice)
        killed += sync_and_kill(config, home, choice.uniform(0.25, 1.0))
        if turn % 10 == 9:
            check(config, home, kept)
    check(config, home, kept)
    report(f"{times} syncs, {killed} of them killed; everything verified")
    assert killed


def test_killing_a_sync_at_random_moments_loses_nothing(tmp_path: Path, report: Callable[[str], None]) -> None:
    kill_often(tmp_path, 50, report)


@pytest.mark.soak
def test_killing_a_sync_a_thousand_times_loses_nothing(tmp_path: Path, report: Callable[[str], None]) -> None:
    kill_often(tmp_path, 1000, report)
