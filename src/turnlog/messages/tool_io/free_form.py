"""Where a declared shape ends on purpose.

Each entry names a field, or a named type, that holds JSON of any shape, and says whose shape it is. All else
in this package is typed; a test compares this table with the types.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

FREE_FORM: Mapping[str, str] = MappingProxyType(
    {
        "McpInput": "the server's own JSON Schema describes it",
        "McpObject": "the server's own output schema describes it",
        "StructuredOutputInput": "the caller's own JSON Schema describes it",
        "McpItemBase.meta": "the protocol leaves `_meta` to servers and clients",
        "McpResourceContents.meta": "the protocol leaves `_meta` to servers and clients",
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
    }
)
