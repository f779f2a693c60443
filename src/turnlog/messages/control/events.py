"""What happens in a control conversation, as values."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from turnlog.messages.base import Raw, UnknownTagged, Value
from turnlog.messages.control.envelopes import ControlResponse, ErrorBody, SuccessBody
from turnlog.messages.control.registry import subtype_of, view_reply
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
