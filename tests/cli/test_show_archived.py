"""`turnlog show ID`: sessions of the archive, whether their files are there or not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import invoke, run_here, show_in_terminal
from golden import DATA
from turnlog.testing.builders import make_line, make_lines

TOUR = DATA / "cli" / "tour"
TEA = "0b5c7a52-9d3e-4a6f-8c11-5e2f9a7d4c01"
FILE = TOUR / f"{TEA}.jsonl"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An archive with a session whose files are gone, and two that are called alike."""
    projects = tmp_path / "claude" / "projects"
    shutil.copytree(TOUR, projects / "-home-ada-tea")
    (projects / "-work").mkdir()
    for name in ("pppp", "pppp-2"):  # as no key can begin: those are hexadecimal, and others on each machine
        (projects / "-work" / f"{name}.jsonl").write_bytes(make_lines(4, session_id=name))
    env = {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "TZ": "UTC"}
    assert invoke("sync", env=env).exit_code == 0
    shutil.rmtree(projects / "-home-ada-tea")
    return env


@pytest.mark.parametrize(
    "view", [(), ("--tree",), ("--turns",), ("--agents",), ("--thinking", "--full"), ("--raw",)]
)
def test_every_view_is_that_of_the_file(env: dict[str, str], view: tuple[str, ...]) -> None:
    archived, original = run_here("show", "0b5c", *view, env=env), run_here("show", FILE, *view, env=env)
    assert (archived.returncode, archived.stderr) == (0, b"")
    # the command that lists the problems names the session as it was asked for
    assert archived.stdout == original.stdout.replace(b"validate " + bytes(FILE), b"validate 0b5c")
    assert archived.stdout


def test_a_document_names_the_files_that_were(env: dict[str, str]) -> None:
    document = json.loads(invoke("show", "0b5c", "--json", env=env).stdout)
    original = json.loads(invoke("show", FILE, "--json", env=env).stdout)
    folder = Path(env["CLAUDE_CONFIG_DIR"]) / "projects" / "-home-ada-tea"
    assert document["path"] == str(folder / FILE.name)
    assert document["agents"][0]["path"].startswith(str(folder))
    assert {problem["source"] for problem in document["problems"]} == {str(folder / FILE.name)}
    for part in ("summary", "messages", "tree", "turns", "compactions"):
        assert document[part] == original[part]


