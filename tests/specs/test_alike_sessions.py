"""Sessions that one automation started again and again with the same prompt are one group in lists.

A cron job, CI, a loop around `claude -p` or a program on the SDK starts the same prompt hundreds of times.
Lists for people show the first of them and how many there are, and open the rest on demand; lists for programs
(`--json`, `--csv`, `/api/sessions`) have every session, unless they ask otherwise.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from command_line import invoke, show_in_terminal
from server_app import serving
from turnlog.messages import decode
from turnlog.store.opening import open_store
from turnlog.testing.builders import make_line
from turnlog.transcripts import build_summary

NIGHTLY = "Triage the issues of {}, and label each.\nReport to /tmp/run-{}/report.md."
DAYS = [f"2026-03-{day:02}" for day in range(1, 24)]


def make_session(
    name: str, *prompts: str, day: str = "2026-03-30", entrypoint: str = "", **fields: Any
) -> bytes:
    """Return a session of some prompts, each with an answer."""
    said = {"entrypoint": entrypoint} if entrypoint else {}
    lines = []
    for number, prompt in enumerate(prompts):
        at = {"timestamp": f"{day}T09:{number:02}:00.000Z", "cwd": "/work/tea", **said, **fields}
        lines.append(make_line(2 * number, session_id=name, text=prompt, **at))
        lines.append(make_line(2 * number + 1, session_id=name, type="assistant", text="Done.", **at))
    return b"".join(lines)


def find_series(*prompts: str, entrypoint: str = "sdk-cli", **fields: Any) -> str | None:
    lines = make_session("s", *prompts, entrypoint=entrypoint, **fields).splitlines()
    return build_summary(map(decode, lines)).series


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An archive with 23 sessions of a nightly job, and some that a person typed."""
    folder = tmp_path / "claude" / "projects" / "-work-tea"
    folder.mkdir(parents=True)
    sessions = {
        f"job-{day}": make_session(f"job-{day}", NIGHTLY.format(day, at), day=day, entrypoint="sdk-cli")
        for at, day in enumerate(DAYS)
    }
    for at in range(5):
        sessions[f"typed-{at}"] = make_session(
            f"typed-{at}", "continue", day=f"2026-02-{at + 1:02}", entrypoint="cli"
        )
    for name, session in sessions.items():
        (folder / f"{name}.jsonl").write_bytes(session)
    env = {"TURNLOG_HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "TZ": "UTC"}
    assert invoke("sync", env=env).exit_code == 0
    return env


def list_names(document: str) -> list[str]:
    return [each["id"] for each in json.loads(document)["sessions"]]


def test_the_list_shows_a_series_as_one_row_that_says_how_many(env: dict[str, str]) -> None:
    shown = invoke("sessions", env=env)
    head, *rows = shown.stdout.splitlines()
    assert len(rows) == 6
    assert "like this" in head
    assert [row.split()[0] for row in rows] == ["job-2026-03-23", *(f"typed-{at}" for at in (4, 3, 2, 1, 0))]
    assert "23 sessions" in rows[0]
    assert not any("sessions" in row for row in rows[1:])
    assert "--like ID lists them" in shown.stderr


def test_like_opens_the_group_and_ungrouped_lists_every_session(env: dict[str, str]) -> None:
    opened = invoke("sessions", "--like", "job-2026-03-05", "--sort", "oldest", env=env)
    _, *rows = opened.stdout.splitlines()
    assert [row.split()[0] for row in rows] == [f"job-{day}" for day in DAYS]
    assert "like this" not in opened.stdout + opened.stderr
    every = invoke("sessions", "--ungrouped", "--limit", "0", env=env)
    assert len(every.stdout.splitlines()) == 1 + 28
    part = invoke("sessions", "--like", "job-2026-03-05", "--since", "2026-03-20", env=env)
    assert len(part.stdout.splitlines()) == 1 + 4


def test_nothing_is_like_a_session_that_a_person_began(env: dict[str, str]) -> None:
    refused = invoke("sessions", "--like", "typed-0", env=env)
    assert refused.exit_code == 1
    assert "typed-0 was not started by a program" in refused.stderr
    assert invoke("sessions", "--like", "nobody", env=env).exit_code == 1


def test_programs_get_every_session_unless_they_ask(env: dict[str, str]) -> None:
    every = json.loads(invoke("sessions", "--json", env=env).stdout)
    assert (len(every["sessions"]), every["total"], every["rows"]) == (28, 28, 28)
    rows = list(csv.DictReader(io.StringIO(invoke("sessions", "--csv", env=env).stdout)))
    assert len(rows) == 28
    grouped = json.loads(invoke("sessions", "--json", "--grouped", env=env).stdout)
    assert (len(grouped["sessions"]), grouped["total"], grouped["rows"]) == (6, 28, 6)
    assert [each["alike"] for each in grouped["sessions"]] == [23, 1, 1, 1, 1, 1]
    assert {each["series"] for each in every["sessions"][:23]} == {grouped["sessions"][0]["series"]}


def test_pages_of_a_grouped_list_follow_one_another(env: dict[str, str]) -> None:
    first = invoke("sessions", "--limit", "2", env=env)
    assert "2 of 6 rows with 28 sessions; use --limit 0 to list all" in first.stderr
    page = json.loads(invoke("sessions", "--json", "--grouped", "--limit", "2", env=env).stdout)
    rest = invoke("sessions", "--json", "--grouped", "--after", page["next"], env=env).stdout
    assert list_names(rest) == ["typed-3", "typed-2", "typed-1", "typed-0"]


def test_how_many_there_are_is_said_on_a_narrow_terminal_too(env: dict[str, str]) -> None:
    shown = show_in_terminal("sessions", "--no-pager", env=env, size=(24, 60))
    assert "23 sessions" in shown.text


def test_the_api_groups_and_opens_on_demand(env: dict[str, str], tmp_path: Path) -> None:
    store = open_store(tmp_path / "home" / "turnlog.db")
    with serving(tmp_path / "server", store=store) as served:
        every = served.get("/api/sessions").json
        assert (len(every["items"]), every["total"], every["rows"]) == (28, 28, 28)
        grouped = served.get("/api/sessions?grouped=true").json
        assert (len(grouped["items"]), grouped["total"], grouped["rows"]) == (6, 28, 6)
        first = grouped["items"][0]
        assert (first["session_id"], first["alike"]) == ("job-2026-03-23", 23)
        opened = served.get(f"/api/sessions?series={first['series']}&person=&limit=10").json
        assert (len(opened["items"]), opened["total"]) == (10, 23)
        assert {each["alike"] for each in opened["items"]} == {1}
    store.close()


def test_the_same_prompt_is_one_series_whatever_varies_between_runs() -> None:
    same = [
        "Review abc1234 of 2026-03-01:\n  see /tmp/x1/log",
        "Review 99ffe01 of 2026-12-24: see /var/folders/zz/T/tmp.Q/log",
        "Review 0123456789abcdef0123456789abcdef01234567 of 2027-01-01:  see /tmp/tmpab",
        "Review 1f0e9d8c-0000-4000-8000-00805f9b34fb of 2027-1-1: see /private/tmp/z",
    ]
    [series] = {find_series(prompt) for prompt in same}
    assert series is not None
    assert (
        len({find_series(text) for text in ("Review the parser", "Review the lexer", "review the parser")}) == 3
    )
    assert find_series("Review", cwd="/work/coffee") != find_series("Review")


def test_long_prompts_are_the_same_if_they_begin_and_end_alike() -> None:
    def ask(middle: str, end: str = "Answer in JSON.") -> str | None:
        return find_series(f"{'You review code. ' * 30}{middle}{' Take care.' * 30}{end}")

    assert ask("a.py") == ask("b.py" * 1000) != ask("a.py", "Answer in prose.")


def test_what_a_person_had_a_hand_in_is_of_no_series() -> None:
    for entrypoint in ("", "cli", "claude-vscode", "claude-desktop", "remote_mobile"):
        assert find_series("hi", entrypoint=entrypoint) is None, entrypoint
    assert find_series("hi", entrypoint="claude-vscode", promptSource="sdk") is None
    assert find_series("hi", "and now?") is None  # somebody goes on talking, as in an editor on the SDK
    for entrypoint in ("sdk-cli", "sdk-py", "sdk-ts", "claude-code-github-action"):
        assert find_series("hi", entrypoint=entrypoint) is not None, entrypoint
    resumed = make_session("s", "hi", entrypoint="sdk-cli") + make_session("s", "/cost", entrypoint="cli")
    assert build_summary(map(decode, resumed.splitlines())).series is None


def test_a_slash_command_that_a_program_gave_is_a_prompt() -> None:
    command = "<command-message>triage</command-message>\n<command-name>/triage</command-name>"
    assert find_series(command) == find_series(command) is not None
