from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from turnlog.messages import entries
from turnlog.messages.base import UNSET, Raw, Value
from turnlog.messages.blocks import ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import AgentProgress, NestedMessage, Progress, UnknownProgress
from turnlog.messages.message import Message

SAMPLES = (Path(__file__).parents[1] / "data" / "progress.jsonl").read_bytes().splitlines()
DECODER = msgspec.json.Decoder(Progress)

CLASSES: dict[str, type[Value]] = {
    "hook_progress": entries.HookProgress,
    "bash_progress": entries.BashProgress,
    "agent_progress": entries.AgentProgress,
    "mcp_progress": entries.McpProgress,
    "waiting_for_task": entries.WaitingForTask,
    "query_update": entries.QueryUpdate,
    "search_results_received": entries.SearchResultsReceived,
}


def type_of(sample: bytes) -> str:
    return str(json.loads(sample)["type"])


def decode_agent_progress() -> AgentProgress:
    [sample] = [sample for sample in SAMPLES if type_of(sample) == "agent_progress"]
    decoded = DECODER.decode(sample)
    assert isinstance(decoded, AgentProgress)
    return decoded


def nested_messages() -> tuple[NestedMessage, ...]:
    messages = decode_agent_progress().normalized_messages
    assert isinstance(messages, tuple)
    return messages


def values() -> Iterator[Value]:
    """Yield every progress of the samples and every message nested in one."""
    for sample in SAMPLES:
        yield DECODER.decode(sample)
    yield from nested_messages()


def fields_set_in_samples() -> dict[str, set[type]]:
    """Map `Class.field` to the types of the values that the samples give it."""
    found: dict[str, set[type]] = {}
    for value in values():
        for name in value.__struct_fields__:
            held = getattr(value, name)
            if held is not UNSET:
                found.setdefault(f"{type(value).__name__}.{name}", set()).add(type(held))
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=type_of)
def test_a_sample_decodes_to_its_class_and_encodes_to_the_same_json(sample: bytes) -> None:
    decoded = DECODER.decode(sample)

    assert type(decoded) is CLASSES[type_of(sample)]
    assert json.loads(msgspec.json.encode(decoded)) == json.loads(sample)


def test_every_type_has_a_sample() -> None:
    assert {type_of(sample) for sample in SAMPLES} == set(CLASSES)


def test_the_samples_set_every_declared_field() -> None:
    classes: list[type[Value]] = [*CLASSES.values(), NestedMessage]
    declared = {f"{each.__name__}.{name}" for each in classes for name in each.__struct_fields__}

    assert declared == set(fields_set_in_samples())


def test_the_union_holds_exactly_the_known_types() -> None:
    members, _ = get_args(Progress)

    assert {member.__struct_config__.tag: member for member in get_args(members)} == CLASSES


def test_the_union_is_open_to_unknown_progress() -> None:
    _, meta = get_args(Progress)

    assert meta.extra == {"unknown": UnknownProgress}


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="Invalid value"):
        DECODER.decode(b'{"type":"tea_progress"}')


def test_an_undeclared_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `colour`"):
        DECODER.decode(b'{"type":"query_update","query":"curry","colour":"red"}')


def test_nested_messages_are_typed_down_to_their_blocks() -> None:
    call, result, _ = nested_messages()

    assert isinstance(call.message, Message)
    assert isinstance(call.message.content, tuple)
    assert isinstance(call.message.content[0], ToolUseBlock)
    assert isinstance(result.message, Message)
    assert isinstance(result.message.content, tuple)
    assert isinstance(result.message.content[0], ToolResultBlock)


def test_a_tool_result_of_a_nested_message_stays_as_it_came() -> None:
    _, result, _ = nested_messages()

    assert isinstance(result.tool_use_result, Raw)
    assert bytes(result.tool_use_result) == b'{"numFiles":2}'
