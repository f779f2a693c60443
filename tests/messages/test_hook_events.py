"""What hooks are told and what they answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import get_args

import msgspec
import pytest

import turnlog
from golden import lines, structs, walk
from turnlog.messages import hook_events
from turnlog.messages.base import UNSET, Raw, Value
from turnlog.messages.blocks import TextBlock
from turnlog.messages.hook_events import (
    HOOK_EVENTS,
    AsyncHookJSONOutput,
    BaseHookInput,
    HookEventName,
    HookInput,
    HookSpecificOutput,
    NotificationType,
    PermissionRequestHookSpecificOutput,
    PostToolBatchHookInput,
    PostToolUseHookInput,
    PreToolUseHookInput,
    SyncHookJSONOutput,
    UnknownHookEvent,
    UnknownHookSpecificOutput,
    view_output,
    view_tool_input,
    view_tool_response,
)
from turnlog.messages.permissions import AddRules, PermissionAllow, PermissionDeny
from turnlog.messages.salvage import ProblemKind, view
from turnlog.messages.tool_io.registry import UnknownToolInput, UnknownToolResult
from turnlog.messages.tool_io.shell import BashInput, BashResult

INPUTS = lines("hooks/inputs")
OUTPUTS = lines("hooks/outputs")
DECODER = msgspec.json.Decoder(HookInput)

SPEC_001 = {"Setup"}
SPEC_002 = {
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Notification",
    "Stop",
    "SessionEnd",
    "SubagentStart",
    "SubagentStop",
    "TeammateIdle",
    "TaskCompleted",
    "PreCompact",
}
WITHOUT_OUTPUT = {
    "SessionEnd",
    "PreCompact",
    "TeammateIdle",
    "TaskCompleted",
    "ConfigChange",
    "WorktreeRemove",
    "InstructionsLoaded",
    "StopFailure",
    "PostCompact",
    "TaskCreated",
    "DirectoryAdded",
}


def name_of(line: bytes) -> str:
    return str(json.loads(line)["hook_event_name"])


def samples() -> Iterator[Value]:
    yield from walk(tuple(DECODER.decode(line) for line in INPUTS))
    yield from walk(tuple(view_output(line).value for line in OUTPUTS))


def owner_of(cls: type[Value], name: str) -> type[Value]:
    """The fields that all events inherit are spoken for by one of them."""
    shared = issubclass(cls, BaseHookInput) and name in BaseHookInput.__struct_fields__
    return BaseHookInput if shared else cls


def first(line: bytes) -> BaseHookInput:
    event = DECODER.decode(line)
    assert isinstance(event, BaseHookInput)
    return event


@pytest.mark.parametrize("line", INPUTS, ids=name_of)
def test_an_event_decodes_to_its_class_and_encodes_to_the_same_json(line: bytes) -> None:
    event = DECODER.decode(line)

    assert type(event) is HOOK_EVENTS[name_of(line)]
    assert json.loads(msgspec.json.encode(event)) == json.loads(line)


@pytest.mark.parametrize("line", OUTPUTS)
def test_an_answer_decodes_without_a_problem_and_encodes_to_the_same_json(line: bytes) -> None:
    seen = view_output(line)

    assert seen.problems == ()
    assert json.loads(msgspec.json.encode(seen.value)) == json.loads(line)


def test_every_event_has_a_sample_a_name_and_a_place_in_the_union() -> None:
    members, meta = get_args(HookInput)

    assert {name_of(line) for line in INPUTS} == set(HOOK_EVENTS) == set(HookEventName)
    assert {each.__struct_config__.tag: each for each in get_args(members)} == dict(HOOK_EVENTS)
    assert meta.extra == {"unknown": UnknownHookEvent}
    assert len(HOOK_EVENTS) == 33


def test_the_events_of_the_specs_are_among_them() -> None:
    assert set(HOOK_EVENTS) >= SPEC_001 | SPEC_002


def test_the_events_that_can_be_answered_are_exactly_those_with_an_output() -> None:
    members, meta = get_args(HookSpecificOutput)
    answered = {each.__struct_config__.tag for each in get_args(members)}

    assert answered == set(HOOK_EVENTS) - WITHOUT_OUTPUT
    assert meta.extra == {"unknown": UnknownHookSpecificOutput}


def test_the_samples_set_every_declared_field() -> None:
    declared = {(owner_of(cls, name), name) for cls in structs(hook_events) for name in cls.__struct_fields__}
    found = {
        (owner_of(type(value), name), name)
        for value in samples()
        for name in value.__struct_fields__
        if getattr(value, name) is not UNSET
    }
    assert declared - found == set()


def test_an_unknown_event_keeps_its_name_and_its_bytes() -> None:
    line = b'{"session_id":"5e55","hook_event_name":"MoonRise"}'
    seen = view(HookInput, line)

    assert seen.value == UnknownHookEvent(line, "MoonRise")
    assert [problem.kind for problem in seen.problems] == [ProblemKind.UNKNOWN_TYPE]


def test_an_object_that_names_no_event_is_an_unknown_one() -> None:
    assert view(HookInput, b'{"test":"data"}').value == UnknownHookEvent(b'{"test":"data"}', None)


def test_an_undeclared_field_is_refused_and_then_named() -> None:
    line = b'{"hook_event_name":"Stop","stop_hook_active":true,"logged_at":"09:00"}'

    with pytest.raises(msgspec.ValidationError, match="unknown field `logged_at`"):
        DECODER.decode(line)
    seen = view(HookInput, line)
    assert isinstance(seen.value, hook_events.StopHookInput)
    assert seen.value.stop_hook_active is True
    assert [problem.path for problem in seen.problems] == ["$.logged_at"]


def test_a_notice_of_an_unknown_sort_stays_visible() -> None:
    seen = view(HookInput, b'{"hook_event_name":"Notification","notification_type":"tea_ready"}')

    assert isinstance(seen.value, hook_events.NotificationHookInput)
    assert seen.value.notification_type == NotificationType.of("tea_ready")
    assert [problem.kind for problem in seen.problems] == [ProblemKind.UNKNOWN_VALUE]


def test_every_sort_of_notice_of_spec_002_has_a_sample() -> None:
    found = {json.loads(line).get("notification_type") for line in INPUTS}

    assert found - {None} == set(NotificationType)


def test_suggestions_are_changes_of_permissions() -> None:
    [event] = [first(line) for line in INPUTS if name_of(line) == "PermissionRequest"]

    assert isinstance(event, hook_events.PermissionRequestHookInput)
    assert isinstance(event.permission_suggestions, tuple)
    assert [type(update) for update in event.permission_suggestions] == [AddRules]


def test_a_tool_input_is_seen_as_its_tools_type() -> None:
    event = first(INPUTS[0])

    assert isinstance(event, PreToolUseHookInput)
    assert view_tool_input(event).value == BashInput(command="ls")


def test_a_tool_response_is_seen_as_its_tools_type() -> None:
    [event] = [first(line) for line in INPUTS if name_of(line) == "PostToolUse"]

    assert isinstance(event, PostToolUseHookInput)
    seen = view_tool_response(event)
    assert isinstance(seen.value, BashResult)
    assert seen.value.stdout == "a.py"
    assert seen.problems == ()


def test_a_call_of_a_batch_says_text_or_blocks_or_nothing() -> None:
    [event] = [first(line) for line in INPUTS if name_of(line) == "PostToolBatch"]

    assert isinstance(event, PostToolBatchHookInput)
    assert isinstance(event.tool_calls, tuple)
    text, blocks, nothing = (view_tool_response(call) for call in event.tool_calls)
    assert text.value == "a.py"
    assert blocks.value == (TextBlock(text="a picture"),)
    assert nothing.value == UnknownToolResult(b"", "Grep")
    assert [problem.kind for problem in nothing.problems] == [ProblemKind.MISSING_FIELD]
    assert not [problem for call in event.tool_calls for problem in view_tool_input(call).problems]


def test_a_response_that_is_an_array_is_blocks_only_in_a_batch() -> None:
    event = PostToolUseHookInput(tool_name="Bash", tool_response=Raw(b'[{"type":"text","text":"x"}]'))

    assert isinstance(view_tool_response(event).value, UnknownToolResult)


def test_an_event_without_an_input_says_so() -> None:
    seen = view_tool_input(PreToolUseHookInput(tool_name="Bash"))

    assert seen.value == UnknownToolInput(b"", "Bash")
    assert [problem.kind for problem in seen.problems] == [ProblemKind.MISSING_FIELD]


def test_only_a_true_async_makes_an_answer_one_of_the_background() -> None:
    detached, attached = view_output(b'{"async" : true }').value, view_output(b'{"async":false}').value

    assert detached == AsyncHookJSONOutput(async_=True)
    assert attached == SyncHookJSONOutput(async_=False)


@pytest.mark.parametrize("text", [b"", b"ok", b"[1]", b"null"])
def test_an_answer_that_is_no_object_is_a_value_too(text: bytes) -> None:
    seen = view_output(text)

    assert seen.raw == text
    assert seen.problems


def test_an_answer_of_the_hooks_own_making_keeps_what_is_known() -> None:
    seen = view_output(b'{"continue":true,"status":"ready"}')

    assert seen.value == SyncHookJSONOutput(continue_=True)
    assert [problem.path for problem in seen.problems] == ["$.status"]


def test_an_answer_to_an_unknown_event_stays_visible() -> None:
    inner = b'{"hookEventName":"MoonRise","howl":true}'
    seen = view_output(b'{"hookSpecificOutput":' + inner + b"}")

    assert isinstance(seen.value, SyncHookJSONOutput)
    assert seen.value.hook_specific_output == UnknownHookSpecificOutput(inner, "MoonRise")


def test_a_hook_decides_as_a_permission_callback_does() -> None:
    decisions = [
        value.decision for value in samples() if isinstance(value, PermissionRequestHookSpecificOutput)
    ]
    assert [type(decision) for decision in decisions] == [PermissionAllow, PermissionDeny]


def test_an_event_of_a_new_name_keeps_its_name_and_bytes() -> None:
    raw = b'{"hook_event_name":"MoonRise","session_id":"s","cwd":"/p","phase":1.50}'
    line = turnlog.decode(raw)
    assert line.dialect is turnlog.Dialect.HOOK
    assert isinstance(line.entry, turnlog.UnknownEntry)
    assert (line.entry.type, line.entry.cwd, line.raw) == ("MoonRise", "/p", raw)
    assert [problem.path for problem in line.problems] == ["$.hook_event_name"]
