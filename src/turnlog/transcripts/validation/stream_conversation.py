"""Spec 001, §4.2 to §4.6: answers, prompts and the events of an answer in the making."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import Struct

from turnlog.messages import UNSET
from turnlog.messages.blocks import ThinkingBlock, ToolUseBlock
from turnlog.messages.media import TextBlock
from turnlog.messages.message import Message
from turnlog.messages.sdk import (
    AssistantMessage,
    PartialAssistantMessage,
    StreamMessage,
    UserFields,
    UserMessage,
    UserMessageReplay,
)
from turnlog.messages.spans import Path
from turnlog.messages.usage import Usage
from turnlog.transcripts.validation.findings import Report, Spot, join, quote
from turnlog.transcripts.validation.rules import Severity
from turnlog.transcripts.validation.spec_001 import Check, Demand, check_given, declare_stream

_BASE_FIELDS = declare_stream(
    "4.2-base-fields",
    "§4.2",
    Severity.WARNING,
    "A message has a uuid and a session_id",
    "They identify the message and say where it belongs. Hosts may leave out the uuid of messages they send.",
)
_UUID_FORM = declare_stream(
    "4.2-uuid-form",
    "§4.2",
    Severity.NOTE,
    "A uuid has the form of RFC 4122",
    "Strict readers refuse any other form.",
)
_ASSISTANT = declare_stream(
    "4.3-assistant",
    "§4.3",
    Severity.ERROR,
    "An assistant message has a message and a parent_tool_use_id, which is null for the main agent",
    "Only the id says which agent answered.",
)
MESSAGE_FIELDS = declare_stream(
    "4.4-message-fields",
    "§4.4",
    Severity.WARNING,
    "An answer has id, type, role, content, model, stop_reason, stop_sequence and usage",
    "Parts of an answer are put together by its id, and its tokens are counted by model.",
)
_USAGE = declare_stream(
    "4.4-usage",
    "§4.4, §4.7",
    Severity.WARNING,
    "Usage has all four counters, and none is null",
    "A missing counter counts as zero, and the cost comes out too low.",
)
BLOCK_FIELDS = declare_stream(
    "4.4-block-fields",
    "§4.4",
    Severity.ERROR,
    "A block has the fields of its type: text; id, name and input; thinking",
    "Without them it has no content, and a call cannot be matched with its result.",
)
_BLOCK_ORDER = declare_stream(
    "4.4-block-order",
    "§4.4",
    Severity.NOTE,
    "Thinking comes before text, and text before tool uses",
    "Models that think between calls use another order; the order of the blocks counts.",
)
_STREAM_EVENT = declare_stream(
    "4.5-stream-event",
    "§4.5",
    Severity.ERROR,
    "A stream_event has an event in the API's form, and a parent_tool_use_id",
    "Otherwise the partial answer cannot be assembled.",
)
_USER = declare_stream(
    "4.6-user",
    "§4.6",
    Severity.ERROR,
    "A user message has a message with role and content, and a parent_tool_use_id",
    "They say what was asked or answered, and in which conversation.",
)
BLOCK_SURPLUS = declare_stream(
    "5.2-block-surplus",
    "§5.2",
    Severity.WARNING,
    "A block has no fields of other block types",
    "The API refuses such a block when the conversation is sent again.",
)

CONVERSATION_RULES = (
    _BASE_FIELDS,
    _UUID_FORM,
    _ASSISTANT,
    MESSAGE_FIELDS,
    _USAGE,
    BLOCK_FIELDS,
    _BLOCK_ORDER,
    _STREAM_EVENT,
    _USER,
    BLOCK_SURPLUS,
)

_USER_DEMAND = Demand(_USER, "a user message", ("parent_tool_use_id",))
CONVERSATION_DEMANDS: Mapping[type[Struct], Demand] = MappingProxyType(
    {
        AssistantMessage: Demand(_ASSISTANT, "an assistant message", ("parent_tool_use_id",)),
        PartialAssistantMessage: Demand(_STREAM_EVENT, "a stream event", ("parent_tool_use_id",)),
        UserMessage: _USER_DEMAND,
        UserMessageReplay: _USER_DEMAND,
    }
)
_ANSWER = Demand(
    MESSAGE_FIELDS,
    "an answer",
    ("id", "type", "role", "content", "model", "stop_reason", "stop_sequence", "usage"),
)
_PROMPT = Demand(_USER, "a message", ("role", "content"))
_CALL = Demand(BLOCK_FIELDS, "a `tool_use`", ("id", "input"))
_COUNTERS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RANKS: Mapping[type, int] = MappingProxyType({ThinkingBlock: 0, TextBlock: 1, ToolUseBlock: 2})


def check_base(message: StreamMessage, faults: Collection[Path], spot: Spot, report: Report) -> None:
    """Check the fields that all messages have."""
    names = ("session_id",) if isinstance(message, UserFields) else ("uuid", "session_id")
    check_given(Demand(_BASE_FIELDS, "a message", names), message, (), faults, spot, report)
    if isinstance(message.uuid, str) and not _UUID.fullmatch(message.uuid):
        report.add(_UUID_FORM, spot, f"Expected a UUID, found {quote(message.uuid)}", ("uuid",))


def check_usage(usage: object, steps: Path, faults: Collection[Path], spot: Spot, report: Report) -> None:
    """Check that usage has all counters."""
    if not isinstance(usage, Usage):
        return
    missing = [
        name for name in _COUNTERS if getattr(usage, name) in (UNSET, None) and (*steps, name) not in faults
    ]
    if missing:
        report.add(_USAGE, spot, f"Expected a number in {join(missing)}, found none", steps)


def _check_assistant(message: AssistantMessage, faults: Collection[Path], spot: Spot, report: Report) -> None:
    answer, steps = message.message, ("message",)
    check_given(_ANSWER, answer, steps, faults, spot, report)
    for name, expected in (("type", "message"), ("role", "assistant")):
        found = getattr(answer, name)
        if found is not UNSET and found != expected:
            report.add(MESSAGE_FIELDS, spot, f"Expected `{expected}`, found {quote(found)}", (*steps, name))
    if isinstance(answer.content, str):
        report.add(MESSAGE_FIELDS, spot, "Expected an array of blocks, found a string", (*steps, "content"))
    check_usage(answer.usage, (*steps, "usage"), faults, spot, report)
    _check_blocks(answer, faults, spot, report)


def _check_blocks(answer: Message, faults: Collection[Path], spot: Spot, report: Report) -> None:
    last = 0
    for index, block in enumerate(answer.content if isinstance(answer.content, tuple) else ()):
        steps = ("message", "content", index)
        rank = _RANKS.get(type(block), last)
        if rank < last:
            report.add(
                _BLOCK_ORDER, spot, "Expected thinking, then text, then tool uses, found another order", steps
            )
        last = rank
        if isinstance(block, ToolUseBlock):
            check_given(_CALL, block, steps, faults, spot, report)


def _check_user(message: UserFields, faults: Collection[Path], spot: Spot, report: Report) -> None:
    prompt = message.message
    check_given(_PROMPT, prompt, ("message",), faults, spot, report)
    if prompt.role is not UNSET and prompt.role not in ("user", "assistant"):
        report.add(
            _USER, spot, f"Expected `user` or `assistant`, found {quote(prompt.role)}", ("message", "role")
        )
    if prompt.content is None:
        report.add(_USER, spot, "Expected a string or an array, found null", ("message", "content"))


CONVERSATION_CHECKS: Mapping[type[Struct], Check] = MappingProxyType(
    {AssistantMessage: _check_assistant, UserMessage: _check_user, UserMessageReplay: _check_user}
)
