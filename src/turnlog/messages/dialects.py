"""Which dialect a line is written in, told from the line alone, and which type reads a line of the other
channels.

Today's session files are the rule and are tried first; this is asked only about lines that do not fit them.
The SDK's stream, its control protocol and what hooks are told share type names with session files (`user`,
`assistant`, `system`, `result`), and so do the specs' older dialects. So the evidence is in the keys and in
the form of two values: the stream names its session in snake_case alone, a hook's payload names its event. A
line that is broken is of the dialect that it is nearest to.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import get_args

from msgspec import Raw

from turnlog.messages.base import Value
from turnlog.messages.control.frames import CONTROL_TYPES, ControlMessage, FlatControlResponse, is_flat
from turnlog.messages.entries import Entry
from turnlog.messages.hook_events import HOOK_EVENTS, BaseHookInput
from turnlog.messages.salvage import text_of
from turnlog.messages.sdk.messages import StreamMessage
from turnlog.messages.sdk.stream import STREAM_TYPES, SYSTEM_SUBTYPES, StreamHead, find_class
from turnlog.messages.system import SystemSubtype

__all__ = [
    "AnyEntry",
    "Dialect",
    "detect",
    "find_control_type",
    "find_hook_type",
    "find_stream_type",
]


AnyEntry = Entry | StreamMessage | ControlMessage | BaseHookInput
"""What a line can be: an entry of a session file, or a message of one of the other channels."""


class Dialect(StrEnum):
    """How a line is written."""

    CLAUDE_CODE = "claude-code"
    """Today's session files."""
    SPEC_000 = "spec-000"
    """Text in `message`, calls in `toolName` and `toolArguments`, results in system lines."""
    SPEC_003_EXTRACTED = "spec-003-extracted"
    """A call or a result taken out of its message, as a line of its own."""
    SPEC_003_DOCUMENT = "spec-003-document"
    """A message as a database keeps it: `_id`, `messageData`, `costUsd`, `createdAt`."""
    SPEC_003_API = "spec-003-api"
    """The same as an HTTP API gives it, in snake_case."""
    SPEC_004 = "spec-004"
    """`human` and `tool_result` lines, times in milliseconds."""
    STREAM = "stream-json"
    """Messages of the SDK's stream."""
    CONTROL = "control"
    """Frames of the SDK's control protocol."""
    HOOK = "hook"
    """What a hook is told."""
    UNKNOWN = "unknown"
    """Nothing that could be read."""


_SHARED_TYPES = frozenset({"user", "assistant", "system", "result"})
"""The stream's and the disk's."""
_HOOK_KEY = "hook_event_name"
_STORED_TYPES = frozenset({"user", "assistant", "tool_use", "tool_result", "summary"})
_DOCUMENT_KEYS = frozenset({"_id", "messageData", "costUsd", "createdAt"})
_API_KEYS = frozenset(
    {"parent_uuid", "cost_usd", "created_at", "message_uuid", "parent_uuid_alias", "session_id_alias"}
)
_TYPES_004 = frozenset({"human", "compact_prelude", "compact_recap"})
_SUBTYPES_000 = frozenset({"tool_result", "error", "meta"})
_SUBTYPES_TODAY = frozenset(cls.__struct_config__.tag for cls in get_args(SystemSubtype))
_KEYS_TODAY = frozenset({"cwd", "version", "gitBranch"})
"""What Claude Code writes on every line of a conversation, and spec 000 on none."""
_NUMBER_STARTS = frozenset(b"-0123456789"[i : i + 1] for i in range(11))
_ABSENT, _TEXT, _OBJECT = b"", b'"', b"{"


