"""Bytes for search: read from frames without checking them against their digests.

The check takes longer than all else that is done to show a hit, and whoever reads the message itself makes
it. A frame that cannot be opened is told all the same. Frames that were opened lately stay.
"""

from __future__ import annotations

from collections import OrderedDict

import apsw

from turnlog.errors import ArchiveError
from turnlog.store.frames import decompress
from turnlog.store.identity import Place, Scope

__all__ = ["FrameReader"]

_KEPT = 32
"""How many open frames stay in memory: 8 MiB."""
_GENERATION = """
SELECT g.id FROM sources AS s JOIN generations AS g ON g.source = s.id
WHERE s.owner = ? AND s.source = ? AND g.generation = ?
"""
_FRAME = """
SELECT id, start, length, digest FROM {table} WHERE generation = ? AND start <= ? ORDER BY start DESC LIMIT 1
"""
_TABLES = ("frames", "tail_frames")
_Key = tuple[int, int, bytes]


class FrameReader:
    """Reads lines through one connection, in the transaction of the caller."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._open: OrderedDict[_Key, bytes] = OrderedDict()

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes; raises `KeyError` for what is not there, `ArchiveError` for what cannot be opened."""
        for (generation,) in self._connection.execute(_GENERATION, (scope.owner, at.source, at.generation)):
            pieces, position, end = [], at.offset, at.offset + length
            while position < end:
                start, data = self._find(int(generation), position, at)
                pieces.append(data[position - start : end - start])
                position = start + len(data)
            return b"".join(pieces)
        raise KeyError(at)

    def _find(self, generation: int, position: int, at: Place) -> tuple[int, bytes]:
        for table in _TABLES:
            query = _FRAME.format(table=table)
            for number, start, length, digest in self._connection.execute(query, (generation, position)):
                if position < start + length:
                    key = generation, start, digest
                    return start, self._load(key, table, number, length, at)
        raise ArchiveError("A frame is missing", at.source, at.generation, position)

    def _load(self, key: _Key, table: str, number: int, length: int, at: Place) -> bytes:
        data = self._open.get(key)
        if data is not None:
            self._open.move_to_end(key)
            return data
        # A damaged cell may call itself text.
        query = f"SELECT CAST(data AS BLOB) FROM {table} WHERE id = ?"
        [(cell,)] = self._connection.execute(query, (number,))
        try:
            data = decompress(cell, length)
        except ValueError as error:
            raise ArchiveError(str(error), at.source, at.generation, key[1]) from None
        self._open[key] = data
        if len(self._open) > _KEPT:
            self._open.popitem(last=False)
        return data
