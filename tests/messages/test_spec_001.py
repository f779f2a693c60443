"""The verification checklist of spec 001 (§9), one test for each of its 15 points, under its name."""

from __future__ import annotations

import json
import uuid
from typing import Any

import msgspec
import pytest

import golden
import turnlog
from turnlog.messages import sdk
from turnlog.messages.base import UNSET, Raw
from turnlog.messages.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from turnlog.messages.control.frames import REQUESTS, Sender
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.hook_events import ExitReason, HookEventName
from turnlog.messages.message import Message, Usage
from turnlog.messages.metadata import ModelUsage
from turnlog.messages.options import Callbacks, Preset, PresetSystemPrompt, QueryOptions
from turnlog.messages.system import CompactTrigger

IDS = {"uuid": "0b5d9a4e-7c1f-4a35-9d6e-2f8b1c3d4e5f", "session_id": "s-1"}
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [],
    "model": "m",
    "stop_reason": None,
}
HOOK = {"type": "system", "hook_id": "h", "hook_name": "lint", "hook_event": "PreToolUse", **IDS}
RESULT: dict[str, Any] = {
    "duration_ms": 5,
    "duration_api_ms": 4,
    "num_turns": 1,
    "stop_reason": None,
    "total_cost_usd": 0.5,
    **IDS,
}
RESULT |= {
    "usage": {"input_tokens": 1, "output_tokens": 2},
    "modelUsage": {"m": {"inputTokens": 1, "costUSD": 0.5}},
}
RESULT |= {"permission_denials": [{"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "ls"}}]}

VARIANTS: dict[str, dict[str, Any]] = {
    "AssistantMessage": {"type": "assistant", "message": MESSAGE, "parent_tool_use_id": None, **IDS},
    "UserMessage": {
        "type": "user",
        "message": {"role": "user", "content": "hi"},
        "parent_tool_use_id": None,
        **IDS,
    },
    "UserMessageReplay": {
        "type": "user",
        "message": {"role": "user", "content": "hi"},
        "parent_tool_use_id": None,
        "isReplay": True,
        **IDS,
    },
    "ResultMessage": {"type": "result", "subtype": "success", "is_error": False, "result": "done", **RESULT},
    "SystemInitMessage": {
        "type": "system",
        "subtype": "init",
        "apiKeySource": "user",
        "claude_code_version": "2.1.0",
        "cwd": "/p",
        "tools": ["Bash"],
        "mcp_servers": [{"name": "s", "status": "connected"}],
        "model": "m",
        "permissionMode": "plan",
        "slash_commands": [],
        "output_style": "default",
        "skills": [],
        "plugins": [{"name": "p", "path": "/p"}],
        **IDS,
    },
    "PartialAssistantMessage": {
        "type": "stream_event",
        "event": {"type": "message_stop"},
        "parent_tool_use_id": None,
        **IDS,
    },
    "CompactBoundaryMessage": {
        "type": "system",
        "subtype": "compact_boundary",
        "compact_metadata": {"trigger": "auto", "pre_tokens": 9},
        **IDS,
    },
    "StatusMessage": {"type": "system", "subtype": "status", "status": None, "permissionMode": "plan", **IDS},
    "HookStartedMessage": HOOK | {"subtype": "hook_started"},
    "HookProgressMessage": HOOK | {"subtype": "hook_progress", "stdout": "a", "stderr": "", "output": "a"},
    "HookResponseMessage": HOOK
    | {"subtype": "hook_response", "output": "a", "exit_code": 0, "outcome": "success"},
    "ToolProgressMessage": {
        "type": "tool_progress",
        "tool_use_id": "t",
        "tool_name": "Bash",
        "parent_tool_use_id": None,
        "elapsed_time_seconds": 1.5,
        **IDS,
    },
    "AuthStatusMessage": {"type": "auth_status", "isAuthenticating": True, "output": ["x"], **IDS},
    "TaskNotificationMessage": {
        "type": "system",
        "subtype": "task_notification",
        "task_id": "k",
        "status": "completed",
        "output_file": "/o",
        "summary": "s",
        **IDS,
    },
    "FilesPersistedEvent": {
        "type": "system",
        "subtype": "files_persisted",
        "files": [{"filename": "a", "file_id": "f"}],
        "failed": [{"filename": "b", "error": "e"}],
        "processed_at": "2026-01-01T00:00:00Z",
        **IDS,
    },
    "ToolUseSummaryMessage": {
        "type": "tool_use_summary",
        "summary": "s",
        "preceding_tool_use_ids": ["t"],
        **IDS,
    },
}
LINES = {name: json.dumps(wire).encode() for name, wire in VARIANTS.items()}

NEWER_TYPES = {"rate_limit_event", "prompt_suggestion", "conversation_reset"}
NEWER_SUBTYPES = {
    "api_retry",
    "control_request_progress",
    "model_refusal_fallback",
    "model_refusal_no_fallback",
    "local_command_output",
    "plugin_install",
    "task_started",
    "task_updated",
    "task_progress",
    "background_tasks_changed",
    "thinking_tokens",
    "session_state_changed",
    "worker_shutting_down",
    "commands_changed",
    "notification",
    "memory_recall",
    "elicitation_complete",
    "permission_denied",
    "mirror_error",
    "informational",
    "session_writes_lost",
}


@pytest.mark.parametrize("name", VARIANTS)
def test_type_completeness(name: str) -> None:
    line = turnlog.decode(LINES[name], strict=True)
    assert type(line.entry).__name__ == name
    assert (line.dialect, line.problems) == (turnlog.Dialect.STREAM, ())


def test_type_completeness_of_today() -> None:
    spec = {wire.get("subtype") for wire in VARIANTS.values() if wire["type"] == "system"}
    assert len(VARIANTS) + len(NEWER_TYPES) + len(NEWER_SUBTYPES) == 40
    assert sdk.STREAM_TYPES.keys() >= NEWER_TYPES
    assert NEWER_SUBTYPES | spec <= sdk.SYSTEM_SUBTYPES.keys()


@pytest.mark.parametrize("name", VARIANTS)
def test_json_round_trip_fidelity(name: str) -> None:
    line = turnlog.decode(LINES[name])
    assert turnlog.encode(line) == LINES[name]
    again = turnlog.decode(turnlog.encode(line.entry))
    assert again.entry == line.entry
    assert json.loads(again.raw) == VARIANTS[name]


@pytest.mark.parametrize(
    ("block", "wire"),
    [
        (TextBlock(text="hi"), b'{"type":"text","text":"hi"}'),
        (ThinkingBlock(thinking="hm"), b'{"type":"thinking","thinking":"hm"}'),
        (
            ToolUseBlock(id="t", name="Bash", input=Raw(b'{"command":"ls"}')),
            b'{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}',
        ),
    ],
)
def test_content_block_marshaling(block: turnlog.messages.Value, wire: bytes) -> None:
    assert turnlog.encode(block) == wire


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b'{"type":"telepathy","session_id":"s"}', "$.type"),
        (b'{"type":"system","subtype":"omen","session_id":"s"}', "$.subtype"),
        (b'{"type":"result","subtype":"omen","session_id":"s"}', "$.subtype"),
        (b'{"type":"system","session_id":"s"}', "$"),
        (b'{"session_id":"s"}', "$"),
    ],
)
def test_discriminator_completeness(line: bytes, path: str) -> None:
    with pytest.raises(turnlog.UnknownTypeError, match="Expected a known") as caught:
        turnlog.decode(line, strict=True)
    assert caught.value.path == path
    assert turnlog.encode(turnlog.decode(line)) == line


