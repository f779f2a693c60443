"""The frames of the control protocol, and one side of the conversation that they make, without any I/O.

Either side sends a `ControlRequest`; the other answers with a `ControlResponse` that names the request. What
we write is always in today's form, a body told by `subtype`. Spec 001 knew a flatter body, `{request_id,
result}` or `{request_id, error}`: it is read, as a class of its own, and `nested` turns it into today's form.
The two forms share their `type`, so no single decoder takes both; `view_message` tells them apart.

A reply does not say what it is a reply to, so its payload stays raw until somebody who remembers the request
asks for it: `REQUESTS` says which request is answered with what, who sends it and whether spec 001 knew it,
and `view_reply` gives a payload the type that stands there.

Both sides send requests, answer those of the other, and withdraw their own. A `ControlPeer` knows what is
under way in both directions, who may send what, and when a request has waited too long. It writes nothing: it
gives back the frames to write, and turns the frames that came in into events, which are values.

What the other side does wrong is an event (`Fault`), with the answer that it deserves where there is one, and
changes nothing. What our own side does wrong raises `ProtocolError`, and changes nothing either. Time is the
caller's: every call that cares takes `now`, in seconds of any clock that only moves forward.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Mapping
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec import UNSET, Raw, Struct, UnsetType

from turnlog.errors import ProtocolError
from turnlog.messages.base import Open, Snake, Unknown, UnknownTagged, Value, encode_value
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
from turnlog.messages.permissions import PermissionResult
from turnlog.messages.salvage import Problem, ProblemKind, View, repair_text, split_object, text_of, view
from turnlog.messages.tool_io.registry import ToolInput, view_input


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


ControlFrame = Open[
    ControlRequest | ControlResponse | ControlCancelRequest | KeepAlive,
    UnknownControlMessage,
]
"""The frames in today's form: a type that a decoder takes."""

ControlMessage = ControlRequest | ControlResponse | FlatControlResponse | ControlCancelRequest | KeepAlive
"""Everything that can be read; `view_message` decodes it."""

CONTROL_TYPES: Mapping[str, tuple[type[Value], ...]] = {
    "control_request": (ControlRequest,),
    "control_response": (ControlResponse, FlatControlResponse),
    "control_cancel_request": (ControlCancelRequest,),
    "keep_alive": (KeepAlive,),
}
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


REQUESTS: Mapping[str, RequestKind] = {
    "can_use_tool": RequestKind(requests.CanUseToolRequest, PermissionResult, Sender.CLI, True),
    "hook_callback": RequestKind(requests.HookCallbackRequest, HookJSONOutput, Sender.CLI, True),
    "initialize": RequestKind(requests.InitializeRequest, requests.InitializeReply, spec001=True),
    "interrupt": RequestKind(requests.InterruptRequest, requests.InterruptReply, spec001=True),
    "mcp_message": RequestKind(requests.McpMessageRequest, requests.McpMessageReply, Sender.BOTH, True),
    "mcp_set_servers": RequestKind(requests.McpSetServersRequest, requests.McpSetServersReply, spec001=True),
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
    "list_permission_rules": RequestKind(requests.ListPermissionRulesRequest, requests.PermissionRulesReply),
    "reload_output_styles": RequestKind(requests.ReloadOutputStylesRequest, requests.ReloadOutputStylesReply),
    "get_task_output": RequestKind(requests.GetTaskOutputRequest, requests.TaskOutputReply),
    "mcp_read_resource": RequestKind(requests.McpReadResourceRequest, requests.McpReadResourceReply),
    "set_has_subscribers": RequestKind(requests.SetHasSubscribersRequest),
}
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


class _OfRequest(Struct, frozen=True):
    request_id: str
    request: Value | UnknownTagged


class Pending(_OfRequest, frozen=True):
    """A request that waits for its reply."""

    deadline: float | None = None


class Requested(_OfRequest, frozen=True):
    """The other side asks for something, and waits for `reply` or `fail`."""


class Replied(_OfRequest, frozen=True):
    """The other side answered our request."""

    body: SuccessBody | ErrorBody

    @property
    def error(self) -> str | None:
        """What went wrong on the other side, or None."""
        return self.body.error if isinstance(self.body, ErrorBody) else None

    def view(self) -> View[Any] | None:
        """Look at the payload as the type that this request is answered with; None if there is no payload."""
        if isinstance(self.body, SuccessBody) and isinstance(self.body.response, Raw):
            return view_reply(subtype_of(self.request) or "", self.body.response)
        return None


