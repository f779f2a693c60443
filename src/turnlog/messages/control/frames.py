"""The frames of the control protocol: requests, replies, withdrawals, signs of life.

Either side sends a `ControlRequest`; the other answers with a `ControlResponse` that names the request. What
we write is always in today's form, a body told by `subtype`. Spec 001 knew a flatter body, `{request_id,
result}` or `{request_id, error}`: it is read, as a class of its own, and `nested` turns it into today's form.
The two forms share their `type`, so no single decoder takes both; `view_message` tells them apart.

A reply does not say what it is a reply to, so its payload stays raw until somebody who remembers the request
asks for it: `REQUESTS` says which request is answered with what, who sends it and whether spec 001 knew it,
and `view_reply` gives a payload the type that stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec import Struct

from turnlog.messages.base import UNSET, Open, Raw, Snake, Unknown, UnknownTagged, UnsetType, Value
from turnlog.messages.blocks import ToolUseBlock
from turnlog.messages.control import requests
from turnlog.messages.control.requests import (
    CanUseToolRequest,
    HookCallbackRequest,
    Reply,
    RequestBody,
    UnknownReply,
)
from turnlog.messages.hook_events import HookInput, HookJSONOutput, view_output
from turnlog.messages.patch import encode_value
from turnlog.messages.permissions import PermissionResult
from turnlog.messages.problems import Problem, ProblemKind
from turnlog.messages.salvage import View, repair_text, split_object, text_of, view
from turnlog.messages.tool_io import ToolInput, view_input


class ControlRequest(Snake, tag_field="type", tag="control_request"):
    """A request of either side; the id is unique among the sender's open ones."""

    type: ClassVar[str]
    request_id: str
    request: RequestBody


class _Body(Snake, tag_field="subtype"):
    subtype: ClassVar[str]
    request_id: str
    pending_permission_requests: tuple[ControlRequest, ...] | None | UnsetType = UNSET
    """What still waits for an answer, as in the next two: a client that joins late can ask its user again."""
    pending_user_dialog_requests: tuple[ControlRequest, ...] | None | UnsetType = UNSET
    pending_elicitation_requests: tuple[ControlRequest, ...] | None | UnsetType = UNSET


class SuccessBody(_Body, tag="success"):
    """A request was granted; `view_reply` gives its payload a type."""

    response: Raw | UnsetType = UNSET


class ErrorBody(_Body, tag="error"):
    """A request was refused or failed."""

    error: str


class UnknownResponseBody(UnknownTagged):
    """A reply of an unknown subtype, which stands in `type`."""

    __slots__ = ()

    @property
    def subtype(self) -> str | None:
        """The same, as known replies have it."""
        return self.type


ResponseBody = Open[SuccessBody | ErrorBody, UnknownResponseBody]
"""A reply, told by `subtype`."""


class ControlResponse(Snake, tag_field="type", tag="control_response"):
    """The answer to a request."""

    type: ClassVar[str]
    response: ResponseBody

    @classmethod
    def success(cls, request_id: str, reply: object = UNSET) -> ControlResponse:
        """Return the answer that grants a request; `reply` is anything that can be written as JSON."""
        payload = UNSET if reply is UNSET else Raw(encode_value(reply))
        return cls(response=SuccessBody(request_id=request_id, response=payload))

    @classmethod
    def failure(cls, request_id: str, error: str) -> ControlResponse:
        """Return the answer that refuses a request."""
        return cls(response=ErrorBody(request_id=request_id, error=error))


class FlatBody(Snake):
    """A reply as spec 001 has it: a result or an error, and no subtype."""

    request_id: str
    result: Raw | UnsetType = UNSET
    error: str | None | UnsetType = UNSET

    def nested(self) -> SuccessBody | ErrorBody:
        """Return the same reply in today's form; an error outweighs a result."""
        if isinstance(self.error, str):
            return ErrorBody(request_id=self.request_id, error=self.error)
        return SuccessBody(request_id=self.request_id, response=self.result)


class FlatControlResponse(Snake, tag_field="type", tag="control_response"):
    """The answer to a request as spec 001 has it; read, never written."""

    type: ClassVar[str]
    response: FlatBody

    def nested(self) -> ControlResponse:
        """Return the same answer in today's form."""
        return ControlResponse(response=self.response.nested())


