"""One side of the control conversation, without any I/O.

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
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from turnlog.errors import ProtocolError
from turnlog.messages.base import UNSET, Raw, UnknownTagged, Value
from turnlog.messages.control.frames import (
    REQUESTS,
    ControlCancelRequest,
    ControlMessage,
    ControlRequest,
    ControlResponse,
    ErrorBody,
    FlatControlResponse,
    KeepAlive,
    Sender,
    SuccessBody,
    subtype_of,
    view_reply,
)
from turnlog.messages.control.requests import RequestBody
from turnlog.messages.salvage import View


class Pending(Struct, frozen=True):
    """A request that waits for its reply."""

    request_id: str
    request: Value | UnknownTagged
    deadline: float | None = None


class Requested(Struct, frozen=True):
    """The other side asks for something, and waits for `reply` or `fail`."""

    request_id: str
    request: Value | UnknownTagged


class Replied(Struct, frozen=True):
    """The other side answered our request."""

    request_id: str
    request: Value | UnknownTagged
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


class Cancelled(Struct, frozen=True):
    """The other side withdrew its request: stop, and do not answer."""

    request_id: str
    request: Value | UnknownTagged


class TimedOut(Struct, frozen=True):
    """Our request got no reply in time."""

    request_id: str
    request: Value | UnknownTagged


class Lost(Struct, frozen=True):
    """Our request got no reply before the conversation ended."""

    request_id: str
    request: Value | UnknownTagged


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
