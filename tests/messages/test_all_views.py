"""All lazy parts of an entry at once."""

from __future__ import annotations

from typing import Any

import pytest

import turnlog
from all_views import tool_names, view_all
from turnlog.messages.hook_events import StopHookInput
from turnlog.messages.tool_io.files import ReadInput
from turnlog.messages.tool_io.registry import UnknownToolInput
from turnlog.messages.tool_io.shell import BashInput, BashResult

CALL = turnlog.decode(
    b'{"type":"assistant","message":{"content":[{"type":"text","text":"t"},'
    b'{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cd /p && ls"}}]},'
    b'"wireToolInputs":{"t1":{"command":"ls"},"t9":{"command":"rm"}}}'
)
RESULT = turnlog.decode(
    b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"a"}]},'
    b'"toolUseResult":{"stdout":"a","stderr":"","interrupted":false}}'
)
PROGRESS = turnlog.decode(
    b'{"type":"progress","data":{"type":"agent_progress","agentId":"a","prompt":"p","message":'
    b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t2","name":"Read",'
    b'"input":{"file_path":"/f"}}]}},"normalizedMessages":[{"type":"user","message":'
    b'{"content":[{"type":"tool_result","tool_use_id":"t2"}]},"toolUseResult":"Error: no file"}]}}'
)
DEFERRED = turnlog.decode(
    b'{"type":"attachment","attachment":{"type":"hook_deferred_tool","toolName":"Oven","toolInput":{"t":1}}}'
)
NAMES = {"t1": "Bash", "t2": "Read"}


def values(line: turnlog.Line) -> list[Any]:
    return [view.value for view in view_all(line.entry, NAMES)]


def test_calls_are_named_by_their_ids() -> None:
    assert tool_names(line.entry for line in (CALL, RESULT, PROGRESS, DEFERRED)) == NAMES


def test_inputs_are_viewed_in_both_forms() -> None:
    assert values(CALL) == [BashInput(command="cd /p && ls"), BashInput(command="ls")]


def test_a_result_is_viewed_as_its_calls_tool() -> None:
    assert values(RESULT) == [BashResult(stdout="a", stderr="", interrupted=False)]


def test_a_result_without_its_call_is_told_by_its_shape() -> None:
    assert [type(view.value) for view in view_all(RESULT.entry, {})] == [BashResult]


def test_nested_messages_are_viewed_too() -> None:
    assert values(PROGRESS) == [ReadInput(file_path="/f"), "Error: no file"]


def test_a_deferred_call_is_viewed() -> None:
    assert values(DEFERRED) == [UnknownToolInput(b'{"t":1}', "Oven")]


def test_most_entries_have_nothing_lazy() -> None:
    assert view_all(turnlog.decode(b'{"type":"mode","mode":"m"}').entry, NAMES) == []
    assert view_all(turnlog.decode(b'{"type":"user","message":{"content":"hi"}}').entry, NAMES) == []


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            b'{"type":"assistant","session_id":"s","message":{"content":['
            b'{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}',
            [BashInput(command="ls")],
        ),
        (
            b'{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t2"}]},'
            b'"tool_use_result":"Error: no"}',
            ["Error: no"],
        ),
        (
            b'{"type":"result","subtype":"success","permission_denials":[{"tool_name":"Bash",'
            b'"tool_input":{"command":"rm"}}],"deferred_tool_use":{"id":"t","name":"Read","input":{"file_path":"/f"}}}',
            [BashInput(command="rm"), ReadInput(file_path="/f")],
        ),
        (
            b'{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash",'
            b'"input":{"command":"ls"}}}',
            [BashInput(command="ls")],
        ),
        (
            b'{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback","callback_id":"h",'
            b'"input":{"hook_event_name":"Stop"}}}',
            [StopHookInput()],
        ),
        (
            b'{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},'
            b'"tool_response":{"stdout":"","stderr":"","interrupted":false}}',
            [BashInput(command="ls"), BashResult(stdout="", stderr="", interrupted=False)],
        ),
        (
            b'{"hook_event_name":"PostToolBatch","tool_calls":[{"tool_name":"Read","tool_input":{"file_path":"/f"},'
            b'"tool_response":"Error: no"}]}',
            [ReadInput(file_path="/f"), "Error: no"],
        ),
    ],
)
def test_the_other_channels_are_viewed_too(raw: bytes, expected: list[Any]) -> None:
    assert values(turnlog.decode(raw)) == expected
