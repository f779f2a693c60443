"""`turnlog usage`: tokens and money, from files to figures."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import invoke, run, run_here, show_in_terminal
from golden import DATA

FORK = DATA / "transcripts" / "usage-fork"
COST_STATE = DATA / "transcripts" / "usage-cost-state"
PRICES = DATA / "transcripts" / "usage-prices"
# 97 input and 128 output tokens at 3 and 15 dollars a million
FORK_COST = 0.002211


def read_json(*args: str | Path) -> dict[str, Any]:
    shown = invoke("usage", *args, "--json", env={"TZ": "UTC"})
    assert shown.exit_code == 0, shown.output
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def test_an_answer_in_several_files_counts_once() -> None:
    total = read_json("--path", FORK)["total"]
    assert (total["messages"], total["input"], total["output"]) == (4, 97, 128)
    assert total["cost_usd"] == FORK_COST


def test_a_session_s_sub_agents_count() -> None:
    alone = read_json("--path", FORK / "a-original.jsonl")["total"]
    # What lies beside the file names its session, `s-1`, but the file itself is called otherwise.
    assert alone["messages"] == 3


def test_a_path_takes_as_many_names_as_follow_it() -> None:
    files = sorted(FORK.glob("*.jsonl"))
    assert read_json("--path", *files) == read_json(*(part for file in files for part in ("--path", file)))
    assert read_json("session", "--path", *files)["by"] == "session"
    assert read_json("--path", *files, "session")["by"] == "session"
    assert read_json(f"--path={files[0]}")["files"] == 2


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("model", {"claude-sonnet-4-5-20250929": 4}),
        ("session", {"s-1": 3, "s-2": 1}),
        ("daily", {"2026-03-01": 3, "2026-03-02": 1}),
        ("weekly", {"2026-W09": 3, "2026-W10": 1}),
        ("monthly", {"2026-03": 4}),
        ("project", {"/home/ada/tea": 4}),
        ("tool", {None: 4}),
        ("blocks", {"2026-03-01 10:00": 3, "2026-03-02 10:00": 1}),
        ("agent", {None: 3, "Explore": 1}),
        ("skill", {None: 4}),
        ("mcp", {None: 4}),
    ],
)
def test_rows_are_what_is_asked_for_and_add_up(by: str, rows: dict[str | None, int]) -> None:
    report = read_json(by, "--path", FORK)
    assert {row["name"]: row["messages"] for row in report["rows"]} == rows
    for name in ("messages", "incomplete", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h"):
        assert sum(row[name] for row in report["rows"]) == report["total"][name]


def test_days_are_the_reader_s() -> None:
    ran = run("usage", "--path", FORK, "--json", env={"TZ": "Pacific/Kiritimati"})
    # 10:00 in UTC is midnight there, 14 hours ahead.
    assert [row["name"] for row in json.loads(ran.stdout)["rows"]] == ["2026-03-02", "2026-03-03"]
    elsewhere = read_json("daily", "--timezone", "Pacific/Kiritimati", "--path", FORK)
    assert [row["name"] for row in elsewhere["rows"]] == ["2026-03-02", "2026-03-03"]
    assert elsewhere["timezone"] == "Pacific/Kiritimati"


def test_days_can_be_left_out() -> None:
    late = read_json("--since", "2026-03-02", "--path", FORK)
    assert ([row["name"] for row in late["rows"]], late["total"]["messages"]) == (["2026-03-02"], 1)
    early = read_json("session", "--until", "20260301", "--path", FORK)
    assert ([row["name"] for row in early["rows"]], early["total"]["messages"]) == (["s-1"], 3)
    for long_ago in ("9999d", "9999w"):
        assert read_json("--since", long_ago, "--path", FORK)["total"]["messages"] == 4
    assert run_here("usage", "--since", "7d", "--path", FORK).returncode == 1
    ran = run_here("usage", "--since", "today", "--path", FORK)
    assert (ran.returncode, ran.stdout) == (1, b"")


def test_only_some_projects_count() -> None:
    assert read_json("--project", "ada/te", "--path", FORK)["total"]["messages"] == 4
    assert run_here("usage", "--project", "coffee", "--path", FORK).returncode == 1


def test_rows_can_be_broken_down() -> None:
    [row] = read_json("model", "--breakdown", "agent", "--path", FORK)["rows"]
    assert [(part["name"], part["messages"]) for part in row["breakdown"]] == [("Explore", 1), (None, 3)]
    text = invoke("usage", "model", "--breakdown", "agent", "--path", FORK).stdout
    assert [line.split()[0] for line in text.splitlines()[1:5]] == [
        "claude-sonnet-4-5-20250929",
        "Explore",
        "(main)",
        "total",
    ]


@pytest.mark.parametrize(
    "args",
    [
        ("--since", "soon"),
        ("--since", "99999999d"),
        ("--timezone", "Nowhere/Atlantis"),
        ("blocks", "--limit", "much"),
        ("blocks", "--limit", "-5"),
        ("tool", "--breakdown", "model"),
        ("yearly",),
    ],
)
def test_what_makes_no_sense_is_refused(args: tuple[str, ...]) -> None:
    ran = run_here("usage", *args, "--path", FORK)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert len(ran.stderr.splitlines()) == 1


def test_calls_of_tools_are_counted() -> None:
    report = read_json("tool", "--path", DATA / "cli" / "tour")
    tools = {row["name"]: row.get("tool") for row in report["rows"]}
    assert tools["Bash"]["calls"] >= 1
    assert tools[None] is None
    assert sum(row["cost_usd"] for row in report["rows"]) == pytest.approx(report["total"]["cost_usd"])
    text = invoke("usage", "tool", "--path", DATA / "cli" / "tour").stdout
    assert text.split()[:4] == ["tool", "calls", "failed", "time"]


def test_what_claude_code_says_itself_stands_beside() -> None:
    report = read_json("--path", COST_STATE)
    assert report["reported"] == [
        {"session": "s-1", "source": "cost-state", "cost_usd": 0.0135, "computed_usd": 0.0135}
    ]
    text = invoke("usage", "--path", COST_STATE).stdout
    assert "Claude Code's own figure for 1 session: $0.0135; computed from their lines: $0.0135" in text
    by_session = invoke("usage", "session", "--path", COST_STATE).stdout
    assert by_session.splitlines()[0].endswith("own figure")
    assert by_session.splitlines()[1].endswith("$0.0135")


def test_answers_of_a_fork_are_in_what_each_session_cost(tmp_path: Path) -> None:
    lines = (COST_STATE / "session.jsonl").read_bytes()
    (tmp_path / "s-1.jsonl").write_bytes(lines)
    (tmp_path / "s-2.jsonl").write_bytes(lines.replace(b'"s-1"', b'"s-2"'))
    report = read_json("--path", tmp_path)
    assert [each["computed_usd"] for each in report["reported"]] == [0.0135, 0.0135]
    assert report["total"]["cost_usd"] == 0.0135


def test_what_is_incomplete_unpriced_or_estimated_is_named() -> None:
    text = invoke("usage", "model", "--path", PRICES, FORK).stdout
    assert "unpriced: glm-5 (1 message, not in the cost)" in text
    assert "≈ speed=fast has no separate price (1 message, priced without it)" in text
    assert "≥ 1 message recorded before completion: output and cost are lower bounds" in text
    rows = {line.split()[0]: line.split()[-1] for line in text.splitlines()}
    assert rows["glm-5"] == "unpriced"
    assert rows["total"].startswith("≈$")


def test_the_price_table_is_named() -> None:
    prices = read_json("--path", FORK)["prices"]
    text = invoke("usage", "--path", FORK).stdout
    assert text.endswith(f"prices: {prices['name']} {prices['version']}, latest from {prices['newest']}\n")


def test_own_prices_count(tmp_path: Path) -> None:
    own = tmp_path / "prices.json"
    own.write_text('{"claude-sonnet-4-5-20250929": {"input": 1000, "output": 0.5}}')
    report = read_json("--path", FORK, "--prices", own)
    assert report["total"]["cost_usd"] == 0.097064


@pytest.mark.parametrize(
    "content",
    [
        b"no json",
        b"[]",
        b'{"m": {"input": 3}}',
        b'{"m": {"input": "x", "output": 1}}',
        b'{"m": {"input": -1, "output": 1}}',
        b'{"m": {"input": 1, "output": 1, "cache_raed": 1}}',
        b"\xff",
    ],
)
def test_wrong_prices_are_refused(tmp_path: Path, content: bytes) -> None:
    own = tmp_path / "prices.json"
    own.write_bytes(content)
    ran = run_here("usage", "--path", FORK, "--prices", own)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.decode().startswith(f"turnlog: {own}: ")
    assert len(ran.stderr.splitlines()) == 1


def test_csv_has_a_line_for_each_row() -> None:
    text = invoke("usage", "agent", "--path", FORK, "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["agent"], row["messages"], row["incomplete"]) for row in rows] == [
        ("Explore", "1", "1"),
        ("", "3", "0"),
    ]
    assert float(rows[0]["cost_usd"]) + float(rows[1]["cost_usd"]) == pytest.approx(FORK_COST)


def test_without_a_path_all_sessions_of_the_machine_count(tmp_path: Path) -> None:
    shutil.copytree(FORK, tmp_path / "claude" / "projects" / "-home-ada-tea")
    ran = run_here("usage", "--json", env={"CLAUDE_CONFIG_DIR": f"{tmp_path / 'claude'},{tmp_path / 'gone'}"})
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["total"]["messages"] == 4


def test_without_any_session_there_is_nothing_to_count(tmp_path: Path) -> None:
    ran = run_here("usage", env={"CLAUDE_CONFIG_DIR": str(tmp_path)})
    assert ran.returncode == 1
    assert ran.stderr.decode() == f"turnlog: no sessions of Claude Code in {tmp_path}; name files with --path\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.jsonl", b""),
        ("binary.bin", bytes(range(256)) * 40),
        ("hooks.json", b'{"hook_event_name":"Stop","session_id":"s","transcript_path":"t","cwd":"/"}\n'),
        ("array.json", b"[1, 2, 3]"),
        ("text.txt", b"hello\n"),
        ("long.jsonl", b'{"type":"user","message":{"role":"user","content":"' + b"x" * 1_000_000 + b'"}}\n'),
    ],
)
def test_a_file_without_answers_has_nothing_to_count(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    ran = run_here("usage", "--path", path)
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert ran.stderr.decode() == f"turnlog: no answers from a model in {path}\n"


def test_an_empty_folder_has_nothing_to_count(tmp_path: Path) -> None:
    ran = run_here("usage", "--path", tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.decode() == f"turnlog: {tmp_path}: no session files in this folder\n"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert run_here("usage", "--path", tmp_path / "pipe").stderr.endswith(b"pipe: not a regular file\n")
    assert b"loop: Too many levels of symbolic links" in run_here("usage", "--path", tmp_path / "loop").stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.jsonl"
    path.write_bytes(b"{}\n")
    path.chmod(0)
    ran = run_here("usage", "--path", path)
    assert ran.returncode == 2
    assert ran.stderr.decode() == f"turnlog: {path}: Permission denied\n"


def test_what_cannot_be_read_further_down_is_said_and_the_rest_is_counted(tmp_path: Path) -> None:
    shutil.copytree(FORK, tmp_path / "sessions")
    (tmp_path / "sessions" / "x.jsonl").symlink_to("/etc/hostname")
    ran = run_here("usage", "--path", tmp_path / "sessions", "--json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["total"]["messages"] == 4
    assert ran.stderr.decode() == f"turnlog: {tmp_path / 'sessions' / 'x.jsonl'}: a link out of its folder\n"


def test_names_of_models_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    line = (FORK / "a-original.jsonl").read_text().splitlines()[0]
    path = tmp_path / "s.jsonl"
    path.write_text(
        line.replace("claude-sonnet-4-5-20250929", r"\u001b]0;owned\u0007[bold]\u009b2J\u202e") + "\n"
    )
    for args in ([], ["--json"], ["--csv"]):
        shown = show_in_terminal("usage", "model", "--path", path, "--no-color", "--no-pager", *args)
        assert shown.status == 0
        assert "owned" in shown.text
        assert not set(shown.text) & set("\x1b\x07\x9b\u202e")
    assert "[bold]" in shown.text


def test_a_stream_has_its_result_beside() -> None:
    shown = invoke("usage", "--path", DATA / "transcripts" / "usage-result", "--json")
    assert [each["source"] for each in json.loads(shown.stdout)["reported"]] == ["result"]


def test_signs_that_an_encoding_lacks_are_escaped() -> None:
    ran = run("usage", "--path", PRICES, env={"PYTHONIOENCODING": "ascii"})
    assert ran.returncode == 0
    assert rb"\u2248$" in ran.stdout