def test_what_is_wrong_in_small_files_is_told_by_their_paths(tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "projects" / "-home-ada-tea"
    shutil.copytree(TOUR, folder)
    meta = next(folder.rglob("agent-*.meta.json"), None) or folder / TEA / "subagents" / "agent-x1.meta.json"
    meta.parent.mkdir(parents=True, exist_ok=True)
    meta.write_text('{"agentType": 7')
    env = {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "TZ": "UTC"}
    assert invoke("sync", env=env).exit_code == 0
    archived, original = (
        json.loads(invoke("show", what, "--json", env=env).stdout) for what in ("0b5c", folder / FILE.name)
    )
    assert str(meta) in {problem["source"] for problem in archived["problems"]}
    assert archived["problems"] == original["problems"]


def test_raw_bytes_are_escaped_on_a_terminal(env: dict[str, str]) -> None:
    shown = show_in_terminal("show", "0b5c", "--raw", "--no-pager", env=env)
    assert shown.status == 0
    assert "\x1b[31m" not in shown.text
    assert shown.text.count("\r\n") >= FILE.read_bytes().count(b"\n")


def test_a_name_of_ones_own_is_as_good_as_an_id(env: dict[str, str]) -> None:
    invoke("mark", "0b5c", "--name", "Tea Time", "--tag", "hot", "--star", "--note", "again", env=env)
    shown = invoke("show", "tea t", "--turns", env=env)
    assert shown.exit_code == 0
    assert shown.stdout.startswith("★ Tea Time #hot\nagain\nWhich tea is best\n")


def test_an_id_in_full_is_meant_though_others_begin_with_it(env: dict[str, str]) -> None:
    shown = invoke("show", "pppp", "--json", env=env)
    assert json.loads(shown.stdout)["id"] == "pppp"


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        ((), 2, "`turnlog sessions` lists what is archived"),
        (("ppp",), 2, "2 sessions begin with ppp: pppp"),
        (("zzzz",), 1, "no archived session begins with zzzz"),
        (("zzzz.jsonl",), 2, "zzzz.jsonl: No such file or directory"),
        (("0b5c", "--message", "99"), 1, "the session has no message 99"),
        (("0b5c", "--message", "nobody"), 1, "the session has no message nobody"),
        (("0b5c", "--message", "0", "--agent", "zz"), 1, "the session has no agent zz"),
        (("0b5c", "--message", "0", "--tree"), 2, "--message and --tree cannot be used together"),
        (("0b5c", "--context", "3"), 2, "--context can only be used with --message"),
        (("0b5c", "--agent", "a"), 2, "--agent can only be used with --message"),
        (("0b5c", "--raw", "--json"), 2, "--raw and --json cannot be used together"),
    ],
)
def test_what_cannot_be_shown_is_one_clear_line(
    env: dict[str, str], args: tuple[str, ...], status: int, says: str, tmp_path: Path
) -> None:
    ran = run_here("show", *args, env=env, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (status, b"")
    assert says in ran.stderr.decode()
    assert ran.stderr.count(b"\n") == 1


def test_without_an_archive_that_is_said(tmp_path: Path) -> None:
    ran = run_here("show", "0b5c", env={"TURNLOG_HOME": str(tmp_path / "none")})
    assert ran.returncode == 1
    assert b"0b5c: there is no such file, and nothing is archived yet" in ran.stderr


def test_a_file_of_that_name_comes_first(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "0b5c").write_bytes(make_line(session_id="from-a-file"))
    ran = run_here("show", "0b5c", "--json", env=env, cwd=tmp_path)
    assert json.loads(ran.stdout)["id"] == "from-a-file"


def test_a_message_is_shown_with_some_around_it(env: dict[str, str]) -> None:
    shown = invoke("show", "0b5c", "--message", "3", "--context", "1", env=env).stdout
    _, _, excerpt = shown.partition("\n\n")
    assert excerpt == (
        "messages 2 to 4 of 13, from 0\n"
        "\n"
        "● claude  2026-03-01 10:00:08\n"
        "  I'll ask an expert.\n"
        "  ✓ Agent Explore Rate the teas\n"
        "    Sencha is the best.\n"
        "    … 1 more line\n"
        "\n"
        "● claude  10:00:22  ◀ message 3\n"
        "  Sencha it is.\n"
        "\n"
        "? unknown hologram\n"
        '  {"type":"hologram","beam":"\\x9b31m","sessionId":"0b5c7a52-9d3e-4a6f-8c11-5e2f9a7d4c01"}\n'
    )


def test_a_message_is_known_by_its_id_wherever_it_stands(env: dict[str, str]) -> None:
    whole = json.loads(invoke("show", "0b5c", "--json", env=env).stdout)
    for target in (whole["messages"][5], whole["agents"][0]["messages"][1]):
        [item] = excerpt(env, "--message", target["id"], "--context", "0")
        assert (item["id"], item["text"]) == (target["id"], target["text"])
    agent = whole["agents"][0]
    [item] = excerpt(env, "--agent", agent["id"][:2], "--message", "1", "--context", "0")
    assert item["id"] == agent["messages"][1]["id"]


def test_at_the_ends_less_is_around(env: dict[str, str]) -> None:
    assert [item["index"] for item in excerpt(env, "--message", "0")] == [0, 1, 2, 3]
    assert [item["index"] for item in excerpt(env, "--message", "12", "--context", "2")] == [10, 11, 12]
    assert len(excerpt(env, "--message", "5", "--context", "1000")) == 13


def excerpt(env: dict[str, str], *args: str) -> list[dict[str, Any]]:
    document = json.loads(invoke("show", "0b5c", "--json", *args, env=env).stdout)
    assert set(document) == {"path", "id", "project", "title", "summary", "messages"}
    found: list[dict[str, Any]] = document["messages"]
    return found
