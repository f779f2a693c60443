from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest

import golden
from turnlog.messages import control
from turnlog.messages.base import UNSET, Raw, Value, encode_value
from turnlog.messages.control.frames import (
    CONTROL_TYPES,
    REQUESTS,
    ControlCancelRequest,
    ControlFrame,
    ControlRequest,
    ControlResponse,
    ErrorBody,
    FlatControlResponse,
    KeepAlive,
    Sender,
    SuccessBody,
    UnknownControlMessage,
    UnknownResponseBody,
    subtype_of,
    view_call,
    view_hook_input,
    view_message,
    view_reply,
)
from turnlog.messages.control.requests import (
    CanUseToolRequest,
    HookCallbackRequest,
    InterruptReply,
    InterruptRequest,
    KnownRequest,
    SetMaxThinkingTokensRequest,
    SetModelRequest,
    UnknownControlRequest,
    UnknownReply,
)
from turnlog.messages.hook_events import AsyncHookJSONOutput, PreToolUseHookInput, SyncHookJSONOutput
from turnlog.messages.permissions import PermissionDeny
from turnlog.messages.salvage import ProblemKind
from turnlog.messages.tool_io.shell import BashInput

FRAMES = msgspec.json.Decoder(ControlFrame)
REQUEST_LINES = golden.lines("control/requests")
SPEC_LINES = golden.lines("control/spec-001")
FRAME_LINES = golden.lines("control/frames")
FLAT_LINES = golden.lines("control/flat")
REPLIES = [pair for line in golden.lines("control/replies") for pair in json.loads(line).items()]

SPEC_001 = set(golden.SPEC_001_REQUESTS)

UNDECLARED = [
    "mcp_authenticate",
    "mcp_clear_auth",
    "claude_authenticate",
    "remote_control",
    "end_session",
    "set_proactive",
    "generate_session_title",
    "side_question",
    "channel_enable",
    "oauth_token_refresh",
    "ultrareview_launch",
    "message_rated",
    "submit_feedback",
    "host_auth_token_refresh",
    "stage_file",
    "set_mcp_permission_mode_override",
    "rewind_conversation",
    "add_directory",
    "set_cwd",
]


def subtype(line: bytes) -> str:
    return str(json.loads(line)["request"]["subtype"])


def encoded(value: object) -> Any:
    return json.loads(encode_value(value))


def values() -> Iterator[Value]:
    """Yield every struct of every golden line."""
    frames = [FRAMES.decode(line) for line in (*REQUEST_LINES, *SPEC_LINES, *FRAME_LINES)]
    flat = [view_message(line).value for line in FLAT_LINES]
    replies = [view_reply(name, json.dumps(payload).encode()).value for name, payload in REPLIES]
    yield from golden.walk((*frames, *flat, *replies))


@pytest.mark.parametrize("line", [*REQUEST_LINES, *SPEC_LINES], ids=subtype)
def test_a_request_decodes_to_its_class_and_encodes_to_the_same_json(line: bytes) -> None:
    frame = FRAMES.decode(line)

    assert isinstance(frame, ControlRequest)
    assert type(frame.request) is REQUESTS[subtype(line)].request
    assert encoded(frame) == json.loads(line)


@pytest.mark.parametrize("line", FRAME_LINES)
def test_a_frame_decodes_to_its_class_and_encodes_to_the_same_json(line: bytes) -> None:
    frame = FRAMES.decode(line)

    assert type(frame) is CONTROL_TYPES[json.loads(line)["type"]][0]
    assert encoded(frame) == json.loads(line)


@pytest.mark.parametrize(("name", "payload"), REPLIES, ids=[name for name, _ in REPLIES])
def test_a_reply_decodes_without_a_problem_and_encodes_to_the_same_json(name: str, payload: object) -> None:
    seen = view_reply(name, json.dumps(payload).encode())

    assert seen.problems == ()
    assert encoded(seen.value) == payload


def test_every_request_has_a_golden_line() -> None:
    assert {subtype(line) for line in REQUEST_LINES} == set(REQUESTS)
    assert {subtype(line) for line in SPEC_LINES} == SPEC_001


def test_every_typed_reply_has_a_golden_line() -> None:
    typed = {name for name, kind in REQUESTS.items() if kind.reply is not Raw}

    assert typed - {name for name, _ in REPLIES} == set()


