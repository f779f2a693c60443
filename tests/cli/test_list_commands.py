"""`turnlog sessions`, `projects` and `mark`: lists of the archive, and what people say about them."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import environment, invoke, run_here, show_in_terminal
from golden import DATA
from turnlog.testing.builders import make_line

TOUR = DATA / "cli" / "tour"
TEA = "0b5c7a52-9d3e-4a6f-8c11-5e2f9a7d4c01"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A machine with four sessions in three projects, all of them archived."""
    projects = tmp_path / "claude" / "projects"
    shutil.copytree(TOUR, projects / "-home-ada-tea")
    # Names begin as no key can: those are hexadecimal, and others on each machine.
    for folder, name, cwd, title in (
        ("-work-one", "pppp-1", "/work/one", "Fix the parser"),
        ("-work-one", "pppp-2", "/work/one", "Brew"),
        ("-work-one-inner", "qqqq-1", "/work/one/inner", "Parse 茶"),
    ):
        (projects / folder).mkdir(exist_ok=True)
        lines = make_line(0, session_id=name, cwd=cwd, gitBranch="fix/parser", text=title)
        answer = make_line(1, session_id=name, cwd=cwd, type="assistant", text="Done.")
        (projects / folder / f"{name}.jsonl").write_bytes(lines + answer)
    env = {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "TZ": "UTC"}
    assert invoke("sync", env=env).exit_code == 0
    return env


def ask(env: dict[str, str], *args: str) -> Any:
    asked = invoke(*args, "--json", env=env)
    assert asked.exit_code == 0, asked.stderr
    return json.loads(asked.stdout)


def ids(env: dict[str, str], *args: str) -> list[str]:
    found = invoke("sessions", *args, "--json", env=env)
    assert found.exit_code == (0 if json.loads(found.stdout)["total"] else 1)
    return sorted(item["id"] for item in json.loads(found.stdout)["sessions"])


def test_a_list_in_a_pipe_is_whole(env: dict[str, str]) -> None:
    ran = run_here("sessions", env=env)
    assert (ran.returncode, ran.stderr) == (0, b"")
    lines = ran.stdout.decode().splitlines()
    assert lines[0].split() == ["id", "title", "project", "when", "length", "messages", "cost"]
    assert lines[1].split()[0] == TEA
    assert "2026-03-01 10:01" in lines[1]
    assert lines[1].endswith("≥<$0.01")


def test_what_acts_on_a_terminal_does_not_reach_it(env: dict[str, str]) -> None:
    folder = Path(env["CLAUDE_CONFIG_DIR"]) / "projects" / "-red"
    folder.mkdir()
    (folder / "dddd.jsonl").write_bytes(make_line(0, session_id="dddd\x1b[2J", cwd="/\x1b[31mred", text="Red"))
    invoke("sync", env=env)
    for command in ("sessions", "projects", "mark dddd"):
        text = invoke(*command.split(), env=env).stdout
        assert "\x1b" not in text
        assert "\\x1b[" in text


def test_a_path_that_is_no_text_is_listed(env: dict[str, str], tmp_path: Path) -> None:
    folder = Path(env["CLAUDE_CONFIG_DIR"]) / "projects" / os.fsdecode(b"-caf\xe9")
    folder.mkdir()
    (folder / "eeee.jsonl").write_bytes(make_line(session_id="eeee", cwd="", text="Nowhere"))
    assert invoke("sync", env=env).exit_code == 0
    [item] = ask(env, "sessions", "nowhere")["sessions"]
    assert (item["title"], item["project"]) == ("Nowhere", "-caf\ufffd")
    assert "-caf\ufffd" in [each["project"] for each in ask(env, "projects")]
    for command in ("sessions", "projects", "sessions --csv", "projects --csv"):
        assert "-caf\ufffd" in run_here(*command.split(), env=env).stdout.decode()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_list_on_a_terminal_fits(env: dict[str, str], width: int) -> None:
    shown = show_in_terminal("sessions", "--no-pager", "--no-color", env=env, size=(24, width))
    assert shown.status == 0
    lines = shown.text.splitlines()
    assert all(len(line) <= width for line in lines)
    assert lines[1].startswith("0b5c7a52  ")
    assert ("messages" in lines[0]) == (width >= 80)


def test_a_list_that_is_longer_than_the_screen_goes_to_the_pager(env: dict[str, str]) -> None:
    pager = {**env, "PAGER": "sed s/^/paged:/"}
    for command in (["sessions"], ["projects"]):
        assert show_in_terminal(*command, env=pager, size=(2, 200)).text.startswith("paged:")
        assert "paged:" not in show_in_terminal(*command, env=pager, size=(200, 200)).text
        assert "paged:" not in show_in_terminal(*command, "--no-pager", env=pager, size=(2, 200)).text


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["parse"], ["pppp-1", "qqqq-1"]),
        (["--project", "ONE"], ["pppp-1", "pppp-2", "qqqq-1"]),
        (["--project", "/work/one/inner"], ["qqqq-1"]),
        (["--project", "/work/one/"], ["pppp-1", "pppp-2", "qqqq-1"]),
        (["--session", "pppp"], ["pppp-1", "pppp-2"]),
        (["--model", "SONNET"], [TEA]),
        (["--branch", "fix/"], ["pppp-1", "pppp-2", "qqqq-1"]),
        (["--since", "2026-02-01"], [TEA]),
        (["--until", "2026-01-02"], ["pppp-1", "pppp-2", "qqqq-1"]),
        (["--since", "2026-01-02T00:00:02Z", "--until", "2026-02-28"], []),
        (["--errors"], [TEA]),
        (["--no-problems", "parse"], ["pppp-1", "qqqq-1"]),
        (["--only-here"], []),
        (["--still-there", "--starred"], []),
    ],
)
def test_sessions_are_filtered(env: dict[str, str], args: list[str], expected: list[str]) -> None:
    assert ids(env, *args) == expected


