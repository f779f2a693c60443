"""The bytes of files: compressed frames by generation and start, opened when they are asked for.

A live file grows by a line or two at a time. Its newest bytes are in the row of its generation, which each line
writes, until they are too many. Then they join its tail: frames that are merged like the digits of a binary
counter, so that there are few of them and no byte is compressed more than a few times. When the tail is larger
than a full frame, all of it but the rest is sealed. Damaged frames are kept as they are, and do not keep a file
from growing.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import ArchiveError
from turnlog.store.batch import Frame
from turnlog.store.catalogue.database import Connection, Database, Row, is_word
from turnlog.store.frames import FRAME_SIZE, cut_frames, decompress_first, make_frame, open_frame
from turnlog.store.model import Place, Scope

_KEPT = 32
"""How many open frames stay in memory: at most 16 MiB."""
_REACH = 4 << 20
"""Bytes of a file whose frames are looked up, and loaded, together."""
_RATIO = 3
"""How many times larger a frame may be than what it is merged with: the more, the better frames are compressed,
and the more often."""
_NEWEST = 1500
"""Compressed bytes: what is larger is no part of the generation's row."""

_GENERATION = """
SELECT g.id, g.length FROM sources AS s JOIN generations AS g ON g.source = s.id
WHERE s.owner = ? AND s.source = ? AND g.generation = ?
"""
_BY_NUMBER = """
SELECT s.source, g.generation, g.length FROM generations AS g JOIN sources AS s ON s.id = g.source
WHERE s.owner = ? AND g.id = ?
"""
_NEWEST_FRAME = """(
    SELECT id AS generation, tail_start AS start, length - tail_start AS length, tail_digest AS digest,
        tail AS data
    FROM generations WHERE tail IS NOT NULL
)"""
_TABLES = ("frames", "tail_frames", _NEWEST_FRAME)
# The frame that holds a byte is the last that begins at or before it. Behind the sealed ones there are few.
_FIND = f"""
SELECT 0, start, length, digest FROM (
    SELECT start, length, digest FROM frames WHERE generation = :generation AND start <= :first
    ORDER BY start DESC LIMIT 1
) AS f
UNION ALL SELECT 0, start, length, digest FROM frames
WHERE generation = :generation AND start > :first AND start < :end
UNION ALL SELECT 1, start, length, digest FROM tail_frames
WHERE generation = :generation AND start < :end AND start + length > :first
UNION ALL SELECT 2, start, length, digest FROM {_NEWEST_FRAME} AS f
WHERE generation = :generation AND start < :end
ORDER BY 2
"""
# A damaged cell may call itself text.
_LOAD = "SELECT start, CAST(data AS @@bytes) FROM {table} AS f WHERE generation = ? AND start IN @@ints(?)"
# One frame, or none: the newest, which is in the row of its generation, is not looked for.
_NEAR = """
SELECT start, length, CAST(data AS @@bytes) FROM frames AS f
WHERE generation = :generation AND start + length > :at
    AND start = (SELECT max(start) FROM frames WHERE generation = :generation AND start <= :at)
UNION ALL SELECT start, length, CAST(data AS @@bytes) FROM tail_frames AS f
WHERE generation = :generation AND start <= :at AND start + length > :at
"""
# The same for many lines, on PostgreSQL.
_NEAR_SOME = """
SELECT DISTINCT ON (w.file, f.start) w.file, f.start, f.length, f.data
FROM unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) AS w(file, at) CROSS JOIN LATERAL (
    (
        SELECT start, length, data FROM frames WHERE generation = w.file AND start <= w.at
        ORDER BY start DESC LIMIT 1
    )
    UNION ALL SELECT start, length, data FROM tail_frames WHERE generation = w.file AND start <= w.at
) AS f
WHERE f.start + f.length > w.at
"""
_REPAIR = {
    "frames": "UPDATE frames SET data = ? WHERE generation = ? AND start = ?",
    "tail_frames": "UPDATE tail_frames SET data = ? WHERE generation = ? AND start = ?",
    _NEWEST_FRAME: "UPDATE generations SET tail = ? WHERE id = ? AND tail_start = ?",
}


class StoredFile(Struct, frozen=True, gc=False):
    """A generation of a file: the number of its row, and how many bytes it has."""

    number: int
    length: int


class _Found(Struct, frozen=True, gc=False):
    """Where a frame is."""

    table: int
    start: int
    length: int
    digest: bytes

    @property
    def end(self) -> int:
        """Behind its last byte."""
        return self.start + self.length


