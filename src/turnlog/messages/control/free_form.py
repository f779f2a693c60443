"""Where the types of the control protocol end, and why."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_SETTINGS = "settings have a schema of their own, and may hold any key"
_RESULT = "an MCP result: the protocol and the server describe it"

FREE_FORM: Mapping[str, str] = MappingProxyType(
    {
        "CanUseToolRequest.input": "lazy: `control.view_call`",
        "HookCallbackRequest.input": "lazy: `control.view_hook_input`",
        "SuccessBody.response": "lazy: `control.view_reply`, with the subtype of the request",
        "FlatBody.result": "lazy: `control.view_reply`, with the subtype of the request",
        "KeepAlive.startup_mark": "not documented yet",
        "ElicitationRequest.requested_schema": "a JSON Schema",
        "ElicitationReply.content": "what the server's own JSON Schema asked for",
        "UserDialogRequest.payload": "each kind of dialog has data of its own, and hosts may know more kinds",
        "DialogCompleted.result": "each kind of dialog has a result of its own",
        "SdkMcpServerManifest.initialize_result": _RESULT,
        "SdkMcpServerManifest.tools_list_result": _RESULT,
        "InitializeRequest.json_schema": "a JSON Schema",
        "McpMessageRequest.message": "a JSON-RPC message",
        "McpMessageReply.mcp_response": "a JSON-RPC message",
        "McpServerTool.meta": "the protocol leaves `_meta` to servers and clients",
        "McpCallRequest.arguments": "the server's own JSON Schema describes it",
        "ApplyFlagSettingsRequest.settings": _SETTINGS,
        "UpdateSettingsRequest.settings": _SETTINGS,
        "EditableHook.config": "a hook as its settings file has it; each type has keys of its own",
    }
)
"""The fields that are kept raw on purpose, and why."""
