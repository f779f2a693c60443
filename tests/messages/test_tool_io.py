"""Inputs and results of the built-in tools: every tool has a type, and nothing is lost where it does not."""

from __future__ import annotations

import importlib
import json
import pkgutil
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnlog.messages import tool_io
from turnlog.messages.base import UNSET, Raw, UnknownBlock, Value
from turnlog.messages.blocks import TextBlock, ToolUseBlock
from turnlog.messages.salvage import ProblemKind
from turnlog.messages.tool_io.agents import AgentCompletedResult, SendMessageInput, ShutdownRequest
from turnlog.messages.tool_io.files import GrepMode, GrepResult, ReadTextResult
from turnlog.messages.tool_io.planning import TaskUpdateResult
from turnlog.messages.tool_io.registry import (
    INPUTS,
    RESULTS,
    UnknownToolInput,
    UnknownToolResult,
    UnparsedInput,
    view_input,
    view_result,
)
from turnlog.messages.tool_io.services import ArtifactWatchResult
from turnlog.messages.tool_io.shell import BashInput, BashResult, RetrievalStatus, TaskOutputResult

DATA = Path(__file__).parents[1] / "data/tools"
CALLS = [json.loads(line) for line in (DATA / "calls.jsonl").read_text("utf-8").splitlines()]
WITH_INPUT = [call for call in CALLS if "input" in call]
WITH_RESULT = [call for call in CALLS if "result" in call]

BUILT_IN = (DATA / "names.txt").read_text("utf-8").split()
"""The names that the package lists, those of tools that its declarations leave out, and older ones."""

UNDOCUMENTED_RESULTS = {"EndConversation", "ListAgents", "ShareOnboardingGuide", "WaitForMcpServers"}


def tool_use(name: str, data: object) -> ToolUseBlock:
    return ToolUseBlock(name=name, input=Raw(json.dumps(data).encode()))


def name_of(value: object) -> str:
    if isinstance(value, tuple):
        return f"{type(value[0]).__name__}[]"
    return type(value).__name__


def label(call: dict[str, Any]) -> str:
    return f"{call['tool']}-{call.get('result_type') or call.get('input_type')}"


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_tool_has_a_type_for_its_input(name: str) -> None:
    assert name in INPUTS


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - UNDOCUMENTED_RESULTS))
def test_every_built_in_tool_has_a_type_for_its_result(name: str) -> None:
    assert name in RESULTS


@pytest.mark.parametrize("call", WITH_INPUT, ids=label)
def test_an_input_is_typed_by_its_tool(call: dict[str, Any]) -> None:
    seen = view_input(tool_use(call["tool"], call["input"]))
    assert seen.problems == ()
    assert type(seen.value).__name__ == call["input_type"]
    assert json.loads(msgspec.json.encode(seen.value)) == call["input"]


@pytest.mark.parametrize("call", WITH_RESULT, ids=label)
def test_a_result_is_typed_by_its_tool(call: dict[str, Any]) -> None:
    seen = view_result(call["tool"], json.dumps(call["result"]).encode())
    assert seen.problems == ()
    assert name_of(seen.value) == call["result_type"]
    assert json.loads(msgspec.json.encode(seen.value)) == call["result"]


def test_every_declared_shape_has_a_sample() -> None:
    sampled = {call["tool"] for call in CALLS}
    aliases = {"ListMcpResources", "ReadMcpResource", "ReadMcpResourceDir"}
    assert (INPUTS.keys() | RESULTS.keys()) - aliases <= sampled
    kinds = {call.get("result_type") for call in CALLS}
    declared = {cls.__name__ for cls in structs() if cls.__name__.endswith("Result")}
    assert declared <= kinds


def test_older_names_share_the_types_of_newer_ones() -> None:
    assert INPUTS["Task"] is INPUTS["Agent"]
    assert RESULTS["KillBash"] == RESULTS["KillShell"] == RESULTS["TaskStop"]
    assert RESULTS["BashOutput"] == RESULTS["AgentOutputTool"] == RESULTS["TaskOutput"]


@pytest.mark.parametrize("name", [*RESULTS, "mcp__notes__find", "NobodyKnows", None])
def test_any_tool_may_fail_with_plain_text(name: str | None) -> None:
    seen = view_result(name, b'"Error: it did not work"')
    assert seen.value == "Error: it did not work"
    assert seen.problems == ()


