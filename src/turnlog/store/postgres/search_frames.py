"""Bytes for search: the frames of many lines fetched at once, and not checked against their digests.

The check takes longer than all else that is done to show a hit, and whoever reads the message itself makes it.
A frame that cannot be opened is told all the same. Frames that were opened lately stay.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence

from msgspec import Struct
from psycopg import Connection

from turnlog.errors import ArchiveError
from turnlog.store.frames import decompress
from turnlog.store.identity import Place, Scope

__all__ = ["FrameReader", "Stretch"]

_KEPT = 64
"""How many open frames stay in memory: 16 MiB."""
_AT_ONCE = 64
"""How many are fetched at once; what is more, as of a line of many megabytes, one by one when it is read."""
_TABLES = ("frames", "tail_frames")
_KEYS = " UNION ALL ".join(
    f"""
    SELECT '{table}', w.month, f.generation, f.start, f.length, f.digest FROM w CROSS JOIN LATERAL (
        (
            SELECT f.generation, f.start, f.length, f.digest FROM {table} AS f
            WHERE f.month = ANY(%(months)s::integer[]) AND f.month = w.month AND f.generation = w.generation
            AND f.start <= w.start ORDER BY f.start DESC LIMIT 1
        ) UNION ALL (
            SELECT f.generation, f.start, f.length, f.digest FROM {table} AS f
            WHERE f.month = ANY(%(months)s::integer[]) AND f.month = w.month AND f.generation = w.generation
            AND f.start > w.start AND f.start < w.behind
        )
    ) AS f
    """
    for table in _TABLES
)
_FIND = f"""
WITH w AS (
    SELECT * FROM unnest(
        %(each)s::integer[], %(generations)s::bigint[], %(starts)s::bigint[], %(ends)s::bigint[]
    ) AS w (month, generation, start, behind)
) {_KEYS}
"""
_FETCH = " UNION ALL ".join(
    f"""
    SELECT '{table}', w.generation, w.start, f.data
    FROM unnest(%(tables)s::text[], %(generations)s::bigint[], %(starts)s::bigint[])
        AS w (name, generation, start)
    CROSS JOIN LATERAL (
        SELECT f.data FROM {table} AS f
        WHERE f.month = ANY(%(months)s::integer[]) AND f.generation = w.generation AND f.start = w.start LIMIT 1
    ) AS f
    WHERE w.name = '{table}'
    """
    for table in _TABLES
)


class Stretch(Struct, frozen=True, gc=False):
    """Where the bytes of a line are."""

    name: tuple[str, int]
    """The source and the generation, as a `Place` names them."""
    generation: int
    month: int
    start: int
    end: int


class _Frame(Struct, frozen=True, gc=False, order=True):
    """A frame that there is."""

    table: str
    month: int
    generation: int
    start: int
    length: int
    digest: bytes


class FrameReader:
    """Reads lines that were prepared."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._open: OrderedDict[_Frame, bytes] = OrderedDict()
        self._closed: dict[_Frame, bytes] = {}
        """Those that were fetched, and that nobody has opened yet."""
        self._frames: dict[int, list[_Frame]] = {}
        """Which frames there are, by generation."""
        self._numbers: dict[tuple[str, int], int] = {}

    def prepare(self, stretches: Sequence[Stretch]) -> None:
        """Fetch the frames of some stretches, but for those that are open."""
        self._closed, self._frames = {}, {}
        self._numbers = {stretch.name: stretch.generation for stretch in stretches}
        if not stretches:
            return
        values = {
            "months": sorted({each.month for each in stretches}),
            "each": [each.month for each in stretches],
            "generations": [each.generation for each in stretches],
            "starts": [each.start for each in stretches],
            "ends": [each.end for each in stretches],
        }
        found = sorted({_Frame(*row) for row in self._connection.execute(_FIND, values)})
        for frame in found:
            self._frames.setdefault(frame.generation, []).append(frame)
        self._fetch([frame for frame in found if frame not in self._open][:_AT_ONCE])

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes; raises `KeyError` if they were not prepared, `ArchiveError` if they cannot be read."""
        generation = self._numbers[at.source, at.generation]
        pieces, position, end = [], at.offset, at.offset + length
        while position < end:
            frame = self._find(generation, position, at)
            pieces.append(self._load(frame, at)[position - frame.start : end - frame.start])
            position = frame.start + frame.length
        return b"".join(pieces)

    def _find(self, generation: int, position: int, at: Place) -> _Frame:
        for frame in self._frames.get(generation, ()):
            if frame.start <= position < frame.start + frame.length:
                return frame
        raise ArchiveError("A frame is missing", at.source, at.generation, position)

    def _load(self, frame: _Frame, at: Place) -> bytes:
        data = self._open.get(frame)
        if data is not None:
            self._open.move_to_end(frame)
            return data
        if frame not in self._closed:
            self._fetch([frame])
        try:
            data = decompress(self._closed.pop(frame), frame.length)
        except (KeyError, ValueError) as error:
            raise ArchiveError(str(error), at.source, at.generation, frame.start) from None
        self._open[frame] = data
        if len(self._open) > _KEPT:
            self._open.popitem(last=False)
        return data

    def _fetch(self, frames: Collection[_Frame]) -> None:
        wanted = {(each.table, each.generation, each.start): each for each in frames}
        if wanted:
            values = {
                "months": sorted({each.month for each in frames}),
                "tables": [each.table for each in frames],
                "generations": [each.generation for each in frames],
                "starts": [each.start for each in frames],
            }
            for *place, data in self._connection.execute(_FETCH, values):
                self._closed[wanted[place[0], place[1], place[2]]] = data