class Cancelled(_OfRequest, frozen=True):
    """The other side withdrew its request: stop, and do not answer."""


class TimedOut(_OfRequest, frozen=True):
    """Our request got no reply in time."""


class Lost(_OfRequest, frozen=True):
    """Our request got no reply before the conversation ended."""


class Ignored(Struct, frozen=True):
    """Nothing happened."""


class FaultKind(StrEnum):
    """What the other side did wrong."""

    DUPLICATE = "duplicate"
    """An id that is already in use, or a second reply."""
    LATE = "late"
    """A reply or cancel for a request that was cancelled, timed out or answered."""
    UNKNOWN = "unknown"
    """A reply or cancel for a request that never was."""
    MISDIRECTED = "misdirected"
    """A request that this side may not send, or a reply or cancel for the wrong side's request."""
    UNKNOWN_SUBTYPE = "unknown-subtype"


class Fault(Struct, frozen=True):
    """The other side broke the protocol; nothing changed."""

    kind: FaultKind
    request_id: str | None
    reason: str
    answer: ControlResponse | None = None
    """What to send back, where the other side waits for it."""


Event = Requested | Replied | Cancelled | TimedOut | Lost | Ignored | Fault


_REMEMBERED = 1024
"""How many ended requests are remembered, to tell a late reply from one that nobody asked for."""


