"""The conversation itself: answers, prompts and tool results, and the stream of an answer in the making.

One answer comes as several messages with one `message.id`, each with one complete block; their `stop_reason` is
null and their usage is provisional. What a host sends and what the program echoes have the same `type`: only
`isReplay` tells a `UserMessageReplay`, which is not to be shown twice.
"""

from __future__ import annotations

from typing import Literal

from turnlog.messages.base import UNSET, Number, OpenEnum, Raw, Snake, UnsetType, field
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.hook_events import AssistantMessageError
from turnlog.messages.message import Message
from turnlog.messages.origin import MessageOrigin
from turnlog.messages.sdk.base import TypedMessage
from turnlog.messages.sdk.events import StreamEvent
from turnlog.messages.sdk.reports import ContextUsage, UsageReport


class AssistantMessage(TypedMessage, tag="assistant"):
    """One block of an answer, or a notice of the program in the shape of an answer."""

    message: Message
    parent_tool_use_id: str | None | UnsetType = UNSET
    """The call that started the sub-agent; null on the main thread."""
    error: AssistantMessageError | UnsetType = UNSET
    request_id: str | None | UnsetType = UNSET
    user_message_uuid: str | UnsetType = UNSET
    """The prompt that this turn answers, by the name the host gave it."""
    user_message_uuids: tuple[str, ...] | UnsetType = UNSET
    resume_reason: str | UnsetType = UNSET
    resumed_from_incomplete_thinking: bool | UnsetType = UNSET
    supersedes: tuple[str, ...] | UnsetType = UNSET
    """Earlier messages that go when this one comes."""
    aborted: bool | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    task_description: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    context_usage: ContextUsage | UnsetType = UNSET
    usage_report: UsageReport | UnsetType = UNSET
    thinking_duration_ms: Number | UnsetType = UNSET
    thinking_display: str | UnsetType = UNSET
    is_api_error_message: bool | UnsetType = UNSET
    api_error_status: int | None | UnsetType = UNSET
    api_error_type: str | None | UnsetType = UNSET


class UserPriority(OpenEnum):
    """When a prompt that comes during a turn is to be heard."""

    NOW = "now"
    NEXT = "next"
    LATER = "later"


class ToolResultPermission(Snake):
    """How it was decided whether a call may run."""

    decision: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    reason_type: str | UnsetType = UNSET
    reason_code: str | UnsetType = UNSET


class ToolResultMeta(Snake):
    """What is known of a result beside what it says."""

    id: str | UnsetType = UNSET
    """The call's."""
    permission_decision: ToolResultPermission | UnsetType = UNSET
    non_execution_kind: str | UnsetType = UNSET
    """Why the call did not run: what `toolDenialKind` says on disk."""


class UserFields(TypedMessage):
    """What prompts, tool results and their echoes have in common."""

    message: Message
    parent_tool_use_id: str | None | UnsetType = UNSET
    """The call that started the sub-agent; null on the main thread."""
    is_synthetic: bool | UnsetType = field(name="isSynthetic", default=UNSET)
    tool_use_result: Raw | UnsetType = UNSET
    """`tool_io.view_result` gives it a type."""
    tool_result_meta: tuple[ToolResultMeta, ...] | UnsetType = UNSET
    priority: UserPriority | UnsetType = UNSET
    origin: MessageOrigin | str | None | UnsetType = UNSET
    should_query: bool | UnsetType = field(name="shouldQuery", default=UNSET)
    """False adds the message without starting a turn."""
    timestamp: str | UnsetType = UNSET
    client_composed: bool | UnsetType = UNSET


class UserMessage(UserFields, tag="user"):
    """A prompt or a tool's result."""

    pasted_content: tuple[str | tuple[ContentBlock, ...], ...] | UnsetType = UNSET
    inline_pastes: tuple[str, ...] | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    task_description: str | UnsetType = UNSET
    is_replay: Literal[False] | UnsetType = field(name="isReplay", default=UNSET)


class UserMessageReplay(UserFields, tag="user"):
    """The echo of a prompt that was accepted, or that stood in the history."""

    is_replay: Literal[True] = field(name="isReplay", default=True)
    file_attachments: tuple[Raw, ...] | UnsetType = UNSET


class PartialAssistantMessage(TypedMessage, tag="stream_event"):
    """One event of an answer in the making; the complete messages replace it."""

    event: StreamEvent
    parent_tool_use_id: str | None | UnsetType = UNSET
    ttft_ms: Number | UnsetType = UNSET
    api_message_id: str | UnsetType = UNSET
    thinking_display: str | UnsetType = UNSET
    user_message_uuid: str | UnsetType = UNSET
    user_message_uuids: tuple[str, ...] | UnsetType = UNSET
    resume_reason: str | UnsetType = UNSET
    owed_rows: tuple[Raw, ...] | UnsetType = UNSET
    """Observed without any; not documented."""