@pytest.mark.parametrize(
    ("flag", "cls"),
    [(True, sdk.UserMessageReplay), (False, sdk.UserMessage), (None, sdk.UserMessage)],
)
def test_user_message_replay_detection(flag: bool | None, cls: type) -> None:
    wire = VARIANTS["UserMessage"] | ({} if flag is None else {"isReplay": flag})
    assert type(turnlog.decode(json.dumps(wire)).entry) is cls


def test_options_completeness() -> None:
    assert len(golden.SPEC_001_OPTIONS) + len({"can_use_tool", "abort_controller", "stderr"}) >= 35
    assert set(golden.SPEC_001_OPTIONS) <= set(QueryOptions.__struct_encode_fields__)
    assert {"can_use_tool", "abort_controller", "stderr"} <= set(Callbacks.__slots__)
    with pytest.raises(turnlog.ChangeError):
        turnlog.encode(Callbacks(stderr=print))  # type: ignore[arg-type]


def test_enum_coverage() -> None:
    modes = {"default", "acceptEdits", "bypassPermissions", "plan", "delegate", "dontAsk"}
    reasons = {"clear", "logout", "prompt_input_exit", "other", "bypass_permissions_disabled"}
    results = {"success", "error_during_execution", "error_max_turns", "error_max_budget_usd"}
    results |= {"error_max_structured_output_retries"}
    subtypes = {wire["subtype"] for wire in VARIANTS.values() if wire["type"] == "system"}
    assert modes <= set(PermissionMode)
    assert reasons <= set(ExitReason)
    assert results == set(sdk.ResultSubtype)
    assert len(golden.SPEC_001_HOOKS) == 15
    assert set(golden.SPEC_001_HOOKS) <= set(HookEventName)
    assert len(subtypes) == 8


def test_control_protocol() -> None:
    assert len(golden.SPEC_001_REQUESTS) == 13
    assert {subtype for subtype, kind in REQUESTS.items() if kind.spec001} == set(golden.SPEC_001_REQUESTS)
    assert REQUESTS["can_use_tool"].sender is Sender.CLI
    covered = set()
    for line in golden.lines("control/spec-001"):
        decoded = turnlog.decode(line, strict=True)
        assert decoded.dialect is turnlog.Dialect.CONTROL
        assert json.loads(turnlog.encode(decoded.entry)) == json.loads(line)
        covered.add(json.loads(line).get("request", {}).get("subtype"))
    assert set(golden.SPEC_001_REQUESTS) <= covered


