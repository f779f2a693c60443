"""All that `decode` left for later: tool inputs and results, decoded at once.

Readers ask for a view where they need it. Checks of whole files, and measurements, want every one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from turnlog.messages.attachments import HookDeferredTool
from turnlog.messages.base import Raw, UnsetType
from turnlog.messages.blocks import ToolResultBlock, ToolUseBlock
from turnlog.messages.codec import AnyEntry
from turnlog.messages.control.frames import ControlRequest, view_call, view_hook_input
from turnlog.messages.control.requests import CanUseToolRequest, HookCallbackRequest
from turnlog.messages.entries import (
    AgentProgress,
    AssistantEntry,
    AttachmentEntry,
    NestedMessage,
    ProgressEntry,
    UserEntry,
)
from turnlog.messages.hook_events import (
    PostToolBatchHookInput,
    PostToolBatchToolCall,
    PostToolUseHookInput,
    ToolHookInput,
    view_tool_input,
    view_tool_response,
)
from turnlog.messages.message import Message
from turnlog.messages.salvage import View
from turnlog.messages.sdk.messages import AssistantMessage, DeferredToolUse, ResultMessage, UserFields
from turnlog.messages.tool_io.registry import view_input, view_result


def tool_names(entries: Iterable[AnyEntry]) -> dict[str, str]:
    """Return the name of each call's tool by the call's id: results do not name theirs."""
    names: dict[str, str] = {}
    for entry in entries:
        messages: list[Message | UnsetType] = []
        if isinstance(entry, AssistantEntry | AssistantMessage):
            messages = [entry.message]
        elif isinstance(entry, ProgressEntry):
            messages = [nested.message for nested in _nested(entry)]
        for message in messages:
            names |= {call.id: call.name for call in _calls(message) if isinstance(call.id, str)}
    return names


def view_all(entry: AnyEntry, names: Mapping[str, str]) -> list[View[Any]]:
    """Return every lazy part of an entry, decoded. `names` says which tool answered which call."""
    match entry:
        case AssistantEntry():
            return [view_input(call) for call in (*_calls(entry.message), *_wire_calls(entry, names))]
        case AssistantMessage():
            return [view_input(call) for call in _calls(entry.message)]
        case UserEntry() | UserFields():
            return _message_views(entry.message, entry.tool_use_result, names)
        case ProgressEntry():
            nested = _nested(entry)
            return [view for one in nested for view in _message_views(one.message, one.tool_use_result, names)]
        case AttachmentEntry(attachment=HookDeferredTool(tool_name=str(name), tool_input=Raw() as raw)):
            return [view_input(ToolUseBlock(name=name, input=raw))]
        case ResultMessage():
            return [view_input(call) for call in _result_calls(entry)]
        case ControlRequest(request=CanUseToolRequest() as request):
            return [view_call(request)]
        case ControlRequest(request=HookCallbackRequest() as request):
            return [view_hook_input(request)]
        case ToolHookInput():
            return _hook_views(entry)
        case PostToolBatchHookInput(tool_calls=tuple(calls)):
            return [view for call in calls for view in _hook_views(call)]
    return []


def _hook_views(event: ToolHookInput | PostToolBatchToolCall) -> list[View[Any]]:
    views: list[View[Any]] = [view_tool_input(event)]
    if isinstance(event, PostToolUseHookInput | PostToolBatchToolCall):
        views.append(view_tool_response(event))
    return views


def _result_calls(result: ResultMessage) -> list[ToolUseBlock]:
    """Return the calls that a result names as denied or put off."""
    denials = result.permission_denials if isinstance(result.permission_denials, tuple) else ()
    calls = [(denial.tool_name, denial.tool_input) for denial in denials]
    if isinstance(result.deferred_tool_use, DeferredToolUse):
        calls.append((result.deferred_tool_use.name, result.deferred_tool_use.input))
    return [ToolUseBlock(name=name, input=raw) for name, raw in calls if isinstance(name, str)]


def _message_views(
    message: Message | UnsetType, result: Raw | UnsetType, names: Mapping[str, str]
) -> list[View[Any]]:
    views: list[View[Any]] = [view_input(call) for call in _calls(message)]
    if isinstance(result, Raw):
        views.append(view_result(_answered_tool(message, names), result))
    return views


def _answered_tool(message: Message | UnsetType, names: Mapping[str, str]) -> str | None:
    for block in _blocks(message):
        if isinstance(block, ToolResultBlock) and isinstance(block.tool_use_id, str):
            return names.get(block.tool_use_id)
    return None


def _wire_calls(entry: AssistantEntry, names: Mapping[str, str]) -> list[ToolUseBlock]:
    inputs = entry.wire_tool_inputs if isinstance(entry.wire_tool_inputs, dict) else {}
    return [ToolUseBlock(id=i, name=names[i], input=raw) for i, raw in inputs.items() if i in names]


def _nested(entry: ProgressEntry) -> tuple[NestedMessage, ...]:
    if not isinstance(entry.data, AgentProgress):
        return ()
    one = (entry.data.message,) if isinstance(entry.data.message, NestedMessage) else ()
    many = entry.data.normalized_messages
    return one + many if isinstance(many, tuple) else one


def _calls(message: Message | UnsetType) -> list[ToolUseBlock]:
    return [block for block in _blocks(message) if isinstance(block, ToolUseBlock)]


def _blocks(message: Message | UnsetType) -> tuple[Any, ...]:
    content = message.content if isinstance(message, Message) else None
    return content if isinstance(content, tuple) else ()
