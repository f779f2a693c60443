"""All that `decode` left for later: tool inputs and results, decoded at once.

Readers ask for a view where they need it. Checks of whole files, and measurements, want every one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from turnlog.messages.attachments import HookDeferredTool
from turnlog.messages.base import Raw, UnsetType
from turnlog.messages.blocks import ToolResultBlock, ToolUseBlock
from turnlog.messages.entries import AssistantEntry, AttachmentEntry, Entry, ProgressEntry, UserEntry
from turnlog.messages.message import Message
from turnlog.messages.progress import AgentProgress, NestedMessage
from turnlog.messages.salvage import View
from turnlog.messages.tool_io import view_input, view_result

__all__ = ["tool_names", "view_all"]


def tool_names(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the name of each call's tool by the call's id: results do not name theirs."""
    return {
        call.id: call.name
        for entry in entries
        for message in _messages(entry)
        for call in _calls(message)
        if isinstance(call.id, str)
    }


def view_all(entry: Entry, names: Mapping[str, str]) -> Iterator[View[Any]]:
    """Yield every lazy part of an entry, decoded. `names` says which tool answered which call."""
    for message in _messages(entry):
        for call in _calls(message):
            yield view_input(call)
    match entry:
        case AssistantEntry(wire_tool_inputs=dict(inputs)):
            for call_id, raw in inputs.items():
                if call_id in names:
                    yield view_input(ToolUseBlock(id=call_id, name=names[call_id], input=raw))
        case UserEntry(message=message, tool_use_result=result):
            yield from _result(message, result, names)
        case ProgressEntry(data=AgentProgress()):
            for nested in _nested(entry):
                yield from _result(nested.message, nested.tool_use_result, names)
        case AttachmentEntry(attachment=HookDeferredTool(tool_name=str(name), tool_input=Raw() as raw)):
            yield view_input(ToolUseBlock(name=name, input=raw))


def _result(
    message: Message | UnsetType, result: Raw | UnsetType, names: Mapping[str, str]
) -> Iterator[View[Any]]:
    if isinstance(result, Raw):
        answered = [block.tool_use_id for block in _blocks(message) if isinstance(block, ToolResultBlock)]
        known = [names[call] for call in answered if isinstance(call, str) and call in names]
        yield view_result(known[0] if known else None, result)


def _messages(entry: Entry) -> Iterator[Message | UnsetType]:
    match entry:
        case UserEntry() | AssistantEntry():
            yield entry.message
        case ProgressEntry():
            for nested in _nested(entry):
                yield nested.message


def _nested(entry: ProgressEntry) -> Iterator[NestedMessage]:
    if isinstance(entry.data, AgentProgress):
        if isinstance(entry.data.message, NestedMessage):
            yield entry.data.message
        if isinstance(entry.data.normalized_messages, tuple):
            yield from entry.data.normalized_messages


def _calls(message: Message | UnsetType) -> Iterator[ToolUseBlock]:
    return (block for block in _blocks(message) if isinstance(block, ToolUseBlock))


def _blocks(message: Message | UnsetType) -> tuple[Any, ...]:
    content = message.content if isinstance(message, Message) else None
    return content if isinstance(content, tuple) else ()
