"""The frames of the control protocol: requests, replies, withdrawals, signs of life.

Either side sends a `ControlRequest`; the other answers with a `ControlResponse` that names the request. What we
write is always in today's form, a body told by `subtype`. Spec 001 knew a flatter body, `{request_id, result}`
or `{request_id, error}`: it is read, as a class of its own, and `nested` turns it into today's form. The two
forms share their `type`, so no single decoder takes both; `view_message` tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from turnlog.messages.base import UNSET, Open, Raw, Snake, UnknownTagged, UnsetType, Value
from turnlog.messages.control.requests import RequestBody
from turnlog.messages.patch import encode_value
from turnlog.messages.salvage import View, split_object, text_of, view
from turnlog.messages.text import repair_text


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
    """A request was granted; `registry.view_reply` gives its payload a type."""

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
