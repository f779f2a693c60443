"""What somebody types in their first minutes with turnlog, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import invoke, run
from turnlog.testing import make_line

DAY = "2026-01-02"
"""When all sessions here were."""


class Machine:
    """A machine with some sessions, an archive of them, and a folder to work in."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = place / "claude" / "projects" / "-home-ada-project"
        self.work = place / "work"
        self.work.mkdir()
        self.env = {
            "TURNLOG_HOME": str(place / "archive"),
            "CLAUDE_CONFIG_DIR": str(place / "claude"),
            "TZ": "UTC",
        }

    def write(self, session_id: str, text: str = "an answer", *, stem: str | None = None, folder: str = "") -> Path:
        """Write a session of a prompt and an answer."""
        path = self.folder.with_name(self.folder.name + folder) / f"{stem or session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        name = f"{session_id}{stem or ''}{folder}"
        lines = make_line(0, session_id=name) + make_line(1, session_id=name, type="assistant", text=text)
        path.write_bytes(lines.replace(f'"sessionId":"{name}"'.encode(), f'"sessionId":"{session_id}"'.encode()))
        return path

    def sync(self) -> None:
        assert invoke("sync", env=self.env).exit_code == 0

    def run(self, *args: str | Path, stdin: bytes = b"") -> tuple[int, str, str]:
        """Run a command in the folder to work in."""
        ran = run(*args, env=self.env, cwd=self.work, stdin=stdin)
        return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# usage


@pytest.mark.parametrize("by", ["daily", "tool", "blocks"])
def test_usage_of_days_without_answers_says_which_days_have_some(machine: Machine, by: str) -> None:
    machine.write("one")
    machine.sync()
    status, out, err = machine.run("usage", by, "--since", "2026-05-01")
    assert (status, out) == (1, "")
    assert err == (
        f"turnlog: no answers from a model in the archive since 2026-05-01; there are answers on {DAY}\n"
    )
    status, out, err = machine.run("usage", by, "--since", "yesterday", "--json")
    assert status == 1
    assert json.loads(out)["available"] == {"since": DAY, "until": DAY}
    status, out, err = machine.run("usage", by, "--since", DAY, "--json")
    assert status == 0
    assert json.loads(out)["available"] is None


def test_usage_counts_the_day_that_is_named_first_and_the_one_that_is_named_last(machine: Machine) -> None:
    machine.write("one")
    machine.sync()
    assert machine.run("usage", "--since", DAY)[0] == 0
    assert machine.run("usage", "--until", DAY)[0] == 0
    _, _, err = machine.run("usage", "--until", "2026-01-01")
    assert "in the archive up to 2026-01-01; there are answers on 2026-01-02" in err
    _, _, err = machine.run("usage", "--since", "2026-02-01", "--until", "2026-02-03")
    assert "from 2026-02-01 to 2026-02-03; there are answers on 2026-01-02" in err


def test_usage_of_a_project_that_is_not_there_names_it(machine: Machine) -> None:
    path = machine.write("one")
    for where in ([], ["--path", path]):
        _, _, err = machine.run("usage", *where, "--project", "nowhere")
        assert ", in projects with 'nowhere' in their path\n" in err