class ControlCancelRequest(Snake, tag_field="type", tag="control_cancel_request"):
    """The sender of a request withdraws it; no answer is due any more."""

    type: ClassVar[str]
    request_id: str


class KeepAlive(Snake, tag_field="type", tag="keep_alive"):
    """A sign of life, to be ignored."""

    type: ClassVar[str]
    startup_mark: Raw | UnsetType = UNSET
    """Of sessions that are started in advance; not documented."""


class UnknownControlMessage(UnknownTagged):
    """A frame of an unknown type."""

    __slots__ = ()


ControlFrame = Open[
    ControlRequest | ControlResponse | ControlCancelRequest | KeepAlive,
    UnknownControlMessage,
]
"""The frames in today's form: a type that a decoder takes."""

ControlMessage = ControlRequest | ControlResponse | FlatControlResponse | ControlCancelRequest | KeepAlive
"""Everything that can be read; `view_message` decodes it."""

CONTROL_TYPES: Mapping[str, tuple[type[Value], ...]] = MappingProxyType(
    {
        "control_request": (ControlRequest,),
        "control_response": (ControlResponse, FlatControlResponse),
        "control_cancel_request": (ControlCancelRequest,),
        "keep_alive": (KeepAlive,),
    }
)
"""The classes of each `type`, today's form first."""


def view_message(raw: bytes | Raw) -> View[ControlMessage]:
    """Decode a frame in today's form or in that of spec 001; never raises."""
    seen = view(ControlFrame, raw)
    text, _ = repair_text(seen.raw)
    return view(FlatControlResponse, raw) if seen.problems and is_flat(split_object(text) or {}) else seen


def is_flat(frame: Mapping[str, Raw]) -> bool:
    """Tell whether a frame, given by its members, is a reply as spec 001 has it: its body has no subtype."""
    if text_of(frame.get("type")) != "control_response" or "response" not in frame:
        return False
    body = split_object(frame["response"])
    return body is not None and "subtype" not in body


class Sender(Enum):
    """Who sends a request."""

    HOST = "host"
    CLI = "cli"
    BOTH = "both"


class RequestKind(Struct, frozen=True):
    """What is known of a request of one subtype."""

    request: type[Value]
    reply: object = Raw
    """The type of the payload; `Raw` where it is untyped or nothing but a yes."""
    sender: Sender = Sender.HOST
    spec001: bool = False
    """Whether spec 001 lists the subtype."""


