"""What people read is a sentence: messages about data, counts, amounts of money, and names in exports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import turnlog
from command_line import invoke, run_here
from turnlog.cli.plain_text import cents_text
from turnlog.messages import sdk
from turnlog.transcripts.usage.prices import money_text

LINE = b'{"type":"mode","mode":"normal"}'
BROKEN = {
    b"{mode:1}": 'Expected `"`, found `m` - at $ (byte 1)',
    b'{"a" 1}': "Expected `:`, found `1` - at $ (byte 5)",
    b'{"a":1 "b":2}': 'Expected `,` or `}`, found `"` - at $ (byte 7)',
    b'{"a":[1 2]}': "Expected `,` or `]`, found `2` - at $ (byte 8)",
    b'{"a":1 \x00}': "Expected `,` or `}`, found byte 0x00 - at $ (byte 7)",
    '{"a":1 é}'.encode(): "Expected `,` or `}`, found `é` - at $ (byte 7)",
    LINE + b"x": f"Expected the end of the line, found `x` - at $ (byte {len(LINE)})",
    b"nope": "Expected a JSON object, found an invalid character - at $ (byte 1)",
    b'{"a":1,}': "Expected a JSON object, found a trailing comma in an object - at $ (byte 7)",
    b'{"type":5}': "Expected a known `type`, found `5` - at $.type (byte 8)",
    b'{"type":{}}': "Expected a known `type`, found an object - at $.type (byte 8)",
    b'{"type":""}': "Expected a known `type`, found an empty string - at $.type (byte 8)",
    b'{"type":null}': "Expected a known `type`, found null - at $.type (byte 8)",
}


@pytest.mark.parametrize("line", BROKEN, ids=repr)
def test_a_problem_says_what_was_expected_and_what_was_found(line: bytes) -> None:
    [problem] = turnlog.decode(line).problems
    assert str(problem) == BROKEN[line]


@pytest.mark.parametrize(("flags", "found"), [({}, "nothing"), ({"isMeta": False}, "`false`")])
def test_a_flag_that_is_there_and_false_is_found(tmp_path: Path, flags: dict[str, bool], found: str) -> None:
    line = {"type": "system", "uuid": "m1", "timestamp": "2025-01-27T10:00:00Z", "sessionId": "s1"}
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps(line | {"subtype": "meta", "message": "m"} | flags) + "\n")
    assert f"Expected `isMeta: true` for subtype `meta`, found {found}" in invoke("validate", str(path)).output


def test_a_line_without_a_type_is_called_an_unknown_line(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(LINE[:-1] + b"\n" + b'{"type":"user","message":{"role":"user","content":"Hello"}}\n')
    shown = invoke("show", str(path)).output
    assert '? unknown line\n  {"type":"mode"' in shown
    assert "a broken line" not in shown


def write_session(path: Path, *lines: Mapping[str, object]) -> Path:
    common = {
        "sessionId": "5e551011-0000-4000-8000-00000000000a",
        "timestamp": "2026-03-04T10:00:00Z",
        "cwd": "/p",
    }
    path.write_text(
        "".join(json.dumps({**common, "uuid": f"u{n}", **line}) + "\n" for n, line in enumerate(lines))
    )
    return path


PROMPT: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": "Hello"}}
ANSWER: dict[str, Any] = {
    "type": "assistant",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
        ],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 45},
    },
}
HOOK = {
    "type": "progress",
    "toolUseID": "t1",
    "data": {
        "type": "hook_progress",
        "hookEvent": "PreToolUse",
        "hookName": "PreToolUse:Bash",
        "command": "lint.sh",
    },
}
ATTACHED = {
    "type": "attachment",
    "attachment": {
        "type": "hook_success",
        "hookName": "SessionStart:startup",
        "hookEvent": "SessionStart",
        "toolUseID": "x",
        "content": "",
        "exitCode": 0,
        "command": "greet.sh",
    },
}


@pytest.mark.parametrize("format", ["md", "html"])
def test_exports_count_and_price_as_the_command_line_does(tmp_path: Path, format: str) -> None:
    path = write_session(tmp_path / "session.jsonl", PROMPT, ANSWER)
    exported = invoke("export", str(path), "--format", format, "--output", "-").output
    shown = invoke("show", str(path)).output
    assert "$0.0007" in shown
    assert "$0.0007" in exported
    for count in ("1 turn", "1 call", "0 agents"):
        assert f"{count}," in exported.replace(" ·", ",")
    assert "1 turns" not in exported


def test_an_export_says_of_a_hook_which_one_it_is(tmp_path: Path) -> None:
    path = write_session(tmp_path / "session.jsonl", PROMPT, HOOK, ATTACHED, ANSWER)
    lines = invoke("export", str(path), "--format", "md", "--output", "-").output.splitlines()
    told = [line for line in lines if line.startswith("*hook*")]
    assert told
    assert all(len(line) > len("*hook*") for line in told)
    assert any("SessionStart:startup: greet.sh, ok" in line for line in told)


def test_a_fraction_of_a_cent_is_never_nothing() -> None:
    assert [cents_text(Decimal(each)) for each in ("0", "0.0007", "0.01", "1234.5")] == [
        "$0.00",
        "<$0.01",
        "$0.01",
        "$1,234.50",
    ]
    assert [money_text(Decimal(each)) for each in ("0", "0.00001", "0.0007")] == [
        "$0.0000",
        "<$0.0001",
        "$0.0007",
    ]


def test_a_query_that_cannot_be_understood_is_told_as_any_other_misuse(tmp_path: Path) -> None:
    home = {"TURNLOG_HOME": str(tmp_path)}
    for arguments in (("search", '"open'), ("show", "nothing-of-the-kind"), ("usage", "--since", "soon")):
        assert run_here(*arguments, env=home).stderr.startswith(b"turnlog: ")


def test_what_a_session_has_is_shown_in_a_short_line(tmp_path: Path) -> None:
    start = {
        "type": "tool_use",
        "id": "t2",
        "name": "Task",
        "input": {"prompt": "Look", "subagent_type": "Explore"},
    }
    asking = {**ANSWER, "message": {**ANSWER["message"], "id": "msg_2", "content": [start]}}
    asked: dict[str, Any] = {"type": "user", "isSidechain": True, "parentUuid": None, "agentId": "a1"}
    asked["message"] = {"role": "user", "content": "Look"}
    session = turnlog.read(write_session(tmp_path / "session.jsonl", PROMPT, ANSWER, asking, asked))
    [agent] = session.agents
    [group] = session.panel.groups[:1]
    parts = [session, agent, session.panel, group, session.turns[0], session.messages[0], session.calls[0]]
    for part in parts:
        assert len(repr(part)) < 250
        assert "Line(" not in repr(part)
    assert repr(agent) == "Agent(id='a1', type='Explore', state='running', lines=1, calls=0)"
    assert repr(session.panel) == f"Panel(main={len(session.panel.main)}, groups={len(session.panel.groups)})"


def test_an_envelope_shows_only_what_it_has() -> None:
    line = turnlog.decode(b'{"type":"mode","mode":"normal","sessionId":"s1"}')
    assert repr(line.entry) == "Mode(session_id='s1', mode='normal')"
    head = turnlog.decode_envelope(line.raw)
    assert "UNSET" not in repr(head)
    assert "session_id='s1'" in repr(head)
    message = sdk.new_user_message("Hello", "s1")
    assert "UNSET" not in repr(message)