def test_an_unknown_field_of_an_input_is_reported_and_the_rest_stays_typed() -> None:
    seen = view_input(tool_use("Bash", {"command": "ls", "colour": "red"}))
    assert seen.value == BashInput(command="ls")
    assert [(p.kind, p.path) for p in seen.problems] == [(ProblemKind.UNKNOWN_FIELD, "$.colour")]


def test_a_value_of_the_wrong_type_is_reported_and_reads_as_absent() -> None:
    seen = view_input(tool_use("Bash", {"command": "ls", "timeout": "soon"}))
    assert isinstance(seen.value, BashInput)
    assert seen.value.timeout is UNSET
    assert [p.kind for p in seen.problems] == [ProblemKind.WRONG_TYPE]


def test_an_input_without_what_identifies_it_is_kept_as_unknown() -> None:
    seen = view_input(tool_use("Bash", {"description": "List"}))
    assert seen.value == UnknownToolInput(b'{"description": "List"}', "Bash")
    assert [p.kind for p in seen.problems] == [ProblemKind.MISSING_FIELD]


def test_a_call_without_an_input_is_reported() -> None:
    seen = view_input(ToolUseBlock(name="Bash"))
    assert seen.value == UnknownToolInput(b"", "Bash")
    assert [p.kind for p in seen.problems] == [ProblemKind.MISSING_FIELD]


def test_the_input_of_an_unknown_tool_is_kept_as_it_is() -> None:
    seen = view_input(tool_use("Teleport", {"to": "Mars"}))
    assert seen.value == UnknownToolInput(b'{"to": "Mars"}', "Teleport")
    (problem,) = seen.problems
    assert (problem.kind, problem.unknown) == (ProblemKind.UNKNOWN_TYPE, seen.value)
    assert str(problem) == "Expected a known tool, found `Teleport` - at $ (byte 0)"


@pytest.mark.parametrize("content", ['{"command": "ls', {"raw": '{"command": "ls', "len": 15}])
@pytest.mark.parametrize("name", ["Bash", "mcp__notes__find", "Teleport"])
def test_an_input_that_was_no_json_is_recognised_for_every_tool(name: str, content: object) -> None:
    seen = view_input(tool_use(name, {"__unparsedToolInput": content}))
    assert isinstance(seen.value, UnparsedInput)
    assert seen.value.text == '{"command": "ls'
    assert seen.problems == ()


def test_a_command_that_speaks_of_unparsed_input_is_a_command() -> None:
    seen = view_input(tool_use("Bash", {"command": "grep __unparsedToolInput log"}))
    assert seen.value == BashInput(command="grep __unparsedToolInput log")


def test_a_message_of_a_known_type_is_typed_and_one_of_an_unknown_type_is_kept() -> None:
    seen = view_input(tool_use("SendMessage", {"to": "ann", "message": {"type": "shutdown_request"}}))
    assert seen.value == SendMessageInput(to="ann", message=ShutdownRequest())
    seen = view_input(tool_use("SendMessage", {"to": "ann", "message": {"type": "song"}}))
    assert isinstance(seen.value, SendMessageInput)
    assert seen.value.message == UnknownBlock(b'{"type": "song"}', "song")
    assert [p.kind for p in seen.problems] == [ProblemKind.UNKNOWN_TYPE]


def test_an_unknown_field_of_a_result_is_reported_and_the_rest_stays_typed() -> None:
    seen = view_result("Bash", b'{"stdout":"a","stderr":"","mood":"good"}')
    assert seen.value == BashResult(stdout="a", stderr="")
    assert [(p.kind, p.path) for p in seen.problems] == [(ProblemKind.UNKNOWN_FIELD, "$.mood")]


def test_an_unknown_field_of_one_of_several_shapes_is_reported_for_the_shape_that_fits_best() -> None:
    seen = view_result("Artifact", b'{"watch":{"url":"u","mood":"good"}}')
    assert isinstance(seen.value, ArtifactWatchResult)
    assert [p.path for p in seen.problems] == ["$.watch.mood"]


def test_an_unknown_value_of_an_enum_is_reported_and_kept() -> None:
    seen = view_result("TaskOutput", b'{"retrieval_status":"asleep","task":null}')
    assert isinstance(seen.value, TaskOutputResult)
    assert seen.value.retrieval_status == "asleep"
    assert not seen.value.retrieval_status.known
    assert RetrievalStatus.SUCCESS.known
    assert [p.kind for p in seen.problems] == [ProblemKind.UNKNOWN_VALUE]


