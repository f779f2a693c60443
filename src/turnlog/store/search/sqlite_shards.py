"""Shards of the index: what worker processes have indexed by themselves, for the writer to take over whole.

A worker puts the texts of new sessions into an index of words in memory, and hands over its pages as they are.
That takes what FTS5 does not document: its tables behind the index. A page is a row of `cells_data`, numbered
by the segment that it is of, and `cells_idx` has the first word of each; `cells_docsize` has a row for each
cell. Two rows of `cells_data` speak of all segments: how many cells and words there are, and the structure, a
list of levels of segments, of which the first is what was written last. A segment that is added there, under a
number that no other has, is one that FTS5 might have written itself. Cells have numbers that the writer has
reserved, so no two are the same. `tests/store/search/test_shards.py` says whether an FTS5 still does it so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw
from msgspec import Struct, msgpack
from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import IndexedTexts, TextFact
from turnlog.store.search.sqlite_index import (
    CELL_INDEX,
    build_runs,
    delete_cells,
    find_next_cell,
    index_new_cells,
    insert_run,
    merge_some,
    place_texts,
)

_AVERAGES, _STRUCTURE = 1, 10
"""The rows of `cells_data` that speak of all segments."""
_PAGE_BITS = 37
"""So many bits of a row's number tell the page; those above them, the segment."""
_VERSION_2 = b"\xff\x00\x00\x01"
"""Stands behind the four bytes of a counter in the structure of an index whose cells can be deleted."""
_FEW, _MOST = 16, 1900
"""So many segments of a level are merged, some whenever one is added; FTS5 takes no more than 2,000."""
_WORK = 4
"""How many times as many pages are merged then as were added."""
_SETTINGS = {"automerge": 0, "crisismerge": 1999, "hashsize": 32 << 20}
"""A shard is written once, and merged where it belongs."""


class Segment(Struct, frozen=True, gc=False, array_like=True):
    """A segment of an index, as the structure has it."""

    id: int
    first_page: int
    last_page: int
    first_origin: int
    """Cells were given numbers of origin as they came: those that it has are from this one"""
    last_origin: int
    """to this one. By them a cell that is to be deleted is found."""
    tombstone_pages: int
    tombstones: int
    cells: int


class Shard(Struct, frozen=True, gc=False, array_like=True):
    """The pages of an index of its own, and all else that there is of it."""

    segments: tuple[Segment, ...]
    words: int
    """How many there are in all cells."""
    pages: tuple[tuple[int, bytes], ...]
    first_words: tuple[tuple[int, bytes, int], ...]
    """The rows of `cells_idx`."""
    cells: tuple[tuple[int, int], ...]
    """Their numbers: the first of some and how many these are."""
    sizes: tuple[bytes, ...]
    """Of each cell, as `cells_docsize` has it."""


_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(Shard).decode


class SqliteSharding:
    """Shards of an index in SQLite's FTS5."""

    def reserve(self, connection: Any, cells: int) -> range:
        """Reserve numbers for so many cells."""
        driver = connection.driver
        index_new_cells(driver)
        first = find_next_cell(driver)
        driver.execute(_SET_NEXT, (first + cells, first))
        # Many segments come in a short time; they are merged piece by piece afterwards, and not all at once.
        driver.execute("INSERT INTO cells (cells, rank) VALUES ('crisismerge', ?)", (_SETTINGS["crisismerge"],))
        return range(first, first + cells)

    def release(self, connection: Any, numbers: range, used: int) -> None:
        """Give back all numbers but the first that were used, unless others have numbers behind them by now."""
        connection.driver.execute(_SET_NEXT, (numbers.start + used, numbers.stop))

    def begin(self) -> ShardBuilder:
        """Return what builds shards, one after another."""
        return ShardBuilder()

    def take_over(self, connection: Any, shard: bytes) -> None:
        """Add a shard to the index, in the transaction of the caller."""
        _take_over(connection.driver, _decode(shard))

    def write(self, connection: Any, generation: int, texts: IndexedTexts) -> None:
        """Say that texts of a shard are those of a generation."""
        for run in texts.runs:
            insert_run(connection.driver, generation, run)

    def discard(self, connection: Any, texts: IndexedTexts) -> None:
        """Delete the cells of texts that came with a shard, and are not wanted after all."""
        delete_cells(connection.driver, texts.runs)


class ShardBuilder:
    """Builds shards in memory."""

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")
        self._connection.execute(f"CREATE VIRTUAL TABLE cells USING {CELL_INDEX}")
        for setting in _SETTINGS.items():
            self._connection.execute("INSERT INTO cells (cells, rank) VALUES (?, ?)", setting)
        self._cells: list[tuple[int, int]] = []

    def add(self, texts: Sequence[TextFact], first: int) -> IndexedTexts:
        """Put texts into the shard, with cells from a number on, and return what the index keeps of them."""
        if not self._cells:
            self._connection.execute("BEGIN")
        cells = [cell for text in texts for cell in text.cells]
        self._connection.executemany("INSERT INTO cells (rowid, body) VALUES (?, ?)", enumerate(cells, first))
        self._cells.append((first, len(cells)))
        return IndexedTexts(tuple(build_runs(place_texts(texts, first))))

    def finish(self) -> bytes | None:
        """Return the shard, and begin with the next one; None if nothing was put into it."""
        if not self._cells:
            return None
        execute = self._connection.execute
        execute("COMMIT")
        _, _, levels = _read_structure(self._connection)
        _, words = _read_averages(self._connection)
        shard = Shard(
            tuple(segment for level in levels for segment in level.segments),
            words,
            tuple(execute("SELECT id, block FROM cells_data WHERE id > ? ORDER BY id", (_STRUCTURE,))),
            tuple(execute("SELECT segid, term, pgno FROM cells_idx ORDER BY segid, term")),
            tuple(self._cells),
            tuple(size for (size,) in execute("SELECT sz FROM cells_docsize ORDER BY id")),
        )
        execute("INSERT INTO cells (cells) VALUES ('delete-all')")
        self._cells.clear()
        return _encode(shard)


