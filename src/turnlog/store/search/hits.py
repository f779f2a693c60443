"""What a search gives: hits, each with its exact place, in pages."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from turnlog.errors import CursorError
from turnlog.store.identity import Place
from turnlog.store.search.snippets import Snippet

__all__ = ["Cursor", "Hit", "SearchOrder", "SearchPage", "TextKey", "decode_cursor", "encode_cursor"]

TextKey = tuple[int, int, int]
"""By which texts are ordered: their time, then two numbers of the engine's own that never change."""


class SearchOrder(StrEnum):
    """In which order hits come."""

    NEWEST = "newest"
    RELEVANCE = "relevance"
    """The best of the newest few thousand first."""


class Hit(Struct, frozen=True, gc=False, kw_only=True):
    """A passage that matches."""

    kind: str
    """A `PassageKind`."""
    session: str | None
    """The session's key; None for a hook delivery of a session that is not known."""
    session_id: str
    project: str | None
    title: str | None
    source: str | None
    """The file it is in; None for a hook delivery."""
    place: Place | None
    """Where its line is."""
    line: int | None
    """Which line of its file it is in, from 0."""
    ordinal: int
    """Which passage of the line it is."""
    message: int | None = None
    """The index of its message, among those of its file; None if the line belongs to none."""
    message_id: str | None = None
    call: int | None = None
    """The index of the call whose input or output it is, among those of its file."""
    tool: str | None = None
    role: str | None = None
    model: str | None = None
    agent_id: str | None = None
    delivery_id: str | None = None
    """Of a hook delivery."""
    is_error: bool = False
    time: int | None = None
    """Microseconds since 1970: of its line, else of the last line before it that has one."""
    snippet: Snippet


class SearchPage(Struct, frozen=True, gc=False, kw_only=True):
    """Some hits, and where to go on."""

    hits: tuple[Hit, ...]
    next: str | None = None
    """The cursor of the next page; None if this is the last."""
    unreadable: int = 0
    """How many texts that may be hits could not be read from the archive, which is damaged."""


class Cursor(Struct, frozen=True, gc=False):
    """Where a page ended."""

    key: TextKey
    """Of the last hit; by relevance, of the newest text that counts."""
    count: int | None = None
    """By relevance, how many texts were looked at."""


_NEWEST, _RELEVANCE = "n", "r"


def encode_cursor(cursor: Cursor) -> str:
    """Return a cursor as text."""
    numbers = cursor.key if cursor.count is None else (*cursor.key, cursor.count)
    return ".".join((_NEWEST if cursor.count is None else _RELEVANCE, *map(str, numbers)))


def decode_cursor(text: str | None, order: SearchOrder) -> Cursor | None:
    """Return what `encode_cursor` was given; raises `CursorError` for any other text, and for another order."""
    if text is None:
        return None
    kind, *numbers = text.split(".")
    expected = (_NEWEST, 3) if order is SearchOrder.NEWEST else (_RELEVANCE, 4)
    try:
        time, first, second, *count = map(_decode_number, numbers)
    except ValueError:
        kind, count = "", []
    if (kind, len(numbers)) != expected:
        raise CursorError(f"Expected a cursor of a search by {order}, got {text!r}")
    return Cursor((time, first, second), count[0] if count else None)


def _decode_number(text: str) -> int:
    if len(text) > 20 or not text.removeprefix("-").isdecimal() or not text.isascii():
        raise ValueError(text)
    return int(text)
