"""Lines that do not stand in session files: the SDK's stream, its control protocol, and what hooks are told.

The three share type names with session files (`user`, `assistant`, `system`, `result`), so the evidence is in
the keys: the stream names its session in snake_case alone, a hook's payload names its event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from msgspec import Raw

from turnlog.messages.base import Value
from turnlog.messages.control import CONTROL_TYPES, ControlMessage, FlatControlResponse, is_flat
from turnlog.messages.entries import Entry
from turnlog.messages.hook_events import HOOK_EVENTS, BaseHookInput
from turnlog.messages.salvage import text_of
from turnlog.messages.sdk import STREAM_TYPES, SYSTEM_SUBTYPES, StreamHead, StreamMessage, find_class
from turnlog.messages.system import SystemSubtype

__all__ = [
    "AnyEntry",
    "find_control_type",
    "find_hook_type",
    "find_stream_type",
    "is_control",
    "is_hook",
    "is_stream",
]

AnyEntry = Entry | StreamMessage | ControlMessage | BaseHookInput
"""What a line can be: an entry of a session file, or a message of one of the other channels."""

_SHARED_TYPES = frozenset({"user", "assistant", "system", "result"})
_SHARED_SUBTYPES = frozenset(str(cls.__struct_config__.tag) for cls in get_args(SystemSubtype))
_HOOK_KEY = "hook_event_name"


def is_hook(members: Mapping[str, Raw]) -> bool:
    """Tell whether an object is what a hook is told."""
    return _HOOK_KEY in members


def is_control(type_: str | None) -> bool:
    """Tell whether an object is a frame of the control protocol."""
    return type_ in CONTROL_TYPES


def is_stream(members: Mapping[str, Raw], type_: str | None) -> bool:
    """Tell whether an object is a message of the SDK's stream."""
    if type_ in STREAM_TYPES and type_ not in _SHARED_TYPES:
        return True
    if type_ == "system":
        subtype = text_of(members.get("subtype"))
        if subtype in SYSTEM_SUBTYPES and subtype not in _SHARED_SUBTYPES:
            return "sessionId" not in members
    if type_ == "result" and "subtype" in members:
        return True
    snake = "session_id" in members or "parent_tool_use_id" in members
    return snake and "sessionId" not in members and type_ is not None


def find_stream_type(members: Mapping[str, Raw], type_: str | None) -> tuple[type[Value] | None, str]:
    """Return the class of a message of the stream, or None, and the key that tells it."""
    echo = bytes(members.get("isReplay", b"")).strip() == b"true"
    cls = find_class(StreamHead(type=type_, subtype=text_of(members.get("subtype")), is_replay=echo))
    return cls, "subtype" if type_ == "system" else "type"


def find_control_type(members: Mapping[str, Raw], type_: str | None) -> tuple[type[Value] | None, str]:
    """Return the class of a frame, and the key that tells it; a reply without a subtype is spec 001's."""
    return FlatControlResponse if is_flat(members) else CONTROL_TYPES[type_ or ""][0], "type"


def find_hook_type(members: Mapping[str, Raw]) -> tuple[type[Value] | None, str]:
    """Return the class of a hook's payload, or None, and the key that tells it."""
    return HOOK_EVENTS.get(text_of(members[_HOOK_KEY]) or ""), _HOOK_KEY