def test_a_result_of_an_unknown_kind_keeps_its_tag() -> None:
    seen = view_result("Read", b'{"type":"hologram","file":{}}')
    assert seen.value == UnknownBlock(b'{"type":"hologram","file":{}}', "hologram")
    assert [p.kind for p in seen.problems] == [ProblemKind.UNKNOWN_TYPE]


def test_a_result_without_what_identifies_it_is_kept_as_unknown() -> None:
    seen = view_result("Bash", b'{"stdout":"a"}')
    assert seen.value == UnknownToolResult(b'{"stdout":"a"}', "Bash")
    assert [p.kind for p in seen.problems] == [ProblemKind.MISSING_FIELD]


def test_a_field_named_by_a_keyword_has_a_readable_name() -> None:
    seen = view_result(
        "TaskUpdate", b'{"success":true,"taskId":"1","statusChange":{"from":"a","to":"pending"}}'
    )
    assert isinstance(seen.value, TaskUpdateResult)
    assert seen.value.status_change is not UNSET
    assert (seen.value.status_change.before, seen.value.status_change.after) == ("a", "pending")


def test_an_unknown_block_of_an_mcp_result_leaves_its_neighbours_typed() -> None:
    seen = view_result("mcp__notes__find", b'[{"type":"text","text":"t"},{"type":"smell"}]')
    assert seen.value == (TextBlock(text="t"), UnknownBlock(b'{"type":"smell"}', "smell"))
    assert [p.path for p in seen.problems] == ["$[1]"]


@pytest.mark.parametrize("name", [None, "Teleport"])
def test_without_a_known_tool_the_shape_of_a_result_decides(name: str | None) -> None:
    def guess(data: object) -> object:
        seen = view_result(name, json.dumps(data).encode())
        assert seen.problems == ()
        return seen.value

    assert isinstance(guess({"stdout": "a", "stderr": "", "interrupted": False}), BashResult)
    assert guess({"mode": "count", "numFiles": 0, "filenames": []}) == GrepResult(
        mode=GrepMode.COUNT, num_files=0, filenames=()
    )
    assert isinstance(guess({"type": "text", "file": {"filePath": "a", "content": ""}}), ReadTextResult)
    assert isinstance(guess({"status": "completed", "content": []}), AgentCompletedResult)
    assert guess([{"type": "text", "text": "t"}]) == (TextBlock(text="t"),)
    assert guess([]) == ()


AMBIGUOUS = {"TeamDelete", "SubagentHandback", "SendFeedback", "ShowOnboardingRolePicker"}
FREE = {"mcp__notes__find"}


@pytest.mark.parametrize(
    "call", [call for call in WITH_RESULT if call["tool"] not in AMBIGUOUS | FREE], ids=label
)
def test_a_whole_result_is_recognised_without_its_tool(call: dict[str, Any]) -> None:
    assert name_of(view_result(None, json.dumps(call["result"]).encode()).value) == call["result_type"]


@pytest.mark.parametrize("data", [b'{"warp":9}', b"{}", b"[1]", b"null", b"7"])
def test_a_result_that_fits_no_tool_is_kept_as_it_is(data: bytes) -> None:
    seen = view_result("Teleport", data)
    assert seen.value == UnknownToolResult(data, "Teleport")
    assert [p.kind for p in seen.problems] == [ProblemKind.UNKNOWN_TYPE]


def structs() -> Iterator[type[Value]]:
    for info in pkgutil.iter_modules(tool_io.__path__):
        module = importlib.import_module(f"{tool_io.__name__}.{info.name}")
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, Value) and cls.__module__ == module.__name__:
                yield cls


@pytest.mark.parametrize("name", ["Bash", None])
def test_a_lone_surrogate_in_a_result_is_mended_and_reported(name: str | None) -> None:
    seen = view_result(name, rb'{"stdout":"\ud83d","stderr":""}')
    assert seen.value == BashResult(stdout="\ufffd", stderr="")
    assert [p.kind for p in seen.problems] == [ProblemKind.BAD_TEXT]


def test_the_package_exports_every_input_and_result() -> None:
    declared = {cls.__name__ for cls in structs() if cls.__name__.endswith(("Input", "Result"))}
    assert declared - {"CommandInput"} <= set(tool_io.__all__)
    assert all(not isinstance(getattr(tool_io, name), types.ModuleType) for name in tool_io.__all__)
