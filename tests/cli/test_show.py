"""`turnlog show`: a session as people read it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import TURNLOG, environment, invoke, run, show_in_terminal
from golden import DATA

TOUR = DATA / "cli" / "tour" / "0b5c7a52-9d3e-4a6f-8c11-5e2f9a7d4c01.jsonl"
"""A session with all that is shown in a way of its own."""
HEADER = f"""\
Which tea is best
/home/ada/tea · main · session 0b5c7a52-9d3e-4a6f-8c11-5e2f9a7d4c01
2026-03-01 10:00 to 10:01 · 1 min 12 s · Claude Code 2.1.150 · claude-sonnet-4-5-20250929
4 turns · 6 answers · 4 calls (1 failed) · 1 agent · 1 compaction · 20 lines
710 tokens in, ≥131 out · ≥$0.0041
2 problems in the data: see `turnlog validate {TOUR} --severity note`

"""


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def show(*args: str | Path, path: Path = TOUR) -> str:
    shown = invoke("show", path, *args)
    assert (shown.exit_code, shown.stderr) == (0, "")
    return shown.stdout


def test_a_conversation_is_shown_with_calls_agents_and_what_is_unknown() -> None:
    assert show() == HEADER + (
        """\
> you  2026-03-01 10:00:00
  Which teas do we have?
  Look into the \\x1b[31mcupboard\\x1b[0m.

● claude  10:00:02
  Let me look.
  ✓ Read teas.txt
    1→Assam
    … 2 more lines
  ✗ Bash ls /cupboard
    Exit code 2
    ls: cannot access '/cupboard': No such file or directory

  I'll ask an expert.
  ✓ Agent Explore Rate the teas
    Sencha is the best.
    … 1 more line
  │ ✓ agent Explore  Rate the teas
  │ > claude  2026-03-01 10:00:09
  │   Rate Assam, Darjeeling and Sencha.
  │
  │ ● agent  10:00:12
  │   ✓ Grep Sencha /home/ada/tea
  │     teas.txt:3:Sencha
  │
  │   Sencha is the best.

  Sencha it is.

? unknown hologram
  {"type":"hologram","beam":"\\x9b31m","sessionId":"0b5c7a52-9d3e-4a6f-8c11-5e2f9a7d4c01"}

> you  10:00:30  an abandoned branch
  Make a cup of it.

● claude  10:00:32
  Here you are: hot.
  ? unknown block {"type":"teapot","lid":true}

> you  10:00:40
  Make two cups of it.

● claude  10:00:42
  Two cups, hot.
  … Bash boil --water 2  no result

──── compacted, auto, 155,000 tokens ────

≡ summary of what came before  10:01:00
  This session is being continued from a previous conversation that ran out of context. """
        """The conversation is summarized below: Tea was made.

> you  10:01:10
  What is on this picture?
  [image]

● claude  10:01:12
  A cup of \\u202eaet\\u202c.
"""
    )


def test_thinking_and_whole_results_are_shown_if_asked_for() -> None:
    text = show("--thinking", "--full")
    assert "  The list is in a file.\n  Let me look.\n" in text
    assert "  ✓ Read teas.txt\n    1→Assam\n    2→Darjeeling\n    3→Sencha\n" in text
    assert "is summarized below:\n  Tea was made.\n" in text
    assert "The list" not in show("--full")


def test_the_tree_has_its_branches_beside_what_is_in_use() -> None:
    assert show("--tree") == HEADER + (
        """\
●    0 you 10:00:00  Which teas do we have? Look into the \\x1b[31mcupboard\\x1b[0m.
●    1 claude 10:00:02  Let me look.  [Read, Bash]
●    2 claude 10:00:08  I'll ask an expert.  [Agent]
●    3 claude 10:00:22  Sencha it is.
○    4 unknown  {"type":"hologram","beam":"\\x9b31m","sessionId":"0b5c7a52-9d3e-4a6f-8c11-5e2f9a7d4c01"}
├─╮ an abandoned branch, 2 messages
│ ○    5 you 10:00:30  Make a cup of it.
│ ○    6 claude 10:00:32  Here you are: hot.
●    7 you 10:00:40  Make two cups of it.
●    8 claude 10:00:42  Two cups, hot.  [Bash]
●    9 compaction 10:01:00  Conversation compacted
●   10 summary of what came before 10:01:00  This session is being continued from a previous """
        """conversation that ran out of context. The…
●   11 you 10:01:10  What is on this picture?
●   12 claude 10:01:12  A cup of \\u202eaet\\u202c.
"""
    )


def test_a_second_root_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line = TOUR.read_text().splitlines()[1]
    path.write_text(line + "\n" + line.replace('"uuid":"u1"', '"uuid":"u2"') + "\n")
    drawn = show("--tree", path=path).split("\n\n")[1].splitlines()
    assert [row[:9] for row in drawn] == ["○    0 yo", "── follow", "●    1 yo"]


def test_turns_are_listed_with_what_they_took() -> None:
    rows = [line.split() for line in show("--turns").removeprefix(HEADER).splitlines()]
    assert " ".join(rows[0]) == "# started took prompt messages calls agents files tokens in out cost"
    assert [row[0] for row in rows[1:]] == ["1", "2", "3", "4"]
    assert rows[1][3:5] == ["22", "s"]
    assert rows[1][-9:] == ["5", "3", "(1", "✗)", "1", "1", "410", "96", "$0.0027"]
    assert rows[3][-2:] == ["≥15", "≥$0.0005"]


def test_agents_are_listed_with_what_they_used() -> None:
    assert show("--agents") == HEADER + (
        "agent     type     for            calls  tokens in  out     cost  linked by\n"
        "✓ a1b2c3  Explore  Rate the teas      1        110   16  $0.0006  meta\n"
    )


def test_a_session_without_agents_says_so(tmp_path: Path) -> None:
    alone = tmp_path / "s.jsonl"
    alone.write_bytes(b"".join(TOUR.read_bytes().splitlines(keepends=True)[:2]))
    assert show("--agents", path=alone).endswith("\nno agents\n")


def read_json(*args: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(show("--json", *args))
    return document


def test_json_is_one_document_with_everything() -> None:
    document = read_json()
    assert (document["title"], document["project"]) == ("Which tea is best", "/home/ada/tea")
    messages = document["messages"]
    assert [message["author"] for message in messages[:4]] == ["human", "claude", "claude", "claude"]
    assert messages[0]["text"] == "Which teas do we have?\nLook into the \x1b[31mcupboard\x1b[0m."
    assert messages[1]["thinking"] == "The list is in a file."
    read, failed = messages[1]["calls"]
    assert (read["state"], read["input"]) == ("resolved", {"file_path": "/home/ada/tea/teas.txt"})
    assert (failed["state"], failed["is_error"]) == ("failed", True)
    (agent,) = document["agents"]
    assert (agent["id"], agent["call_id"], len(agent["messages"])) == ("a1b2c3", "toolu_3", 3)
    assert [turn["messages"] for turn in document["turns"]][1] == [5, 6]
    assert document["tree"]["forks"] == {"3": [5, 7]}
    assert [problem["kind"] for problem in document["problems"]] == ["unknown-type", "unknown-type"]
    assert document["compactions"][0]["tokens_before"] == 155000


@pytest.mark.parametrize("part", ["tree", "turns", "agents"])
def test_json_of_a_part_has_that_part(part: str) -> None:
    document = read_json(f"--{part}")
    everything = read_json()
    assert document[part] == everything[part]
    assert document.keys() & {"messages", "tree", "turns", "agents"} == {part}


def test_raw_gives_the_bytes(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf\x1b[31m not json \xff\r\n\n" + TOUR.read_bytes() + b'{"torn'
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    assert run("show", path, "--raw").stdout == content


def test_raw_on_a_terminal_does_nothing_to_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\x1b]0;owned\x07\x9b2J \xc2\x9b \xff \xe2\x80\xae\r\nnext\n")
    shown = show_in_terminal("show", path, "--raw", "--no-pager")
    assert shown.text == "\\x1b]0;owned\\x07\\x9b2J \\x9b \\xff \\u202e\\x0d\r\nnext\r\n"


@pytest.mark.parametrize("args", [["--tree", "--turns"], ["--raw", "--json"], ["--agents", "--raw"]])
def test_views_exclude_each_other(args: list[str]) -> None:
    shown = invoke("show", TOUR, *args)
    assert shown.exit_code == 2
    assert "cannot be used together" in shown.stderr


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.jsonl", b"", "no lines"),
        ("blank.jsonl", b"\n\n  \n", "no lines"),
        ("binary.bin", bytes(range(256)) * 40, "none of its lines are recognised"),
        ("latin.txt", "Käse\n".encode("latin-1"), "none of its lines are recognised"),
        ("array.json", b"[1, 2, 3]\n", "none of its lines are recognised"),
        ("text.txt", b"hello\n", "none of its lines are recognised"),
    ],
)
@pytest.mark.parametrize("args", [[], ["--json"], ["--tree"]])
def test_a_file_that_is_no_transcript_gets_one_clear_line(
    tmp_path: Path, name: str, content: bytes, says: str, args: list[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    shown = invoke("show", path, *args)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert shown.stderr.startswith(f"Error: {path}: {says}")
    assert len(shown.stderr.splitlines()) == 1


def test_a_folder_is_no_session(tmp_path: Path) -> None:
    ran = run("show", tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.decode() == f"turnlog: {tmp_path} is a folder, not a file\n"


@pytest.mark.parametrize("args", [[], ["--tree"], ["--turns"], ["--agents"], ["--json"], ["--full"]])
def test_whatever_is_in_a_file_is_shown_safely(args: list[str]) -> None:
    folders = ("stream", "hooks", "legacy", "entries", "transcripts/tools", "transcripts/categories")
    paths = [path for name in folders for path in sorted((DATA / name).rglob("*.json*"))]
    assert len(paths) > 40
    for path in paths:
        shown = invoke("show", path, *args)
        assert shown.exit_code in (0, 1), shown.output
        assert shown.exception is None or isinstance(shown.exception, SystemExit), path
        assert "--json" in args or not {sign for sign in shown.output if sign < " "} - {"\n", "\t"}, path


def test_a_very_long_line_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line = {"type": "user", "uuid": "u", "timestamp": "2026-03-01T10:00:00Z", "sessionId": "s"}
    path.write_text(json.dumps(line | {"message": {"role": "user", "content": "tea " * 300_000}}) + "\n")
    assert len(show(path=path)) > 1_200_000
    assert show_in_terminal("show", path, "--no-pager").status == 0


def test_a_file_with_an_odd_name_is_shown(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b[31m.jsonl"))
    shutil.copy(TOUR, path)
    assert "Which tea" in show(path=path)
    assert json.loads(show("--json", path=path))["path"].endswith("\ufffd\x1b[31m.jsonl")


def test_colours_are_for_terminals_unless_asked_for() -> None:
    green_mark = "\x1b[32m✓\x1b[0m"
    assert green_mark in show_in_terminal("show", TOUR, "--no-pager").text
    assert green_mark in show("--color")
    assert green_mark in run("show", TOUR, env={"FORCE_COLOR": "1"}).stdout.decode()
    for env, args in (
        ({"NO_COLOR": "1"}, []),
        ({"TERM": "dumb"}, []),
        ({}, ["--no-color"]),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, []),
    ):
        assert "\x1b" not in show_in_terminal("show", TOUR, "--no-pager", *args, env=env).text
    assert green_mark in show_in_terminal("show", TOUR, "--no-pager", "--color", env={"NO_COLOR": "1"}).text


def test_nothing_but_colours_reaches_a_terminal() -> None:
    text = show_in_terminal("show", TOUR, "--no-pager", "--full", "--thinking").text
    without = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert not {character for character in without if character < " "} - {"\r", "\n"}
    assert not set(without) & set("\x7f\x9b\u202e\u202c")
    assert "\\u202eaet" in without


def test_text_is_wrapped_to_the_terminal_behind_its_gutter() -> None:
    lines = show_in_terminal("show", TOUR, "--no-pager", "--no-color", size=(24, 38)).text.splitlines()
    assert max(map(len, lines)) <= 38
    assert "  │   Rate Assam, Darjeeling and" in lines
    assert "  │   Sencha." in lines


def test_what_is_longer_than_the_screen_goes_to_the_pager() -> None:
    pager = {"PAGER": "sed s/^/paged:/"}
    assert show_in_terminal("show", TOUR, env=pager).text.startswith("paged:Which tea")
    assert show_in_terminal("show", TOUR, env={"TURNLOG_PAGER": "sed s/^/mine:/", **pager}).text.startswith(
        "mine:"
    )
    assert "paged:" not in show_in_terminal("show", TOUR, env=pager, size=(200, 100)).text
    assert "paged:" not in show_in_terminal("show", TOUR, "--no-pager", env=pager).text
    assert "paged:" not in show_in_terminal("show", TOUR, env=pager, stdin_is_terminal=False).text


@pytest.mark.parametrize("pager", ["", " ", "no-such-pager", "'unbalanced"])
def test_without_a_pager_all_is_printed(pager: str) -> None:
    shown = show_in_terminal("show", TOUR, env={"TURNLOG_PAGER": pager})
    assert shown.status == 0
    assert "\x1b[32m✓" in shown.text
    assert "A cup of" in shown.text


@pytest.mark.skipif(shutil.which("less") is None, reason="no less here")
def test_less_shows_colours_and_can_be_left() -> None:
    shown = show_in_terminal("show", TOUR, keys=b"q")
    assert shown.status == 0
    assert "\x1b[1mWhich tea is best" in shown.text
    assert "ESC[" not in shown.text


def test_a_reader_who_goes_away_is_no_error_while_showing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    for args in ([], ["--json"], ["--raw"]):
        ran = subprocess.run(
            [*TURNLOG, "show", TOUR, *args],
            stdout=writer,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (141, b"")
    os.close(writer)


def test_json_on_a_terminal_is_laid_out_and_does_nothing_to_it() -> None:
    shown = show_in_terminal("show", TOUR, "--json", size=(24, 400), stderr_is_terminal=False)
    assert not set(shown.text) & set("\x1b\x9b\u202e")
    assert shown.text.count("\n") > 100
    assert json.loads(shown.text) == read_json()


def test_agents_of_agents_are_nested_and_those_without_a_call_come_last() -> None:
    (path,) = (DATA / "transcripts" / "agents-workflow").glob("*.jsonl")
    text = show(path=path)
    assert "\n  │   │ … agent Explore  Look closer\n  │   │ > claude" in text
    _, last = text.split("\n? agent workflow-subagent  without a call\n")
    assert "Taste r7" in last
    for number in range(1, 9):
        assert text.count(f"Taste r{number}\n") == (number != 8)


def test_messages_of_an_inline_agent_stand_under_its_call_alone() -> None:
    (path,) = (DATA / "transcripts" / "agents-inline").glob("*.jsonl")
    text = show(path=path)
    assert text.count("Look at the lid") == 1
    assert "  │   Look at the lid\n" in text
    assert "\n  Warmup\n" in text


@pytest.mark.parametrize(
    ("tool", "shown"),
    [
        ({"name": "Bash", "input": {"command": "ls -l\n  /tea"}}, "Bash ls -l /tea"),
        ({"name": "Grep", "input": {"pattern": "Assam", "path": "/home/ada/tea/teas"}}, "Grep Assam teas"),
        ({"name": "Read", "input": {"file_path": 7}}, "Read file_path=7"),
        ({"name": "TodoWrite", "input": {"todos": []}}, "TodoWrite todos=[]"),
        ({"name": "Bash", "input": {}}, "Bash"),
        ({"name": "Bash", "input": ["ls"]}, 'Bash ["ls"]'),
        ({"name": "Bash"}, "Bash"),
        ({"name": "Brew", "input": {"tea": "Assam"}}, 'Brew tea="Assam"  no result  unknown tool'),
    ],
)
def test_a_call_is_shown_by_what_it_is_about(tool: dict[str, Any], shown: str, tmp_path: Path) -> None:
    line = json.loads(TOUR.read_bytes().splitlines()[2])
    line["message"]["content"] = [{"type": "tool_use", "id": "t", **tool}]
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(line) + "\n")
    rows = [row.strip() for row in show(path=path).splitlines()]
    assert f"… {shown}" in rows or f"… {shown}  no result" in rows
