"""What a payload says in a line about why the person is needed."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from turnlog.transcripts.hooks.phases import Why

__all__ = ["find_detail", "find_field", "is_object", "read_fields"]

_LONGEST = 300
_decode = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode

_OF_TOOLS = (
    "command",
    "file_path",
    "notebook_path",
    "url",
    "query",
    "pattern",
    "path",
    "description",
    "prompt",
)
"""The fields of a tool's input that say what is to be done, the most telling first."""


def is_object(payload: bytes) -> bool:
    """Tell whether a payload is a whole JSON object."""
    return _read(payload) is not None


def read_fields(payload: bytes | Raw) -> Mapping[str, Raw]:
    """Return the fields of an object; nothing if it is none."""
    return _read(payload) or {}


def _read(payload: bytes | Raw) -> Mapping[str, Raw] | None:
    try:
        return _decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def find_field(fields: Mapping[str, Raw], name: str) -> str | None:
    """Return a field's text; None if it is absent, or something else."""
    raw = fields.get(name)
    try:
        return None if raw is None else _decode_text(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def find_detail(payload: bytes, why: Why) -> str | None:
    """Return what a person wants to read first: the command, the question, the error, the last words."""
    fields = read_fields(payload)
    match why:
        case Why.PERMISSION | Why.QUESTION | Why.PLAN:
            said = _find_asked(fields) or find_field(fields, "message")
        case Why.FAILED:
            said = find_field(fields, "error_details") or find_field(fields, "error")
        case Why.TURN_ENDED:
            said = find_field(fields, "last_assistant_message")
        case Why.IDLE:
            said = find_field(fields, "message")
    return _shorten(said)


def _find_asked(fields: Mapping[str, Raw]) -> str | None:
    given = read_fields(fields.get("tool_input", b""))
    if "questions" in given:
        return _find_question(given["questions"])
    if "plan" in given:
        return find_field(given, "plan")
    return next(filter(None, (find_field(given, name) for name in _OF_TOOLS)), None)


def _find_question(questions: Raw) -> str | None:
    try:
        first = next(iter(_decode_list(questions)), Raw(b"{}"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return find_field(read_fields(first), "question")


def _shorten(text: str | None) -> str | None:
    if text is None:
        return None
    line = " ".join(text.split())
    return (line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…") or None
