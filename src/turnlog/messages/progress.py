"""Progress of a running tool, as files of early 2026 tell it line by line.

Later versions say the same with attachments. An agent's progress holds copies of the sub-agent's messages:
they are for looking at, and their usage is not to be counted, since the sub-agent's own file has it too.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Number, Open, Raw, UnknownTagged, UnsetType, field
from turnlog.messages.message import Message

__all__ = [
    "FREE_FORM",
    "AgentProgress",
    "BashProgress",
    "HookProgress",
    "McpProgress",
    "NestedMessage",
    "Progress",
    "ProgressBase",
    "QueryUpdate",
    "SearchResultsReceived",
    "UnknownProgress",
    "WaitingForTask",
]

FREE_FORM: dict[str, str] = {
    "NestedMessage.tool_use_result": "each tool has a shape of its own; a typed view is made on demand",
}
"""The fields that are kept raw on purpose, and why."""


class ProgressBase(Camel, tag_field="type"):
    """A piece of progress, told apart by its type."""

    type: ClassVar[str]


class UnknownProgress(UnknownTagged):
    """Progress of an unknown type."""

    __slots__ = ()


class HookProgress(ProgressBase, tag="hook_progress"):
    """A hook that is running."""

    hook_event: str | UnsetType = UNSET
    hook_name: str | UnsetType = UNSET
    command: str | None | UnsetType = UNSET


class BashProgress(ProgressBase, tag="bash_progress"):
    """A command that is running, and what it has printed so far."""

    output: str | UnsetType = UNSET
    full_output: str | UnsetType = UNSET
    elapsed_time_seconds: Number | UnsetType = UNSET
    total_lines: int | UnsetType = UNSET
    total_bytes: int | None | UnsetType = UNSET
    task_id: str | None | UnsetType = UNSET
    timeout_ms: Number | None | UnsetType = UNSET


class NestedMessage(Camel):
    """A copy of a sub-agent's message, a small entry of its own."""

    type: str | UnsetType = UNSET
    """`user` or `assistant`."""
    message: Message | UnsetType = UNSET
    uuid: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    request_id: str | None | UnsetType = UNSET
    tool_use_result: Raw | UnsetType = UNSET
    source_tool_assistant_uuid: str | None | UnsetType = field(name="sourceToolAssistantUUID", default=UNSET)
    is_meta: bool | UnsetType = UNSET
    is_api_error_message: bool | UnsetType = UNSET
    error: str | None | UnsetType = UNSET


class AgentProgress(ProgressBase, tag="agent_progress"):
    """A sub-agent that is at work, and its latest message."""

    agent_id: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    message: NestedMessage | None | UnsetType = UNSET
    normalized_messages: tuple[NestedMessage, ...] | UnsetType = UNSET


class McpProgress(ProgressBase, tag="mcp_progress"):
    """A call of an MCP server's tool."""

    status: str | UnsetType = UNSET
    """`started`, `completed` or `failed`."""
    server_name: str | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    elapsed_time_ms: Number | None | UnsetType = UNSET


class WaitingForTask(ProgressBase, tag="waiting_for_task"):
    """A tool that waits for a background task."""

    task_description: str | None | UnsetType = UNSET
    task_type: str | None | UnsetType = UNSET
    """`local_bash` or `local_agent`."""


class QueryUpdate(ProgressBase, tag="query_update"):
    """A web search that was sent."""

    query: str | UnsetType = UNSET


class SearchResultsReceived(ProgressBase, tag="search_results_received"):
    """A web search that was answered."""

    result_count: int | UnsetType = UNSET
    query: str | UnsetType = UNSET


Progress = Open[
    HookProgress
    | BashProgress
    | AgentProgress
    | McpProgress
    | WaitingForTask
    | QueryUpdate
    | SearchResultsReceived,
    UnknownProgress,
]
