"""What is searched: texts in packed runs, their cells in the index of words, and the list of all words.

Texts are cut into cells, which get ascending numbers: FTS5 takes those four times as fast as any others.
However few cells it is given, it writes several pages. So what a live file adds waits in a table until there is
enough of it; whoever searches has an index in memory of what waits.

FTS5 finds words and beginnings of words. Which words contain a fragment is told by a list of all words, in
portions: what is added to a large index is a small portion, and portions are merged like the digits of a
binary counter. After a large import the list is read from the index itself. Cells behind the last portion may
have any words.

The index has no texts. But it tells for each word in which cells it is, so the words of a cell can be summed
up, and compared with those of the text that it should be of.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate, chain, islice, repeat
from math import gcd
from operator import add, sub
from typing import Any

import apsw
from msgspec import Struct, msgpack
from msgspec.structs import astuple

from turnlog.store.batch import TextFact, TextRun
from turnlog.store.frames import compress, compress_pieces, decompress, open_compressed
from turnlog.store.search.texts import TOKENIZER

CELL_INDEX = f"""fts5 (
    body, content='', contentless_delete=1, detail=none, tokenize="{TOKENIZER}"
)"""
_TABLES = f"""
CREATE VIRTUAL TABLE cells USING {CELL_INDEX};
INSERT INTO cells (cells, rank) VALUES ('hashsize', 4194304);
INSERT INTO cells (cells, rank) VALUES ('usermerge', 2);
CREATE TABLE text_runs (               -- no number is given twice: cursors name them
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    generation  INTEGER NOT NULL,      -- 0 for hook deliveries
    first_cell  INTEGER NOT NULL,      -- all own cells are from here
    last_cell   INTEGER NOT NULL,      -- to here, but others may be between them
    newest      INTEGER NOT NULL,      -- the latest time of a text
    oldest      INTEGER NOT NULL,
    texts       BLOB NOT NULL
);
CREATE INDEX text_runs_by_generation ON text_runs (generation);
CREATE TABLE new_cells (               -- behind all that are indexed
    first_cell  INTEGER PRIMARY KEY,
    cells       INTEGER NOT NULL,
    bodies      BLOB NOT NULL
);
CREATE TABLE vocabulary (              -- the words of all cells up to the last one, in portions
    last_cell  INTEGER PRIMARY KEY,
    length     INTEGER NOT NULL,
    words      BLOB NOT NULL
);
CREATE TABLE search_state (
    name   TEXT PRIMARY KEY,
    value  INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO search_state VALUES ('next-cell', 1);
"""

_DROP_TABLES = "".join(
    f"DROP TABLE {name};\n" for name in ("cells", "text_runs", "new_cells", "vocabulary", "search_state")
)

_SPAN = 4096
"""How far the cells of a run may lie apart: others come between them while several files grow."""
_AT_ONCE = 2048
"""How many texts are indexed at once, at most."""
_CELLS_AT_ONCE = 8192
"""And how many cells, should they be long."""


class IndexTables:
    """The tables of the index in a database, and what is written to them."""

    def create(self, connection: Any) -> None:
        """Make the tables."""
        connection.execute(_TABLES)

    def clear(self, connection: Any) -> None:
        """Empty them."""
        connection.execute(_DROP_TABLES)
        connection.execute(_TABLES)

    def flush(self, connection: Any) -> None:
        """Do nothing: what is written is not held."""

    def write(self, connection: Any, generation: int, texts: Iterable[TextFact], *, start: int = 0) -> None:
        """Add texts behind those that a generation has, in the transaction of the caller."""
        driver = connection.driver
        some: list[TextFact] = []
        cells = 0
        for text in texts:
            some.append(text)
            cells += len(text.cells)
            if len(some) == _AT_ONCE or cells >= _CELLS_AT_ONCE:
                _write(driver, generation, some)
                some, cells = [], 0
        if some:
            _write(driver, generation, some)

    def delete(self, connection: Any, generations: Iterable[int]) -> None:
        """Delete all texts of some generations, and their cells."""
        driver = connection.driver
        for generation in generations:
            for number, texts in _list_runs(driver, generation):
                delete_cells(driver, texts)
                driver.execute("DELETE FROM text_runs WHERE id = ?", (number,))

    def delete_lines(self, connection: Any, generation: int, numbers: Iterable[int]) -> None:
        """Delete the texts of some lines of a generation, and their cells."""
        driver = connection.driver
        gone = frozenset(numbers)
        for number, texts in _list_runs(driver, generation):
            kept = [text for text in texts if text.number not in gone]
            if len(kept) < len(texts):
                delete_cells(driver, [text for text in texts if text.number in gone])
                for run in build_runs(kept):
                    _replace_run(driver, number, run)
                if not kept:
                    driver.execute("DELETE FROM text_runs WHERE id = ?", (number,))

    def settle(self, connection: Any) -> bool | None:
        """Do a piece of what puts the index in order after much was written; return None if there is none.

        Else tell whether much of what there is was new, and is in order now. Each piece is short: others write
        between them, or the program ends, and the next one goes on from there.
        """
        driver = connection.driver
        state = dict(driver.execute("SELECT name, value FROM search_state"))
        merging = state.get("merging-cell")
        if merging is not None and merge_some(driver, _PAGES):
            return False
        if merging is None:
            index_new_cells(driver)
            merging = find_next_cell(driver) - 1
        fresh = merging - state.get("merged-cell", 0)
        is_much = fresh > max(_UNLISTED, merging // 4)
        is_worth_it = fresh > _UNLISTED and _count_segments(driver) > _FEW_SEGMENTS
        # What is negative makes one segment of all there are; else small ones go together, and large ones stay.
        if "merging-cell" not in state and is_worth_it and merge_some(driver, -_PAGES if is_much else _PAGES):
            driver.execute("INSERT INTO search_state VALUES ('merging-cell', ?)", (merging,))
            return False
        driver.execute("DELETE FROM search_state WHERE name = 'merging-cell'")
        if not is_much:
            return None
        driver.execute("REPLACE INTO search_state VALUES ('merged-cell', ?)", (merging,))
        return True

    def read_words(self, connection: Any) -> PackedWords | None:
        """Return the list of words, if it is worth writing it anew, which is done by itself (`write_words`)."""
        driver = connection.driver
        [(following,)] = driver.execute("SELECT value FROM search_state WHERE name = 'next-cell'")
        unlisted = following - 1 - _find_listed(driver)
        return _pack_words(driver) if unlisted > min(_UNLISTED, (following - 1) // 4) else None

    def write_words(self, connection: Any, words: PackedWords) -> None:
        """Put a list of words in the place of what is listed, unless that was done since the list was read."""
        driver = connection.driver
        if words[0] > _find_listed(driver):
            driver.execute("DELETE FROM vocabulary")
            driver.execute("INSERT INTO vocabulary VALUES (?, ?, ?)", words)

    def purge(self, connection: Any) -> None:
        """Leave nothing in the index of cells that were deleted."""
        driver = connection.driver
        driver.execute("INSERT INTO cells (cells) VALUES ('optimize')")
        driver.execute("DELETE FROM vocabulary")
        self.write_words(connection, _pack_words(driver))

    def check(self, connection: Any, generation: int, texts: Iterable[TextFact]) -> list[str]:
        """Return how the texts of a generation differ from what they should be."""
        driver = connection.driver
        sums = connection.cache.setdefault("word_sums", WordSums(driver))
        runs = _list_runs(driver, generation)
        stored = {(text.number, text.ordinal): text for _, texts in runs for text in texts}
        found = list(_compare(driver, sums.load(), stored, texts))
        return found if len(found) <= _MOST else [*found[:_MOST], f"and {len(found) - _MOST} more"]


def _write(connection: apsw.Connection, generation: int, texts: list[TextFact]) -> None:
    _write_runs(connection, generation, place_texts(texts, find_next_cell(connection)))
    # The cells of a very long text are read when they are written.
    cells = chain.from_iterable(text.cells for text in texts)
    while some := tuple(islice(cells, _CELLS_AT_ONCE)):
        add_cells(connection, some)


def place_texts(texts: Iterable[TextFact], following: int) -> list[Text]:
    """Return texts as the index knows them, with cells from a number on."""
    placed = []
    for text in texts:
        place = text.number, text.ordinal, text.block, text.kind, text.is_error, text.time
        placed.append(Text(*place, following, len(text.cells), text.offset, text.length))
        following += len(text.cells)
    return placed


def build_runs(texts: Sequence[Text]) -> Iterator[TextRun]:
    """Yield texts, in order, in runs."""
    start = 0
    for at in range(1, len(texts) + 1):
        if at < len(texts) and at - start < RUN_SIZE:
            text = texts[at]
            if text.first_cell + text.cells - texts[start].first_cell <= _SPAN:
                continue
        some, start = texts[start:at], at
        if some:
            times = [text.time for text in some]
            last = some[-1].first_cell + some[-1].cells - 1
            yield TextRun(some[0].first_cell, last, max(times), min(times), pack_run(some))


def _write_runs(connection: apsw.Connection, generation: int, texts: list[Text]) -> None:
    """Add texts to the last run of a generation, as many as it takes, and the others as new ones."""
    query = "SELECT id, texts FROM text_runs WHERE generation = ? ORDER BY id DESC LIMIT 1"
    number, held = None, list[Text]()
    for last, data in connection.execute(query, (generation,)):
        last_texts = unpack_run(data)
        if len(last_texts) < RUN_SIZE:
            number, held = last, last_texts
    for run in build_runs([*held, *texts]):
        if number is None:
            insert_run(connection, generation, run)
        else:
            _replace_run(connection, number, run)
            number = None


def insert_run(connection: apsw.Connection, generation: int, run: TextRun) -> None:
    """Add a run behind those of a generation."""
    connection.execute("INSERT INTO text_runs VALUES (NULL, ?, ?, ?, ?, ?, ?)", (generation, *astuple(run)))


def _replace_run(connection: apsw.Connection, number: int, run: TextRun) -> None:
    columns = "(first_cell, last_cell, newest, oldest, texts) = (?, ?, ?, ?, ?)"
    connection.execute(f"UPDATE text_runs SET {columns} WHERE id = ?", (*astuple(run), number))


def _list_runs(connection: apsw.Connection, generation: int) -> Iterator[tuple[int, list[Text]]]:
    query = "SELECT id, texts FROM text_runs WHERE generation = ? ORDER BY id"
    for number, data in list(connection.execute(query, (generation,))):
        yield number, unpack_run(data)


def delete_cells(connection: apsw.Connection, where: Iterable[Text | TextRun]) -> None:
    """Delete the cells of some texts, or all from the first to the last one of some runs."""
    index_new_cells(connection)
    connection.executemany(
        "DELETE FROM cells WHERE rowid = ?", ((cell,) for each in where for cell in each.own_cells)
    )


RUN_SIZE = 128
"""How many texts a run has at most."""
_MILLISECOND = 1000
"""As times of lines are mostly told; times are kept in microseconds."""

_encode = msgpack.Encoder().encode
_Columns = tuple[
    list[int], list[int], list[int], list[int], int, list[int], list[int], list[int], list[int], list[int]
]
_decode = msgpack.Decoder(_Columns).decode


class Text(Struct, frozen=True, gc=False):
    """A text as the index knows it."""

    number: int
    """Of its line; of a hook delivery, its id."""
    ordinal: int
    block: int
    kind: int
    is_error: bool
    time: int
    first_cell: int
    cells: int
    offset: int
    """Where its line begins in its file, and how long that is."""
    length: int

    @property
    def own_cells(self) -> range:
        """The numbers of its cells."""
        return range(self.first_cell, self.first_cell + self.cells)


class RunTexts:
    """The texts of a run, as columns: a search looks at few of them."""

    def __init__(self, data: bytes) -> None:
        (
            self._numbers_apart, self._ordinals, self._blocks, self.states, self._unit, self._times_apart,
            self._cells_apart, self.sizes, self._lines_apart, self._lengths,
        ) = _decode(data)  # fmt: skip
        """`states` are kinds, times two, and one for an error; `sizes` say how many cells each text has."""

    @cached_property
    def firsts(self) -> list[int]:
        """The first cell of each text."""
        return _begin(self._cells_apart, self.sizes)

    @cached_property
    def _offsets(self) -> list[int]:
        return _begin(self._lines_apart, self._lengths)

    @cached_property
    def _numbers(self) -> list[int]:
        return list(accumulate(self._numbers_apart))

    @cached_property
    def _times(self) -> list[int]:
        return list(accumulate(self._times_apart))

    def __len__(self) -> int:
        return len(self.sizes)

    def time(self, position: int) -> int:
        """Return the time of a text."""
        time: int = self._times[position] * self._unit
        return time

    def get(self, position: int) -> Text:
        """Return a text."""
        state = self.states[position]
        ordinal = self._ordinals[position] if self._ordinals else 0
        return Text(
            self._numbers[position], ordinal, self._blocks[position] if self._blocks else ordinal, state >> 1,
            bool(state & 1), self.time(position), self.firsts[position], self.sizes[position],
            self._offsets[position], self._lengths[position],
        )  # fmt: skip


def pack_run(texts: Sequence[Text]) -> bytes:
    """Return the texts of a run as bytes."""
    ordinals, blocks = [text.ordinal for text in texts], [text.block for text in texts]
    unit = gcd(_MILLISECOND, *(text.time for text in texts))
    sizes, lengths = [text.cells for text in texts], [text.length for text in texts]
    return _encode(
        (
            _part([text.number for text in texts]),
            ordinals if any(ordinals) else [],
            blocks if blocks != ordinals else [],
            [text.kind * 2 + text.is_error for text in texts],
            unit,
            _part([text.time // unit for text in texts]),
            _part([text.first_cell for text in texts], sizes),
            sizes,
            _part([text.offset for text in texts], lengths),
            lengths,
        )
    )


def unpack_run(data: bytes) -> list[Text]:
    """Return what `pack_run` was given."""
    run = RunTexts(data)
    return [run.get(position) for position in range(len(run))]


_FormerColumns = tuple[list[int], list[int], list[int], list[int], list[int], list[int], list[int]]


def place_lines(connection: apsw.Connection, find: Callable[[int, int], tuple[int, int]]) -> None:
    """Note where lines begin and how long they are in runs that don't say it; `find` looks a line up."""
    decode = msgpack.Decoder(_FormerColumns).decode
    for [number] in list(connection.execute("SELECT id FROM text_runs ORDER BY generation, id")):
        query = "SELECT generation, texts FROM text_runs WHERE id = ?"
        [(generation, data)] = connection.execute(query, (number,))
        numbers, ordinals, blocks, states, times, cells, sizes = decode(data)
        lines = list(accumulate(numbers))
        known = {line: find(generation, line) for line in dict.fromkeys(lines)}
        texts = [
            Text(line, ordinal, block, state >> 1, bool(state & 1), time, first, size, *known[line])
            for line, ordinal, block, state, time, first, size in zip(
                lines, ordinals, blocks, states, accumulate(times), _begin(cells, sizes), sizes, strict=True
            )
        ]
        connection.execute("UPDATE text_runs SET texts = ? WHERE id = ?", (pack_run(texts), number))


def _part(starts: list[int], sizes: Iterable[int] = repeat(0)) -> list[int]:
    """Return how far each start is from the end of what is before it."""
    return list(map(sub, starts, chain((0,), map(add, starts, sizes))))


def _begin(apart: list[int], sizes: list[int]) -> list[int]:
    """Return the starts of which `_part` made something."""
    return list(accumulate(map(add, apart, chain((0,), sizes))))


_FEW = 16
"""Up to so many cells wait to be indexed,"""
_SHORT = 8192
"""if they have no more characters,"""
_WAITING = 64
"""until there are so many."""
_SMALL = 128
"""Up to so many cells their words are listed when they are written."""
_PART = 20
"""And if so many times as many were listed before: else the list is soon to be read from the index."""
_UNLISTED = 2000
"""So many cells behind the last portion are worth reading the list anew."""
_VOCABULARY_AT_ONCE = 10_000
_NEWLINE = "\n"
_FEW_SEGMENTS = 4
"""Up to so many pieces of the index are left as they are."""
_PAGES = 64
"""How many pages of the index are merged at once, in about 4 milliseconds: what it leaves free is no more."""


_vocabulary_encode, _vocabulary_decode = msgpack.Encoder().encode, msgpack.Decoder(list[str]).decode


PackedWords = tuple[int, int, bytes]
"""Up to which cell, how many bytes, and the list of words, compressed."""


def find_next_cell(connection: apsw.Connection) -> int:
    """Return the number of the cell that is added next: no number is given twice."""
    query = """
    SELECT max(value, ifnull((SELECT first_cell + cells FROM new_cells ORDER BY first_cell DESC LIMIT 1), 0))
    FROM search_state WHERE name = 'next-cell'
    """
    [(following,)] = connection.execute(query)
    return int(following)


def add_cells(connection: apsw.Connection, cells: tuple[str, ...]) -> None:
    """Add cells behind those that there are; a few of them wait until there are more."""
    first = find_next_cell(connection)
    if len(cells) <= _FEW and sum(map(len, cells)) <= _SHORT:
        bodies = compress(_vocabulary_encode(cells))
        connection.execute("INSERT INTO new_cells VALUES (?, ?, ?)", (first, len(cells), bodies))
        [(oldest,)] = connection.execute("SELECT min(first_cell) FROM new_cells")
        if first + len(cells) - oldest > _WAITING:
            index_new_cells(connection)
    else:
        index_new_cells(connection)
        _index(connection, first, cells)


def index_new_cells(connection: apsw.Connection) -> None:
    """Index the cells that wait."""
    first, cells = list_new_cells(connection)
    if cells:
        connection.execute("DELETE FROM new_cells")
        _index(connection, first, cells)


def list_new_cells(connection: apsw.Connection) -> tuple[int, tuple[str, ...]]:
    """Return the number of the first cell that waits, and all of them in order."""
    query = "SELECT first_cell, CAST(bodies AS BLOB) FROM new_cells ORDER BY first_cell"
    rows: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    cells = tuple(cell for _, bodies in rows for cell in _vocabulary_decode(open_compressed(bodies)))
    return (rows[0][0] if rows else 0), cells


def _index(connection: apsw.Connection, first: int, cells: tuple[str, ...]) -> None:
    connection.execute("UPDATE search_state SET value = ? WHERE name = 'next-cell'", (first + len(cells),))
    # Row by row: for a statement of several rows SQLite makes a savepoint, for which FTS5 writes what it holds.
    connection.executemany("INSERT INTO cells (rowid, body) VALUES (?, ?)", enumerate(cells, first))
    _add_words(connection, first, cells)


def _add_words(connection: apsw.Connection, first: int, cells: Sequence[str]) -> None:
    """List the words of new cells, if all cells before them are listed and it pays."""
    listed = _find_listed(connection)
    if listed != first - 1 or (len(cells) > _SMALL and listed < _PART * len(cells)):
        return
    words = set(split_words(connection, cells))
    last = first + len(cells) - 1
    query = "SELECT last_cell, length, words FROM vocabulary ORDER BY last_cell DESC"
    for number, length, data in list(connection.execute(query)):
        if length > sum(map(len, words)) * 2 + len(words):
            break
        words.update(decompress(data, length).decode().split("\n"))
        connection.execute("DELETE FROM vocabulary WHERE last_cell = ?", (number,))
    _insert(connection, last, words)


def split_words(connection: apsw.Connection, texts: Iterable[str]) -> Iterable[str]:
    """Return the words of texts, as the index splits them."""
    name, *options = TOKENIZER.split()
    tokenizer = connection.fts5_tokenizer(name, options)
    reason = apsw.FTS5_TOKENIZE_DOCUMENT
    for text in texts:
        words = tokenizer(text.encode(), reason, None, include_offsets=False, include_colocated=False)
        yield from map(str, words)


def merge_some(connection: apsw.Connection, pages: int) -> bool:
    """Merge some pages of segments; return whether there were any. New ones go where the old ones were."""
    before = connection.total_changes()
    connection.execute("INSERT INTO cells (cells, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes() - before > 1  # as FTS5's documentation tells when all is merged


def _count_segments(connection: apsw.Connection) -> int:
    """Return how many pieces the index has; the first row of each is found at once."""
    query = """
    WITH RECURSIVE segments (id) AS (
        SELECT min(segid) FROM cells_idx
        UNION ALL SELECT (SELECT min(segid) FROM cells_idx WHERE segid > id) FROM segments WHERE id IS NOT NULL
    ) SELECT count(id) FROM segments
    """
    [(count,)] = connection.execute(query)
    return int(count)


def _pack_words(connection: apsw.Connection) -> PackedWords:
    [(following,)] = connection.execute("SELECT value FROM search_state WHERE name = 'next-cell'")
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.cell_words USING fts5vocab (main, cells, row)")
    return following - 1, *compress_pieces(_list_words(connection))


def _list_words(connection: apsw.Connection) -> Iterator[bytes]:
    """Yield the list of all words, which the index has in order, in pieces: it may be as long as the texts."""
    before = ""
    words = connection.execute("SELECT term FROM temp.cell_words")
    while some := [word for (word,) in islice(words, _VOCABULARY_AT_ONCE)]:
        yield f"{before}{_NEWLINE.join(some)}".encode()
        before = "\n"


def _find_listed(connection: apsw.Connection) -> int:
    [(listed,)] = connection.execute("SELECT ifnull(max(last_cell), 0) FROM vocabulary")
    return int(listed)


def _insert(connection: apsw.Connection, last: int, words: Iterable[str]) -> None:
    data = "\n".join(sorted(words)).encode()
    connection.execute("INSERT INTO vocabulary VALUES (?, ?, ?)", (last, len(data), compress(data)))


class Vocabulary:
    """The list for reading: portions stay in memory as long as they are there."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._portions: dict[tuple[int, int], str] = {}
        self._waiting: tuple[int, int] = 0, 0
        self._waiting_words = ""
        self.listed = 0
        """Up to which cell all words are known."""
        self.first_waiting: int | None = None
        """From which cell on they are in the index `waiting_cells` and not in `cells`."""

    def load(self) -> None:
        """Read what is new."""
        keys = list(self._connection.execute("SELECT last_cell, length FROM vocabulary"))
        self._portions = {key: self._portions.get(key) or self._read(*key) for key in keys}
        self.listed = max((last for last, _ in keys), default=0)
        first, last = self._find_waiting()
        self.first_waiting = first or None
        if first and self.listed == first - 1:
            self.listed = last - 1

    def _find_waiting(self) -> tuple[int, int]:
        """Return the first cell that waits and the one behind the last, and have them in an index."""
        query = "SELECT ifnull(min(first_cell), 0), ifnull(max(first_cell + cells), 0) FROM new_cells"
        [found] = self._connection.execute(query)
        if found != self._waiting:
            execute = self._connection.execute
            execute("DROP TABLE IF EXISTS temp.waiting_cells")
            execute(f"CREATE VIRTUAL TABLE temp.waiting_cells USING {CELL_INDEX}")
            first, cells = list_new_cells(self._connection)
            query = "INSERT INTO waiting_cells (rowid, body) SELECT ? + rowid, value FROM carray(?)"
            if cells:
                execute(query, (first - 1, apsw.carray(cells)))
            words = "\n".join(sorted(set(split_words(self._connection, cells))))
            self._waiting, self._waiting_words = found, f"\n{words}\n"
        return self._waiting

    def list_words(self, fragment: str, most: int) -> list[str] | None:
        """Return the words that contain a fragment; None if there are more than `most`.

        A newline at its beginning or end stands for that of a word.
        """
        found: set[str] = set()
        for portion in (*self._portions.values(), self._waiting_words):
            position = portion.find(fragment)
            while position >= 0:
                begin = portion.rfind("\n", 0, position + 1) + 1
                end = portion.find("\n", position + len(fragment) - fragment.endswith("\n"))
                found.add(portion[begin:end])
                if len(found) > most:
                    return None
                position = portion.find(fragment, end)
        return sorted(found)

    def _read(self, last: int, length: int) -> str:
        query = "SELECT words FROM vocabulary WHERE last_cell = ?"
        [(data,)] = self._connection.execute(query, (last,))
        return f"\n{decompress(data, length).decode()}\n"


_MOST = 20
_MASK = (1 << 64) - 1


class WordSums:
    """The words of each cell, summed up; read from the index again only if something was written."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._version: object = None
        self._sums = array("Q")

    def load(self) -> array[int]:
        """Return the sum of each cell, by its number."""
        version = self._connection.pragma("data_version")
        if version != self._version:
            self._sums = self._read()
            self._version = version
        return self._sums

    def _read(self) -> array[int]:
        execute = self._connection.execute
        following = find_next_cell(self._connection)
        execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.cell_places USING fts5vocab (main, cells, instance)")
        sums = array("Q", bytes(8 * following))
        first, cells = list_new_cells(self._connection)
        word, value = None, 0
        for term, cell in execute("SELECT term, doc FROM temp.cell_places"):
            if term != word:
                word, value = term, _hash(term)
            if 0 <= cell < following:
                sums[cell] = (sums[cell] + value) & _MASK
        for cell, body in zip(range(first, following), cells, strict=False):
            sums[cell] = _sum_words(self._connection, body)
        return sums


def _compare(
    connection: apsw.Connection,
    sums: array[int],
    stored: dict[tuple[int, int], Text],
    texts: Iterable[TextFact],
) -> Iterator[str]:
    for text in texts:
        called = f"text {text.ordinal + 1} of line {text.number + 1}"
        found = stored.pop((text.number, text.ordinal), None)
        if found is None:
            yield f"{called} is missing"
        elif (
            found.block, found.kind, found.is_error, found.time, found.cells, found.offset, found.length
        ) != (
            text.block, text.kind, text.is_error, text.time, len(text.cells), text.offset, text.length
        ):  # fmt: skip
            yield f"{called} differs"
        elif list(sums[found.first_cell : found.first_cell + found.cells]) != [
            _sum_words(connection, cell) for cell in text.cells
        ]:
            yield f"{called} is indexed by other words"
    for number, ordinal in stored:
        yield f"text {ordinal + 1} of line {number + 1} should not be there"


def _sum_words(connection: apsw.Connection, cell: str) -> int:
    return sum(map(_hash, set(split_words(connection, (cell,))))) & _MASK


def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
