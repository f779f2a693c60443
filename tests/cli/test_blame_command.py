"""`turnlog blame` on a history with known answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from api_archive import Writer, call, say
from command_line import invoke, run_here

FIRST = "b1a3e000-0000-4000-8000-000000000001"
SECOND = "b1a3e000-0000-4000-8000-000000000002"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project, two sessions that changed a file in it, and the file as it is now."""
    folder = tmp_path / "shop"
    folder.mkdir()
    path = str(folder / "cart.py")
    first, second = Writer(FIRST, cwd=str(folder)), Writer(SECOND, cwd=str(folder))
    for _ in range(20):  # a line is a second: the second session begins when the first is over
        second.user("Wait")
    counted: dict[str, Any] = {"old_string": "total = 0", "new_string": "total = 1\nitems = []"}
    taxed: dict[str, Any] = {"old_string": "items = []", "new_string": "items = []\ntaxes = 7"}
    _edit(first, "Write the cart", "Write", "c1", file_path=path, content="import os\n\ntotal = 0\n")
    _edit(first, "Count the items", "Edit", "c2", file_path=path, **counted)
    _edit(second, "Add taxes", "Edit", "c3", file_path=path, **taxed)
    _edit(second, "This one fails", "Edit", "c4", failed=True, file_path=path, old_string="a", new_string="b")
    for writer, name in ((first, FIRST), (second, SECOND)):
        target = tmp_path / "claude" / "projects" / "-shop" / f"{name}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(writer.data)
    (folder / "cart.py").write_text("# by hand\nimport os\n\ntotal = 1\nitems = []\ntaxes = 7\n")
    return folder


def _edit(writer: Writer, prompt: str, tool: str, id: str, *, failed: bool = False, **given: Any) -> None:
    writer.user(prompt)
    writer.answer(say("I will."), call(id, tool, **given))
    writer.user([{"type": "tool_result", "tool_use_id": id, "content": "done", "is_error": failed}])


@pytest.fixture
def env(tmp_path: Path, project: Path) -> dict[str, str]:
    settings = {"TURNLOG_HOME": str(tmp_path / "turnlog"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    assert invoke("sync", env=settings).exit_code == 0
    return settings


def test_each_line_is_told_with_the_prompt_that_led_to_it(project: Path, env: dict[str, str]) -> None:
    done = invoke("blame", project / "cart.py", "--json", env=env)
    assert done.exit_code == 0, done.output
    told = [
        (line["text"], line["origin"] and line["origin"]["prompt"], line["sure"])
        for line in json.loads(done.stdout)
    ]
    assert told == [
        ("# by hand", None, True),
        ("import os", "Write the cart", True),
        ("", "Write the cart", True),
        ("total = 1", "Count the items", True),
        ("items = []", "Count the items", True),
        ("taxes = 7", "Add taxes", True),
    ]


def test_people_see_it_line_by_line(project: Path, env: dict[str, str]) -> None:
    done = invoke("blame", project / "cart.py", env=env)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    assert "Count the items" in lines[3]
    assert lines[3].startswith(FIRST[:8])


def test_one_line_is_told_with_the_way_to_it(project: Path, env: dict[str, str]) -> None:
    done = invoke("blame", f"{project / 'cart.py'}:6", env=env)
    assert done.exit_code == 0
    assert SECOND in done.stdout
    assert "Add taxes" in done.stdout
    command = done.stdout.split("turnlog ")[-1].split()
    assert invoke(*command, env=env).exit_code == 0


def test_a_project_that_was_moved_is_known_by_the_end_of_its_paths(
    project: Path, env: dict[str, str], tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere"
    project.rename(moved)
    (moved / ".git").mkdir()
    lines = json.loads(invoke("blame", moved / "cart.py", "--json", env=env).stdout)
    assert lines[5]["origin"]["prompt"] == "Add taxes"
    assert lines[5]["sure"] is False


def test_a_file_that_no_session_changed_is_told(env: dict[str, str], project: Path) -> None:
    (project / "other.py").write_text("x\n")
    done = invoke("blame", project / "other.py", env=env)
    assert done.exit_code == 1


@pytest.mark.parametrize("place", ["missing.py", "cart.py:99", "."])
def test_misuse_is_told_in_a_line(project: Path, env: dict[str, str], place: str) -> None:
    done = run_here("blame", project / place, env=env)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
