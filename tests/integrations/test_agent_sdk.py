"""Messages of the official Agent SDK, there and back."""

from __future__ import annotations

import json
from typing import Any

import claude_agent_sdk as official
import pytest
from claude_agent_sdk._errors import MessageParseError
from claude_agent_sdk._internal.message_parser import parse_message

import turnlog
from sdk_losses import PAGE, messages, replace_table
from turnlog.integrations.agent_sdk import from_sdk, to_sdk
from turnlog.messages.base import Value
from turnlog.messages.blocks import ToolUseBlock
from turnlog.messages.sdk.messages import AssistantMessage, RateLimitEvent, ResultMessage, UserMessage

MESSAGES = list(messages())


def parsed(message: Value) -> Any:
    """Return what the SDK's own parser makes of a message; its refusal is a value too."""
    try:
        return parse_message(json.loads(turnlog.encode(message)))
    except MessageParseError:
        return MessageParseError


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_becomes_what_the_sdks_own_parser_makes_of_it(message: Value) -> None:
    expected = parsed(message)
    if expected is MessageParseError:
        with pytest.raises(KeyError):
            to_sdk(message)
    else:
        assert to_sdk(message) == expected


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_what_the_sdk_knows_comes_back_the_same(message: Value) -> None:
    theirs = parsed(message)
    if theirs is None or theirs is MessageParseError:
        return
    ours = from_sdk(theirs)
    assert type(ours).__name__.removesuffix("Replay") == type(message).__name__.removesuffix("Replay")
    assert to_sdk(ours) == theirs


@pytest.mark.parametrize(
    ("theirs", "cls"),
    [
        (official.UserMessage(content="hi", uuid="u"), UserMessage),
        (official.AssistantMessage(content=[official.TextBlock("x")], model="m"), AssistantMessage),
        (
            official.ResultMessage(
                subtype="success", duration_ms=1, duration_api_ms=1, is_error=False, num_turns=1, session_id="s"
            ),
            ResultMessage,
        ),
        (
            official.RateLimitEvent(
                rate_limit_info=official.RateLimitInfo(status="allowed", raw={"status": "allowed"}),
                uuid="u",
                session_id="s",
            ),
            RateLimitEvent,
        ),
    ],
)
def test_objects_that_a_host_makes_convert_and_come_back(theirs: Any, cls: type) -> None:
    ours = from_sdk(theirs)
    assert type(ours) is cls
    assert to_sdk(ours) == theirs


def test_the_blocks_of_the_sdk_are_ours() -> None:
    call = official.ToolUseBlock(id="t", name="Bash", input={"command": "ls"})
    ours = from_sdk(official.AssistantMessage(content=[call], model="m"))
    assert isinstance(ours, AssistantMessage)
    assert isinstance(ours.message.content, tuple)
    assert isinstance(ours.message.content[0], ToolUseBlock)


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(TypeError, match="not a message of the SDK"):
        from_sdk("hello")  # type: ignore[arg-type]


def test_the_table_of_what_the_sdk_drops_is_true() -> None:
    page = PAGE.read_text()
    assert page == replace_table(page), "run `python -m sdk_losses` in tests/ to write the table anew"
