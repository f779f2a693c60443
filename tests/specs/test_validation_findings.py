"""What breaks specs 000, 001 and 004 is an error under its own rule; hints lead to what shows the problem."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import turnlog
from command_line import invoke
from turnlog.transcripts.validation.validator import validate

OLD = {"uuid": "m-1", "timestamp": "2025-01-27T10:00:00Z", "sessionId": "s-1"}
"""What a line of spec 000 has to have, besides its type."""
NUMBERED = OLD | {"timestamp": 1738000000000, "parentUuid": None, "version": "1.0"}
"""The same in spec 004."""
TODAY = OLD | {"parentUuid": None, "isSidechain": False, "cwd": "/tea", "version": "2.1.0", "gitBranch": "main"}


def find(line: dict[str, Any]) -> list[str]:
    """Return what is found in a line."""
    return [f"{found.severity} {found.rule.id}" for found in validate([turnlog.decode(json.dumps(line))])]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (OLD | {"message": "tea"}, "error 000-F1-required-fields"),
        (OLD | {"type": None, "message": "tea"}, "error 000-F1-required-fields"),
        (OLD | {"toolName": "Read", "toolArguments": {}}, "error 000-F1-required-fields"),
        (NUMBERED | {"message": {"role": "user", "content": "tea"}}, "error 004-1-required-fields"),
        (TODAY | {"message": {"role": "user", "content": "tea"}}, "error line-missing-type"),
        ({"level": "info"}, "error line-missing-type"),
    ],
)
def test_a_line_without_a_type_is_an_error(line: dict[str, Any], expected: str) -> None:
    assert find(line) == [expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (OLD | {"type": "system"}, "error 000-F3-system-message"),
        (OLD | {"type": "system", "subtype": "meta", "isMeta": True}, "error 000-F3-system-message"),
        (NUMBERED | {"type": "system"}, "error 004-1-required-fields"),
    ],
)
def test_a_system_line_without_a_message_is_an_error(line: dict[str, Any], expected: str) -> None:
    assert find(line) == [expected]


@pytest.mark.parametrize(
    "more",
    [
        {"subtype": "turn_duration", "durationMs": 5},
        {"subtype": "local_command", "content": "<local-command-stdout></local-command-stdout>"},
        {"content": "Running PostToolUse hook", "level": "info", "isMeta": False},
    ],
)
def test_system_lines_of_today_need_none(more: dict[str, Any]) -> None:
    assert find(TODAY | {"type": "system"} | more) == []


@pytest.mark.parametrize("message", [5, True, None, ["tea"]])
@pytest.mark.parametrize("kind", ["user", "assistant"])
def test_a_message_that_is_neither_text_nor_an_object_is_an_error(kind: str, message: object) -> None:
    said = {"type": kind, "message": message}
    assert find(OLD | said) == ["error 000-4-structure"]
    assert find(NUMBERED | said) == ["error 004-6-content"]
    assert find(TODAY | said) == ["error 000-4-structure"]


def test_the_command_fails_for_each_of_them(tmp_path: Path) -> None:
    broken = (OLD | {"message": "tea"}, OLD | {"type": "system"}, OLD | {"type": "user", "message": 5})
    for number, line in enumerate(broken):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps(line) + "\n")
        assert invoke("validate", path).exit_code == 1


def test_a_missing_subtype_is_told_as_such() -> None:
    line = turnlog.decode(b'{"type":"system","session_id":"s","uuid":"u"}')
    [finding] = validate([line])
    assert (finding.rule.id, finding.message) == (
        "001-5.1-system-subtype",
        "Expected a known `subtype`, found nothing",
    )
    with pytest.raises(turnlog.UnknownTypeError, match="Expected a known `subtype`, found nothing"):
        turnlog.decode(line.raw, strict=True)


@pytest.mark.parametrize("is_archived", [False, True])
@pytest.mark.parametrize("in_agent", [False, True])
def test_the_hint_names_a_command_that_shows_the_problem(
    tmp_path: Path, in_agent: bool, is_archived: bool
) -> None:
    name = "5e550000-0000-4000-8000-000000000009"
    path = tmp_path / "claude" / "projects" / "-p" / f"{name}.jsonl"
    agent = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    prompt = TODAY | {"type": "user", "sessionId": name, "message": {"role": "user", "content": "tea"}}
    path.write_text(json.dumps(prompt | ({} if in_agent else {"omen": 1})) + "\n")
    lines = prompt | {"isSidechain": True, "agentId": "a1"} | ({"omen": 1} if in_agent else {})
    agent.write_text(json.dumps(lines) + "\n")
    env = {"TURNLOG_HOME": str(tmp_path / "turnlog"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    assert invoke("sync", env=env).exit_code == 0
    if is_archived:
        path.unlink()
        agent.unlink()

    shown = invoke("show", name[:8] if is_archived else path, env=env)
    [hint] = [line for line in shown.stdout.splitlines() if "in the data" in line]
    assert hint.startswith("1 problem in the data: see `turnlog validate ")
    done = invoke(*shlex.split(hint.split("`")[1])[1:], env=env)
    assert done.exit_code == 0, done.output
    assert "found `omen`" in done.stdout
