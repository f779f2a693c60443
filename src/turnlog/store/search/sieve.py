"""A glance at the bytes of a line before it is decoded: most that hold no hit are told by it.

What is searched of a line stands in it as JSON writes it. So where a term as JSON would write it is nowhere
in the bytes, there is no hit, unless they are not all plain: an escape can stand for any character, and some
characters become others in the normal form.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from msgspec import json

from turnlog.store.search.language import And, Node, Or, Query, Term
from turnlog.store.search.normal import normalise

__all__ = ["Sieve"]

_ASCII = bytes(range(128))
_ESCAPES = (b"\\u", b"\\/")
"""What JSON may write otherwise."""
_LITERAL = frozenset({"answer", "thinking", "tool-input", "tool-output"})
"""The kinds of passages whose text is as it stands in the line."""
_Test = Callable[[bytes], bool]


class Sieve:
    """Tells lines that may have hits of a query from those that cannot."""

    def __init__(self, query: Query) -> None:
        self._test = _build(query.root)

    def lets_through(self, raw: bytes, kind: str) -> bool:
        """Tell whether a passage of a kind may be a hit, by the bytes of its line."""
        if self._test is None or kind not in _LITERAL:
            return True
        return self._test(raw.lower()) or any(escape in raw for escape in _ESCAPES) or not _is_plain(raw)


def _build(node: Node) -> _Test | None:
    """Return what tells whether a line in lower case may have what a node asks for; None if any may."""
    if isinstance(node, Term):
        return _build_term(node)
    if isinstance(node, And):
        tests = [test for test in map(_build, node.parts) if test is not None]
        return (lambda raw: all(test(raw) for test in tests)) if tests else None
    if isinstance(node, Or):
        found = [_build(part) for part in node.parts]
        tests = [test for test in found if test is not None]
        return (lambda raw: any(test(raw) for test in tests)) if len(tests) == len(found) else None
    return None


def _build_term(term: Term) -> _Test | None:
    try:
        pieces = [json.encode(piece)[1:-1].lower() for piece in normalise(term.needle).split()]
    except UnicodeEncodeError:  # half a character
        return None
    # One by one: white space in a passage may be that between several strings of the line.
    return (lambda raw: all(piece in raw for piece in pieces)) if pieces else None


def _is_plain(raw: bytes) -> bool:
    """Tell whether no character of a line becomes another in the normal form, but for capitals of ASCII."""
    if raw.isascii():
        return True
    try:
        foreign = set(raw.translate(None, _ASCII).decode())
    except UnicodeDecodeError:
        return False
    if foreign <= _settled:
        return True
    _settled.update(filter(_is_settled, foreign - _settled))
    return foreign <= _settled


_settled: set[str] = set()
"""Characters that are known to stay as they are."""


def _is_settled(character: str) -> bool:
    between = f"a{character}a"
    is_loose = unicodedata.category(character)[0] == "M" or "\u1100" <= character <= "\u11ff"
    return not is_loose and normalise(between) == between