def test_the_golden_lines_set_every_declared_field() -> None:
    assert golden.fields_declared(control) - golden.fields_set(values()) == set()


def _is_raw(held: object) -> bool:
    return isinstance(held, Raw) or (isinstance(held, dict) and any(isinstance(v, Raw) for v in held.values()))


def test_the_table_lists_exactly_the_requests_of_the_union() -> None:
    assert {cls.__struct_config__.tag: cls for cls in get_args(KnownRequest)} == {
        name: kind.request for name, kind in REQUESTS.items()
    }


def test_the_table_knows_what_spec_001_lists() -> None:
    assert {name for name, kind in REQUESTS.items() if kind.spec001} == SPEC_001


def test_the_table_knows_who_asks() -> None:
    assert {name for name, kind in REQUESTS.items() if kind.sender is Sender.CLI} == {
        "can_use_tool",
        "hook_callback",
        "elicitation",
        "request_user_dialog",
    }
    assert [name for name, kind in REQUESTS.items() if kind.sender is Sender.BOTH] == ["mcp_message"]


@pytest.mark.parametrize("name", UNDECLARED)
def test_a_request_that_nobody_described_stays_unknown(name: str) -> None:
    line = json.dumps({"type": "control_request", "request_id": "r1", "request": {"subtype": name, "x": 1}})
    seen = view_message(line.encode())

    assert isinstance(seen.value, ControlRequest)
    assert isinstance(seen.value.request, UnknownControlRequest)
    assert subtype_of(seen.value.request) == name
    assert [problem.kind for problem in seen.problems] == [ProblemKind.UNKNOWN_TYPE]
    assert encoded(seen.value) == json.loads(line)


def test_the_subtype_of_a_known_request_is_its_tag() -> None:
    assert subtype_of(InterruptRequest()) == "interrupt"


def test_an_undeclared_field_is_refused_by_the_decoder_and_named_by_the_view() -> None:
    line = b'{"type":"control_request","request_id":"r1","request":{"subtype":"interrupt","hard":true}}'
    seen = view_message(line)

    with pytest.raises(msgspec.ValidationError, match="unknown field `hard`"):
        FRAMES.decode(line)
    assert seen.value == ControlRequest(request_id="r1", request=InterruptRequest())
    assert [problem.path for problem in seen.problems] == ["$.request.hard"]


