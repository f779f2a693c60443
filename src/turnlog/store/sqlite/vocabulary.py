"""The words of the index at hand, so that fragments of words can be looked for in memory.

FTS5 finds words and beginnings of words. Which words contain a fragment is told by a list of all words, in
portions: what is added to a large index is a small portion, and portions are merged like the digits of a
binary counter. After a large import the list is read from the index itself. Cells behind the last portion may
have any words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import apsw

from turnlog.store.frames import compress, compress_pieces, decompress

__all__ = ["Vocabulary", "add_words", "purge_index", "rebuild_words", "settle", "split_words"]

_SMALL = 64
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


def add_words(connection: apsw.Connection, first: int, cells: Sequence[str]) -> None:
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
    state = dict(connection.execute("SELECT name, value FROM search_state"))
    last = int(state["next-cell"]) - 1
    fresh = last - int(state.get("merged-cell", 0))
    is_much = fresh > max(_UNLISTED, last // 4)
    if fresh > _UNLISTED:
        _merge(connection, -_PAGES if is_much else _PAGES)
        if is_much:
            connection.execute("DELETE FROM search_state WHERE name = 'merged-cell'")
            connection.execute("INSERT INTO search_state VALUES ('merged-cell', ?)", (last,))
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
        self.listed = 0
        """Up to which cell all words are known."""

    def load(self) -> None:
        """Read what is new."""
        keys = list(self._connection.execute("SELECT last_cell, length FROM vocabulary"))
        portions = {}
        for key in keys:
            portions[key] = self._portions.get(key) or self._read(*key)
        self._portions = portions
        self.listed = max((last for last, _ in keys), default=0)

    def list_words(self, fragment: str, most: int) -> list[str] | None:
        """Return the words that contain a fragment; None if there are more than `most`.

        A newline at its beginning or end stands for that of a word.
        """
        found: set[str] = set()
        for portion in self._portions.values():
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