def test_a_folder_is_named_from_where_one_is(env: dict[str, str], tmp_path: Path) -> None:
    here = tmp_path / "work"
    here.mkdir()
    lines = make_line(0, session_id="cccc", cwd=str(here), text="Here")
    folder = Path(env["CLAUDE_CONFIG_DIR"]) / "projects" / "-here"
    folder.mkdir()
    (folder / "cccc.jsonl").write_bytes(lines)
    invoke("sync", env=env)
    found = run_here("sessions", "--project", ".", "--json", env=env, cwd=here)
    assert [item["id"] for item in json.loads(found.stdout)["sessions"]] == ["cccc"]


def test_pages_follow_on_each_other(env: dict[str, str]) -> None:
    seen: list[str] = []
    more: list[str] = []
    for _ in range(4):
        page = ask(env, "sessions", "--limit", "1", "--sort", "title", *more)
        assert page["total"] == 4
        seen += (item["id"] for item in page["sessions"])
        more = ["--after", page["next"] or ""]
    assert page["next"] is None
    assert sorted(seen) == ids(env)
    assert seen[-1] == TEA
    hint = run_here("sessions", "--limit", "1", env=env).stderr.decode()
    assert "1 of 4 sessions; use --limit 0 to list all, or --after " in hint
    assert run_here("sessions", "--limit", "0", env=env).stderr == b""


def test_a_document_says_all_of_a_session(env: dict[str, str]) -> None:
    [item] = ask(env, "sessions", "--session", TEA)["sessions"]
    assert (item["title"], item["project"], item["models"]) == (
        "Which tea is best",
        "/home/ada/tea",
        ["claude-sonnet-4-5-20250929"],
    )
    assert (item["first_time"], item["last_time"]) == ("2026-03-01T10:00:00Z", "2026-03-01T10:01:12Z")
    assert (item["duration_s"], item["messages"], item["errors"]) == (72.0, 13, 1)
    assert (item["cost_usd"], item["is_floor"], item["is_estimate"]) == (0.004095, True, False)
    assert (item["only_here"], item["starred"], item["tags"], item["note"]) == (False, False, [], None)


def test_rows_come_as_csv(env: dict[str, str]) -> None:
    rows = list(csv.DictReader(io.StringIO(invoke("sessions", "--csv", env=env).stdout)))
    assert rows[0]["id"] == TEA
    assert (rows[0]["starred"], rows[0]["cost_usd"], rows[0]["name"]) == ("false", "0.004095", "")
    projects = list(csv.DictReader(io.StringIO(invoke("projects", "--csv", env=env).stdout)))
    assert [(row["project"], row["sessions"]) for row in projects] == [
        ("/home/ada/tea", "1"),
        ("/work/one", "2"),
        ("/work/one/inner", "1"),
    ]


def test_projects_are_listed(env: dict[str, str]) -> None:
    tea, one, _ = ask(env, "projects")
    assert (tea["project"], tea["sessions"], tea["prompts"], tea["answers"]) == ("/home/ada/tea", 1, 4, 6)
    assert (tea["cost_usd"], tea["unpriced"]) == (0.004095, 0)
    assert (one["cost_usd"], one["unpriced"]) == (None, 2)
    assert [each["project"] for each in ask(env, "projects", "ONE", "--sort", "name")] == [
        "/work/one",
        "/work/one/inner",
    ]
    text = invoke("projects", "--limit", "1", env=env)
    assert text.stdout.splitlines()[1].startswith("/home/ada/tea ")
    assert "1 of 3 projects" in text.stderr
    assert "unpriced" in invoke("projects", "one", env=env).stdout


def test_what_is_gone_is_counted_and_found(env: dict[str, str]) -> None:
    shutil.rmtree(Path(env["CLAUDE_CONFIG_DIR"]) / "projects" / "-work-one-inner")
    invoke("sync", env=env)
    assert ids(env, "--only-here") == ["qqqq-1"]
    assert [each["only_here"] for each in ask(env, "projects", "inner")] == [1]


