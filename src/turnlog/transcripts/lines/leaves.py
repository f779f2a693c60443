"""The text in JSON: what its strings and numbers say, without names of members."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Raw

from turnlog.messages.base import REFUSALS, UNSET, encode_value

PLUMBING = frozenset(
    {
        "type",
        "toolUseID",
        "tool_use_id",
        "session_id",
        "sessionId",
        "transcript_path",
        "agent_transcript_path",
        "permission_mode",
        "cwd",
        "signature",
        "encrypted_content",
        "encrypted_stdout",
        "citations",
        "cache_control",
        "media_type",
        "base64",
    }
)
"""Members that say nothing to anybody."""

_LONG = 512
_BASE64 = re.compile(r"[A-Za-z0-9+/_=\r\n-]+").fullmatch
_decode = msgspec.json.Decoder(float_hook=str).decode  # numbers as they are written


def json_text(data: bytes | Raw, skipped: frozenset[str] = frozenset()) -> str:
    """Return the text in JSON, a line for each leaf; what cannot be decoded is text as a whole."""
    try:
        found = _decode(data)
    except REFUSALS:  # a number that is too large, or what is nested too deeply
        return bytes(data).decode("utf-8", "replace")
    return "\n".join(list_leaves(found, skipped))


def value_text(value: object) -> str:
    """Return the text of a typed value, each leaf once: many say the same in several places."""
    if value is None or value is UNSET:
        return ""
    return "\n".join(dict.fromkeys(list_leaves(_decode(encode_value(value)), PLUMBING)))


def list_leaves(value: Any, skipped: frozenset[str] = frozenset()) -> list[str]:
    """Return the strings and numbers in a decoded value, in order; base64 is neither."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind is str:
            if len(value) < _LONG or not _BASE64(value):
                found.append(value)
        elif kind is dict:
            if skipped and value.get("type") == "base64":  # an image, or a document
                continue
            names = [name for name in value if name not in skipped] if skipped else [*value]
            waiting += [value[name] for name in reversed(names)]
        elif kind is list:
            waiting += reversed(value)
        elif kind is int:
            found.append(str(value))
    return found
