"""Whether what is searched is what it should be: which texts there are, and which words the index has of them.

The index has no texts. But it tells for each word in which cells it is, so the words of a cell can be summed
up, and compared with those of the text that it should be of.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b

import apsw

from turnlog.store.batch import TextFact
from turnlog.store.identity import Scope
from turnlog.store.sqlite.runs import Text, unpack_run
from turnlog.store.sqlite.vocabulary import find_next_cell, list_new_cells, split_words

__all__ = ["WordSums", "check_texts"]

_MOST = 20
_MASK = (1 << 64) - 1
_RUNS = """
SELECT r.texts FROM sources AS s JOIN generations AS g ON g.source = s.id
JOIN text_runs AS r ON r.generation = g.id
WHERE s.owner = ? AND s.source = ? AND g.generation = ? ORDER BY r.id
"""


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


def check_texts(
    connection: apsw.Connection,
    sums: WordSums,
    scope: Scope,
    source: str,
    generation: int,
    texts: Iterable[TextFact],
) -> list[str]:
    """Return how the texts of a generation differ from what they should be."""
    rows = connection.execute(_RUNS, (scope.owner, source, generation))
    stored = {(text.number, text.ordinal): text for (data,) in rows for text in unpack_run(data)}
    found = list(_compare(connection, sums.load(), stored, texts))
    return found if len(found) <= _MOST else [*found[:_MOST], f"and {len(found) - _MOST} more"]


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
        elif (found.block, found.kind, found.is_error, found.time, found.cells) != (
            text.block,
            text.kind,
            text.is_error,
            text.time,
            len(text.cells),
        ):
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