class ControlPeer:
    """The state of the control conversation, as one side sees it."""

    def __init__(self, side: Sender) -> None:
        if side is Sender.BOTH:
            raise ValueError("a peer is one side: host or cli")
        self.side = side
        self.other = Sender.CLI if side is Sender.HOST else Sender.HOST
        self._sent: dict[str, Pending] = {}
        self._received: dict[str, Pending] = {}
        self._ended_sent: OrderedDict[str, str] = OrderedDict()
        self._ended_received: OrderedDict[str, str] = OrderedDict()

    @property
    def sent(self) -> Mapping[str, Pending]:
        """Our requests that wait for a reply, by id."""
        return MappingProxyType(self._sent)

    @property
    def received(self) -> Mapping[str, Pending]:
        """The other side's requests that wait for our reply, by id."""
        return MappingProxyType(self._received)

    def request(
        self, request: RequestBody, *, now: float, timeout: float | None = None, request_id: str | None = None
    ) -> ControlRequest:
        """Return the frame that asks for `request`; it times out `timeout` seconds from `now`, if at all."""
        request_id = request_id or str(uuid.uuid4())
        if request_id in self._sent:
            raise ProtocolError("this id is already in use", request_id)
        subtype = subtype_of(request)
        if not _may_send(self.side, subtype):
            raise ProtocolError(f"{self.side.value} may not send `{subtype}`", request_id)
        deadline = None if timeout is None else now + timeout
        self._sent[request_id] = Pending(request_id, request, deadline)
        self._ended_sent.pop(request_id, None)
        return ControlRequest(request_id=request_id, request=request)

    def cancel(self, request_id: str) -> ControlCancelRequest:
        """Return the frame that withdraws our own request; a reply that still comes is late."""
        if request_id not in self._sent:
            raise ProtocolError(_absent("sent", self._ended_sent.get(request_id)), request_id)
        self._end_sent(request_id, "cancelled")
        return ControlCancelRequest(request_id=request_id)

    def reply(self, request_id: str, payload: Value | Raw | None = None) -> ControlResponse:
        """Return the frame that answers a request of the other side; without a payload it acknowledges."""
        # Written out first: what cannot be written must not end the request.
        frame = ControlResponse.success(request_id, UNSET if payload is None else payload)
        self._answer(request_id)
        return frame

    def fail(self, request_id: str, error: str) -> ControlResponse:
        """Return the frame that answers a request of the other side with an error."""
        self._answer(request_id)
        return ControlResponse.failure(request_id, error)

    def expire(self, now: float) -> list[Event]:
        """End our requests whose time is up."""
        late = [one for one in self._sent.values() if one.deadline is not None and one.deadline <= now]
        for one in late:
            self._end_sent(one.request_id, "timed out")
        return [TimedOut(one.request_id, one.request) for one in late]

    def close(self) -> list[Event]:
        """End the conversation: our requests are lost, the other side's need no answer any more."""
        lost: list[Event] = [Lost(one.request_id, one.request) for one in self._sent.values()]
        for request_id in list(self._sent):
            self._end_sent(request_id, "lost")
        for request_id in list(self._received):
            self._answer(request_id)
        return lost

    def next_deadline(self) -> float | None:
        """Return when `expire` has something to do, or None."""
        return min((one.deadline for one in self._sent.values() if one.deadline is not None), default=None)

    def receive(self, frame: ControlMessage) -> Event:
        """Take in a frame of the other side."""
        match frame:
            case KeepAlive():
                return Ignored()
            case ControlRequest():
                return self._receive_request(frame)
            case ControlCancelRequest():
                return self._receive_cancel(frame.request_id)
            case FlatControlResponse():
                return self._receive_reply(frame.nested())
            case ControlResponse():
                return self._receive_reply(frame)

    def _receive_request(self, frame: ControlRequest) -> Event:
        request_id, subtype = frame.request_id, subtype_of(frame.request)
        if request_id in self._received:
            reason = "this id is already in use"
            # The first one is still to be answered under this id: an error now would end it at the sender.
            return Fault(FaultKind.DUPLICATE, request_id, reason)
        if isinstance(frame.request, UnknownTagged):
            reason = f"unknown request `{subtype}`"
            return Fault(
                FaultKind.UNKNOWN_SUBTYPE, request_id, reason, ControlResponse.failure(request_id, reason)
            )
        if not _may_send(self.other, subtype):
            reason = f"{self.other.value} may not send `{subtype}`"
            return Fault(FaultKind.MISDIRECTED, request_id, reason, ControlResponse.failure(request_id, reason))
        self._received[request_id] = Pending(request_id, frame.request, None)
        self._ended_received.pop(request_id, None)
        return Requested(request_id, frame.request)

    def _receive_reply(self, frame: ControlResponse) -> Event:
        body = frame.response
        if not isinstance(body, SuccessBody | ErrorBody):
            return Fault(FaultKind.UNKNOWN_SUBTYPE, None, f"unknown reply `{body.type}`")
        pending = self._sent.get(body.request_id)
        if pending is not None:
            self._end_sent(body.request_id, "answered")
            return Replied(body.request_id, pending.request, body)
        if body.request_id in self._received:
            reason = "a reply to the other side's own request"
            return Fault(FaultKind.MISDIRECTED, body.request_id, reason)
        return _stray("a reply", body.request_id, self._ended_sent.get(body.request_id))

    def _receive_cancel(self, request_id: str) -> Event:
        pending = self._received.pop(request_id, None)
        if pending is not None:
            _remember(self._ended_received, request_id, "cancelled")
            return Cancelled(request_id, pending.request)
        if request_id in self._sent:
            return Fault(FaultKind.MISDIRECTED, request_id, "the other side cancels what is not its own")
        return _stray("a cancel", request_id, self._ended_received.get(request_id))

    def _answer(self, request_id: str) -> None:
        if request_id not in self._received:
            raise ProtocolError(_absent("received", self._ended_received.get(request_id)), request_id)
        del self._received[request_id]
        _remember(self._ended_received, request_id, "answered")

    def _end_sent(self, request_id: str, how: str) -> None:
        del self._sent[request_id]
        _remember(self._ended_sent, request_id, how)


def _may_send(side: Sender, subtype: str | None) -> bool:
    kind = REQUESTS.get(subtype or "")
    # What nobody declared may be new: it is for the other side to refuse.
    return kind is None or kind.sender in (side, Sender.BOTH)


def _absent(direction: str, ended: str | None) -> str:
    return f"no such request was {direction}" if ended is None else f"the request was {ended} already"


def _stray(what: str, request_id: str, ended: str | None) -> Fault:
    if ended is None:
        return Fault(FaultKind.UNKNOWN, request_id, f"{what} to a request that never was")
    kind = FaultKind.DUPLICATE if ended == "answered" and what == "a reply" else FaultKind.LATE
    return Fault(kind, request_id, f"{what} to a request that was {ended}")


def _remember(ended: OrderedDict[str, str], request_id: str, how: str) -> None:
    ended[request_id] = how
    ended.move_to_end(request_id)
    if len(ended) > _REMEMBERED:
        ended.popitem(last=False)
