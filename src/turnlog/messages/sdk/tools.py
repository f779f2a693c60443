"""What becomes of calls while they run and after: progress, refusals, labels."""

from __future__ import annotations

from turnlog.messages.base import UNSET, Number, Snake, UnsetType
from turnlog.messages.control.requests import DecisionReasonType
from turnlog.messages.sdk.base import SystemMessage, TypedMessage


class SubagentRetry(Snake):
    """A request of a sub-agent that failed and is tried again."""

    agent_id: str | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    max_retries: int | UnsetType = UNSET
    retry_delay_ms: Number | UnsetType = UNSET
    error_status: int | None | UnsetType = UNSET
    error_category: str | UnsetType = UNSET


class ToolProgressMessage(TypedMessage, tag="tool_progress"):
    """A call is still running."""

    tool_use_id: str
    tool_name: str | UnsetType = UNSET
    parent_tool_use_id: str | None | UnsetType = UNSET
    elapsed_time_seconds: Number | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    heartbeat: bool | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    subagent_retry: SubagentRetry | UnsetType = UNSET


class ToolUseSummaryMessage(TypedMessage, tag="tool_use_summary"):
    """A label for a group of calls."""

    summary: str
    preceding_tool_use_ids: tuple[str, ...] | UnsetType = UNSET


class PermissionDeniedMessage(SystemMessage, tag="permission_denied"):
    """A call was not allowed, without anybody being asked."""

    tool_name: str | UnsetType = UNSET
    tool_use_id: str | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    decision_reason_type: DecisionReasonType | UnsetType = UNSET
    decision_reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    """What the model was told."""


class ElicitationCompleteMessage(SystemMessage, tag="elicitation_complete"):
    """A question that a server asked by way of a web page is settled."""

    mcp_server_name: str | UnsetType = UNSET
    elicitation_id: str | UnsetType = UNSET
