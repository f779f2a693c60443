"""Writing what is searched: cells of new texts into the index, texts into runs.

Cells get ascending numbers: the index takes those four times as fast as any others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import apsw

from turnlog.store.batch import TextFact
from turnlog.store.search.text_rows import HOOKS
from turnlog.store.sqlite.runs import RUN_SIZE, Text, pack_run, unpack_run
from turnlog.store.sqlite.vocabulary import add_cells, find_next_cell, index_new_cells

__all__ = ["HOOKS", "delete_some_texts", "delete_texts", "write_texts"]

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
            _write(connection, generation, some)
            some, cells = [], 0
    if some:
        _write(connection, generation, some)


def _write(connection: apsw.Connection, generation: int, texts: list[TextFact]) -> None:
    following = find_next_cell(connection)
    placed = []
    for text in texts:
        place = text.number, text.ordinal, text.block, text.kind, text.is_error, text.time
        placed.append(Text(*place, following, len(text.cells)))
        following += len(text.cells)
    _write_runs(connection, generation, placed)
    # The cells of a very long text are read when they are written.
    cells = chain.from_iterable(text.cells for text in texts)
    while some := tuple(islice(cells, _CELLS_AT_ONCE)):
        add_cells(connection, some)


def _write_runs(connection: apsw.Connection, generation: int, texts: list[Text]) -> None:
    number, held = None, list[Text]()
    query = "SELECT id, texts FROM text_runs WHERE generation = ? ORDER BY id DESC LIMIT 1"
    for last, data in connection.execute(query, (generation,)):
        last_texts = unpack_run(data)
        if len(last_texts) < RUN_SIZE:
            number, held = last, last_texts
    for text in texts:
        if held and (len(held) >= RUN_SIZE or text.first_cell + text.cells - held[0].first_cell > _SPAN):
            _write_run(connection, number, generation, held)
            number, held = None, []
        held.append(text)
    _write_run(connection, number, generation, held)


def _write_run(connection: apsw.Connection, number: int | None, generation: int, texts: Sequence[Text]) -> None:
    """Write a run in the place of one that is there, or as a new one."""
    times = [text.time for text in texts]
    last = texts[-1].first_cell + texts[-1].cells - 1
    values = texts[0].first_cell, last, max(times), min(times), pack_run(texts)
    if number is None:
        connection.execute("INSERT INTO text_runs VALUES (NULL, ?, ?, ?, ?, ?, ?)", (generation, *values))
    else:
        columns = "(first_cell, last_cell, newest, oldest, texts) = (?, ?, ?, ?, ?)"
        connection.execute(f"UPDATE text_runs SET {columns} WHERE id = ?", (*values, number))


def delete_texts(connection: apsw.Connection, generations: Iterable[int]) -> None:
    """Delete all texts of some generations, and their cells."""
    for generation in generations:
        for number, texts in _list_runs(connection, generation):
            _delete_cells(connection, texts)
            connection.execute("DELETE FROM text_runs WHERE id = ?", (number,))


def delete_some_texts(connection: apsw.Connection, generation: int, gone: Iterable[int]) -> None:
    """Delete the texts of some lines of a generation, and their cells."""
    lines = frozenset(gone)
    for number, texts in _list_runs(connection, generation):
        kept = [text for text in texts if text.number not in lines]
        if len(kept) < len(texts):
            _delete_cells(connection, [text for text in texts if text.number in lines])
            if kept:
                _write_run(connection, number, generation, kept)
            else:
                connection.execute("DELETE FROM text_runs WHERE id = ?", (number,))


def _list_runs(connection: apsw.Connection, generation: int) -> Iterator[tuple[int, list[Text]]]:
    query = "SELECT id, texts FROM text_runs WHERE generation = ? ORDER BY id"
    for number, data in list(connection.execute(query, (generation,))):
        yield number, unpack_run(data)


def _delete_cells(connection: apsw.Connection, texts: Sequence[Text]) -> None:
    index_new_cells(connection)
    connection.executemany(
        "DELETE FROM cells WHERE rowid = ?",
        ((cell,) for text in texts for cell in range(text.first_cell, text.first_cell + text.cells)),
    )
