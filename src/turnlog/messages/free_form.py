"""Where types end on purpose: every field that holds JSON of any shape, and why.

What is not in this table is typed; a test compares the table with the types. *Lazy* fields are typed too, by a
view that is made on demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from turnlog.messages import (
    attachments,
    control,
    hook_events,
    options,
    permissions,
    progress,
    sdk,
    sidecars,
    tool_io,
)

__all__ = ["FREE_FORM"]

_LAZY_INPUT = "lazy: `tool_io.view_input`"
_LAZY_RESULT = "lazy: `tool_io.view_result`"

FREE_FORM: Mapping[str, str] = MappingProxyType(
    {
        "ToolUseBlock.input": _LAZY_INPUT,
        "UserEntry.tool_use_result": _LAZY_RESULT,
        "AssistantEntry.wire_tool_inputs": _LAZY_INPUT,
        "Assistant000.tool_arguments": _LAZY_INPUT,
        "ServerToolUseBlock.input": "the API's own tools describe it, each in its version",
        "McpToolUseBlock.input": "the server's own JSON Schema describes it",
        "CompactionBlock.tool_changes": "not documented yet",
        "FallbackBlock.trigger": "not documented yet",
        "ToolAdditionBlock.tool": "a tool's definition, with a JSON Schema",
        "ToolRemovalBlock.tool": "a tool's definition, with a JSON Schema",
        "Usage.fallback_credit": "not documented yet",
        "CompactMetadata.running_turn_prompt": "not documented yet",
        "ApiRequestParams.context_management": "the API's own parameter, in a form for each version",
        "RequestPrompt.tools": "definitions of tools, with a JSON Schema each",
        "McpMeta.meta": "the protocol leaves `_meta` to servers and clients",
        "McpMeta.structured_content": "the server's own output schema describes it",
        "ServerClassifierContext.request": "not documented yet",
        "ApiErrorDetail.headers": "HTTP headers: text, or objects of the client's making",
        "ApiErrorDetail.error": "the body of the API's answer, which may be anything",
        "ApiErrorDetail.rate_limits": "not documented yet",
        "ArtifactReactState.turn_timestamps": "not documented yet",
        "ArtifactReactState.threads": "not documented yet",
        "ArtifactReactState.interrupted": "not documented yet",
        "ArtifactMonitorState.state": "not documented yet",
        "JournalResult.result": "what a workflow's own schema asked for",
        "JournalFailed.error": "an error of any shape",
        "Line004.compact_metadata": "spec 004 gives it no shape; what is known of it is in the entry",
        **attachments.FREE_FORM,
        **progress.FREE_FORM,
        **sidecars.FREE_FORM,
        **tool_io.FREE_FORM,
        **permissions.FREE_FORM,
        **hook_events.FREE_FORM,
        **options.FREE_FORM,
        **control.FREE_FORM,
        **sdk.FREE_FORM,
    }
)
