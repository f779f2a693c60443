"""Spec 002 §2.2 and §2.3: rows of progress, hooks, queue, snapshots and turns say what they report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reader_views import ask, export, served, show, write_002
from turnlog import decode
from turnlog.export.formats import Format
from turnlog.transcripts.actions import join_reports, report_of

PROMPT = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix the bug in auth.rs"}}
PROGRESS: tuple[tuple[dict[str, Any], str], ...] = (
    (
        {
            "type": "hook_progress", "hookEvent": "PreToolUse", "hookName": "lint-check",
            "command": "eslint --fix",
        },
        "Hook lint-check (PreToolUse): eslint --fix",
    ),
    (
        {
            "type": "hook_progress", "hookEvent": "PreToolUse", "hookName": "PreToolUse:Bash",
            "command": "./check",
        },
        "Hook PreToolUse:Bash: ./check",
    ),
    ({"type": "bash_progress", "output": "building 10%\nbuilding 40%\n"}, "building 40%"),
    ({"type": "bash_progress", "output": "", "fullOutput": "a\nb"}, "b"),
    ({"type": "bash_progress", "output": "", "elapsedTimeSeconds": 75}, "Running for 1 min 15 s"),
    (
        {"type": "mcp_progress", "serverName": "github", "toolName": "search", "status": "started"},
        "MCP github search: started",
    ),
    (
        {
            "type": "mcp_progress", "serverName": "github", "toolName": "search", "status": "completed",
            "elapsedTimeMs": 1250,
        },
        "MCP github search: completed in 1.2 s",
    ),
    (
        {"type": "waiting_for_task", "taskDescription": "Run the tests", "taskType": "local_bash"},
        "Waiting for a task: Run the tests (local_bash)",
    ),
    (
        {
            "type": "agent_progress", "agentId": "a1", "prompt": "Find all uses",
            "message": {"type": "assistant", "message": {"role": "assistant", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "x", "name": "Grep", "input": {"pattern": "uses"}},
            ]}},
        },
        "Agent a1: Grep uses",
    ),
    ({"type": "agent_progress", "agentId": "a1", "prompt": "Find all uses\nin src"}, "Agent a1: Find all uses"),
    ({"type": "agent_progress", "prompt": "Find no uses"}, "Agent: Find no uses"),
    ({"type": "query_update", "query": "rust auth"}, "Searching the web: rust auth"),
    ({"type": "search_results_received", "query": "rust auth", "resultCount": 1}, "1 search result: rust auth"),
)  # fmt: skip
EVENTS: tuple[tuple[dict[str, Any], str], ...] = (
    (
        {
            "type": "system", "subtype": "hook_started", "hook_id": "h", "hook_name": "lint-check",
            "hook_event": "Stop", "session_id": "s",
        },
        "Hook lint-check started (Stop)",
    ),
    ({"type": "auth_status", "session_id": "s", "isAuthenticating": True, "output": []}, "Signing in"),
    ({"type": "auth_status", "session_id": "s", "isAuthenticating": False, "output": []}, "Signed in"),
    (
        {"type": "auth_status", "session_id": "s", "isAuthenticating": False, "output": [], "error": "no"},
        "Sign-in failed: no",
    ),
    ({"type": "result", "result": "success"}, "Session completed: success"),
)  # fmt: skip
NOTES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"type": "system", "subtype": "turn_duration", "durationMs": 5000, "isMeta": True}, "Turn took 5.0 s"),
    ({"type": "queue-operation", "operation": "enqueue", "content": "next task"}, "Queued: next task"),
    ({"type": "queue-operation", "operation": "dequeue"}, "Taken from the queue"),
    (
        {
            "type": "file-history-snapshot", "messageId": "a2", "isSnapshotUpdate": False,
            "snapshot": {"trackedFileBackups": {"/src/auth.rs": "backup-hash"}},
        },
        "Snapshot of 1 file: auth.rs",
    ),
)  # fmt: skip
ALL = (*PROGRESS, *EVENTS, *NOTES)


def _number(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [PROMPT, *({"uuid": f"x{number}"} | line for number, line in enumerate(lines))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    progress = [{"type": "progress", "data": data} for data, _ in PROGRESS]
    return write_002(tmp_path, _number([*progress, *(line for line, _ in (*EVENTS, *NOTES))]))


@pytest.mark.parametrize("options", [(), ("--full",)])
def test_show_says_what_each_line_reports(path: Path, options: tuple[str, ...]) -> None:
    shown = show(path, *options)
    assert [text for _, text in ALL if text not in shown] == []
    lines = [line.strip() for line in shown.splitlines()]
    assert not {"progress", "system", "hook", "auth_status", "queue", "snapshot", "∙", "…"} & set(lines)


@pytest.mark.parametrize("form", [Format.MARKDOWN, Format.HTML, Format.CSV])
def test_exports_say_it_as_well(path: Path, form: Format) -> None:
    exported = export(path, form)
    assert [text for _, text in ALL if text not in exported] == []
    assert not {"*hook*", "*system*", "*lone-progress*"} & set(exported.splitlines())


def test_the_api_says_it_in_content_and_blocks(path: Path, tmp_path: Path) -> None:
    with served(path, tmp_path / "home") as server:
        items = ask(server, "/api/sessions/session-002/messages")["items"][1:]
        expected = [text for _, text in (*PROGRESS, *EVENTS)]
        assert [item["content"] for item in items] == expected
        assert [item["blocks"] for item in items] == [
            [{"kind": "text", "text": text, "truncated": False}] for text in expected
        ]
        actions = ask(server, "/api/sessions/session-002/actions")["items"]
        assert {"Turn took 5.0 s", "next task", "auth.rs"} <= {action["title"] for action in actions}


def test_the_timeline_has_queue_snapshots_and_turns_as_rows_that_renumber_nothing(
    path: Path, tmp_path: Path
) -> None:
    with served(path, tmp_path / "home") as server:
        items = ask(server, "/api/sessions/session-002/timeline")["items"]
        messages = [item["message"]["index"] for item in items if item["kind"] == "message"]
        assert messages == list(range(1 + len(PROGRESS) + len(EVENTS)))
        notes = [item["note"] for item in items if item["kind"] == "note"]
        assert [(note["category"], note["text"]) for note in notes] == [
            ("system", "Turn took 5.0 s"),
            ("queue", "Queued: next task"),
            ("queue", "Taken from the queue"),
            ("snapshot", "Snapshot of 1 file: auth.rs"),
        ]
        assert {note["message"] for note in notes} == {messages[-1]}
        assert [item["kind"] for item in items[-4:]] == ["note"] * 4
        chosen = ask(server, "/api/sessions/session-002/timeline?role=user")["items"]
        assert [item["kind"] for item in chosen] == ["message"]


def test_a_queued_prompt_that_is_shown_is_not_told_twice(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "queue-operation", "operation": "enqueue", "content": "and the docs"},
        {"type": "queue-operation", "operation": "dequeue"},
        {"type": "user", "message": {"role": "user", "content": "and the docs"}},
    ]
    shown = show(write_002(tmp_path, _number(lines)), "--full")
    assert shown.count("and the docs") == 1
    assert "queue" not in shown


def test_what_happens_between_messages_is_one_line_unless_all_is_asked_for(path: Path) -> None:
    [line] = [line.strip() for line in show(path).splitlines() if "Turn took" in line]
    assert line == "∙ " + " · ".join(text for _, text in NOTES)
    full = [line.strip() for line in show(path, "--full").splitlines()]
    assert [line for line in full if line.startswith("∙ ")][-4:] == [f"∙ {text}" for _, text in NOTES]


def test_what_is_repeated_is_counted_and_a_snapshot_of_nothing_is_no_report() -> None:
    snapshot = {
        "type": "file-history-snapshot",
        "snapshot": {"trackedFileBackups": {"a/b.py": "x", "c.py": "y"}},
    }
    empty = {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {}}}
    entries = [decode(json.dumps(line)).entry for line in (snapshot, empty, snapshot)]
    assert join_reports(entries) == "Snapshot of 2 files: b.py, c.py (2 times)"
    assert report_of(entries[1]) == ""
