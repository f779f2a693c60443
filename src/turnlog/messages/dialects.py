"""Which dialect a line is written in, told from the line alone.

Today's files are the rule and are tried first; this is asked only about lines that do not fit them. The specs'
older dialects share type names with today's, so the evidence is in the keys and in the form of two values. A
line that is broken is of the dialect that it is nearest to.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import get_args

from msgspec import Raw

from turnlog.messages.channels import is_control, is_hook, is_stream
from turnlog.messages.salvage import text_of
from turnlog.messages.system import SystemSubtype

__all__ = ["Dialect", "detect"]


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
    if is_hook(members):
        return Dialect.HOOK
    if is_control(type_):
        return Dialect.CONTROL
    message = _form(members.get("message"))
    if type_ in _STORED_TYPES or (type_ == "system" and _is_exported(members)):
        stored = _detect_stored(members, type_, message)
        if stored is not None:
            return stored
    if is_stream(members, type_):
        return Dialect.STREAM
    if type_ in _TYPES_004 or _is_spec_004(members, type_, message):
        return Dialect.SPEC_004
    if type_ == "compact_system" or _is_spec_000(members, type_, message):
        return Dialect.SPEC_000
    return Dialect.CLAUDE_CODE


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
