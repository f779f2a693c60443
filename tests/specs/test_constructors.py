"""Spec 001 §8: constructors take its order of arguments, refuse others, and fill every mandatory field."""

from __future__ import annotations

import json
from typing import Any

import pytest

import turnlog
from turnlog.messages import sdk
from turnlog.messages.message import Message, Usage
from turnlog.messages.metadata import ModelUsage
from turnlog.messages.options import QueryOptions
from turnlog.messages.system import CompactTrigger

MODEL_USAGE = {
    "inputTokens": 0,
    "outputTokens": 0,
    "cacheReadInputTokens": 0,
    "cacheCreationInputTokens": 0,
    "webSearchRequests": 0,
    "costUSD": 0.0,
    "contextWindow": 0,
    "maxOutputTokens": 0,
}
USAGE = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}
FIGURES: tuple[int, float, Usage, dict[str, ModelUsage], int, int] = (
    3,
    0.5,
    Usage(),
    {"m": ModelUsage()},
    70,
    60,
)


def write(message: sdk.StreamMessage) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(turnlog.encode(message))
    return written


def test_an_answer_takes_message_parent_and_session() -> None:
    written = write(sdk.new_assistant_message(Message(id="msg_1", content=()), "toolu_1", "s1"))
    assert (written["parent_tool_use_id"], written["session_id"]) == ("toolu_1", "s1")
    assert write(sdk.new_assistant_message(Message(content=()), None, "s1"))["session_id"] == "s1"


def test_a_result_takes_the_order_of_the_spec() -> None:
    success = write(sdk.new_result_success("done", *FIGURES, "s1"))
    error = write(sdk.new_result_error(sdk.ResultSubtype.ERROR_MAX_TURNS, ["too many"], *FIGURES, "s1"))
    for written in (success, error):
        assert written["session_id"] == "s1"
        assert (written["num_turns"], written["total_cost_usd"]) == (3, 0.5)
        assert (written["duration_ms"], written["duration_api_ms"]) == (70, 60)
    assert (success["result"], error["errors"]) == ("done", ["too many"])


def test_the_others_take_the_order_of_the_spec() -> None:
    assert write(sdk.new_user_message("Hello", "s1"))["session_id"] == "s1"
    begun = write(sdk.new_system_init(QueryOptions(model="m"), "2.1.0", "s1"))
    assert (begun["claude_code_version"], begun["session_id"]) == ("2.1.0", "s1")
    mark = write(sdk.new_compact_boundary(CompactTrigger.AUTO, 9, "s1"))
    assert (mark["compact_metadata"]["pre_tokens"], mark["session_id"]) == (9, "s1")


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (sdk.new_assistant_message, (Message(content=()), "s1")),
        (sdk.new_assistant_message, (Message(content=()), "s1", None)),
        (sdk.new_assistant_message, ("s1", None, Message(content=()))),
        (sdk.new_user_message, ("Hello", None, "s1")),
        (sdk.new_user_message, ("Hello", None)),
        (sdk.new_result_success, ("done", "s1", *FIGURES)),
        (sdk.new_result_error, (sdk.ResultSubtype.ERROR_MAX_TURNS, [], "s1", *FIGURES)),
        (sdk.new_system_init, ("2.1.0", QueryOptions(), "s1")),
        (sdk.new_compact_boundary, (CompactTrigger.AUTO, "s1", 9)),
    ],
)
def test_what_is_obviously_swapped_is_refused(make: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        make(*arguments)


def test_the_refusal_says_what_was_expected() -> None:
    with pytest.raises(TypeError, match="session_id must be a string, got None"):
        sdk.new_assistant_message(Message(content=()), "s1", None)  # type: ignore[arg-type]


def test_usage_of_each_model_has_every_mandatory_field() -> None:
    given = {"m": ModelUsage(), "n": ModelUsage(output_tokens=5, provider="p")}
    written = write(sdk.new_result_success("done", 1, 0.0, Usage(), given, 1, 1, "s1"))
    assert written["modelUsage"]["m"] == MODEL_USAGE
    assert written["modelUsage"]["n"] == MODEL_USAGE | {"outputTokens": 5, "provider": "p"}
    assert written["usage"] == USAGE


def test_an_answer_has_what_every_message_of_the_api_has() -> None:
    written = write(sdk.new_assistant_message(Message(id="msg_1", model="m", content=()), None, "s1"))
    assert written["message"] == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "m",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }
    assert turnlog.decode(json.dumps(written).encode()).problems == ()
