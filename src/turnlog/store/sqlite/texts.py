"""Writing what is searched: cells of new texts into the index, texts into runs.

Cells get ascending numbers: the index takes those four times as fast as any others. A text whose digest is
known is not indexed again; its run is noted as one that repeats it. When the run of the first such text goes,
its cells stay as long as others refer to them.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice

import apsw

from turnlog.store.batch import TextFact
from turnlog.store.search.text_rows import HOOKS
from turnlog.store.sqlite.runs import RUN_SIZE, Text, pack_run, unpack_run
from turnlog.store.sqlite.vocabulary import add_words

__all__ = ["HOOKS", "delete_some_texts", "delete_texts", "write_run", "write_texts"]

_SPAN = 4096
"""How far the cells of a run may lie apart: others come between them while several files grow."""
_AT_ONCE = 2048
"""How many texts are indexed at once, at most."""
_CELLS_AT_ONCE = 8192
"""And how many cells, should they be long."""


def write_texts(connection: apsw.Connection, generation: int, texts: Iterable[TextFact]) -> None:
    """Add texts behind those that a generation has, in the transaction of the caller."""
    some: list[TextFact] = []
    cells = 0
    for text in texts:
        some.append(text)
        cells += len(text.cells)
        if len(some) == _AT_ONCE or cells >= _CELLS_AT_ONCE:
            _Writer(connection, generation).write(some)
            some, cells = [], 0
    if some:
        _Writer(connection, generation).write(some)


def delete_texts(connection: apsw.Connection, generations: Iterable[int], *, distrusted: bool = False) -> None:
    """Delete all texts of some generations, and the cells that nobody else refers to.

    Of cells that are `distrusted`, no text will be said to be equal to theirs any more.
    """
    runs = [run for generation in generations for run in _list_runs(connection, generation)]
    _Remover(connection).remove([(number, texts, []) for number, _, texts in runs])
    if distrusted:
        _delete_digests(connection, [text.first_cell for _, _, texts in runs for text in texts])


def delete_some_texts(connection: apsw.Connection, generation: int, gone: Iterable[int]) -> None:
    """Delete the texts of some lines of a generation."""
    lines = frozenset(gone)
    runs = []
    for number, _, texts in _list_runs(connection, generation):
        kept = [text for text in texts if text.number not in lines]
        if len(kept) < len(texts):
            runs.append((number, [text for text in texts if text.number in lines], kept))
    _Remover(connection).remove(runs)


class _Writer:
    """Writes some texts of one generation."""

    def __init__(self, connection: apsw.Connection, generation: int) -> None:
        self._connection = connection
        self._generation = generation
        [(self._next,)] = connection.execute("SELECT value FROM search_state WHERE name = 'next-cell'")
        self._cells: list[Collection[str]] = []
        """Those of each text; a very long one's are read when they are written."""
        self._repeats: list[Text] = []

    def write(self, texts: list[TextFact]) -> None:
        first = self._next
        known = self._find_known(texts)
        placed = [self._place(text, known) for text in texts]
        self._write_runs(placed)
        self._connection.execute("DELETE FROM search_state WHERE name = 'next-cell'")
        self._connection.execute("INSERT INTO search_state VALUES ('next-cell', ?)", (self._next,))
        cells = chain.from_iterable(self._cells)
        while some := tuple(islice(cells, _CELLS_AT_ONCE)):
            self._connection.execute(
                "INSERT INTO cells (rowid, body) SELECT ? + rowid, value FROM carray(?)",
                (first - 1, apsw.carray(some)),
            )
            add_words(self._connection, first, some)
            first += len(some)

    def _find_known(self, texts: list[TextFact]) -> dict[bytes, tuple[int, int]]:
        query = "SELECT first_cell, cells FROM text_digests WHERE digest = ?"
        known = {}
        for digest in {text.digest for text in texts if text.digest}:
            for first, cells in self._connection.execute(query, (digest,)):
                known[digest] = first, cells
        return known

    def _place(self, text: TextFact, known: dict[bytes, tuple[int, int]]) -> Text:
        found = known.get(text.digest) if text.digest else None
        first, cells = found or (self._next, len(text.cells))
        if found is None:
            self._next += cells
            self._cells.append(text.cells)
            if text.digest:
                known[text.digest] = first, cells
                self._connection.execute(
                    "INSERT INTO text_digests VALUES (?, ?, ?)", (text.digest, first, cells)
                )
        return Text(
            text.number, text.ordinal, text.block, text.kind, text.is_error, text.time, first, cells,
            found is not None,
        )  # fmt: skip

    def _write_runs(self, texts: list[Text]) -> None:
        last = self._find_open()
        held: list[Text] = []
        number = None
        if last is not None:
            number, held = last
        for text in texts:
            if held and not _has_room(held, text):
                self._write_run(number, held)
                number, held = None, []
            held.append(text)
        self._write_run(number, held)

    def _find_open(self) -> tuple[int, list[Text]] | None:
        query = "SELECT id, texts FROM text_runs WHERE generation = ? ORDER BY id DESC LIMIT 1"
        for number, data in self._connection.execute(query, (self._generation,)):
            texts = unpack_run(data)
            return (number, texts) if len(texts) < RUN_SIZE else None
        return None

    def _write_run(self, number: int | None, texts: list[Text]) -> None:
        write_run(self._connection, number, self._generation, texts)


