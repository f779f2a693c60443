"""The bytes: frames by generation and start, opened when they are asked for.

Frames that were opened lately stay in memory: the lines of a window are mostly in one or two of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from itertools import groupby

from msgspec import Struct
from psycopg import Connection

from turnlog.errors import ArchiveError
from turnlog.store.batch import Frame
from turnlog.store.frames import open_frame
from turnlog.store.identity import Place, Scope
from turnlog.store.packing import as_word
from turnlog.store.postgres.connection import Connected, Database
from turnlog.store.tails import FRAMES, TAIL

__all__ = ["Generation", "PostgresArchive", "find_generation"]

_KEPT = 16
"""How many open frames stay in memory: 4 MiB."""

_GENERATION = """
SELECT g.id, g.month, g.length FROM sources AS s JOIN generations AS g ON g.source = s.id
WHERE s.owner = %s AND s.source = %s AND g.generation = %s
"""
# The frame that holds a byte is the last that begins at or before it.
_FIND = " UNION ALL ".join(
    f"""(
    SELECT '{table}', start, length, digest FROM {table}
    WHERE month = %(month)s AND generation = %(generation)s AND start <= %(position)s
    ORDER BY start DESC LIMIT 1
    )"""
    for table in (FRAMES, TAIL)
)


class Generation(Struct, frozen=True, gc=False):
    """Where the rows of a generation are."""

    id: int
    month: int
    length: int


class _Found(Struct, frozen=True, gc=False):
    """Where a frame is."""

    table: str
    start: int
    length: int
    digest: bytes


def find_generation(connection: Connection, scope: Scope, source: str, generation: int) -> Generation | None:
    """Return where a generation is, None if there is none."""
    for row in connection.execute(_GENERATION, (scope.owner, as_word(source), generation)):
        return Generation(*row)
    return None


class PostgresArchive(Connected):
    """Bytes by source, generation and range."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: OrderedDict[tuple[int, int, bytes], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes; raises `KeyError` for what is not there, `ArchiveError` for what is damaged."""
        return self._read(scope, self.read_through, scope, at, length)

    def read_many(self, scope: Scope, wanted: Mapping[Place, int]) -> dict[Place, bytes]:
        """Return bytes at several places, each with its length; each frame is asked for once."""
        return self._read(scope, self._read_many, scope, wanted)

    def read_all(self, scope: Scope, source: str, generation: int) -> Iterator[bytes]:
        """Yield the bytes of a whole generation, piece by piece.

        It is as long as it was when this was called, even if frames are sealed meanwhile.
        """
        at = Place(source, generation, 0)
        found = self._ask(scope, _get_generation, scope, at)
        return self._read_pieces(scope, found, at)

    def list_generations(self, scope: Scope, source: str) -> list[tuple[int, int]]:
        """Return the generations of a source, each with its length."""
        return self._ask(scope, _list_generations, scope, source)

    def read_through(self, connection: Connection, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes as `read` does, through a connection that somebody has."""
        generation = _get_generation(connection, scope, at)
        end = at.offset + length
        if at.offset < 0 or length < 0 or end > generation.length:
            raise KeyError(at)
        pieces, position = [], at.offset
        while position < end:
            piece = self._read_piece(connection, generation, Place(at.source, at.generation, position), end)
            pieces.append(piece)
            position += len(piece)
        return b"".join(pieces)

    def _read_many(
        self, connection: Connection, scope: Scope, wanted: Mapping[Place, int]
    ) -> dict[Place, bytes]:
        found: dict[Place, bytes] = {}
        for (source, number), group in groupby(sorted(wanted), lambda place: (place.source, place.generation)):
            start, piece = 0, b""  # of the frame that is open
            generation = _get_generation(connection, scope, Place(source, number, 0))
            for at in group:
                end = at.offset + wanted[at]
                if not start <= at.offset <= end <= start + len(piece):
                    if end > generation.length:
                        raise KeyError(at)
                    start, piece = at.offset, self._read_piece(connection, generation, at, generation.length)
                if end > start + len(piece):  # it goes on in another frame
                    found[at] = self.read_through(connection, scope, at, wanted[at])
                else:
                    found[at] = piece[at.offset - start : end - start]
        return found

    def _read_pieces(self, scope: Scope, generation: Generation, at: Place) -> Iterator[bytes]:
        position = 0
        while position < generation.length:
            here = Place(at.source, at.generation, position)
            piece = self._read(scope, self._read_piece, generation, here, generation.length)
            yield piece
            position += len(piece)

    def _read_piece(self, connection: Connection, generation: Generation, at: Place, end: int) -> bytes:
        """Return bytes from a place on, as far as its frame goes."""
        values = {"month": generation.month, "generation": generation.id, "position": at.offset}
        for row in connection.execute(_FIND, values).fetchall():
            found = _Found(*row)
            if at.offset < found.start + found.length:
                data = self._load(connection, generation, found, at)
                return data[at.offset - found.start : end - found.start]
        raise ArchiveError("A frame is missing", at.source, at.generation, at.offset)

    def _load(self, connection: Connection, generation: Generation, found: _Found, at: Place) -> bytes:
        key = generation.id, found.start, found.digest
        with self._lock:
            data = self._open.get(key)
            if data is not None:
                self._open.move_to_end(key)
                return data
        query = f"SELECT data FROM {found.table} WHERE month = %s AND generation = %s AND start = %s"
        [(cell,)] = connection.execute(query, (generation.month, generation.id, found.start))
        try:
            data = open_frame(Frame(found.start, found.length, cell, found.digest))
        except ValueError as error:
            raise ArchiveError(str(error), at.source, at.generation, found.start) from None
        with self._lock:
            self._open[key] = data
            while len(self._open) > _KEPT:
                self._open.popitem(last=False)
        return data


def _get_generation(connection: Connection, scope: Scope, at: Place) -> Generation:
    found = find_generation(connection, scope, at.source, at.generation)
    if found is None:
        raise KeyError(at)
    return found


def _list_generations(connection: Connection, scope: Scope, source: str) -> list[tuple[int, int]]:
    query = """
    SELECT g.generation, g.length FROM sources AS s JOIN generations AS g ON g.source = s.id
    WHERE s.owner = %s AND s.source = %s ORDER BY g.generation
    """
    return [(number, length) for number, length in connection.execute(query, (scope.owner, as_word(source)))]
