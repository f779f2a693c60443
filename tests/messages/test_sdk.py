from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

import golden
from turnlog.messages import sdk
from turnlog.messages.base import UNSET, Raw, Value
from turnlog.messages.message import StopReason, Usage
from turnlog.messages.salvage import Problem, ProblemKind, decoder, view
from turnlog.messages.sdk.messages import UnknownDelta, UnknownEvent

# The fields of these are inherited by many classes; one line that sets such a field speaks for all.
SHARED: tuple[type[Value], ...] = (sdk.StreamMessage, sdk.UserFields)
CLASSES = [*SHARED, *(cls for cls in golden.structs(sdk) if cls is not sdk.StreamHead)]

TYPES: dict[str, type[Value]] = {
    "assistant": sdk.AssistantMessage,
    "user": sdk.UserMessage,
    "result": sdk.ResultMessage,
    "stream_event": sdk.PartialAssistantMessage,
    "tool_progress": sdk.ToolProgressMessage,
    "auth_status": sdk.AuthStatusMessage,
    "tool_use_summary": sdk.ToolUseSummaryMessage,
    "rate_limit_event": sdk.RateLimitEvent,
    "prompt_suggestion": sdk.PromptSuggestionMessage,
    "conversation_reset": sdk.ConversationResetMessage,
    "command_lifecycle": sdk.CommandLifecycleMessage,
    "active_goal": sdk.ActiveGoalMessage,
    "transcript_mirror": sdk.TranscriptMirrorMessage,
}

SUBTYPES: dict[str, type[Value]] = {
    "init": sdk.SystemInitMessage,
    "compact_boundary": sdk.CompactBoundaryMessage,
    "status": sdk.StatusMessage,
    "api_retry": sdk.ApiRetryMessage,
    "control_request_progress": sdk.ControlRequestProgressMessage,
    "model_refusal_fallback": sdk.ModelRefusalFallbackMessage,
    "model_refusal_no_fallback": sdk.ModelRefusalNoFallbackMessage,
    "local_command_output": sdk.LocalCommandOutputMessage,
    "hook_started": sdk.HookStartedMessage,
    "hook_progress": sdk.HookProgressMessage,
    "hook_response": sdk.HookResponseMessage,
    "plugin_install": sdk.PluginInstallMessage,
    "task_notification": sdk.TaskNotificationMessage,
    "task_started": sdk.TaskStartedMessage,
    "task_updated": sdk.TaskUpdatedMessage,
    "task_progress": sdk.TaskProgressMessage,
    "background_tasks_changed": sdk.BackgroundTasksChangedMessage,
    "thinking_tokens": sdk.ThinkingTokensMessage,
    "session_state_changed": sdk.SessionStateChangedMessage,
    "worker_shutting_down": sdk.WorkerShuttingDownMessage,
    "commands_changed": sdk.CommandsChangedMessage,
    "notification": sdk.NotificationMessage,
    "files_persisted": sdk.FilesPersistedEvent,
    "memory_recall": sdk.MemoryRecallMessage,
    "elicitation_complete": sdk.ElicitationCompleteMessage,
    "permission_denied": sdk.PermissionDeniedMessage,
    "mirror_error": sdk.MirrorErrorMessage,
    "informational": sdk.InformationalMessage,
    "session_writes_lost": sdk.SessionWritesLostMessage,
    "post_turn_summary": sdk.PostTurnSummaryMessage,
    "task_summary": sdk.TaskSummaryMessage,
}


def class_of(line: bytes) -> type[Value] | None:
    return sdk.find_class(msgspec.json.decode(line, type=sdk.StreamHead))


def decode(line: bytes) -> Any:
    """Decode a line as strictly as the types allow."""
    cls = class_of(line)
    assert cls is not None
    return msgspec.json.decode(line, type=cls)


def read(line: bytes) -> tuple[Any, tuple[Problem, ...]]:
    """Decode a line, whatever is unknown in it; return its message and what is wrong."""
    found = view(class_of(line), line)
    return found.value, found.problems


def stream_lines() -> dict[str, bytes]:
    names = sorted(path.stem for path in (golden.DATA / "stream").glob("*.jsonl"))
    return {f"{name}:{i}": line for name in names for i, line in enumerate(golden.lines(f"stream/{name}"), 1)}


LINES = stream_lines()


def messages(name: str) -> list[Any]:
    return [decode(line) for line in golden.lines(f"stream/{name}")]


def qualified(cls: type[Value], name: str) -> str:
    owner = next((base for base in SHARED if issubclass(cls, base) and name in base.__struct_fields__), cls)
    return f"{owner.__name__}.{name}"


def declared() -> set[str]:
    return {qualified(cls, name) for cls in CLASSES for name in cls.__struct_fields__}


def set_by_lines() -> set[str]:
    found = golden.walk(tuple(decode(line) for line in LINES.values()))
    return {
        qualified(type(v), name) for v in found for name in v.__struct_fields__ if getattr(v, name) is not UNSET
    }


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_decodes_to_its_class_and_encodes_to_the_same_json(line: bytes) -> None:
    said = json.loads(line)
    expected = SUBTYPES[said["subtype"]] if said["type"] == "system" else TYPES[said["type"]]

    message = decode(line)

    assert type(message) is (sdk.UserMessageReplay if said.get("isReplay") else expected)
    assert json.loads(msgspec.json.encode(message)) == said


def test_the_tables_are_the_inventory_of_the_protocol() -> None:
    assert dict(sdk.STREAM_TYPES) == TYPES
    assert dict(sdk.SYSTEM_SUBTYPES) == SUBTYPES


def test_the_union_holds_what_the_tables_hold() -> None:
    known = {*TYPES.values(), *SUBTYPES.values(), sdk.UserMessageReplay}

    assert set(get_args(sdk.SdkMessage)) == {*known, sdk.UnknownMessage}