def test_null_handling() -> None:
    message = Message(role="user", content=None)
    assert turnlog.encode(message) == b'{"role":"user","content":null}'
    assert (
        turnlog.encode(sdk.UserMessage(message=message))
        == b'{"type":"user","message":{"role":"user","content":null}}'
    )
    read = turnlog.decode(b'{"type":"user","message":{"role":"user","content":null},"session_id":"s"}').entry
    assert isinstance(read, sdk.UserMessage)
    assert (read.message.content, read.parent_tool_use_id) == (None, UNSET)


def test_uuid_format() -> None:
    message = sdk.new_user_message("hi", "s-1")
    wire = json.loads(turnlog.encode(message))
    parsed = uuid.UUID(wire["uuid"])
    assert (str(parsed), parsed.version, parsed.variant) == (wire["uuid"], 4, uuid.RFC_4122)


def test_system_prompt_config_marshaling() -> None:
    preset = PresetSystemPrompt(preset=Preset.CLAUDE_CODE, append="Be kind.")
    bare = PresetSystemPrompt(preset=Preset.CLAUDE_CODE)
    assert turnlog.encode(QueryOptions(system_prompt="Be brief.")) == b'{"systemPrompt":"Be brief."}'
    assert json.loads(turnlog.encode(QueryOptions(system_prompt=preset))) == {
        "systemPrompt": {"type": "preset", "preset": "claude_code", "append": "Be kind."}
    }
    assert json.loads(turnlog.encode(bare)) == {"type": "preset", "preset": "claude_code"}


def test_beta_usage_invariant() -> None:
    counters = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    filled = json.loads(turnlog.encode(sdk.fill_usage(Usage(output_tokens=3, input_tokens=None))))
    assert filled == dict.fromkeys(counters, 0) | {"output_tokens": 3}
    answer = sdk.new_assistant_message(Message(content=(), usage=Usage()), None, "s-1")
    assert json.loads(turnlog.encode(answer))["message"]["usage"] == dict.fromkeys(counters, 0)


def test_model_usage_camel_case() -> None:
    names = {"inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"}
    names |= {"webSearchRequests", "costUSD", "contextWindow", "maxOutputTokens"}
    assert names <= set(ModelUsage.__struct_encode_fields__)
    assert "modelUsage" in sdk.ResultMessage.__struct_encode_fields__
    assert "usage" in sdk.ResultMessage.__struct_encode_fields__


def test_constructor_correctness() -> None:
    figures: dict[str, Any] = {"num_turns": 1, "total_cost_usd": 0.5, "usage": Usage(), "model_usage": {}}
    figures |= {"duration_ms": 5, "duration_api_ms": 4}
    made: list[Any] = [
        sdk.new_assistant_message(Message(content=()), "t", "s-1"),
        sdk.new_user_message("hi", "s-1"),
        sdk.new_result_success("done", session_id="s-1", **figures),
        sdk.new_result_error(sdk.ResultSubtype.ERROR_MAX_TURNS, ["too many"], session_id="s-1", **figures),
        sdk.new_system_init(QueryOptions(model="m", cwd="/p"), "2.1.0", "s-1"),
        sdk.new_compact_boundary(CompactTrigger.AUTO, 9, "s-1"),
    ]
    assert len({message.uuid for message in made}) == len(made)
    for message in made:
        wire = json.loads(turnlog.encode(message))
        left_out = {"result"} if wire.get("is_error") else set()
        assert set(VARIANTS[type(message).__name__]) - set(wire) <= left_out, wire
        assert turnlog.decode(turnlog.encode(message), strict=True).entry == message
    success, error = json.loads(turnlog.encode(made[2])), json.loads(turnlog.encode(made[3]))
    assert (success["is_error"], success["result"]) == (False, "done")
    assert (error["is_error"], error["errors"], "result" in error) == (True, ["too many"], False)
    with pytest.raises(ValueError, match="error subtypes"):
        sdk.new_result_error(sdk.ResultSubtype.SUCCESS, [], session_id="s-1", **figures)


def test_files_persisted_event_fields() -> None:
    event = turnlog.decode(LINES["FilesPersistedEvent"]).entry
    assert isinstance(event, sdk.FilesPersistedEvent)
    assert event.files == (sdk.PersistedFile(filename="a", file_id="f"),)
    assert event.failed == (sdk.FailedFile(filename="b", error="e"),)
    assert event.processed_at == "2026-01-01T00:00:00Z"
    assert msgspec.json.decode(turnlog.encode(event)) == VARIANTS["FilesPersistedEvent"]
