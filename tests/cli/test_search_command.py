"""`turnlog search`, as people use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import invoke, run_here, show_in_terminal
from turnlog.cli.plain_text import cell_width
from turnlog.testing import make_line

ESCAPE = "\x1b"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An archive with two sessions, one of them with a sub-agent."""
    folder = tmp_path / "claude" / "projects" / "-home-ada-parser"
    agents = folder / "5d1c3f2a-0000-4000-8000-000000000001" / "subagents"
    agents.mkdir(parents=True)
    texts = (
        "Please fix the parser",
        "The parser is fixed",
        f"evil {ESCAPE}]0;owned\x07 parser \u202e",
        "Danke schön",
    )
    write(folder / "5d1c3f2a-0000-4000-8000-000000000001.jsonl", "5d1c3f2a-0000-4000-8000-000000000001", texts)
    write(
        folder / "7e2d4a1b-0000-4000-8000-000000000002.jsonl",
        "7e2d4a1b-0000-4000-8000-000000000002",
        ("Another parser, 日本語 too",),
    )
    (agents / "agent-a7.jsonl").write_bytes(make_line(0, text="a parser deep down", agent_id="a7"))
    env = {
        "TURNLOG_HOME": str(tmp_path / "archive"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "TZ": "UTC",
    }
    assert run_here("sync", env=env).returncode == 0
    return env


def write(path: Path, session_id: str, texts: tuple[str, ...]) -> None:
    lines = (
        make_line(number, text=text, session_id=session_id, type="assistant" if number % 2 else "user")
        for number, text in enumerate(texts)
    )
    path.write_bytes(b"".join(lines))


def test_hits_stand_under_their_session_with_the_way_to_them(home: dict[str, str]) -> None:
    result = invoke("search", "parser", "-fixed", "-evil", "-deep", env=home)
    assert result.exit_code == 0
    assert result.stdout == (
        "Another parser, 日本語 too  /home/ada/project\n"
        "  2026-01-02 00:00  prompt\n"
        "    Another parser, 日本語 too\n"
        "    turnlog show 7e2d4a1b --message 0\n"
        "\n"
        "Please fix the parser  /home/ada/project\n"
        "  2026-01-02 00:00  prompt\n"
        "    Please fix the parser\n"
        "    turnlog show 5d1c3f2a --message 0\n"
    )


def test_the_way_to_a_hit_leads_to_it(home: dict[str, str]) -> None:
    for text in ("deep down", "schön"):
        [command] = [
            line for line in invoke("search", text, env=home).stdout.split("\n") if "turnlog show" in line
        ]
        shown = invoke(*command.split()[1:], "--context", "0", env=home)
        assert text in shown.stdout


def test_a_terminal_marks_what_was_found_and_a_pipe_does_not(home: dict[str, str]) -> None:
    assert ESCAPE.encode() not in run_here("search", "schön", env=home).stdout
    shown = show_in_terminal("search", "schon", "--no-pager", env=home)
    assert f"{ESCAPE}[31m{ESCAPE}[1mschön{ESCAPE}[0m" in shown.text


@pytest.mark.parametrize("width", [40, 60, 100])
def test_snippets_are_wrapped_between_words_on_a_terminal_alone(
    home: dict[str, str], tmp_path: Path, width: int
) -> None:
    file = tmp_path / "claude" / "projects" / "-w" / "wrapped.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    words = " ".join(f"lantern{number} 灯籠" for number in range(12))
    file.write_bytes(make_line(session_id="wrapped", text=words))
    assert invoke("sync", str(file.parent), env=home).exit_code == 0
    shown = show_in_terminal("search", "lantern5", "--no-pager", "--no-color", env=home, size=(40, width))

    def pick(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("    ") and "灯籠" in line]

    snippet = pick(shown.text)
    assert len(snippet) > 1
    assert all(cell_width(line) <= width for line in snippet)
    [piped] = pick(invoke("search", "lantern5", env=home).stdout)
    assert " ".join(line.strip() for line in snippet) == piped.strip()


def test_nothing_in_a_hit_acts_on_a_terminal(home: dict[str, str]) -> None:
    result = invoke("search", "evil", env=home)
    assert "evil \\x1b]0;owned\\x07 parser \\u202e" in result.stdout
    assert "\x07" not in result.stdout
    shown = show_in_terminal("search", "evil", "--no-pager", env=home)
    assert "\x07" not in shown.text


def test_json_names_the_exact_message(home: dict[str, str]) -> None:
    result = invoke("search", "schön", "--json", env=home)
    document = json.loads(result.stdout)
    assert document["next"] is None
    [hit] = document["hits"]
    assert (hit["session_id"], hit["line"], hit["message"], hit["kind"]) == (
        "5d1c3f2a-0000-4000-8000-000000000001",
        3,
        3,
        "answer",
    )
    assert hit["snippet"] == {"text": "Danke schön", "marks": [[6, 11]]}
    assert hit["time"].startswith("2026-01-02T00:00:03")


def test_pages_go_on_where_they_ended(home: dict[str, str]) -> None:
    first = invoke("search", "parser", "--limit", "2", "--json", env=home)
    found = json.loads(first.stdout)
    second = invoke("search", "parser", "--limit", "9", "--after", found["next"], "--json", env=home)
    hits = found["hits"] + json.loads(second.stdout)["hits"]
    assert len({(hit["source"], hit["line"]) for hit in hits}) == len(hits) == 5
    told = invoke("search", "parser", "--limit", "2", env=home)
    assert f"use --after {found['next']} to continue" in told.stderr


def test_by_relevance_come_the_same_hits(home: dict[str, str]) -> None:
    orders = [
        invoke("search", "parser", "--order", order, "--json", env=home).stdout
        for order in ("newest", "relevance")
    ]
    newest, relevance = ({(hit["source"], hit["line"]) for hit in json.loads(text)["hits"]} for text in orders)
    assert newest == relevance


@pytest.mark.parametrize(
    ("query", "told", "column"),
    [
        (('"open',), 'Expected a closing "', 0),
        (("parser", "colour:red"), "got colour", 7),
        (("日本", "after:soon"), "got soon", 11),
        (("-",), "Expected a term", 0),
    ],
)
def test_a_malformed_query_is_told_with_its_place(
    home: dict[str, str], query: tuple[str, ...], told: str, column: int
) -> None:
    result = invoke("search", *query, env=home)
    assert result.exit_code == 2
    reason, text, caret = result.stderr.rstrip("\n").split("\n")
    assert reason.startswith("turnlog: Expected ")
    assert told in reason
    assert text == f"  {' '.join(query)}"
    assert caret == f"  {' ' * column}^"


def test_words_that_begin_with_dashes_are_no_options(home: dict[str, str]) -> None:
    assert invoke("search", "parser", "-the", env=home).exit_code == 0
    assert invoke("search", "--nothing-of-the-kind", env=home).exit_code == 1


def test_nothing_found_is_said(home: dict[str, str]) -> None:
    result = invoke("search", "nothingofthesort", env=home)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "nothing was found" in result.stderr


def test_a_cursor_that_is_none_is_misuse(home: dict[str, str]) -> None:
    result = run_here("search", "parser", "--after", "n.x", env=home)
    assert result.returncode == 2
    assert b"Expected a cursor" in result.stderr
