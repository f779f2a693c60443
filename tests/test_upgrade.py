"""Two versions of turnlog on one database: what the newer one adds does not stop the older one.

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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psycopg
import pytest
from msgspec import Struct

import turnlog
from command_line import TIMEOUT
from ingest.push_processes import await_that
from ingest.pushed_store import check_sound
from postgres_server import make_database
from turnlog.errors import NewerStoreError
from turnlog.store.identity import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.places import ServerPlace
from turnlog.testing.builders import make_batch, make_lines

STEP = """
def add_wonders(connection: Connection) -> None:
    connection.execute("CREATE TABLE wonders (name text PRIMARY KEY)")
    connection.execute("ALTER TABLE sessions ADD COLUMN wonder text NOT NULL DEFAULT 'none'")
    connection.execute("ALTER TABLE hook_deliveries ADD COLUMN wonder text")
    connection.execute("CREATE INDEX sessions_by_wonder ON sessions (wonder)")


"""
STEPS = "MIGRATIONS: tuple[Migration, ...] = ("


def make_newer(folder: Path, *, is_additive: bool) -> Path:
    """Return a folder with a newer version of the package."""
    shutil.copytree(
        Path(turnlog.__file__).parent,
        folder / "turnlog",
        ignore=shutil.ignore_patterns("__pycache__", "page"),
    )
    module = folder / "turnlog" / "store" / "postgres" / "migrations.py"
    before, start, rest = module.read_text().partition(STEPS)
    steps, end, behind = rest.partition("\n)\n")
    assert start
    assert end
    text = f"{before}{STEP}{start}{steps}\n    add_wonders,{end}{behind}"
    if is_additive:
        text += "\nADDITIVE = frozenset({*ADDITIVE, add_wonders})\n"
    module.write_text(text)
    return folder


class Machine:
    """One that has sessions of its own, and runs programs of one version or the other."""

    def __init__(self, home: Path, address: str, package: Path | None = None) -> None:
        self.home = home
        self.project = home / ".claude" / "projects" / "-p"
        self.project.mkdir(parents=True)
        self.env = {
            **os.environ,
            "TURNLOG_HOME": os.fspath(home / "turnlog"),
            "CLAUDE_CONFIG_DIR": os.fspath(home / ".claude"),
            "TURNLOG_STORE": address,
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
        [sys.executable, "-m", "turnlog", "serve", "--no-browser", "--port", "0", "--json"],
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
def test_an_old_and_a_new_server_run_on_one_database(tmp_path: Path) -> None:
    address = make_database()
    newer = make_newer(tmp_path / "newer", is_additive=True)
    one, other = Machine(tmp_path / "one", address), Machine(tmp_path / "other", address, newer)
    laptop = Machine(tmp_path / "laptop", "")
    del laptop.env["TURNLOG_STORE"]
    one.write("a")
    laptop.write("b")
    with serving(one) as old:
        laptop.push(old)
        await_sessions(old, ("a", 4), ("b", 4))
        with serving(other) as new:
            assert list_steps(address)["add_wonders"]
            check_both(old, new, laptop, one)
            before = old.list_sessions()
        assert old.list_sessions() == before
    with closing(open_store(ServerPlace(address, tmp_path))) as store:
        check_sound(store)
    assert one.run("verify").returncode == 0


def check_both(old: Server, new: Server, laptop: Machine, one: Machine) -> None:
    """Both answer, and both take what comes; what runs beside the old one can be started anew."""
    assert old.ask("/api/ready")[0] == new.ask("/api/ready")[0] == 200
    assert new.list_sessions() == old.list_sessions()
    laptop.write("b", first=4)
    laptop.push(new)
    laptop.write("b", first=8)
    laptop.write("c")
    laptop.push(old)
    assert new.list_sessions() == old.list_sessions() == [("a", 4), ("b", 12), ("c", 4)]
    assert old.kill_children() >= 2
    one.write("a", first=4)
    laptop.write("c", first=4)
    push_until_taken(laptop, old)
    for server in (old, new):
        await_sessions(server, ("a", 8), ("b", 12), ("c", 8))
    await_verified(old)


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


def list_steps(address: str) -> dict[str, bool]:
    with psycopg.connect(address) as connection:
        return dict(connection.execute("SELECT name, is_additive FROM turnlog.migrations").fetchall())


def test_a_step_that_older_programs_must_know_keeps_them_from_writing(tmp_path: Path) -> None:
    """Also one that was at it already: what it would write is not what the tables are for now."""
    address = make_database()
    other = Machine(tmp_path / "other", address, make_newer(tmp_path / "newer", is_additive=False))
    with closing(open_store(ServerPlace(address, tmp_path))) as store:
        store.apply([make_batch({"session-1.jsonl": make_lines(3)})])
        assert other.run("sync").returncode == 0
        assert list_steps(address)["add_wonders"] is False
        tries: tuple[Callable[[], object], ...] = (
            lambda: store.apply([make_batch({"session-2.jsonl": make_lines(3)}, session_id="session-2")]),
            lambda: open_store(ServerPlace(address, tmp_path)),
            lambda: open_store(ServerPlace(address, tmp_path), read_only=True),
        )
        for attempt in tries:
            with pytest.raises(NewerStoreError, match="add_wonders"):
                attempt()
        assert len(list(store.list_known(LOCAL))) == 1