def test_a_null_that_means_something_is_written() -> None:
    thinking = SetMaxThinkingTokensRequest(max_thinking_tokens=None)

    assert encoded(thinking) == {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": None}
    assert encoded(SetModelRequest(model=None)) == {"subtype": "set_model", "model": None}
    assert encoded(SetModelRequest()) == {"subtype": "set_model"}


@pytest.mark.parametrize("line", FLAT_LINES)
def test_a_flat_reply_is_read_as_what_it_is(line: bytes) -> None:
    seen = view_message(line)

    assert isinstance(seen.value, FlatControlResponse)
    assert seen.problems == ()
    assert encoded(seen.value) == json.loads(line)


def test_a_flat_reply_can_be_nested() -> None:
    granted, empty, refused = (view_message(line).value for line in FLAT_LINES)

    assert isinstance(granted, FlatControlResponse)
    assert encoded(granted.nested()) == {
        "type": "control_response",
        "response": {
            "subtype": "success",
            "request_id": "7d9a5a52-0001",
            "response": {"added": ["files"], "removed": [], "errors": {}},
        },
    }
    assert isinstance(empty, FlatControlResponse)
    assert empty.nested() == ControlResponse(response=SuccessBody(request_id="7d9a5a52-0002"))
    assert isinstance(refused, FlatControlResponse)
    assert refused.nested() == ControlResponse.failure("7d9a5a52-0003", "no such server")


def test_an_error_outweighs_a_result_unless_it_is_null() -> None:
    both = b'{"type":"control_response","response":{"request_id":"r1","result":1,"error":"no"}}'
    null = b'{"type":"control_response","response":{"request_id":"r1","result":1,"error":null}}'

    assert [type(view_message(line).value.nested().response) for line in (both, null)] == [  # type: ignore[union-attr]
        ErrorBody,
        SuccessBody,
    ]


def test_a_flat_reply_with_more_in_it_is_still_flat() -> None:
    line = b'{"type":"control_response","response":{"request_id":"r1","result":"\\ud83d","colour":"red"}}'
    seen = view_message(line)

    assert isinstance(seen.value, FlatControlResponse)
    assert {problem.kind for problem in seen.problems} == {ProblemKind.BAD_TEXT, ProblemKind.UNKNOWN_FIELD}


def test_a_reply_of_an_unknown_subtype_stays_unknown() -> None:
    line = b'{"type":"control_response","response":{"subtype":"partial","request_id":"r1"}}'
    seen = view_message(line)

    assert isinstance(seen.value, ControlResponse)
    assert isinstance(seen.value.response, UnknownResponseBody)
    assert seen.value.response.type == "partial"


def test_a_reply_without_a_body_is_a_problem_and_no_error() -> None:
    nothing = view_message(b'{"type":"control_response"}')
    array = view_message(b'{"type":"control_response","response":[]}')

    assert nothing.value == UnknownControlMessage(b'{"type":"control_response"}', "control_response")
    assert array.value == ControlResponse(response=UnknownResponseBody(b"[]", None))
    assert nothing.problems
    assert array.problems


def test_a_frame_of_an_unknown_type_stays_unknown() -> None:
    seen = view_message(b'{"type":"control_hint"}')

    assert seen.value == UnknownControlMessage(b'{"type":"control_hint"}', "control_hint")


def test_no_bytes_make_the_view_raise() -> None:
    assert view_message(b"").problems
    assert view_message(b'{"type":"control_resp').problems
    assert view_message(b"\xff[]").problems


def test_what_we_answer_is_nested() -> None:
    assert encoded(ControlResponse.success("r1")) == {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": "r1"},
    }
    assert encoded(ControlResponse.success("r2", PermissionDeny(message="no"))) == {
        "type": "control_response",
        "response": {
            "subtype": "success",
            "request_id": "r2",
            "response": {"behavior": "deny", "message": "no"},
        },
    }
    assert encoded(ControlResponse.failure("r3", "no")) == {
        "type": "control_response",
        "response": {"subtype": "error", "request_id": "r3", "error": "no"},
    }


def test_the_simplest_frames_need_next_to_nothing() -> None:
    assert encoded(ControlCancelRequest(request_id="r1")) == {
        "type": "control_cancel_request",
        "request_id": "r1",
    }
    assert encoded(KeepAlive()) == {"type": "keep_alive"}


def test_a_payload_that_is_absent_reads_as_an_empty_object() -> None:
    assert view_reply("interrupt", UNSET).value == InterruptReply()
    assert view_reply("set_model", UNSET).value == Raw(b"{}")


def test_a_payload_of_no_declared_type_stays_raw() -> None:
    assert view_reply("get_settings", b'{"a":[1e5]}').value == Raw(b'{"a":[1e5]}')


def test_a_payload_that_lacks_what_matters_is_unknown() -> None:
    seen = view_reply("rewind_files", b'{"insertions":1}')

    assert seen.value == UnknownReply(b'{"insertions":1}', "rewind_files")
    assert [problem.kind for problem in seen.problems] == [ProblemKind.MISSING_FIELD]


def test_a_payload_of_an_unknown_request_is_unknown() -> None:
    seen = view_reply("end_session", b"{}")

    assert seen.value == UnknownReply(b"{}", "end_session")
    assert [problem.kind for problem in seen.problems] == [ProblemKind.UNKNOWN_TYPE]


def test_the_two_answers_of_a_hook_are_told_apart() -> None:
    assert type(view_reply("hook_callback", b'{"async":true}').value) is AsyncHookJSONOutput
    assert type(view_reply("hook_callback", b"{}").value) is SyncHookJSONOutput


def test_what_a_hook_is_told_has_the_type_of_its_event() -> None:
    [line] = [line for line in REQUEST_LINES if subtype(line) == "hook_callback"]
    request = FRAMES.decode(line).request

    assert isinstance(request, HookCallbackRequest)
    assert type(view_hook_input(request).value) is PreToolUseHookInput


def test_a_hook_that_is_told_nothing_is_a_problem_and_no_error() -> None:
    assert view_hook_input(HookCallbackRequest(callback_id="hook_0")).problems


def test_the_call_that_is_asked_about_has_the_type_of_its_tool() -> None:
    request = CanUseToolRequest(tool_name="Bash", input=Raw(b'{"command":"ls"}'))

    assert view_call(request).value == BashInput(command="ls")
    assert view_call(CanUseToolRequest(tool_name="Bash")).problems
