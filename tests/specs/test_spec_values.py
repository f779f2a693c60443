"""Every value that the five specs list for a field is a known one: reading it reports nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import turnlog
from golden import SPEC_001_HOOKS, SPEC_001_REQUESTS
from turnlog.messages.options import QueryOptions
from turnlog.messages.permissions import PermissionResult
from turnlog.messages.salvage import view
from turnlog.messages.tool_io.registry import INPUTS
from turnlog.transcripts.hooks import EVENTS, GROUPS, NOTIFICATIONS
from turnlog.transcripts.kinds import Category, MessageType, Role

UUID = "0f5c7b1e-0000-4000-8000-000000000001"
IDS = {"uuid": UUID, "session_id": "s1"}
MODES = ["default", "acceptEdits", "bypassPermissions", "plan", "delegate", "dontAsk"]
USAGE = dict.fromkeys(
    ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), 0
)
HOOK: dict[str, Any] = {"hook_id": "h", "hook_name": "n", "stdout": "", "stderr": "", "output": ""}
INIT: dict[str, Any] = {
    "apiKeySource": "none",
    "claude_code_version": "2.1.0",
    "cwd": "/p",
    "tools": [],
    "mcp_servers": [],
    "model": "m",
    "permissionMode": "default",
    "slash_commands": [],
    "output_style": "default",
    "skills": [],
    "plugins": [],
}


def stream(**fields: Any) -> dict[str, Any]:
    return {**fields, **IDS}


def system(subtype: str, **fields: Any) -> dict[str, Any]:
    return stream(type="system", subtype=subtype, **fields)


def answer(**fields: Any) -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "m",
    }
    message |= {"stop_reason": None, "stop_sequence": None, "usage": USAGE}
    given = {name: fields.pop(name) for name in ("stop_reason", "content") if name in fields}
    return stream(type="assistant", message=message | given, parent_tool_use_id=None, **fields)


def result(subtype: str) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "duration_ms": 1,
        "duration_api_ms": 1,
        "num_turns": 1,
        "total_cost_usd": 0.0,
        "modelUsage": {},
    }
    failed = {"errors": ["e"]} if subtype != "success" else {"result": "r"}
    ends: dict[str, Any] = {
        "is_error": subtype != "success",
        "stop_reason": None,
        "permission_denials": [],
        "usage": USAGE,
    }
    return stream(type="result", subtype=subtype, **figures, **failed, **ends)


def ask(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": "r1", "request": {"subtype": subtype, **fields}}


def suggest(**update: Any) -> dict[str, Any]:
    return ask("can_use_tool", tool_name="Bash", input={}, tool_use_id="t", permission_suggestions=[update])


def hook(event: str, **fields: Any) -> dict[str, Any]:
    base = {"session_id": "s1", "transcript_path": "/t", "cwd": "/p", "hook_event_name": event}
    return base | fields


def line(kind: str, **fields: Any) -> dict[str, Any]:
    base = {"type": kind, "uuid": UUID, "sessionId": "s1", "timestamp": "2026-01-01T00:00:00Z"}
    return base | fields


def line_004(kind: str, content: Any = "text", **fields: Any) -> dict[str, Any]:
    message = {"type": "message", "content": content}
    base = line(kind, parentUuid=None, timestamp=1738160130123, version="1.0.128", message=message)
    return base | fields


def list_001() -> Iterator[tuple[str, dict[str, Any]]]:
    for source in ("env_var", "config_file"):
        yield f"apiKeySource {source}", system("init", **INIT | {"apiKeySource": source})
    for mode in MODES:
        yield f"permissionMode {mode}", system("init", **INIT | {"permissionMode": mode})
        yield f"status {mode}", system("status", status=None, permissionMode=mode)
        yield f"set_permission_mode {mode}", ask("set_permission_mode", mode=mode)
    for status in ("connected", "failed", "needs-auth", "pending", "disabled"):
        yield f"server {status}", system("init", **INIT | {"mcp_servers": [{"name": "n", "status": status}]})
    yield "compacting", system("status", status="compacting")
    for trigger in ("manual", "auto"):
        yield trigger, system("compact_boundary", compact_metadata={"trigger": trigger, "pre_tokens": 1})
    for event in SPEC_001_HOOKS:
        yield event, system("hook_started", hook_id="h", hook_name="n", hook_event=event)
    yield "hook_progress", system("hook_progress", **HOOK, hook_event="PreToolUse")
    for outcome in ("success", "error", "cancelled"):
        yield outcome, system("hook_response", **HOOK, hook_event="Stop", outcome=outcome)
    for status in ("completed", "failed", "stopped"):
        yield (
            f"task {status}",
            system("task_notification", task_id="t", status=status, output_file="/o", summary="s"),
        )
    persisted: dict[str, Any] = {"files": [], "failed": [], "processed_at": "2026-01-01T00:00:00Z"}
    yield "files_persisted", system("files_persisted", **persisted)
    for error in (
        "authentication_failed",
        "billing_error",
        "rate_limit",
        "invalid_request",
        "server_error",
        "unknown",
    ):
        yield f"error {error}", answer(error=error)
    for reason in ("end_turn", "tool_use", "max_tokens", "stop_sequence"):
        yield reason, answer(stop_reason=reason)
    for block in (
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "call_1", "name": "Read", "input": {}},
        {"type": "thinking", "thinking": ""},
    ):
        yield f"block {block['type']}", answer(content=[block])
    for subtype in (
        "success",
        "error_during_execution",
        "error_max_turns",
        "error_max_budget_usd",
        "error_max_structured_output_retries",
    ):
        yield subtype, result(subtype)
    for role in ("user", "assistant"):
        prompt = {"role": role, "content": "c"}
        yield f"role {role}", stream(type="user", message=prompt, parent_tool_use_id=None)
    rules = {"rules": [{"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow"}
    for place in ("userSettings", "projectSettings", "localSettings", "session", "cliArg"):
        yield place, suggest(type="addRules", destination=place, **rules)
    for kind in ("addRules", "replaceRules", "removeRules"):
        yield kind, suggest(type=kind, destination="session", **rules)
    for kind in ("addDirectories", "removeDirectories"):
        yield kind, suggest(type=kind, destination="session", directories=["/d"])
    for mode in MODES:
        yield f"setMode {mode}", suggest(type="setMode", destination="session", mode=mode)
    for reason in ("clear", "logout", "prompt_input_exit", "other", "bypass_permissions_disabled"):
        yield f"exit {reason}", hook("SessionEnd", reason=reason)


def list_002() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "turn_duration", line("system", subtype="turn_duration", durationMs=5000, isMeta=True)
    for kind in ("hook_progress", "agent_progress", "bash_progress", "mcp_progress", "waiting_for_task"):
        yield kind, line("progress", data={"type": kind})
    yield "summary", line("summary", summary="s", leafUuid="a2")
    for operation in ("enqueue", "dequeue"):
        yield operation, line("queue-operation", operation=operation)
    backups = {"trackedFileBackups": {"/src/auth.rs": "backup-hash"}}
    yield "snapshot", line("file-history-snapshot", messageId="a2", snapshot=backups, isSnapshotUpdate=False)
    yield "saved_hook_context", line("saved_hook_context", content=["line 1"])
    yield "result", line("result", result="success")
    for notice in ("permission_prompt", "idle_prompt", "elicitation_dialog", "auth_success"):
        yield notice, hook("Notification", message="m", notification_type=notice)
    for trigger in ("manual", "auto"):
        yield f"PreCompact {trigger}", hook("PreCompact", trigger=trigger, custom_instructions=None)


def list_others() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "000 external", line("user", message="m", isSidechain=True, userType="external")
    for subtype in ("response", "thinking", "command", "error"):
        yield f"000 {subtype}", line("assistant", message="m", subtype=subtype)
    yield "000 tool_use", line("assistant", subtype="tool_use", toolName="Write", toolArguments={})
    yield "000 tool_result", line("system", message="m", subtype="tool_result")
    yield "000 system error", line("system", message="m", subtype="error", isError=True)
    yield "000 meta", line("system", message="m", subtype="meta", isMeta=True)
    yield "000 system", line("system", message="m")
    for operation in ("compacting", "compacted", "restored", "restoring"):
        yield f"000 {operation}", line("compact_system", message=f"conversation_{operation}")
    for kind in ("human", "assistant", "compact_prelude", "compact_recap"):
        yield f"004 {kind}", line_004(kind)
    done = {"type": "tool_result", "tool_use_id": "t", "content": "c", "is_error": False}
    yield "004 tool_result", line_004("tool_result", [done])
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    yield "004 image", line_004("human", [{"type": "image", "source": source}])


LINES = dict([*list_001(), *list_002(), *list_others()])


@pytest.mark.parametrize("name", LINES)
def test_a_value_of_a_line_is_known(name: str) -> None:
    unknown = [
        str(problem)
        for problem in turnlog.decode(json.dumps(LINES[name]).encode()).problems
        if problem.kind.startswith("unknown")
    ]
    assert unknown == []


OPTIONS: list[dict[str, Any]] = [
    *({"permissionMode": mode} for mode in MODES),
    *({"settingSources": [source]} for source in ("user", "project", "local")),
    *({"hooks": {event: [{"hookCallbackIds": ["h"]}]}} for event in SPEC_001_HOOKS),
    {"outputFormat": {"type": "json_schema", "schema": {}}},
    {"systemPrompt": {"type": "preset", "preset": "claude_code", "append": "a"}},
    {"plugins": [{"type": "local", "path": "/p"}]},
    {"mcpServers": {"n": {"type": "stdio", "command": "c"}}},
    {"mcpServers": {"n": {"type": "sse", "url": "https://example.com"}}},
    {"mcpServers": {"n": {"type": "http", "url": "https://example.com"}}},
    {"mcpServers": {"n": {"type": "sdk", "name": "n"}}},
    *({"agents": {"a": {"description": "d", "prompt": "p", "model": m}}} for m in ("sonnet", "opus", "haiku")),
]


@pytest.mark.parametrize("given", OPTIONS, ids=json.dumps)
def test_a_value_of_an_option_is_known(given: dict[str, Any]) -> None:
    assert view(QueryOptions, json.dumps(given).encode()).problems == ()


@pytest.mark.parametrize(
    "given", [{"behavior": "allow"}, {"behavior": "deny", "message": "m"}, {"behavior": "ask"}]
)
def test_a_decision_is_known(given: dict[str, Any]) -> None:
    assert view(PermissionResult, json.dumps(given).encode()).problems == ()


@pytest.mark.parametrize("subtype", SPEC_001_REQUESTS)
def test_a_request_is_known(subtype: str) -> None:
    kinds = {problem.kind.value for problem in turnlog.decode(json.dumps(ask(subtype)).encode()).problems}
    assert kinds <= {"missing-field"}


def test_the_tables_of_spec_002_are_ours() -> None:
    assert set(Role) == {"user", "assistant", "tool_use", "tool_result", "system", "progress", "summary"}
    assert set(MessageType) == {*Role, "thinking", "error", "hook"}
    assert set(Category) == {
        *("skill", "mcp", "builtin", "agent", "hook", "hook_progress"),
        *("error", "system", "snapshot", "queue"),
    }
    assert set(GROUPS) == {"autonomous", "needs_you", "delivered"}
    assert set(SPEC_001_HOOKS) <= set(EVENTS)
    assert {"permission_prompt", "idle_prompt", "elicitation_dialog", "auth_success"} <= set(NOTIFICATIONS)


def test_the_tools_of_specs_000_and_004_are_known() -> None:
    named = "Read Write Edit MultiEdit Bash BashOutput KillShell Grep Glob WebFetch WebSearch TodoWrite"
    assert {*named.split(), "SlashCommand", "Task"} <= set(INPUTS)