def test_sessions_are_marked_found_by_it_and_unmarked(env: dict[str, str]) -> None:
    marked = invoke("mark", "pppp-1", "--star", "--tag", "bug", "--tag", "slow", "--name", "Newlines", env=env)
    assert (marked.exit_code, marked.stdout) == (0, "pppp-1  ★ Newlines #bug #slow\n")
    assert ids(env, "--tag", "bug", "--tag", "slow", "--starred") == ["pppp-1"]
    assert ids(env, "newl") == ["pppp-1"]
    assert "★ Newlines #bug #slow" in invoke("sessions", env=env).stdout
    invoke("mark", "newlines", "--untag", "slow", "--no-star", "--name", "", env=env)
    [item] = ask(env, "mark", "pppp-1")
    assert (item["changed"], item["marks"]["tags"], item["marks"]["name"]) == (False, ["bug"], None)
    undone = invoke("mark", "--undo", env=env)
    assert undone.stdout == "pppp-1  ★ Newlines #bug #slow\n"
    assert ask(env, "mark", "--undo")[0]["marks"]["tags"] == []
    last = invoke("mark", "--undo", env=env)
    assert (last.exit_code, last.stdout) == (1, "")


def test_what_is_put_away_is_left_out(env: dict[str, str]) -> None:
    invoke("mark", "pppp-1", "pppp-2", "--archive", env=env)
    assert ids(env) == [TEA, "qqqq-1"]
    assert ids(env, "--archived") == ["pppp-1", "pppp-2"]
    assert len(ids(env, "--all")) == 4
    assert "Fix the parser (archived)" in invoke("sessions", "--archived", env=env).stdout
    assert [each["archived"] for each in ask(env, "projects", "/work/one", "--sort", "name")] == [2, 0]


def test_notes_are_shown_and_cleaned(env: dict[str, str]) -> None:
    invoke("mark", "pppp-1", "--note", "first\nsecond \u00ad", env=env)
    marked = invoke("mark", "pppp-1", "--note", "first\nsecond", env=env)
    assert marked.stdout == "pppp-1  Fix the parser\n  first\n  second\n"


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (["sessions", "--since", "soon"], 2, "--since: expected a date (2026-03-01)"),
        (["sessions", "--after", "nonsense"], 2, "Expected a cursor from a list, got 'nonsense'"),
        (["sessions", "--archived", "--all"], 2, "--archived and --all cannot be used together"),
        (["sessions", "--json", "--csv"], 2, "--json and --csv cannot be used together"),
        (["sessions", "nothing like it"], 1, "no such session is archived"),
        (["projects", "nothing like it"], 1, "no such project is archived"),
        (["mark"], 2, "name the sessions to mark, or --undo alone"),
        (["mark", "pppp-1", "--undo"], 2, "cannot be combined"),
        (["mark", "pppp", "--star"], 2, "2 sessions begin with pppp: pppp-"),
        (["mark", "zzzz", "--star"], 1, "no archived session begins with zzzz"),
        (["mark", "pppp-1", "--tag", "a b"], 2, "Expected a tag without spaces and commas, got 'a b'"),
        (["mark", "pppp-1", "--name", "\x1b[31m"], 2, "Expected a name without control characters, got U+001B"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(
    env: dict[str, str], args: list[str], status: int, says: str
) -> None:
    ran = run_here(*args, env=env)
    assert ran.returncode == status
    assert ran.stdout == b""
    assert says in ran.stderr.decode()
    assert ran.stderr.count(b"\n") == 1


@pytest.mark.parametrize("command", ["sessions", "projects", "mark"])
def test_without_an_archive_there_is_nothing(tmp_path: Path, command: str) -> None:
    args = [command, "x"] if command == "mark" else [command]
    ran = run_here(*args, env={"TURNLOG_HOME": str(tmp_path / "none")})
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert b"nothing is archived yet" in ran.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("turnlog mark pp", ["pppp-1", "pppp-2"]),
        ("turnlog show 0b5c7a52-", [TEA]),
        ("turnlog mark pppp-1 --tag s", ["slow"]),
        ("turnlog mark zz", []),
    ],
)
def test_ids_and_tags_are_completed(env: dict[str, str], words: str, expected: list[str]) -> None:
    invoke("mark", "pppp-1", "--tag", "slow", env=env)
    at = len(words.split()) - 1
    told = {"_TURNLOG_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
    ran = run_here(env={**env, **told})
    assert sorted(ran.stdout.decode().split()) == [f"plain,{each}" for each in expected]


def test_where_nothing_is_archived_files_are_completed(tmp_path: Path) -> None:
    told = {"_TURNLOG_COMPLETE": "bash_complete", "COMP_WORDS": "turnlog show se", "COMP_CWORD": "2"}
    ran = run_here(env={"TURNLOG_HOME": str(tmp_path / "none"), **told})
    assert ran.stdout.split() == [b"file,se"]


@pytest.mark.parametrize("args", ["sessions", "sessions --json", "projects --csv", "sessions --limit 1"])
def test_lists_start_lean(env: dict[str, str], args: str) -> None:
    check = (
        "import sys\n"
        "from turnlog.cli.program import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'rich', 'turnlog.messages.entries', 'genai_prices'} & {*sys.modules}\n"
        "assert not heavy, heavy"
    )
    ran = subprocess.run(
        [sys.executable, "-c", check, *args.split()], env=environment(env), capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
