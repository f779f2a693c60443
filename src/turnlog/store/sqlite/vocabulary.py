"""The index of words, and its words at hand, so that fragments of words can be looked for in memory.

However few cells are added to FTS5, it writes several pages. So what a live file adds waits in a table until
there is enough of it; whoever searches has an index in memory of what waits.

FTS5 finds words and beginnings of words. Which words contain a fragment is told by a list of all words, in
portions: what is added to a large index is a small portion, and portions are merged like the digits of a
binary counter. After a large import the list is read from the index itself. Cells behind the last portion may
have any words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import apsw
from msgspec import msgpack

from turnlog.store.frames import compress, compress_pieces, decompress, open_compressed
from turnlog.store.sqlite.search_schema import CELL_INDEX

__all__ = [
    "Vocabulary",
    "add_cells",
    "find_next_cell",
    "index_new_cells",
    "list_new_cells",
    "purge_index",
    "rebuild_words",
    "settle",
    "split_words",
]

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
_AT_ONCE = 10_000
_NEWLINE = "\n"
_PAGES = 16
"""How many pages of the index are merged at once."""
_TOKENIZER = ("unicode61", ["remove_diacritics", "0"])


_encode, _decode = msgpack.Encoder().encode, msgpack.Decoder(list[str]).decode


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
        bodies = compress(_encode(cells))
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
    cells = tuple(cell for _, bodies in rows for cell in _decode(open_compressed(bodies)))
    return (rows[0][0] if rows else 0), cells


def _index(connection: apsw.Connection, first: int, cells: tuple[str, ...]) -> None:
    connection.execute("UPDATE search_state SET value = ? WHERE name = 'next-cell'", (first + len(cells),))
    connection.execute(
        "INSERT INTO cells (rowid, body) SELECT ? + rowid, value FROM carray(?)",
        (first - 1, apsw.carray(cells)),
    )
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
    tokenizer = connection.fts5_tokenizer(*_TOKENIZER)
    reason = apsw.FTS5_TOKENIZE_DOCUMENT
    for text in texts:
        words = tokenizer(text.encode(), reason, None, include_offsets=False, include_colocated=False)
        yield from map(str, words)


def settle(connection: apsw.Connection) -> bool:
    """Put the index in order after much was written, in the transaction of the caller; else do nothing.

    Return whether much of what there is was written since that was last done.
    """
    index_new_cells(connection)
    state = dict(connection.execute("SELECT name, value FROM search_state"))
    last = int(state["next-cell"]) - 1
    fresh = last - int(state.get("merged-cell", 0))
    is_much = fresh > max(_UNLISTED, last // 4)
    if fresh > _UNLISTED:
        _merge(connection, -_PAGES if is_much else _PAGES)
        if is_much:
            connection.execute("REPLACE INTO search_state VALUES ('merged-cell', ?)", (last,))
    unlisted = last - _find_listed(connection)
    if unlisted > min(_UNLISTED, last // 4):
        rebuild_words(connection)
    return is_much


def _merge(connection: apsw.Connection, pages: int) -> None:
    """Merge pieces of the index, little by little: so the new pages are those that the old ones left.

    What is negative makes it one piece; else small pieces go together, and large ones stay.
    """
    changes = 2
    while changes > 1:  # as FTS5's documentation tells when all is merged
        before = connection.total_changes()
        connection.execute("INSERT INTO cells (cells, rank) VALUES ('merge', ?)", (pages,))
        changes = connection.total_changes() - before
        pages = abs(pages)


def purge_index(connection: apsw.Connection) -> None:
    """Leave nothing in the index of cells that were deleted."""
    connection.execute("INSERT INTO cells (cells) VALUES ('optimize')")
    rebuild_words(connection)


def rebuild_words(connection: apsw.Connection) -> None:
    """Read the list of words from the index."""
    [(following,)] = connection.execute("SELECT value FROM search_state WHERE name = 'next-cell'")
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.cell_words USING fts5vocab (main, cells, row)")
    connection.execute("DELETE FROM vocabulary")
    if following > 1:
        length = "SELECT ifnull(sum(length(CAST(term AS BLOB)) + 1) - 1, 0) FROM temp.cell_words"
        [(size,)] = connection.execute(length)
        packed = compress_pieces(_list_words(connection), size)
        connection.execute("INSERT INTO vocabulary VALUES (?, ?, ?)", (following - 1, size, packed))


def _list_words(connection: apsw.Connection) -> Iterator[bytes]:
    """Yield the list of all words, which the index has in order, in pieces: it may be as long as the texts."""
    before = ""
    words = connection.execute("SELECT term FROM temp.cell_words")
    while some := [word for (word,) in islice(words, _AT_ONCE)]:
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