def _has_room(held: list[Text], text: Text) -> bool:
    if len(held) >= RUN_SIZE:
        return False
    first = next((each.first_cell for each in held if not each.is_repeat), None)
    return text.is_repeat or first is None or text.first_cell + text.cells - first <= _SPAN


def write_run(connection: apsw.Connection, number: int | None, generation: int, texts: Sequence[Text]) -> None:
    """Write a run in the place of one that is there, or as a new one."""
    own = [text for text in texts if not text.is_repeat]
    first = min((text.first_cell for text in own), default=0)
    last = max((text.first_cell + text.cells - 1 for text in own), default=0)
    times = [text.time for text in texts]
    if number is not None:
        connection.execute("DELETE FROM text_runs WHERE id = ?", (number,))
    connection.execute(
        "INSERT INTO text_runs VALUES (?, ?, ?, ?, ?, ?, ?)",
        (number, generation, first, last, max(times), min(times), pack_run(texts)),
    )
    number = connection.last_insert_rowid() if number is None else number
    connection.executemany(
        "INSERT OR IGNORE INTO text_repeats VALUES (?, ?, ?)",
        ((text.first_cell, number, text.cells) for text in texts if text.is_repeat),
    )


def _list_runs(connection: apsw.Connection, generation: int) -> Iterator[tuple[int, int, list[Text]]]:
    query = "SELECT id, generation, texts FROM text_runs WHERE generation = ? ORDER BY id"
    for number, owner, data in list(connection.execute(query, (generation,))):
        yield number, owner, unpack_run(data)


class _Remover:
    """Deletes texts, and what only they needed."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def remove(self, runs: Sequence[tuple[int, list[Text], list[Text]]]) -> None:
        """Take texts out of runs, each given with those that go and those that stay."""
        for number, gone, kept in runs:
            self._shrink(number, gone, kept)
        free = [text for _, gone, _ in runs for text in gone if self._release(text)]
        if free:
            self._delete_cells(free)

    def _shrink(self, number: int, gone: list[Text], kept: list[Text]) -> None:
        self._connection.executemany(
            "DELETE FROM text_repeats WHERE first_cell = ? AND run = ?",
            ((text.first_cell, number) for text in gone if text.is_repeat),
        )
        [(generation,)] = self._connection.execute("SELECT generation FROM text_runs WHERE id = ?", (number,))
        if kept:
            write_run(self._connection, number, generation, kept)
        else:
            self._connection.execute("DELETE FROM text_runs WHERE id = ?", (number,))

    def _release(self, text: Text) -> bool:
        """Return whether nobody needs the cells of a text that is gone."""
        first, execute = text.first_cell, self._connection.execute
        if execute("SELECT 1 FROM text_repeats WHERE first_cell = ? LIMIT 1", (first,)).fetchall():
            if not text.is_repeat:
                execute("INSERT OR IGNORE INTO text_orphans VALUES (?)", (first,))
            return False
        if not text.is_repeat:
            return True
        execute("DELETE FROM text_orphans WHERE first_cell = ?", (first,))
        return self._connection.changes() > 0

    def _delete_cells(self, texts: Sequence[Text]) -> None:
        self._connection.executemany(
            "DELETE FROM cells WHERE rowid = ?",
            ((cell,) for text in texts for cell in range(text.first_cell, text.first_cell + text.cells)),
        )
        _delete_digests(self._connection, [text.first_cell for text in texts])


def _delete_digests(connection: apsw.Connection, firsts: list[int]) -> None:
    if firsts:
        query = "DELETE FROM text_digests WHERE first_cell IN (SELECT value FROM carray(?))"
        connection.execute(query, (apsw.carray(array("q", firsts)),))