def _take_over(connection: apsw.Connection, shard: Shard) -> None:
    first = min(number for number, _ in shard.cells)
    # Words are listed up to a cell: a list that goes further was made while the shard was under way.
    connection.execute("DELETE FROM vocabulary WHERE last_cell >= ?", (first,))
    # FTS5 remembers the structure, and forgets it only with what was taken back.
    connection.execute("INSERT INTO cells (cells) VALUES ('flush')")
    connection.execute("SAVEPOINT shard")
    connection.execute("ROLLBACK TO shard")
    connection.execute("RELEASE shard")
    counter, written, levels = _read_structure(connection)
    known = {segment.id for level in levels for segment in level.segments}
    free = (number for number in range(1, _MOST + 1) if number not in known)
    numbers = dict(zip((segment.id for segment in shard.segments), free, strict=False))
    if len(numbers) < len(shard.segments):
        raise StoreError("The index has too many segments")
    origin = max((each.last_origin for level in levels for each in level.segments), default=0) + 1
    added = [
        replace(each, id=numbers[each.id], first_origin=origin, last_origin=origin) for each in shard.segments
    ]
    levels = levels or [_Level(0, [])]
    levels[0].segments.extend(added)
    pages = (
        (numbers[page >> _PAGE_BITS] << _PAGE_BITS | page & _PAGE_MASK, data) for page, data in shard.pages
    )
    connection.executemany("INSERT INTO cells_data VALUES (?, ?)", pages)
    first_words = ((numbers[segment], word, page) for segment, word, page in shard.first_words)
    connection.executemany("INSERT INTO cells_idx VALUES (?, ?, ?)", first_words)
    at = 0
    for first, count in shard.cells:
        sizes = shard.sizes[at : at + count]
        connection.execute(_INSERT_SIZES, (first - 1, origin, apsw.carray(sizes)))
        at += count
    cells, words = _read_averages(connection)
    averages = _pack_numbers((cells + len(shard.sizes), words + shard.words))
    connection.execute("REPLACE INTO cells_data VALUES (?, ?)", (_AVERAGES, averages))
    structure = _pack_structure(counter, written, levels)
    connection.execute("REPLACE INTO cells_data VALUES (?, ?)", (_STRUCTURE, structure))
    # What merging leaves free is written on by what comes next; later, it would make the file larger.
    if len(levels[0].segments) >= _FEW or any(level.merging for level in levels):
        merge_some(connection, _WORK * len(shard.pages))


_PAGE_MASK = (1 << _PAGE_BITS) - 1
_SET_NEXT = "UPDATE search_state SET value = ? WHERE name = 'next-cell' AND value = ?"
_INSERT_SIZES = "INSERT INTO cells_docsize (id, sz, origin) SELECT ?1 + rowid, value, ?2 FROM carray(?3)"


class _Level(Struct, gc=False):
    merging: int
    """How many of its first segments are being merged."""
    segments: list[Segment]


def _read_structure(connection: apsw.Connection) -> tuple[bytes, int, list[_Level]]:
    """Return a counter of settings, how much was written so far, and the levels of segments."""
    [(data,)] = connection.execute("SELECT block FROM cells_data WHERE id = ?", (_STRUCTURE,))
    if data[4:8] != _VERSION_2:
        raise StoreError("The index has a structure that this version does not know")
    numbers = _unpack_numbers(data[8:])
    count, _, written = next(numbers), next(numbers), next(numbers)
    levels = []
    for _ in range(count):
        merging, segments = next(numbers), next(numbers)
        levels.append(_Level(merging, [Segment(*(next(numbers) for _ in range(8))) for _ in range(segments)]))
    return bytes(data[:4]), written, levels


def _pack_structure(counter: bytes, written: int, levels: list[_Level]) -> bytes:
    numbers = [len(levels), sum(len(level.segments) for level in levels), written]
    for level in levels:
        numbers += (level.merging, len(level.segments))
        for each in level.segments:
            numbers += (getattr(each, field) for field in Segment.__struct_fields__)
    return counter + _VERSION_2 + _pack_numbers(numbers)


def _read_averages(connection: apsw.Connection) -> tuple[int, int]:
    [(data,)] = connection.execute("SELECT block FROM cells_data WHERE id = ?", (_AVERAGES,))
    cells, words = _unpack_numbers(data) if data else (0, 0)
    return cells, words


def _unpack_numbers(data: bytes) -> Iterator[int]:
    """Yield SQLite's numbers of one to nine bytes: seven bits each, the ninth has eight."""
    value, length = 0, 0
    for byte in data:
        length += 1
        value = value << 8 | byte if length == 9 else value << 7 | byte & 0x7F
        if length == 9 or byte < 0x80:
            yield value
            value, length = 0, 0


def _pack_numbers(numbers: Iterable[int]) -> bytes:
    """Return numbers as `_unpack_numbers` reads them; none is so large that it needs nine bytes."""
    data = bytearray()
    for number in numbers:
        for shift in range(7 * ((max(number, 1).bit_length() - 1) // 7), 0, -7):
            data.append(number >> shift & 0x7F | 0x80)
        data.append(number & 0x7F)
    return bytes(data)
