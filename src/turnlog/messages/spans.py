"""Where the values of a JSON text stand, in bytes, and changing one in place.

Decoders say what a text means, not where. Changing one value and leaving every other byte alone, and naming
the place of a problem, need the place. The scanner trusts nothing: on text that is not JSON it finds nothing.
It walks with a depth counter, not with recursion, so nesting costs no stack.

Encoding a changed struct would drop its unknown fields, reorder its keys and rewrite `1e5` as `100000.0`. So
`patch` walks the old and the new value side by side with the text, and everything that is equal keeps its
bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from turnlog.errors import ChangeError
from turnlog.messages.base import UNSET, encode_value

Step = str | int
Path = tuple[Step, ...]

_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(rb"[ \t\n\r]*+")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^ \t\n\r,:\[\]{}\"]++")
_TO_STRUCTURE = re.compile(rb"[^\"\[\]{}]*+([\"\[\]{}])")
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*")


class Span(NamedTuple):
    """A value's bytes: `text[start:end]`."""

    start: int
    end: int


class Member(NamedTuple):
    """One `"key": value` of an object."""

    key: str
    key_start: int
    value: Span


class _NotJsonError(Exception):
    pass


def find_span(text: bytes, path: Path) -> Span | None:
    """Return where the value at `path` stands, or None. Of repeated keys the last counts, as for decoders."""
    try:
        span = _value(text, 0)
        for step in path:
            span = _step(text, span, step)
    except (_NotJsonError, LookupError):
        return None
    return span


def list_members(text: bytes, start: int = 0) -> list[Member]:
    """Return the members of the object at `start`, in order, repeats included; none if it is no object."""
    try:
        return list(_members(text, start))
    except _NotJsonError:
        return []


def list_items(text: bytes, start: int = 0) -> list[Span]:
    """Return the items of the array at `start`; none if it is no array."""
    try:
        return list(_items(text, start))
    except _NotJsonError:
        return []


def list_values(text: bytes) -> list[Span]:
    """Return the values that stand one after another in `text`, up to the first that is not whole."""
    spans: list[Span] = []
    at = _skip_space(text, 0)
    while at < len(text):
        try:
            span = _value(text, at)
        except _NotJsonError:
            break
        spans.append(span)
        at = _skip_space(text, span.end)
    return spans


def render_path(path: Path) -> str:
    """Return `path` as a JSON path."""
    return "$" + "".join(_render_step(step) for step in path)


def _render_step(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN_KEY.fullmatch(step) else f"[{json.dumps(step)}]"


def _step(text: bytes, span: Span, step: Step) -> Span:
    if isinstance(step, int):
        return list(_items(text, span.start))[step]
    found = [member.value for member in _members(text, span.start) if member.key == step]
    return found[-1]


def _members(text: bytes, start: int) -> Iterator[Member]:
    at = _open(text, start, b"{", b"}")
    while at is not None:
        key_start = at
        key_end = _string(text, at)
        at = _expect(text, _skip_space(text, key_end), b":")
        value = _value(text, _skip_space(text, at))
        yield Member(_decode_key(text[key_start:key_end]), key_start, value)
        at = _next(text, value.end, b"}")


def _items(text: bytes, start: int) -> Iterator[Span]:
    at = _open(text, start, b"[", b"]")
    while at is not None:
        value = _value(text, at)
        yield value
        at = _next(text, value.end, b"]")


def _open(text: bytes, start: int, opening: bytes, closing: bytes) -> int | None:
    at = _skip_space(text, _expect(text, _skip_space(text, start), opening))
    return None if text[at : at + 1] == closing else at


def _next(text: bytes, at: int, closing: bytes) -> int | None:
    at = _skip_space(text, at)
    if text[at : at + 1] == closing:
        return None
    return _skip_space(text, _expect(text, at, b","))


def _expect(text: bytes, at: int, token: bytes) -> int:
    if text[at : at + 1] != token:
        raise _NotJsonError
    return at + 1


def _skip_space(text: bytes, at: int) -> int:
    if at == 0 and text.startswith(_BOM):
        at = len(_BOM)
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _string(text: bytes, at: int) -> int:
    match = _STRING.match(text, at)
    if match is None:
        raise _NotJsonError
    return match.end()


def _value(text: bytes, at: int) -> Span:
    start = _skip_space(text, at)
    first = text[start : start + 1]
    if first == b'"':
        return Span(start, _string(text, start))
    if first in (b"{", b"["):
        return Span(start, _container_end(text, start))
    match = _SCALAR.match(text, start)
    if match is None:
        raise _NotJsonError
    return Span(start, match.end())


def _container_end(text: bytes, start: int) -> int:
    at, depth = start, 0
    while True:
        match = _TO_STRUCTURE.match(text, at)
        if match is None:
            raise _NotJsonError
        token, at = match[1], match.end()
        if token == b'"':
            at = _string(text, at - 1)
        elif token in b"{[":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return at


def _decode_key(quoted: bytes) -> str:
    try:
        return str(json.loads(quoted.decode("utf-8", "surrogateescape"), strict=False))
    except ValueError:
        raise _NotJsonError from None


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


def _write_value(text: bytes, span: Span, old: Any, new: Any) -> bytes:
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
    return text[member.key_start : member.value.start] + _write_value(text, member.value, before, after)


def _array(text: bytes, span: Span, old: Sequence[Any], new: Sequence[Any]) -> bytes:
    spans = list_items(text, span.start)
    if len(old) == len(new):
        pieces = [_write_value(text, at, a, b) for at, a, b in zip(spans, old, new, strict=True)]
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
