"""Messages of the official Agent SDK as ours, and ours as the SDK's.

The SDK's objects hold less than the stream says; `docs/agent-sdk.md` lists what is lost. So `from_sdk` gives
what an SDK object still knows, and `to_sdk` what the SDK's own parser would make of a message: None for what
it has no class for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import claude_agent_sdk as sdk
import msgspec

from turnlog.messages import decode, encode
from turnlog.messages.base import Value

_TASKS: Mapping[str, tuple[type[sdk.SystemMessage], tuple[str, ...]]] = {
    "task_started": (
        sdk.TaskStartedMessage,
        ("task_id", "description", "uuid", "session_id", "tool_use_id", "task_type"),
    ),
    "task_progress": (
        sdk.TaskProgressMessage,
        ("task_id", "description", "usage", "uuid", "session_id", "tool_use_id", "last_tool_name"),
    ),
    "task_notification": (
        sdk.TaskNotificationMessage,
        ("task_id", "status", "output_file", "summary", "uuid", "session_id", "tool_use_id", "usage"),
    ),
}

_RESULT_FIELDS = (
    "stop_reason",
    "total_cost_usd",
    "usage",
    "result",
    "structured_output",
    "permission_denials",
    "errors",
    "api_error_status",
    "uuid",
    "terminal_reason",
)


def from_sdk(message: sdk.Message) -> Value:
    """Return an SDK message as the stream message that it was made from, as far as the SDK kept it."""
    entry = decode(msgspec.json.encode(_wire_of(message))).entry
    assert isinstance(entry, Value)
    return entry


def to_sdk(message: Value) -> sdk.Message | None:
    """Return a stream message as the SDK's class for it; None if the SDK has none.

    Raises `KeyError` for a message that lacks what the SDK demands of its kind.
    """
    data: dict[str, Any] = msgspec.json.decode(encode(message))
    match data.get("type"):
        case "user":
            return _user(data)
        case "assistant":
            return _assistant(data)
        case "system":
            return _system(data)
        case "result":
            return _result(data)
        case "stream_event":
            named = _pick(data, "uuid", "session_id", "event")
            return sdk.StreamEvent(**named, parent_tool_use_id=data.get("parent_tool_use_id"))
        case "rate_limit_event":
            info = _limits(data["rate_limit_info"])
            return sdk.RateLimitEvent(rate_limit_info=info, **_pick(data, "uuid", "session_id"))
        case "conversation_reset":
            return sdk.ConversationResetMessage(**_pick(data, "new_conversation_id", "uuid", "session_id"))
    return None


def _wire_of(message: sdk.Message) -> dict[str, Any]:
    match message:
        case sdk.SystemMessage():
            return message.data
        case sdk.UserMessage():
            inner = {"role": "user", "content": _wire_content(message.content)}
            return {"type": "user", "message": inner} | _present(message, "content")
        case sdk.AssistantMessage():
            return _wire_assistant(message)
        case sdk.ResultMessage():
            wire = {"type": "result"} | _present(message, "model_usage")
            return wire if message.model_usage is None else wire | {"modelUsage": message.model_usage}
        case sdk.StreamEvent():
            return {"type": "stream_event"} | _present(message)
        case sdk.RateLimitEvent():
            info = message.rate_limit_info.raw
            return {"type": "rate_limit_event"} | _present(message) | {"rate_limit_info": info}
        case sdk.ConversationResetMessage():
            return {"type": "conversation_reset"} | _present(message)
    raise TypeError(f"not a message of the SDK: {type(message).__name__}")


def _present(message: Any, *left_out: str) -> dict[str, Any]:
    """Return an SDK object's fields that are set; the parent call is named even where there is none."""
    fields = {name: value for name, value in asdict(message).items() if name not in left_out}
    return {name: value for name, value in fields.items() if value is not None or name == "parent_tool_use_id"}


def _wire_assistant(message: sdk.AssistantMessage) -> dict[str, Any]:
    inner = {
        "id": message.message_id,
        "usage": message.usage,
        "stop_reason": message.stop_reason,
    }
    known = {name: value for name, value in inner.items() if value is not None}
    body = {"role": "assistant", "model": message.model, "content": _wire_content(message.content)} | known
    left_out = ("content", "model", "usage", "message_id", "stop_reason")
    return {"type": "assistant", "message": body} | _present(message, *left_out)


def _wire_content(content: str | list[sdk.ContentBlock]) -> Any:
    return content if isinstance(content, str) else [_wire_block(block) for block in content]