def test_every_message_has_a_line() -> None:
    assert {class_of(line) for line in LINES.values()} == set(get_args(sdk.SdkMessage)) - {sdk.UnknownMessage}


def test_the_lines_set_every_declared_field() -> None:
    assert declared() - set_by_lines() == set()


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"streamlined_text","text":"hi"}',
        b'{"type":"system","subtype":"brand_new"}',
        b'{"type":"system"}',
        b'{"type":"system","subtype":null}',
        b'{"type":"init"}',
        b'{"type":null}',
        b"{}",
    ],
)
def test_what_nobody_declared_has_no_class(line: bytes) -> None:
    assert class_of(line) is None


def test_an_echo_is_told_by_is_replay_alone() -> None:
    plain = b'{"type":"user","message":{"role":"user","content":"hi"}}'

    assert class_of(plain) is sdk.UserMessage
    assert class_of(plain[:-1] + b',"isReplay":false}') is sdk.UserMessage
    assert class_of(plain[:-1] + b',"isReplay":true}') is sdk.UserMessageReplay


def test_prompts_and_echoes_have_strict_shapes() -> None:
    line = b'{"type":"user","message":{"role":"user","content":"hi"},"isReplay":%b}'

    with pytest.raises(msgspec.ValidationError, match="Invalid enum value True"):
        msgspec.json.decode(line % b"true", type=sdk.UserMessage)
    with pytest.raises(msgspec.ValidationError, match="Invalid enum value False"):
        msgspec.json.decode(line % b"false", type=sdk.UserMessageReplay)


def test_an_echo_that_is_made_says_that_it_is_one() -> None:
    first, _ = messages("user-replay")

    made = sdk.UserMessageReplay(message=first.message)

    assert json.loads(msgspec.json.encode(made))["isReplay"] is True


def test_a_success_may_be_an_error() -> None:
    fine, failed, *_ = messages("result-success")

    assert (fine.subtype, fine.is_error) == (sdk.ResultSubtype.SUCCESS, False)
    assert (failed.subtype, failed.is_error, failed.api_error_status) == (sdk.ResultSubtype.SUCCESS, True, 529)


def test_a_result_spells_usage_in_snake_case_and_model_usage_in_camel_case() -> None:
    result = messages("result-success")[0]

    assert isinstance(result.usage, Usage)
    assert result.usage.cache_read_input_tokens == 30
    assert result.model_usage["claude-opus-4-1"].cache_creation_ephemeral_1h_input_tokens == 25
    assert result.stop_reason is StopReason.END_TURN


def test_a_result_of_a_new_subtype_is_an_unknown_type_with_its_fields_typed() -> None:
    message, problems = read(b'{"type":"result","subtype":"error_max_patience","is_error":true,"num_turns":3}')

    assert [problem.kind for problem in problems] == [ProblemKind.UNKNOWN_TYPE]
    assert (message.subtype, message.subtype.known) == ("error_max_patience", False)
    assert message.num_turns == 3


def test_a_new_field_is_named_and_its_neighbours_stay_typed() -> None:
    message, problems = read(
        b'{"type":"system","subtype":"status","status":"requesting","mood":"good","session_id":"s-1"}'
    )

    assert [(problem.kind, problem.path) for problem in problems] == [(ProblemKind.UNKNOWN_FIELD, "$.mood")]
    assert message == sdk.StatusMessage(status=sdk.Status.REQUESTING, session_id="s-1")


def test_a_new_value_of_an_enum_stays_visible() -> None:
    message, problems = read(b'{"type":"system","subtype":"session_state_changed","state":"asleep"}')

    assert [problem.kind for problem in problems] == [ProblemKind.UNKNOWN_VALUE]
    assert message.state == "asleep"


def test_a_new_event_is_kept_as_it_came() -> None:
    message, _ = read(b'{"type":"stream_event","event":{"type":"message_sigh","depth":3},"session_id":"s-1"}')

    assert message.event == UnknownEvent(b'{"type":"message_sigh","depth":3}', "message_sigh")
    assert message.session_id == "s-1"


def test_a_new_delta_is_kept_as_it_came() -> None:
    event = b'{"type":"content_block_delta","index":2,"delta":{"type":"smell_delta","smell":"tea"}}'

    message, _ = read(b'{"type":"stream_event","event":%b}' % event)

    assert message.event.index == 2
    assert message.event.delta == UnknownDelta(b'{"type":"smell_delta","smell":"tea"}', "smell_delta")


def test_absent_and_null_are_told_apart() -> None:
    cleared, unknown = b'{"type":"active_goal","value":null}', b'{"type":"active_goal"}'

    assert decode(cleared).value is None
    assert decode(unknown).value is UNSET


def test_a_tool_result_stays_raw_until_it_is_asked_for() -> None:
    _, answered, *_ = messages("user")

    assert isinstance(answered.tool_use_result, Raw)
    assert json.loads(bytes(answered.tool_use_result))["stdout"] == "a.txt"


def test_every_message_of_real_streams_is_typed(corpus: Path) -> None:
    for line in real_lines(corpus):
        assert json.loads(msgspec.json.encode(decode(line))) == json.loads(line)


def real_lines(corpus: Path) -> Iterator[bytes]:
    """Yield the messages of captured streams; what is no object is some capturer's remark."""
    for path in sorted((corpus / "stream").rglob("*.*json*")):
        for line in path.read_bytes().split(b"\n"):
            if line.startswith(b"{") and is_whole(line):
                yield line


def is_whole(line: bytes) -> bool:
    try:
        decoder(dict[str, Raw]).decode(line)
    except msgspec.DecodeError:
        return False
    return True
