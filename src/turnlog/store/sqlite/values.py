"""How single values stand in cells: words as numbers, odd text as bytes."""

from __future__ import annotations

from typing import Any

import apsw

__all__ = ["Cells", "Numbers", "pack_text", "unpack_text"]

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