def _wire_block(block: sdk.ContentBlock) -> dict[str, Any]:
    types: dict[type, str] = {
        sdk.TextBlock: "text",
        sdk.ThinkingBlock: "thinking",
        sdk.ToolUseBlock: "tool_use",
        sdk.ToolResultBlock: "tool_result",
        sdk.ServerToolUseBlock: "server_tool_use",
        sdk.ServerToolResultBlock: "advisor_tool_result",
    }
    fields = {name: value for name, value in asdict(block).items() if value is not None}
    return {"type": types[type(block)]} | fields


def _user(data: dict[str, Any]) -> sdk.UserMessage:
    content = data["message"]["content"]
    return sdk.UserMessage(
        content=[one for block in content for one in _blocks(block, "user")]
        if isinstance(content, list)
        else content,
        uuid=data.get("uuid"),
        parent_tool_use_id=data.get("parent_tool_use_id"),
        tool_use_result=data.get("tool_use_result"),
        origin=_origin(data),
    )


def _assistant(data: dict[str, Any]) -> sdk.AssistantMessage:
    message = data["message"]
    return sdk.AssistantMessage(
        content=[one for block in message["content"] for one in _blocks(block, "assistant")],
        model=message["model"],
        parent_tool_use_id=data.get("parent_tool_use_id"),
        error=data.get("error"),
        usage=message.get("usage"),
        message_id=message.get("id"),
        stop_reason=message.get("stop_reason"),
        session_id=data.get("session_id"),
        uuid=data.get("uuid"),
    )


def _blocks(block: dict[str, Any], role: str) -> list[Any]:
    """Return a block as the SDK's, in a list; an empty one for what the SDK drops in such a message."""
    match block["type"]:
        case "text":
            return [sdk.TextBlock(text=block["text"])]
        case "tool_use":
            return [sdk.ToolUseBlock(**_pick(block, "id", "name", "input"))]
        case "tool_result":
            return [sdk.ToolResultBlock(block["tool_use_id"], block.get("content"), block.get("is_error"))]
    if role == "user":
        return []
    match block["type"]:
        case "thinking":
            return [sdk.ThinkingBlock(**_pick(block, "thinking", "signature"))]
        case "server_tool_use":
            return [sdk.ServerToolUseBlock(**_pick(block, "id", "name", "input"))]
        case "advisor_tool_result":
            return [sdk.ServerToolResultBlock(**_pick(block, "tool_use_id", "content"))]
    return []


def _system(data: dict[str, Any]) -> sdk.SystemMessage:
    subtype = data["subtype"]
    if subtype in _TASKS:
        cls, names = _TASKS[subtype]
        return cls(subtype=subtype, data=data, **{name: data.get(name) for name in names})
    match subtype:
        case "task_updated":
            patch = data.get("patch") or {}
            named = {"task_id": data["task_id"], "patch": patch, "status": patch.get("status")}
            return sdk.TaskUpdatedMessage(subtype=subtype, data=data, **named, **_ids(data))
        case "mirror_error":
            named = {"key": data.get("key"), "error": data.get("error", "")}
            return sdk.MirrorErrorMessage(subtype=subtype, data=data, **named)
        case "hook_started" | "hook_response":
            event = data.get("hook_event") or data.get("hook_name") or ""
            return sdk.HookEventMessage(subtype=subtype, data=data, hook_event_name=event, **_ids(data))
    return sdk.SystemMessage(subtype=subtype, data=data)


def _result(data: dict[str, Any]) -> sdk.ResultMessage:
    required = _pick(data, "subtype", "duration_ms", "duration_api_ms", "is_error", "num_turns", "session_id")
    optional: dict[str, Any] = {name: data.get(name) for name in _RESULT_FIELDS}
    deferred = data.get("deferred_tool_use")
    return sdk.ResultMessage(
        **required,
        **optional,
        model_usage=data.get("modelUsage"),
        deferred_tool_use=sdk.DeferredToolUse(**_pick(deferred, "id", "name", "input")) if deferred else None,
        origin=_origin(data),
    )


def _limits(info: dict[str, Any]) -> sdk.RateLimitInfo:
    return sdk.RateLimitInfo(
        status=info["status"],
        resets_at=info.get("resetsAt"),
        rate_limit_type=info.get("rateLimitType"),
        utilization=info.get("utilization"),
        overage_status=info.get("overageStatus"),
        overage_resets_at=info.get("overageResetsAt"),
        overage_disabled_reason=info.get("overageDisabledReason"),
        raw=info,
    )


def _origin(data: dict[str, Any]) -> Any:
    origin = data.get("origin")
    return origin if isinstance(origin, dict) and isinstance(origin.get("kind"), str) else None


def _ids(data: dict[str, Any]) -> dict[str, Any]:
    return {"session_id": data.get("session_id"), "uuid": data.get("uuid")}


def _pick(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: data[name] for name in names}
