"""JSON without what is to be taken out: every string, names of fields too, at any depth."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from turnlog.export.redaction.redactor import Redactor

_LONGEST_NAMED = 200
_encode = msgspec.json.Encoder().encode


def redact_json(data: bytes, redactor: Redactor) -> bytes:
    """Return a JSON text without what is to be taken out; what is no JSON is treated as text."""
    value = _decode(data)
    if value is None:
        return redactor.redact(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return _write(_redact_value(value, redactor))


def list_strings(data: bytes) -> Iterator[str]:
    """Yield the strings of a JSON text, those that are names of fields too; what is no JSON is one string."""
    value = _decode(data)
    if value is None:
        yield data.decode("utf-8", "replace")
        return
    waiting: list[object] = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            for name, inner in each.items():
                if isinstance(inner, str):
                    # A name tells of a short value what it would tell in a text.
                    yield inner if len(inner) > _LONGEST_NAMED else f'{name}: "{inner}"'
                else:
                    yield str(name)
                    waiting.append(inner)
        elif isinstance(each, list):
            waiting += each


def _redact_value(value: object, redactor: Redactor) -> object:
    """Return a value without what is to be taken out; by a stack of its own, since data may be deep."""
    root: list[object] = [value]
    waiting: list[tuple[list[object] | dict[str, object], int | str]] = [(root, 0)]
    while waiting:
        holder, key = waiting.pop()
        each = holder[key]  # type: ignore[index]
        if isinstance(each, str):
            named = isinstance(key, str)
            new: object = redactor.redact_field(str(key), each) if named else redactor.redact(each)
            holder[key] = new  # type: ignore[index]
        elif isinstance(each, list):
            copied = list(each)
            holder[key] = copied  # type: ignore[index]
            waiting += [(copied, index) for index in range(len(copied))]
        elif isinstance(each, dict):
            renamed = {redactor.redact(name): inner for name, inner in each.items()}
            holder[key] = renamed  # type: ignore[index]
            waiting += [(renamed, name) for name in renamed]
    return root[0]


def _decode(data: bytes) -> object | None:
    try:
        value: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value


def _write(value: object) -> bytes:
    try:
        return _encode(value)
    except (UnicodeEncodeError, RecursionError):  # halves of characters, which JSON may escape
        return json.dumps(value).encode()
