"""How single values stand in cells: UUIDs as bytes, words as numbers, odd text as bytes, places by number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import apsw
from msgspec import msgpack

from turnlog.store.identity import Place

__all__ = [
    "Cells",
    "Names",
    "Numbers",
    "Words",
    "pack_places",
    "pack_text",
    "pack_uuid",
    "unpack_places",
    "unpack_text",
    "unpack_uuid",
]

_is_uuid = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch

Cells = tuple[Any, ...]
"""A row as SQLite gives it; what a cell holds is known only to whoever wrote it."""


class Numbers(dict[str | None, int | None]):
    """The numbers of words for writing; a new word gets one when it is first asked for."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__({None: None})
        self._connection = connection

    def __missing__(self, word: str | None) -> int | None:
        cell = pack_text(word)
        found = self._connection.execute("SELECT id FROM words WHERE word = ?", (cell,)).fetchone()
        if found is None:
            self._connection.execute("INSERT INTO words (word) VALUES (?)", (cell,))
        number = self[word] = self._connection.last_insert_rowid() if found is None else found[0]
        return number

    def reset(self) -> None:
        """Forget all numbers: some may have been rolled back."""
        self.clear()
        self[None] = None


class Words(dict[int | None, Any]):
    """The words by number for reading; they never change, so what was read once stays."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__({None: None})
        self._connection = connection

    def __missing__(self, number: int | None) -> Any:
        last = max((known for known in self if known is not None), default=0)
        for known, word in self._connection.execute("SELECT id, word FROM words WHERE id > ?", (last,)):
            self[known] = unpack_text(word)
        if number not in self:
            raise apsw.CorruptError(f"word {number} is missing")
        return self[number]


class Names(dict[int, str]):
    """The names of sources by number, for reading."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__()
        self._connection = connection

    def __missing__(self, number: int) -> str:
        for (name,) in self._connection.execute("SELECT source FROM sources WHERE id = ?", (number,)):
            self[number] = name
            return str(name)
        raise apsw.CorruptError(f"source {number} is missing")


def pack_uuid(text: str | None) -> str | bytes | None:
    """Return a UUID as 16 bytes if it is written as usual, any other text as it is."""
    if text is None or _is_uuid(text) is None:
        return text
    return bytes.fromhex(text.replace("-", ""))


def unpack_uuid(value: str | bytes | None) -> Any:
    """Return what `pack_uuid` was given."""
    if not isinstance(value, bytes):
        return value
    digits = value.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def pack_text(text: str | None) -> str | bytes | None:
    """Return text as it is, or its bytes if they are not UTF-8: names of files may be any bytes."""
    if text is None or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")
    return text


def unpack_text(value: str | bytes | None) -> Any:
    """Return what `pack_text` was given."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def pack_places(
    places: tuple[Place, ...], source: str, sources: Mapping[str, int]
) -> tuple[int | None, int | None, bytes | None]:
    """Return generation and start of the first place, and what the others add to it.

    Nearly all messages have one place, or several in one file: those are the distances between them.
    """
    if not places:
        return None, None, None
    first = places[0]
    if first.source == source:
        if len(places) == 1:
            return first.generation, first.offset, None
        if all(place.source == source and place.generation == first.generation for place in places):
            steps = [after.offset - before.offset for before, after in pairwise(places)]
            return first.generation, first.offset, msgpack.encode(steps)
    far = [(sources.get(place.source, place.source), place.generation, place.offset) for place in places]
    return None, None, msgpack.encode(far)


def unpack_places(
    generation: int | None, start: int | None, more: bytes | None, source: str, names: Mapping[int, str]
) -> tuple[Place, ...]:
    """Return what `pack_places` was given."""
    if generation is not None and start is not None:
        places = [Place(source, generation, start)]
        for step in msgpack.decode(more, type=list[int]) if more else ():
            start += step
            places.append(Place(source, generation, start))
        return tuple(places)
    far = msgpack.decode(more, type=list[tuple[int | str, int, int]]) if more else []
    return tuple(
        Place(names[where] if isinstance(where, int) else where, generation, start)
        for where, generation, start in far
    )
