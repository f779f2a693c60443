"""Events around a tool call: before it, after it, and when it may not run.

Inputs and responses of tools stay raw; `views` looks at them.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Number, Raw, Snake, UnsetType
from turnlog.messages.hook_events.base import BaseHookInput
from turnlog.messages.permissions import PermissionUpdate


class McpServerProvenance(Snake):
    """Which server a tool belongs to, and where that server was configured: trust the source, not the name."""

    name: str | UnsetType = UNSET
    source: str | UnsetType = UNSET


class ToolHookInput(BaseHookInput):
    """The fields of any event about one tool call."""

    tool_name: str
    tool_input: Raw | UnsetType = UNSET
    mcp_server: McpServerProvenance | None | UnsetType = UNSET


class _NamedCall(ToolHookInput):
    """An event about a call that has an id; older versions leave it out."""

    tool_use_id: str | None | UnsetType = UNSET


class PreToolUseHookInput(_NamedCall, tag="PreToolUse"):
    """A tool is about to run."""


class PostToolUseHookInput(_NamedCall, tag="PostToolUse"):
    """A tool has run."""

    tool_response: Raw | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET
    """Without the time that prompts and hooks took."""


class PostToolUseFailureHookInput(_NamedCall, tag="PostToolUseFailure"):
    """A tool has failed."""

    error: str | UnsetType = UNSET
    is_interrupt: bool | None | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET


class PermissionDeniedHookInput(_NamedCall, tag="PermissionDenied"):
    """A tool may not run."""

    reason: str | UnsetType = UNSET


class PermissionRequestHookInput(ToolHookInput, tag="PermissionRequest"):
    """The person is about to be asked whether a tool may run."""

    permission_suggestions: tuple[PermissionUpdate, ...] | None | UnsetType = UNSET
    """What "always allow" would change."""


class PostToolBatchToolCall(Snake):
    """One of the calls that ran side by side."""

    tool_name: str
    tool_input: Raw | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET
    tool_response: Raw | UnsetType = UNSET


class PostToolBatchHookInput(BaseHookInput, tag="PostToolBatch"):
    """All calls of one answer are done."""

    tool_calls: tuple[PostToolBatchToolCall, ...] | UnsetType = UNSET
