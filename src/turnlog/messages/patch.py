"""Changing a value in place: only the bytes of what differs are written anew.

Encoding a changed struct would drop its unknown fields, reorder its keys and rewrite `1e5` as `100000.0`. So
the old and the new value are walked side by side with the text, and everything that is equal keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from turnlog.errors import ChangeError
from turnlog.messages.base import UNSET, encode_value
from turnlog.messages.spans import Member, Span, find_span, list_items, list_members

__all__ = ["encode_value", "members_of", "patch"]


def patch(text: bytes, old: Mapping[str, Any], new: Mapping[str, Any]) -> bytes:
    """Return the object `text` with the members that differ between `old` and `new` changed, by wire name."""
    span = find_span(text, ())
    if span is None:
        raise ChangeError("not one JSON object")
    return text[: span.start] + _object(text, span, old, new) + text[span.end :]


def members_of(value: Struct, among: type[Struct] | None = None) -> dict[str, Any]:
    """Return a struct's fields by their wire names."""
    cls = among or type(value)
    pairs = zip(cls.__struct_encode_fields__, cls.__struct_fields__, strict=True)
    return {wire: getattr(value, name) for wire, name in pairs}


def _same(old: Any, new: Any) -> bool:
    """Tell equal values from equal-looking ones: `1`, `1.0` and `true` differ."""
    return old is new or (old == new and encode_value(old) == encode_value(new))


def _value(text: bytes, span: Span, old: Any, new: Any) -> bytes:
    if _same(old, new):
        return text[slice(*span)]
    if isinstance(new, Struct) and type(old) is type(new):
        return _object(text, span, members_of(old), members_of(new))
    if isinstance(new, dict) and isinstance(old, dict):
        gone = dict.fromkeys(old, UNSET)
        return _object(text, span, old, gone | new)
    if isinstance(new, tuple | list) and isinstance(old, tuple | list):
        return _array(text, span, old, new)
    return encode_value(new)


def _object(text: bytes, span: Span, old: Mapping[str, Any], new: Mapping[str, Any]) -> bytes:
    members = list_members(text, span.start)
    last = {member.key: index for index, member in enumerate(members)}
    pieces = [
        _member(text, member, old, new, counts=last[member.key] == index)
        for index, member in enumerate(members)
    ]
    colon = _colon(text, members)
    added = [
        encode_value(key) + colon + encode_value(value)
        for key, value in new.items()
        if key not in last and value is not UNSET
    ]
    return _assemble(
        text, span, [Span(member.key_start, member.value.end) for member in members], pieces, added
    )


def _assemble(
    text: bytes, span: Span, elements: Sequence[Span], pieces: Sequence[bytes | None], added: Sequence[bytes]
) -> bytes:
    """Put an object or array together again: each element that stays keeps what stands before it."""
    comma = text[elements[0].end : elements[1].start] if len(elements) > 1 else b","
    inside: list[bytes] = []
    for index, piece in enumerate(pieces):
        if piece is not None:
            inside += [text[elements[index - 1].end : elements[index].start], piece] if inside else [piece]
    for piece in added:
        inside += [comma, piece] if inside else [piece]
    first, behind = (elements[0].start, elements[-1].end) if elements else (span.start + 1, span.start + 1)
    return text[span.start : first] + b"".join(inside) + text[behind : span.end]


def _member(
    text: bytes, member: Member, old: Mapping[str, Any], new: Mapping[str, Any], counts: bool
) -> bytes | None:
    """Return one `"key": value`, or None if it is to go; of repeated keys only the last may change."""
    before, after = old.get(member.key, UNSET), new.get(member.key, UNSET)
    if after is UNSET:
        # A value of the wrong type reads as absent: it is not for a change elsewhere to remove it.
        gone = member.key in new and before is not UNSET
        return None if gone else text[member.key_start : member.value.end]
    if not counts:
        return text[member.key_start : member.value.end]
    return text[member.key_start : member.value.start] + _value(text, member.value, before, after)


def _array(text: bytes, span: Span, old: Sequence[Any], new: Sequence[Any]) -> bytes:
    spans = list_items(text, span.start)
    if len(old) == len(new):
        pieces = [_value(text, at, a, b) for at, a, b in zip(spans, old, new, strict=True)]
        return _assemble(text, span, spans, pieces, ())
    return _assemble(text, span, spans, [None] * len(spans), [_item(text, spans, old, item) for item in new])


def _item(text: bytes, spans: Sequence[Span], old: Sequence[Any], item: Any) -> bytes:
    for span, known in zip(spans, old, strict=True):
        if _same(known, item):
            return text[slice(*span)]
    return encode_value(item)


def _colon(text: bytes, members: Sequence[Member]) -> bytes:
    """Return how this object writes its colons."""
    if not members:
        return b":"
    head = text[members[0].key_start : members[0].value.start]
    return head[head.rindex(b'"') + 1 :]
