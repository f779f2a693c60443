"""Where the types of the stream end on purpose, and why."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LAZY_INPUT = "lazy: `tool_io.view_input`"

FREE_FORM: Mapping[str, str] = MappingProxyType(
    {
        "UserFields.tool_use_result": "lazy: `tool_io.view_result`",
        "PartialAssistantMessage.owed_rows": "only ever seen empty",
        "UserMessageReplay.file_attachments": "descriptors of the host's choosing; the SDK declares no shape",
        "PermissionDenial.tool_input": _LAZY_INPUT,
        "DeferredToolUse.input": _LAZY_INPUT,
        "ResultMessage.structured_output": "whatever shape the caller asked for",
        "TaskLink.annotations": "the protocol leaves annotations to servers",
        "TranscriptMirrorMessage.entries": "lazy: `turnlog.decode`",
    }
)
