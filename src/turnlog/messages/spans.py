"""Where the values of a JSON text stand, in bytes.

Decoders say what a text means, not where. Changing one value and leaving every other byte alone, and naming
the place of a problem, need the place. The scanner trusts nothing: on text that is not JSON it finds nothing.
It walks with a depth counter, not with recursion, so nesting costs no stack.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = [
    "Member",
    "Path",
    "Span",
    "Step",
    "find_span",
    "list_items",
    "list_members",
    "list_values",
    "render_path",
]

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
