"""Making messages of the stream: fresh UUIDs, and every mandatory field filled.

A reader takes what comes; a writer owes the other side what the protocol demands. These constructors leave no
mandatory field out, even where ours would allow it: counters are zero, not absent, and a thread that has no
parent says so with null. Arguments come in spec 001's order; what is obviously in another is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from turnlog.messages.base import UNSET, Number
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.message import Message, StopReason, Usage
from turnlog.messages.metadata import ModelUsage
from turnlog.messages.options import QueryOptions
from turnlog.messages.sdk.messages import (
    AssistantMessage,
    PermissionDenial,
    ResultMessage,
    ResultSubtype,
    UserMessage,
)
from turnlog.messages.sdk.system_messages import (
    ApiKeySource,
    CompactBoundaryMessage,
    CompactDetails,
    SystemInitMessage,
)
from turnlog.messages.system import CompactTrigger

_COUNTERS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_FIGURES = (*_COUNTERS, "web_search_requests", "cost_usd", "context_window", "max_output_tokens")
_KINDS = {str: "a string", int: "an integer"}


def new_uuid() -> str:
    """Return a fresh UUID (RFC 4122, version 4) in its text form."""
    return str(uuid.uuid4())


def fill_usage(usage: Usage) -> Usage:
    """Return `usage` with zero for each of the four counters that is absent or null."""
    return replace(usage, **{name: getattr(usage, name) or 0 for name in _COUNTERS})


def fill_model_usage(usage: ModelUsage) -> ModelUsage:
    """Return `usage` with zero for each mandatory figure that is absent."""
    return replace(usage, **{name: getattr(usage, name) or 0 for name in _FIGURES})


def new_assistant_message(
    message: Message, parent_tool_use_id: str | None, session_id: str
) -> AssistantMessage:
    """Make an answer; only `id`, `model` and `content` of its message are the caller's to fill."""
    _expect(Message, message=message)
    _expect(str, session_id=session_id)
    filled = replace(
        message,
        type=message.type or "message",
        role=message.role or "assistant",
        stop_reason=message.stop_reason or None,
        stop_sequence=message.stop_sequence or None,
        usage=fill_usage(message.usage or Usage()),
    )
    return AssistantMessage(
        uuid=new_uuid(), session_id=session_id, message=filled, parent_tool_use_id=parent_tool_use_id
    )


def new_user_message(
    content: str | tuple[ContentBlock, ...] | None, session_id: str, *, parent_tool_use_id: str | None = None
) -> UserMessage:
    """Make a prompt; null content stays null."""
    _expect(str, session_id=session_id)
    message = Message(role="user", content=content)
    return UserMessage(
        uuid=new_uuid(), session_id=session_id, message=message, parent_tool_use_id=parent_tool_use_id
    )


def new_result_success(
    result: str,
    num_turns: int,
    total_cost_usd: Number,
    usage: Usage,
    model_usage: Mapping[str, ModelUsage],
    duration_ms: Number,
    duration_api_ms: Number,
    session_id: str,
    *,
    stop_reason: StopReason | None = None,
    permission_denials: Iterable[PermissionDenial] = (),
) -> ResultMessage:
    """Make the end of a turn that succeeded."""
    _expect(str, session_id=session_id)
    return ResultMessage(
        uuid=new_uuid(),
        session_id=session_id,
        subtype=ResultSubtype.SUCCESS,
        is_error=False,
        result=result,
        num_turns=num_turns,
        total_cost_usd=total_cost_usd,
        usage=fill_usage(usage),
        model_usage={model: fill_model_usage(used) for model, used in model_usage.items()},
        duration_ms=duration_ms,
        duration_api_ms=duration_api_ms,
        stop_reason=stop_reason,
        permission_denials=tuple(permission_denials),
    )


def new_result_error(
    subtype: ResultSubtype,
    errors: Iterable[str],
    num_turns: int,
    total_cost_usd: Number,
    usage: Usage,
    model_usage: Mapping[str, ModelUsage],
    duration_ms: Number,
    duration_api_ms: Number,
    session_id: str,
    *,
    stop_reason: StopReason | None = None,
    permission_denials: Iterable[PermissionDenial] = (),
) -> ResultMessage:
    """Make the end of a turn that failed."""
    if subtype is ResultSubtype.SUCCESS:
        raise ValueError("an error has one of the error subtypes")
    success = new_result_success(
        "",
        num_turns,
        total_cost_usd,
        usage,
        model_usage,
        duration_ms,
        duration_api_ms,
        session_id,
        stop_reason=stop_reason,
        permission_denials=permission_denials,
    )
    return replace(success, subtype=subtype, is_error=True, errors=tuple(errors), result=UNSET)


def new_system_init(options: QueryOptions, version: str, session_id: str) -> SystemInitMessage:
    """Make the first message of a session that runs with `options`."""
    _expect(QueryOptions, options=options)
    _expect(str, version=version, session_id=session_id)
    return SystemInitMessage(
        uuid=new_uuid(),
        session_id=session_id,
        model=options.model or "",
        cwd=options.cwd or "",
        permission_mode=options.permission_mode or PermissionMode.DEFAULT,
        claude_code_version=version,
        api_key_source=ApiKeySource.NONE,
        tools=(),
        mcp_servers=(),
        slash_commands=(),
        output_style="default",
        skills=(),
        plugins=(),
    )


def new_compact_boundary(trigger: CompactTrigger, pre_tokens: int, session_id: str) -> CompactBoundaryMessage:
    """Make the mark of a compaction."""
    _expect(int, pre_tokens=pre_tokens)
    _expect(str, session_id=session_id)
    details = CompactDetails(trigger=trigger, pre_tokens=pre_tokens)
    return CompactBoundaryMessage(uuid=new_uuid(), session_id=session_id, compact_metadata=details)


def _expect(kind: type, **arguments: object) -> None:
    """Refuse what is of another type, as arguments in another order than the spec's are."""
    for name, value in arguments.items():
        if not isinstance(value, kind):
            wanted = _KINDS.get(kind, f"a {kind.__name__}")
            found = "None" if value is None else type(value).__name__
            raise TypeError(f"{name} must be {wanted}, got {found}")