def detect(members: Mapping[str, Raw], type_: str | None) -> Dialect:
    """Return the dialect of an object, given its members and the value of `type`."""
    if _HOOK_KEY in members:
        return Dialect.HOOK
    if type_ in CONTROL_TYPES:
        return Dialect.CONTROL
    message = _form(members.get("message"))
    if type_ in _STORED_TYPES or (type_ == "system" and _is_exported(members)):
        stored = _detect_stored(members, type_, message)
        if stored is not None:
            return stored
    if _is_stream(members, type_):
        return Dialect.STREAM
    if type_ in _TYPES_004 or _is_spec_004(members, type_, message):
        return Dialect.SPEC_004
    if type_ == "compact_system" or _is_spec_000(members, type_, message):
        return Dialect.SPEC_000
    return Dialect.CLAUDE_CODE


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


def _detect_stored(members: Mapping[str, Raw], type_: str | None, message: bytes) -> Dialect | None:
    keys = members.keys()
    snake = "session_id" in keys and "sessionId" not in keys and "content" in keys
    if message == _ABSENT and (snake or keys & _API_KEYS):
        return Dialect.SPEC_003_API
    if keys & _DOCUMENT_KEYS:
        return Dialect.SPEC_003_DOCUMENT
    if message == _ABSENT and "content" in keys:
        extracted = type_ in ("tool_use", "tool_result")
        return Dialect.SPEC_003_EXTRACTED if extracted else Dialect.SPEC_003_DOCUMENT
    return None


def _is_exported(members: Mapping[str, Raw]) -> bool:
    """Tell whether an object is named as `turnlog export` names documents; those of the spec are no notices."""
    identity, uuid = text_of(members.get("_id")), text_of(members.get("uuid"))
    return bool(identity and uuid) and f":{identity}".endswith(f":{uuid}") and "subtype" not in members


def _is_stream(members: Mapping[str, Raw], type_: str | None) -> bool:
    if type_ in STREAM_TYPES and type_ not in _SHARED_TYPES:
        return True
    if type_ == "system":
        subtype = text_of(members.get("subtype"))
        if subtype in SYSTEM_SUBTYPES and subtype not in _SUBTYPES_TODAY:
            return "sessionId" not in members
    if type_ == "result" and "subtype" in members:
        return True
    snake = "session_id" in members or "parent_tool_use_id" in members
    return snake and "sessionId" not in members and type_ is not None


def _is_spec_004(members: Mapping[str, Raw], type_: str | None, message: bytes) -> bool:
    has_number = _form(members.get("timestamp")) in _NUMBER_STARTS
    if message != _OBJECT:
        return has_number and _is_broken(members, type_, message)
    match type_:
        case "tool_result":
            return True
        case "user" | "assistant":
            return has_number
        case "system":
            return text_of(members.get("subtype")) not in _SUBTYPES_TODAY
    return type_ is None and has_number and "sessionId" in members


def _is_spec_000(members: Mapping[str, Raw], type_: str | None, message: bytes) -> bool:
    is_foreign = members.keys().isdisjoint(_KEYS_TODAY)
    match type_:
        case "user" | "assistant":
            return message in (_ABSENT, _TEXT) or (is_foreign and message != _OBJECT)
        case "system":
            subtype = text_of(members.get("subtype"))
            if subtype in _SUBTYPES_000 or (message != _ABSENT and subtype not in _SUBTYPES_TODAY):
                return True
            return is_foreign and _is_broken(members, type_, message)
        case None:
            return is_foreign and "sessionId" in members and message in (_ABSENT, _TEXT)
    return False


def _is_broken(members: Mapping[str, Raw], type_: str | None, message: bytes) -> bool:
    """Tell whether the message that specs 000 and 004 ask for is missing, or of no form that they have."""
    match type_:
        case "user" | "assistant":
            return message not in (_ABSENT, _TEXT)
        case "system":
            return message == _ABSENT and members.keys().isdisjoint(("subtype", "content"))
    return False


def _form(raw: Raw | None) -> bytes:
    """Return the first byte of a value, which tells what it is."""
    return _ABSENT if raw is None else bytes(raw).lstrip(b" \t\n\r")[:1]
