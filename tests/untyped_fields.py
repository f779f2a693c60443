"""Where types end on purpose: every field that holds JSON of any shape, and why.

What is not in this table is typed; a test compares the table with the types. *Lazy* fields are typed too, by a
view that is made on demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LAZY_INPUT = "lazy: `tool_io.view_input`"
_LAZY_RESULT = "lazy: `tool_io.view_result`"
_LAZY_HOOK_INPUT = "lazy: `hook_events.view_tool_input`"
_LAZY_HOOK_RESPONSE = "lazy: `hook_events.view_tool_response`"
_UNDOCUMENTED = "not documented yet"
_META = "the protocol leaves `_meta` to servers and clients"
_SETTINGS = "settings have a schema of their own, and may hold any key"
_MCP_RESULT = "an MCP result: the protocol and the server describe it"

UNTYPED_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "ToolUseBlock.input": _LAZY_INPUT,
        "StoredMessage.input": _LAZY_INPUT,
        "UserEntry.tool_use_result": _LAZY_RESULT,
        "AssistantEntry.wire_tool_inputs": _LAZY_INPUT,
        "Assistant000.tool_arguments": _LAZY_INPUT,
        "ServerToolUseBlock.input": "the API's own tools describe it, each in its version",
        "McpToolUseBlock.input": "the server's own JSON Schema describes it",
        "CompactionBlock.tool_changes": _UNDOCUMENTED,
        "FallbackBlock.trigger": _UNDOCUMENTED,
        "ToolAdditionBlock.tool": "a tool's definition, with a JSON Schema",
        "ToolRemovalBlock.tool": "a tool's definition, with a JSON Schema",
        "Usage.fallback_credit": _UNDOCUMENTED,
        "CompactMetadata.running_turn_prompt": _UNDOCUMENTED,
        "ApiRequestParams.context_management": "the API's own parameter, in a form for each version",
        "RequestPrompt.tools": "definitions of tools, with a JSON Schema each",
        "McpMeta.meta": _META,
        "McpMeta.structured_content": "the server's own output schema describes it",
        "ServerClassifierContext.request": _UNDOCUMENTED,
        "ApiErrorDetail.headers": "HTTP headers: text, or objects of the client's making",
        "ApiErrorDetail.error": "the body of the API's answer, which may be anything",
        "ApiErrorDetail.rate_limits": _UNDOCUMENTED,
        "ArtifactReactState.turn_timestamps": _UNDOCUMENTED,
        "ArtifactReactState.threads": _UNDOCUMENTED,
        "ArtifactReactState.interrupted": _UNDOCUMENTED,
        "ArtifactMonitorState.state": _UNDOCUMENTED,
        "JournalResult.result": "what a workflow's own schema asked for",
        "JournalFailed.error": "an error of any shape",
        "Line004.compact_metadata": "spec 004 gives it no shape; what is known of it is in the entry",
        "AsyncHookResponse.response": "JSON of the hook's own making",
        "DeferredTool.input_schema": "a JSON schema",
        "HookDeferredTool.tool_input": "each tool has a shape of its own; a typed view is made on demand",
        "QueuedCommand.file_attachments": "descriptors of the host's choosing; the SDK declares no shape",
        "SnapshotTool.schema": "a JSON schema",
        "StructuredOutput.data": "whatever shape the caller asked for",
        "TaskItem.metadata": "notes of the model's own choosing",
        "NestedMessage.tool_use_result": "each tool has a shape of its own; a typed view is made on demand",
        "WorkflowRecord.args": "what the workflow's own script asks for",
        "WorkflowRecord.result": "what the workflow's own script returns",
        "McpInput": "the server's own JSON Schema describes it",
        "McpObject": "the server's own output schema describes it",
        "StructuredOutputInput": "the caller's own JSON Schema describes it",
        "McpItemBase.meta": _META,
        "McpResourceContents.meta": _META,
        "TaskCreateInput.metadata": "whatever the model wants to remember with a task",
        "TaskUpdateInput.metadata": "whatever the model wants to remember with a task",
        "WorkflowInput.args": "the arguments of a script that the user or the model wrote",
        "RemoteTriggerInput.body": "the request body of a web service, by action",
        "ArtifactInput.capabilities": "the page's contract describes it",
        "ArtifactStored.capabilities": "the page's contract describes it",
        "ArtifactPublishResult.capabilities": "the page's contract describes it",
        "SyncSource.config": "each service has settings of its own",
        "ClaudeDesignInput.arguments": "each operation of the service has arguments of its own",
        "ClaudeDesignResult.content": "each operation of the service answers in its own way",
        "ConfigResult.value": "a setting is of any JSON type",
        "ConfigResult.previous_value": "a setting is of any JSON type",
        "ConfigResult.new_value": "a setting is of any JSON type",
        "PermissionAllow.updated_input": "lazy: `tool_io.view_input`, with the tool that was asked about",
        "PermissionAsk.updated_input": "lazy: `tool_io.view_input`, with the tool that was asked about",
        "ToolHookInput.tool_input": _LAZY_HOOK_INPUT,
        "PostToolUseHookInput.tool_response": _LAZY_HOOK_RESPONSE,
        "PostToolBatchToolCall.tool_input": _LAZY_HOOK_INPUT,
        "PostToolBatchToolCall.tool_response": _LAZY_HOOK_RESPONSE,
        "ElicitationHookInput.requested_schema": "a JSON Schema",
        "ElicitationResultHookInput.content": "the server's requested schema describes it",
        "ElicitationOutput.content": "the server's requested schema describes it",
        "PreToolUseHookSpecificOutput.updated_input": "lazy: `tool_io.view_input`, by the event's tool",
        "PostToolUseHookSpecificOutput.updated_tool_output": "lazy: `tool_io.view_result`, by the event's tool",
        "PostToolUseHookSpecificOutput.updated_mcp_tool_output": "the server's own output schema describes it",
        "JsonSchemaOutputFormat.schema": "a JSON Schema",
        "QueryOptions.settings": _SETTINGS,
        "QueryOptions.managed_settings": _SETTINGS,
        "SessionSummaryEntry.data": "what the store makes of a session",
        "CanUseToolRequest.input": "lazy: `control.view_call`",
        "HookCallbackRequest.input": "lazy: `control.view_hook_input`",
        "SuccessBody.response": "lazy: `control.view_reply`, with the subtype of the request",
        "FlatBody.result": "lazy: `control.view_reply`, with the subtype of the request",
        "KeepAlive.startup_mark": _UNDOCUMENTED,
        "ElicitationRequest.requested_schema": "a JSON Schema",
        "ElicitationReply.content": "what the server's own JSON Schema asked for",
        "UserDialogRequest.payload": "each kind of dialog has data of its own, and hosts may know more kinds",
        "DialogCompleted.result": "each kind of dialog has a result of its own",
        "SdkMcpServerManifest.initialize_result": _MCP_RESULT,
        "SdkMcpServerManifest.tools_list_result": _MCP_RESULT,
        "InitializeRequest.json_schema": "a JSON Schema",
        "McpMessageRequest.message": "a JSON-RPC message",
        "McpMessageReply.mcp_response": "a JSON-RPC message",
        "McpServerTool.meta": _META,
        "McpCallRequest.arguments": "the server's own JSON Schema describes it",
        "ApplyFlagSettingsRequest.settings": _SETTINGS,
        "UpdateSettingsRequest.settings": _SETTINGS,
        "EditableHook.config": "a hook as its settings file has it; each type has keys of its own",
        "UserFields.tool_use_result": _LAZY_RESULT,
        "PartialAssistantMessage.owed_rows": "only ever seen empty",
        "UserMessageReplay.file_attachments": "descriptors of the host's choosing; the SDK declares no shape",
        "PermissionDenial.tool_input": _LAZY_INPUT,
        "DeferredToolUse.input": _LAZY_INPUT,
        "ResultMessage.structured_output": "whatever shape the caller asked for",
        "TaskLink.annotations": "the protocol leaves annotations to servers",
        "TranscriptMirrorMessage.entries": "lazy: `turnlog.decode`",
    }
)
