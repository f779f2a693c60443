"""Two versions of turnlog on one archive: what the newer one adds does not stop the older one.

The newer version is a copy of the package with one further step. On the way from the one to the other both run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import apsw
import pytest
from msgspec import Struct

import turnlog
from command_line import TIMEOUT
from ingest.push_processes import await_that
from ingest.pushed_store import check_sound
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_lines

STEP = """

def add_wonders(connection: SqliteConnection) -> None:
    connection.execute("CREATE TABLE wonders (name text PRIMARY KEY)")
    connection.execute("CREATE INDEX sessions_by_name ON sessions (session_id)")


SQLITE_STEPS = Steps(SQLITE_STEPS.subject, (*SQLITE_STEPS.migrations, add_wonders), frozenset({additive}))
"""


def make_newer(folder: Path, *, is_additive: bool) -> Path:
    """Return a folder with a newer version of the package."""
    shutil.copytree(
        Path(turnlog.__file__).parent,
        folder / "turnlog",
        ignore=shutil.ignore_patterns("__pycache__", "page"),
    )
    module = folder / "turnlog" / "store" / "catalogue" / "sqlite_engine.py"
    step = STEP.replace("{additive}", "[add_wonders]" if is_additive else "")
    module.write_text(module.read_text() + step)
    return folder


class Machine:
    """One that has sessions of its own, and runs programs of one version or the other."""

    def __init__(self, home: Path, package: Path | None = None) -> None:
        self.home = home
        self.place = home / "turnlog" / "turnlog.db"
        self.project = home / ".claude" / "projects" / "-p"
        self.project.mkdir(parents=True, exist_ok=True)
        self.env = {
            **os.environ,
            "TURNLOG_HOME": os.fspath(home / "turnlog"),
            "CLAUDE_CONFIG_DIR": os.fspath(home / ".claude"),
        }
        if package is not None:
            self.env["PYTHONPATH"] = os.fspath(package)

    def write(self, name: str, count: int = 4, first: int = 0) -> None:
        with (self.project / f"{name}.jsonl").open("ab") as file:
            file.write(make_lines(count, first=first, session_id=name))

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "turnlog", *args],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    def push(self, server: Server) -> None:
        (self.home / "token").write_text(server.token)
        done = self.run("push", "--once", "--to", server.url, "--token-file", os.fspath(self.home / "token"))
        assert done.returncode == 0, done.stderr


class Server(Struct, frozen=True):
    """A server that runs."""

    process: subprocess.Popen[bytes]
    url: str
    token: str

    def ask(self, path: str, method: str = "GET") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = Request(
            self.url + path, headers=headers, method=method, data=b"{}" if method == "POST" else None
        )
        try:
            with urlopen(request, timeout=TIMEOUT) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    def list_sessions(self) -> list[tuple[str, int]]:
        _, found = self.ask("/api/sessions?limit=100")
        return sorted((each["session_id"], each["lines"]) for each in found["items"])

    def kill_children(self) -> int:
        """Kill what runs beside the server, and return how many processes that were."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        children = [int(number) for task in tasks for number in (task / "children").read_text().split()]
        for child in children:
            os.kill(child, signal.SIGKILL)
        return len(children)


@contextmanager
def serving(machine: Machine) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", "serve", "--no-browser", "--no-sync", "--port", "0", "--json"],
        env=machine.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    timer = threading.Timer(10 * TIMEOUT, process.kill)
    timer.start()
    with process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            yield Server(process, told["url"], Path(told["token_file"]).read_text().strip())
        finally:
            timer.cancel()
            process.terminate()
            process.communicate(timeout=TIMEOUT)


def await_sessions(server: Server, *expected: tuple[str, int]) -> None:
    await_that(lambda: server.list_sessions() == sorted(expected))


@pytest.mark.skipif(not Path("/proc").exists(), reason="who runs beside a server cannot be told here")
def test_an_old_server_goes_on_with_what_a_new_program_added(tmp_path: Path) -> None:
    old_one = Machine(tmp_path / "one")
    new_one = Machine(old_one.home, make_newer(tmp_path / "newer", is_additive=True))
    laptop = Machine(tmp_path / "laptop")
    old_one.write("a")
    laptop.write("b")
    assert old_one.run("sync").returncode == 0
    with serving(old_one) as old:
        laptop.push(old)
        old_one.write("a", first=4)
        assert new_one.run("sync").returncode == 0
        assert list_steps(old_one.place)["add_wonders"]
        await_sessions(old, ("a", 8), ("b", 4))
        laptop.write("b", first=4)
        laptop.push(old)
        assert old.kill_children() >= 1
        laptop.write("c")
        push_until_taken(laptop, old)
        await_sessions(old, ("a", 8), ("b", 8), ("c", 4))
        assert old.ask("/api/ready")[0] == 200
        await_verified(old)
    for each in (old_one, new_one):
        assert each.run("verify").returncode == 0
    with closing(open_store(old_one.place)) as store:
        check_sound(store)


def push_until_taken(machine: Machine, server: Server) -> None:
    """Push to a server whose uploader was killed: it may say that it is being started."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            return machine.push(server)
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def await_verified(server: Server) -> None:
    assert server.ask("/api/archive/verify", "POST")[0] == 202
    job: dict[str, Any] = {}

    def is_over() -> bool:
        job.update(server.ask("/api/archive/verify")[1])
        return bool(job["state"] != "running")

    await_that(is_over)
    assert (job["state"], job["found"]) == ("clean", 0), job


def list_steps(place: Path) -> dict[str, bool]:
    with closing(apsw.Connection(os.fspath(place))) as connection:
        return {name: bool(added) for name, _, added in connection.execute("SELECT * FROM migrations")}


def test_a_step_that_older_programs_must_know_keeps_them_out(tmp_path: Path) -> None:
    newer = Machine(tmp_path / "one", make_newer(tmp_path / "newer", is_additive=False))
    older = Machine(newer.home)
    newer.write("a")
    assert newer.run("sync").returncode == 0
    assert list_steps(newer.place)["add_wonders"] is False
    before = newer.place.read_bytes()
    for command in ("sync", "sessions"):
        done = older.run(command)
        assert done.returncode == 2
        assert "add_wonders" in done.stderr
    assert newer.place.read_bytes() == before
