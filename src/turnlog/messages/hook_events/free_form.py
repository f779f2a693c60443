"""Where the types of hook events end on purpose, and why."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LAZY_INPUT = "lazy: `hook_events.view_tool_input`"
_LAZY_RESPONSE = "lazy: `hook_events.view_tool_response`"

FREE_FORM: Mapping[str, str] = MappingProxyType(
    {
        "ToolHookInput.tool_input": _LAZY_INPUT,
        "PostToolUseHookInput.tool_response": _LAZY_RESPONSE,
        "PostToolBatchToolCall.tool_input": _LAZY_INPUT,
        "PostToolBatchToolCall.tool_response": _LAZY_RESPONSE,
        "ElicitationHookInput.requested_schema": "a JSON Schema",
        "ElicitationResultHookInput.content": "the server's requested schema describes it",
        "ElicitationOutput.content": "the server's requested schema describes it",
        "PreToolUseHookSpecificOutput.updated_input": "lazy: `tool_io.view_input`, by the event's tool",
        "PostToolUseHookSpecificOutput.updated_tool_output": "lazy: `tool_io.view_result`, by the event's tool",
        "PostToolUseHookSpecificOutput.updated_mcp_tool_output": "the server's own output schema describes it",
    }
)
"""The fields that are kept raw on purpose, and why."""