class CatalogueArchive:
    """Bytes by source, generation and range."""

    def __init__(self, database: Database) -> None:
        """Begin with nothing open."""
        self._database = database
        self._open: OrderedDict[tuple[int, int, bytes], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes; raises `KeyError` for what is not there, `ArchiveError` for what is damaged."""
        spans = [(at.offset, length)]
        [data] = self._database.read(
            lambda connection: self.read_spans(connection, scope, at.source, at.generation, spans), scope
        )
        return data

    def list_generations(self, scope: Scope, source: str) -> list[tuple[int, int]]:
        """Return the generations of a source, each with its length."""
        query = """
        SELECT g.generation, g.length FROM sources AS s JOIN generations AS g ON g.source = s.id
        WHERE s.owner = ? AND s.source = ? ORDER BY g.generation
        """
        if not is_word(source):
            return []
        rows = self._database.read(lambda connection: connection.execute(query, (scope.owner, source)), scope)
        return [(generation, length) for generation, length in rows]

    def read_spans(
        self,
        connection: Connection,
        scope: Scope,
        source: str,
        generation: int,
        spans: Sequence[tuple[int, int]],
        file: StoredFile | None = None,
    ) -> list[bytes]:
        """Return bytes by offset and length, as `read` does; the file is looked up once, if it is not given."""
        if file is None:
            file = _find_file(connection, scope, source, generation)
        for offset, length in spans:
            if offset < 0 or length < 0 or offset + length > file.length:
                raise KeyError(Place(source, generation, offset))
        frames: list[tuple[int, bytes]] = []
        start, data = 0, b""
        found = []
        for number, (offset, length) in enumerate(spans):
            pieces, position = [], offset
            while position < offset + length:
                # Mostly it is in the frame of the span before.
                if not start <= position < start + len(data):
                    at = bisect_right(frames, position, key=itemgetter(0)) - 1
                    if at < 0 or position >= frames[at][0] + len(frames[at][1]):
                        near = _list_near(spans[number:], position)
                        frames = self._load(connection, file.number, Place(source, generation, position), near)
                        at = 0
                    start, data = frames[at]
                pieces.append(data[position - start : offset + length - start])
                position += len(pieces[-1])
            found.append(b"".join(pieces))
        return found

    def _load(
        self, connection: Connection, generation: int, at: Place, spans: Sequence[tuple[int, int]]
    ) -> list[tuple[int, bytes]]:
        """Return the frames that hold some bytes, from one on: where each begins, and its bytes."""
        values = {"generation": generation, "first": at.offset, "end": sum(spans[-1])}
        found = [_Found(*row) for row in connection.execute(_FIND, values)]
        if not any(frame.start <= at.offset < frame.end for frame in found):
            raise ArchiveError("A frame is missing", at.source, at.generation, at.offset)
        wanted = {
            (generation, frame.start, frame.digest): frame
            for frame in found
            if any(offset < frame.end and frame.start < offset + length for offset, length in spans)
        }
        with self._lock:
            opened = {key: self._open[key] for key in wanted if key in self._open}
        for number, table in enumerate(_TABLES):
            closed = [f for key, f in wanted.items() if f.table == number and key not in opened]
            if closed:
                query = _LOAD.format(table=table)
                rows = connection.execute(query, (generation, [frame.start for frame in closed]))
                cells: dict[int, bytes] = dict(rows)
                found_data = connection.load([cells[frame.start] for frame in closed])
                for frame, data in zip(closed, found_data, strict=True):
                    try:
                        if isinstance(data, ValueError):
                            raise data
                        kept = Frame(frame.start, frame.length, data, frame.digest)
                        opened[generation, frame.start, frame.digest] = open_frame(kept)
                    except ValueError as error:
                        raise ArchiveError(str(error), at.source, at.generation, frame.start) from None
        with self._lock:
            for key in wanted:
                self._open[key] = opened[key]
                self._open.move_to_end(key)
            while len(self._open) > _KEPT:
                self._open.popitem(last=False)
        return [(key[1], opened[key]) for key in wanted]


class LineReader:
    """Reads single lines of many files within one transaction, as searches do.

    A search looks at thousands of lines, most of them in files that it looks at once. So nothing is compared
    with its digest, which takes longer than all else: whoever reads the message itself does that. And of a
    frame no more is opened than goes to the end of the line, unless another line is wanted from it.
    """

    def __init__(self, archive: CatalogueArchive, connection: Connection, scope: Scope) -> None:
        """Begin with nothing read."""
        self._archive = archive
        self._connection = connection
        self._scope = scope
        self._opened: OrderedDict[int, tuple[int, bytes]] = OrderedDict()
        """Of the frame of each file that was read last where it begins, and its bytes, or the first of them."""
        self._loaded: dict[int, dict[int, tuple[int, bytes]]] = {}
        """Frames of files by where they begin, with their lengths, still packed."""

    def preload(self, places: Collection[tuple[int, int]]) -> None:
        """Load the frames that have some bytes, side by side, in place of those before."""
        self._loaded = {}
        if not places:
            return
        files, starts = zip(*sorted(places), strict=True)
        rows = self._connection.execute(_NEAR_SOME, ([*files], [*starts]))
        loaded = self._connection.load([cell for *_, cell in rows])
        for (file, start, length, _), packed in zip(rows, loaded, strict=True):
            if not isinstance(packed, ValueError):
                self._loaded.setdefault(file, {})[start] = length, packed

    def read(self, file: int, offset: int, length: int) -> bytes:
        """Return bytes as `CatalogueArchive.read` does; `file` is the number of the generation."""
        end = offset + length
        start, data = self._opened.get(file, (0, b""))
        if not start <= offset <= end <= start + len(data):
            start, data = self._open(file, offset, end)
        if start <= offset <= end <= start + len(data):
            return data[offset - start : end - start]
        # It is in several frames, damaged or not there.
        rows = self._connection.execute(_BY_NUMBER, (self._scope.owner, file))
        if not rows:
            raise KeyError(file)
        [(source, generation, size)] = rows
        [found] = self._archive.read_spans(
            self._connection, self._scope, source, generation, [(offset, length)], StoredFile(file, size)
        )
        return found

    def _open(self, file: int, offset: int, end: int) -> tuple[int, bytes]:
        known, _ = self._opened.pop(file, (None, b""))
        for start, length, packed in self._find_near(file, offset):
            with suppress(ValueError):
                size = length if known == start else end - start
                self._opened[file] = start, decompress_first(packed, length, min(size, length))
        if len(self._opened) > _KEPT:
            self._opened.popitem(last=False)
        return self._opened.get(file, (0, b""))

    def _find_near(self, file: int, at: int) -> list[tuple[int, int, bytes]]:
        """Return the frame that has a byte: where it begins, how long it is, and what it is packed."""
        for start, (length, packed) in self._loaded.get(file, {}).items():
            if start <= at < start + length:
                return [(start, length, packed)]
        rows = self._connection.execute(_NEAR, {"generation": file, "at": at})
        loaded = self._connection.load([cell for _, _, cell in rows])
        return [
            (start, length, packed)
            for (start, length, _), packed in zip(rows, loaded, strict=True)
            if not isinstance(packed, ValueError)
        ]


def _list_near(spans: Sequence[tuple[int, int]], first: int) -> list[tuple[int, int]]:
    """Return the spans that are read together: those in order, from a byte in the first one on."""
    most = first + _REACH
    found = [(first, min(sum(spans[0]), most) - first)]
    for offset, length in spans[1:]:
        if offset < sum(found[-1]) or offset + length > most:
            break
        found.append((offset, length))
    return found


def _find_file(connection: Connection, scope: Scope, source: str, generation: int) -> StoredFile:
    """Return a generation of a file; raises `KeyError` if it is not there."""
    rows = _find_generation(connection, scope, source, generation)
    if not rows:
        raise KeyError(Place(source, generation, 0))
    return StoredFile(*rows[0])


def _find_generation(connection: Connection, scope: Scope, source: str, generation: int) -> list[Row]:
    return connection.execute(_GENERATION, (scope.owner, source, generation)) if is_word(source) else []


class TailWriter:
    """Writes the bytes of one generation behind those that it has."""

    def __init__(
        self, connection: Connection, generation: int, sealed: int, newest: Frame | None, *, is_new: bool
    ) -> None:
        self._connection = connection
        self._generation = generation
        self._has_tail = not is_new
        """Whether there may be frames behind those of full size."""
        self.sealed = sealed
        """Up to where the frames are of full size."""
        self.newest = newest
        """What the generation's row has of it."""
        self.has_sealed = False
        """Whether frames of the tail are of full size from now on, and still in the database."""

    def append(self, frames: Sequence[Frame], sealed: int, *, is_live: bool) -> None:
        """Add frames, of which those before `sealed` are of full size; a live file is about to grow on."""
        if not frames:
            return
        full = [frame for frame in frames if frame.start + frame.length <= sealed]
        rest = frames[len(full) :]
        if self.newest is not None:
            if full:
                self._insert("tail_frames", [self.newest])
            else:
                rest = _merge((self.newest, *rest))
            self.newest = None
        if full:
            self._seal_tail(full[0].start)
            self._insert("frames", full)
            self.sealed = _end(full)
        if rest and _end(rest) - self.sealed > FRAME_SIZE:
            self._seal_all(rest)
        elif is_live and len(rest) == 1 and len(rest[0].data) <= _NEWEST:
            [self.newest] = rest
        elif rest:
            self._extend_tail(rest)

    def _seal_tail(self, end: int) -> None:
        if self.sealed < end:
            tail = self._take_tail(self.sealed)
            data = _open_all(tail)
            self._insert("frames", tail if data is None else cut_frames(data, self.sealed))
            self.has_sealed = True

    def _seal_all(self, rest: Sequence[Frame]) -> None:
        tail = self._take_tail(self.sealed)
        data = _open_all((*tail, *rest))
        if data is None:
            full, last = tail, list(rest)
        else:
            *full, final = cut_frames(data, self.sealed)
            last = [final]
        self._insert("frames", full)
        self._insert("tail_frames", last)
        self.sealed, self.has_sealed = last[0].start, True

    def _extend_tail(self, rest: Sequence[Frame]) -> None:
        """Add frames to the tail, merged with those at its end that are hardly larger."""
        if not self._has_tail:
            self._insert("tail_frames", _merge(rest))
            return
        start, size = rest[0].start, sum(frame.length for frame in rest)
        query = "SELECT start, length FROM tail_frames WHERE generation = ? ORDER BY start DESC"
        for before, length in self._connection.execute(query, (self._generation,)):
            if length > _RATIO * size:
                break
            start, size = before, size + length
        self._insert("tail_frames", _merge((*self._take_tail(start), *rest)))

    def _take_tail(self, start: int) -> list[Frame]:
        """Remove the frames of the tail from `start` on, and return them."""
        where = "FROM tail_frames WHERE generation = ? AND start >= ?"
        query = f"SELECT start, length, CAST(data AS @@bytes), digest {where} ORDER BY start"
        frames = [Frame(*row) for row in self._connection.execute(query, (self._generation, start))]
        if frames:
            self._connection.execute(f"DELETE {where}", (self._generation, start))
        return frames

    def _insert(self, table: str, frames: Iterable[Frame]) -> None:
        self._has_tail = self._has_tail or table == "tail_frames"
        self._connection.change_many(
            f"INSERT INTO {table} (generation, start, length, digest, data) VALUES (?, ?, ?, ?, ?)",
            ((self._generation, frame.start, frame.length, frame.digest, frame.data) for frame in frames),
        )


def _merge(frames: Sequence[Frame]) -> Sequence[Frame]:
    """Return one frame of all bytes; if any is damaged, the frames as they are."""
    data = _open_all(frames) if len(frames) > 1 else None
    return frames if data is None else (make_frame(data, frames[0].start),)


def _end(frames: Sequence[Frame]) -> int:
    return frames[-1].start + frames[-1].length


def _open_all(frames: Iterable[Frame]) -> bytes | None:
    """Return the bytes of frames; None if any is damaged."""
    try:
        return b"".join(map(open_frame, frames))
    except ValueError:
        return None


def repair_frames(
    connection: Connection,
    scope: Scope,
    source: str,
    generation: int,
    find: Callable[[int, int], bytes | None],
) -> int:
    """Replace frames that cannot be opened by what `find` has of them, if its digest is the same."""
    repaired = 0
    for number, _ in _find_generation(connection, scope, source, generation):
        for table in _TABLES:
            query = f"""
            SELECT start, length, CAST(data AS @@bytes), digest FROM {table} AS f
            WHERE generation = ? ORDER BY start
            """
            for frame in (Frame(*cells) for cells in connection.execute(query, (number,))):
                [kept] = connection.load([frame.data])
                if not isinstance(kept, ValueError) and _open_all([replace(frame, data=kept)]) is not None:
                    continue
                data = find(frame.start, frame.length)
                if data is not None and (new := make_frame(data, frame.start)).digest == frame.digest:
                    connection.execute(_REPAIR[table], (new.data, number, frame.start))
                    repaired += 1
    return repaired
