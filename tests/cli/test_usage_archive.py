"""`turnlog usage` from the archive: the same figures as from the files, up to date, and quick to load."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import environment, run_here
from golden import DATA

FORK = DATA / "transcripts" / "usage-fork"
GROUPINGS = (
    "daily",
    "weekly",
    "monthly",
    "session",
    "project",
    "model",
    "tool",
    "agent",
    "skill",
    "mcp",
    "blocks",
)
HEAVY = ("turnlog.messages.codec", "turnlog.messages", "rich", "genai_prices", "asyncio", "multiprocessing")
PROBE = """
import runpy, sys
try:
    runpy.run_module("turnlog", run_name="__main__", alter_sys=True)
except SystemExit as stop:
    assert not stop.code, stop.code
finally:
    sys.stderr.write(" ".join(sorted(sys.modules)))
"""


class Machine:
    """A machine with sessions, and perhaps an archive of them."""

    def __init__(self, folder: Path) -> None:
        self.env = {"TURNLOG_HOME": str(folder / "home"), "CLAUDE_CONFIG_DIR": str(folder / "claude")}
        self.project = folder / "claude" / "projects" / "-home-ada-tea"
        shutil.copytree(FORK, self.project)
        shutil.copytree(DATA / "cli" / "tour", folder / "claude" / "projects" / "-home-ada-tour")

    def run(self, *args: str) -> bytes:
        ran = run_here(*args, env=self.env)
        assert (ran.returncode, ran.stderr) == (0, b""), ran.stderr
        return ran.stdout

    def read(self, *args: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("usage", *args, "--json"))
        return found

    def list_modules(self, *args: str, said: bytes = b"") -> set[str]:
        """Run a command, and return the modules that it has loaded."""
        ran = subprocess.run(
            [sys.executable, "-c", PROBE, *args],
            input=said,
            capture_output=True,
            env=environment(self.env),
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return set(ran.stderr.decode().split())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_archive_counts_what_the_files_say(machine: Machine) -> None:
    of_files = {
        by: machine.read(by, "--breakdown", "model") if by != "tool" else machine.read(by) for by in GROUPINGS
    }
    machine.run("sync")
    for by in GROUPINGS:
        found = machine.read(by, "--breakdown", "model") if by != "tool" else machine.read(by)
        assert without_owners(found) == without_owners(of_files[by]), by


def without_owners(report: dict[str, Any]) -> dict[str, Any]:
    """Leave out what rests on the names of files: who owns an answer that stands in two at the same time."""
    rows = [] if report["by"] == "session" else report["rows"]
    return {**report, "rows": rows, "files": 0}


def test_what_is_new_outside_is_counted(machine: Machine) -> None:
    machine.run("sync")
    before = machine.read()["total"]["messages"]
    path = machine.project / "a-original.jsonl"
    line = path.read_text().splitlines()[0]
    with path.open("a") as file:
        file.write(line.replace("msg", "new-msg") + "\n")
    assert machine.read("--no-sync")["total"]["messages"] == before
    assert machine.read()["total"]["messages"] == before + 1
    assert machine.read("--no-sync")["total"]["messages"] == before + 1


def test_what_is_gone_outside_still_counts(machine: Machine) -> None:
    machine.run("sync")
    before = machine.read()
    shutil.rmtree(machine.project)
    assert machine.read() == before


def test_prices_of_one_s_own_count_for_the_archive_too(machine: Machine, tmp_path: Path) -> None:
    own = tmp_path / "prices.json"
    own.write_text('{"claude-sonnet-4-5-20250929": {"input": 1000, "output": 0.5}}')
    of_files = machine.read("model", "--prices", str(own))
    machine.run("sync")
    assert machine.read("model", "--prices", str(own))["rows"] == of_files["rows"]


def test_verify_checks_usage(machine: Machine) -> None:
    machine.run("sync")
    assert b"everything agrees" in machine.run("verify")


@pytest.mark.parametrize(
    "args",
    [
        ("usage",),
        ("usage", "blocks", "--json"),
        ("usage", "session", "--csv"),
        ("usage", "tool"),
        ("statusline",),
    ],
)
def test_an_archive_that_is_up_to_date_loads_little(machine: Machine, args: tuple[str, ...]) -> None:
    machine.run("sync")
    assert set(HEAVY) & machine.list_modules(*args, said=b"{}") == set()


def test_files_as_they_are_load_little(machine: Machine) -> None:
    machine.run("usage", "--path", str(FORK))  # now the prices are remembered
    assert set(HEAVY) & machine.list_modules("usage", "--path", str(FORK)) == set()


def test_help_loads_next_to_nothing(machine: Machine) -> None:
    heavy = {"msgspec", "apsw", "turnlog.config", *HEAVY}
    assert heavy & machine.list_modules("--help") == set()


def test_a_price_that_is_remembered_is_the_list_s(machine: Machine) -> None:
    first = machine.read("model")
    assert (Path(machine.env["TURNLOG_HOME"]) / "prices.msgpack").exists()
    assert machine.read("model") == first
    (Path(machine.env["TURNLOG_HOME"]) / "prices.msgpack").write_bytes(b"damaged")
    assert machine.read("model") == first


def test_many_files_are_read_by_several_processes_alike(machine: Machine) -> None:
    probe = """
import os
import sys
import time
from pathlib import Path
from msgspec.structs import replace
from turnlog.cli import usage_files
from turnlog.cli.usage_files import scan_files
def slowly(scanned):
    for number, each in enumerate(scanned):
        if number == 0:
            time.sleep(0.5)
        yield each.number, each

paths = sorted(Path(sys.argv[1]).rglob("*.jsonl"))
sizes = [path.stat().st_size for path in paths]
one, three = ({each.number: each for each in scan_files(paths, sizes, count)} for count in (1, 3))
assert one == three
assert len(paths) > 3

# Nothing is lost if much is told while the reader is busy, or if a process ends early.
assert dict(slowly(usage_files.scan_files(paths * 400, sizes * 400, 2))) == {
    at + each * len(paths): replace(one[at], number=at + each * len(paths)) for at in one for each in range(400)
}
parent, scan = os.getpid(), usage_files.scan_file
usage_files.scan_file = lambda *args: scan(*args) if os.getpid() == parent else os._exit(1)
assert {each.number: each for each in usage_files.scan_files(paths, sizes, 3)} == one
"""
    subprocess.run(
        [sys.executable, "-c", probe, str(machine.project.parent)], env=environment(machine.env), check=True
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_archive_that_may_not_be_written_is_read_as_it_is(machine: Machine) -> None:
    machine.run("sync")
    home = Path(machine.env["TURNLOG_HOME"])
    home.chmod(0o500)
    try:
        assert machine.read("--no-sync")["total"]["messages"] > 0
    finally:
        home.chmod(0o700)