REQUESTS: Mapping[str, RequestKind] = MappingProxyType(
    {
        "can_use_tool": RequestKind(requests.CanUseToolRequest, PermissionResult, Sender.CLI, True),
        "hook_callback": RequestKind(requests.HookCallbackRequest, HookJSONOutput, Sender.CLI, True),
        "initialize": RequestKind(requests.InitializeRequest, requests.InitializeReply, spec001=True),
        "interrupt": RequestKind(requests.InterruptRequest, requests.InterruptReply, spec001=True),
        "mcp_message": RequestKind(requests.McpMessageRequest, requests.McpMessageReply, Sender.BOTH, True),
        "mcp_set_servers": RequestKind(
            requests.McpSetServersRequest, requests.McpSetServersReply, spec001=True
        ),
        "mcp_status": RequestKind(requests.McpStatusRequest, requests.McpStatusReply, spec001=True),
        "rewind_files": RequestKind(requests.RewindFilesRequest, requests.RewindFilesReply, spec001=True),
        "set_max_thinking_tokens": RequestKind(requests.SetMaxThinkingTokensRequest, spec001=True),
        "set_model": RequestKind(requests.SetModelRequest, spec001=True),
        "set_permission_mode": RequestKind(requests.SetPermissionModeRequest, spec001=True),
        "mcp_reconnect": RequestKind(requests.McpReconnectRequest, spec001=True),
        "mcp_toggle": RequestKind(requests.McpToggleRequest, spec001=True),
        "stop_task": RequestKind(requests.StopTaskRequest),
        "apply_flag_settings": RequestKind(requests.ApplyFlagSettingsRequest),
        "elicitation": RequestKind(requests.ElicitationRequest, requests.ElicitationReply, Sender.CLI),
        "get_settings": RequestKind(requests.GetSettingsRequest),
        "cancel_async_message": RequestKind(requests.CancelAsyncMessageRequest),
        "get_context_usage": RequestKind(requests.GetContextUsageRequest, requests.ContextUsageReply),
        "reload_plugins": RequestKind(requests.ReloadPluginsRequest, requests.ReloadPluginsReply),
        "seed_read_state": RequestKind(requests.SeedReadStateRequest),
        "rename_session": RequestKind(requests.RenameSessionRequest),
        "request_user_dialog": RequestKind(requests.UserDialogRequest, requests.UserDialogReply, Sender.CLI),
        "file_suggestions": RequestKind(requests.FileSuggestionsRequest),
        "get_binary_version": RequestKind(requests.GetBinaryVersionRequest),
        "get_session_cost": RequestKind(requests.GetSessionCostRequest),
        "mcp_call": RequestKind(requests.McpCallRequest),
        "read_file": RequestKind(requests.ReadFileRequest, requests.ReadFileReply),
        "set_color": RequestKind(requests.SetColorRequest),
        "background_tasks": RequestKind(requests.BackgroundTasksRequest),
        "get_usage": RequestKind(requests.GetUsageRequest, requests.UsageReply),
        "register_repo_root": RequestKind(requests.RegisterRepoRootRequest),
        "reload_skills": RequestKind(requests.ReloadSkillsRequest, requests.ReloadSkillsReply),
        "list_models": RequestKind(requests.ListModelsRequest),
        "get_plan": RequestKind(requests.GetPlanRequest),
        "get_workspace_diff": RequestKind(requests.GetWorkspaceDiffRequest),
        "update_settings": RequestKind(requests.UpdateSettingsRequest),
        "get_hooks_listing": RequestKind(requests.GetHooksListingRequest, requests.HooksListingReply),
        "list_permission_rules": RequestKind(
            requests.ListPermissionRulesRequest, requests.PermissionRulesReply
        ),
        "reload_output_styles": RequestKind(
            requests.ReloadOutputStylesRequest, requests.ReloadOutputStylesReply
        ),
        "get_task_output": RequestKind(requests.GetTaskOutputRequest, requests.TaskOutputReply),
        "mcp_read_resource": RequestKind(requests.McpReadResourceRequest, requests.McpReadResourceReply),
        "set_has_subscribers": RequestKind(requests.SetHasSubscribersRequest),
    }
)
"""Every declared request by its subtype."""

_NOTHING = b"{}"


def subtype_of(request: Value | UnknownTagged) -> str | None:
    """Return the subtype of a request, known or not; None if it has none."""
    if isinstance(request, UnknownTagged):
        return request.type
    tag = request.__struct_config__.tag
    return tag if isinstance(tag, str) else None


def view_reply(subtype: str, raw: bytes | Raw | UnsetType) -> View[Reply]:
    """Look at the payload of a granted request as its subtype's type; never raises.

    A payload that is absent reads as an empty object. The value is an `UnknownReply` when the subtype is not
    known or the payload lacks what its type cannot do without.
    """
    data = _NOTHING if isinstance(raw, UnsetType) else bytes(raw)
    unknown = UnknownReply(data, subtype)
    kind = REQUESTS.get(subtype)
    if kind is None:
        problem = Problem(
            ProblemKind.UNKNOWN_TYPE, "the reply to a known request", f"`{subtype}`", (), unknown, data
        )
        return View(unknown, data, (problem,))
    seen: View[Any] = view_output(data) if kind.reply is HookJSONOutput else view(kind.reply, data)
    return View(unknown, data, seen.problems) if type(seen.value) is Unknown else seen


def view_hook_input(request: HookCallbackRequest) -> View[HookInput]:
    """Look at what a hook is told as its event's type; never raises."""
    return view(HookInput, b"" if request.input is UNSET else request.input)


def view_call(request: CanUseToolRequest) -> View[ToolInput]:
    """Look at the input of the call that is asked about as its tool's type; never raises."""
    return view_input(ToolUseBlock(name=request.tool_name, input=request.input))


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
