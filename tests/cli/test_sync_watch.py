"""`turnlog sync --watch`, as people and services run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import TIMEOUT, TURNLOG, environment, run, show_in_terminal


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"TURNLOG_HOME": os.fspath(tmp_path / "home"), "CLAUDE_CONFIG_DIR": os.fspath(tmp_path / ".claude")}


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / ".claude" / "projects" / "-p" / "session.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"type":"user"}\n')
    return path


@pytest.fixture
def watching(env: dict[str, str], session: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that watches; whatever happens, it ends in time."""
    process = subprocess.Popen(
        [*TURNLOG, "sync", "--watch", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(env),
    )
    timer = threading.Timer(TIMEOUT, process.kill)
    timer.start()
    with process:
        yield process
        timer.cancel()
        process.kill()


def next_line(process: subprocess.Popen[bytes]) -> dict[str, object]:
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    assert isinstance(told, dict)
    return told


def test_each_change_is_a_line_of_json(watching: subprocess.Popen[bytes], session: Path) -> None:
    start = next_line(watching)
    assert start["occasion"] == "start"
    with session.open("a") as file:
        file.write('{"type":"user"}\n{"type":"user"}\n')
    change = next_line(watching)
    assert (change["occasion"], change["paths"], change["reason"]) == ("change", [os.fspath(session)], "")
    assert isinstance(change["report"], dict)
    assert (change["report"]["changed"], change["report"]["lines"]) == (1, 2)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_end_it_in_order(watching: subprocess.Popen[bytes], number: int, status: int) -> None:
    next_line(watching)
    watching.send_signal(number)
    _, errors = watching.communicate(timeout=TIMEOUT)
    assert (watching.returncode, errors) == (status, b"")


def test_a_second_one_says_who_is_at_it(watching: subprocess.Popen[bytes], env: dict[str, str]) -> None:
    next_line(watching)
    ran = run("sync", "--watch", env=env)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert f"turnlog: process {watching.pid} on " in ran.stderr.decode()
    assert len(ran.stderr.splitlines()) == 1


def test_a_killed_one_does_not_keep_the_next_from_it(
    watching: subprocess.Popen[bytes], env: dict[str, str], session: Path
) -> None:
    next_line(watching)
    watching.kill()
    watching.wait(TIMEOUT)
    shown = show_in_terminal("sync", "--watch", env=env, interrupt=True)
    assert shown.status == 130
    assert "0 new, 0 changed" in shown.text
    assert "Traceback" not in shown.text


@pytest.mark.parametrize(
    ("name", "says"), [("nowhere", "No such directory"), ("home", "only folders with Claude Code's")]
)
def test_only_config_dirs_can_be_watched(tmp_path: Path, env: dict[str, str], name: str, says: str) -> None:
    (tmp_path / "home").mkdir()
    ran = run("sync", "--watch", tmp_path / name, env=env)
    assert ran.returncode == 2
    assert says in ran.stderr.decode()
