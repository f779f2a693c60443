"""Which dialect a line is written in, told from the line alone.

Today's files are the rule and are tried first; this is asked only about lines that do not fit them. The specs'
older dialects share type names with today's, so the evidence is in the keys and in the form of two values.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Raw

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
    UNKNOWN = "unknown"
    """Nothing that could be read."""


_DOCUMENT_KEYS = frozenset({"_id", "messageData", "costUsd", "createdAt"})
_API_KEYS = frozenset(
    {"parent_uuid", "cost_usd", "created_at", "message_uuid", "parent_uuid_alias", "session_id_alias"}
)
_TYPES_004 = frozenset({"human", "compact_prelude", "compact_recap"})
_NUMBER_STARTS = b"-0123456789"


def detect(members: Mapping[str, Raw], type_: str | None) -> Dialect:
    """Return the dialect of an object, given its members and the value of `type`."""
    keys = members.keys()
    if keys & _API_KEYS:
        return Dialect.SPEC_003_API
    if keys & _DOCUMENT_KEYS:
        return Dialect.SPEC_003_DOCUMENT
    if "content" in keys and "message" not in keys:
        if type_ in ("tool_use", "tool_result"):
            return Dialect.SPEC_003_EXTRACTED
        if type_ in ("user", "assistant"):
            return Dialect.SPEC_003_DOCUMENT
    if type_ in _TYPES_004 or (type_ == "tool_result" and "message" in keys) or _timed_in_ms(members, type_):
        return Dialect.SPEC_004
    if _is_spec_000(members, type_):
        return Dialect.SPEC_000
    return Dialect.CLAUDE_CODE


def _timed_in_ms(members: Mapping[str, Raw], type_: str | None) -> bool:
    return type_ in ("user", "assistant", "system") and _first(members.get("timestamp")) in _NUMBER_STARTS


def _is_spec_000(members: Mapping[str, Raw], type_: str | None) -> bool:
    match type_:
        case "compact_system":
            return True
        case "system":
            return "message" in members
        case "user":
            return "message" not in members or _first(members["message"]) == b'"'
        case "assistant":
            return "message" not in members or _first(members["message"]) == b'"' or "toolName" in members
    return False


def _first(raw: Raw | None) -> bytes:
    """Return the first byte of a value, or one that starts no JSON value."""
    return b"#" if raw is None else bytes(raw).lstrip(b" \t\n\r")[:1]
