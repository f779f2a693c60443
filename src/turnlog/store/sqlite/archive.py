"""The bytes: frames by generation and start, opened when they are asked for.

Frames that were opened lately stay in memory: the lines of a window are mostly in one or two of them. As long
as nothing was committed meanwhile, the last frame of a file is used again without looking for it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
from msgspec import Struct

from turnlog.errors import ArchiveError
from turnlog.store.batch import Frame
from turnlog.store.frames import open_frame
from turnlog.store.identity import Place, Scope
from turnlog.store.sqlite.connection import reading, translate

__all__ = ["SqliteArchive"]

_KEPT = 16
"""How many open frames stay in memory: 4 MiB."""

_GENERATION = """
SELECT g.id, c.length FROM sources AS s
JOIN generations AS g ON g.source = s.id JOIN checkpoints AS c ON c.generation = g.id
WHERE s.owner = ? AND s.source = ?
"""
# The frame that holds a byte is the last that begins at or before it.
_FIND = """
SELECT id, start, length, digest FROM {table}
WHERE generation = ? AND start <= ? ORDER BY start DESC LIMIT 1
"""


class _Found(Struct, frozen=True, gc=False):
    """Where a frame is."""

    table: str
    id: int
    start: int
    length: int
    digest: bytes


class _Recent(threading.local):
    """The frames that this thread used last, by scope, source and generation."""

    def __init__(self) -> None:
        self.version: object = None
        self.frames: dict[tuple[Scope, str, int], tuple[int, bytes]] = {}


class SqliteArchive:
    """Bytes by source, generation and range."""

    def __init__(self, path: Path, connect: Callable[[Scope], apsw.Connection]) -> None:
        self._path = path
        self._connect = connect
        self._open: OrderedDict[tuple[int, int, bytes], bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._recent = _Recent()

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes; raises `KeyError` for what is not there, `ArchiveError` for what is damaged."""
        connection = self._connect(scope)
        with translate(self._path):
            found = self._find_recent(connection, scope, at, length)
            return self._read(connection, scope, at, length) if found is None else found

    def _find_recent(self, connection: apsw.Connection, scope: Scope, at: Place, length: int) -> bytes | None:
        """Return bytes of the frame that was used last, if they are in it and it is still what is there."""
        recent = self._recent
        [(number,)] = connection.execute("PRAGMA data_version")
        version = connection, number
        if version != recent.version:
            recent.version = version
            recent.frames.clear()
        start, data = recent.frames.get((scope, at.source, at.generation), (0, b""))
        first = at.offset - start
        if not data or first < 0 or length < 0 or first + length > len(data):
            return None
        return data[first : first + length]

    def _read(self, connection: apsw.Connection, scope: Scope, at: Place, length: int) -> bytes:
        with reading(connection):
            generation, end = self._find_generation(connection, scope, at.source, at.generation)
            if at.offset < 0 or length < 0 or at.offset + length > end:
                raise KeyError(at)
            return b"".join(self._list_pieces(connection, scope, generation, at, at.offset + length))

    def read_all(self, scope: Scope, source: str, generation: int) -> Iterator[bytes]:
        """Yield the bytes of a whole generation, piece by piece.

        It is as long as it was when this was called, even if frames are sealed meanwhile.
        """
        with translate(self._path):
            number, end = self._find_generation(self._connect(scope), scope, source, generation)
        return self._read_pieces(scope, number, Place(source, generation, 0), end)

    def list_generations(self, scope: Scope, source: str) -> list[tuple[int, int]]:
        """Return the generations of a source, each with its length."""
        query = _GENERATION.replace("g.id", "g.generation", 1) + " ORDER BY g.generation"
        with translate(self._path):
            return list(self._connect(scope).execute(query, (scope.owner, source)))

    def _find_generation(
        self, connection: apsw.Connection, scope: Scope, source: str, generation: int
    ) -> tuple[int, int]:
        query = _GENERATION + " AND g.generation = ?"
        for number, length in connection.execute(query, (scope.owner, source, generation)):
            return number, length
        raise KeyError(Place(source, generation, 0))

    def _read_pieces(self, scope: Scope, generation: int, at: Place, end: int) -> Iterator[bytes]:
        position = at.offset
        while position < end:
            connection = self._connect(scope)
            here = Place(at.source, at.generation, position)
            with translate(self._path), reading(connection):
                piece = next(self._list_pieces(connection, scope, generation, here, end))
            yield piece
            position += len(piece)

    def _list_pieces(
        self, connection: apsw.Connection, scope: Scope, generation: int, at: Place, end: int
    ) -> Iterator[bytes]:
        position = at.offset
        while position < end:
            found = self._find_frame(connection, generation, position)
            if found is None:
                raise ArchiveError("A frame is missing", at.source, at.generation, position)
            data = self._load(connection, generation, found, at)
            self._remember(scope, at, found.start, data)
            yield data[position - found.start : end - found.start]
            position = found.start + found.length

    def _remember(self, scope: Scope, at: Place, start: int, data: bytes) -> None:
        frames = self._recent.frames
        if len(frames) >= _KEPT:
            frames.clear()
        frames[scope, at.source, at.generation] = start, data

    def _find_frame(self, connection: apsw.Connection, generation: int, position: int) -> _Found | None:
        for table in ("frames", "tail_frames"):
            for row in connection.execute(_FIND.format(table=table), (generation, position)):
                found = _Found(table, *row)
                if position < found.start + found.length:
                    return found
        return None

    def _load(self, connection: apsw.Connection, generation: int, found: _Found, at: Place) -> bytes:
        key = generation, found.start, found.digest
        with self._lock:
            data = self._open.get(key)
            if data is not None:
                self._open.move_to_end(key)
                return data
        # A damaged cell may call itself text.
        query = f"SELECT CAST(data AS BLOB) FROM {found.table} WHERE id = ?"
        [(cell,)] = connection.execute(query, (found.id,))
        try:
            data = open_frame(Frame(found.start, found.length, cell, found.digest))
        except ValueError as error:
            raise ArchiveError(str(error), at.source, at.generation, found.start) from None
        with self._lock:
            self._open[key] = data
            while len(self._open) > _KEPT:
                self._open.popitem(last=False)
        return data
