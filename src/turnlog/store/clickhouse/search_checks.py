"""Whether what is searched is what it should be: which texts there are, and which words they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.reading import Reading
from turnlog.store.clickhouse.texts import find_place, name_file, pack_words
from turnlog.store.clickhouse.words import list_unlisted
from turnlog.store.packing import Cells
from turnlog.store.search.packing import TextFact

__all__ = ["check_texts"]

_MOST = 20
_WORDS, _COUNTS = 4, 5
"""Where a row of texts has its words, behind where it is, and in how many cells each of them is."""
_PUBLISHED = """
SELECT write FROM generations FINAL
WHERE session = {session:UInt128} AND source = {source:UInt128} AND generation = {generation:Int64}
"""
_TEXTS = """
SELECT at, block, state, time, cells, words, counts FROM texts
WHERE owner = {owner:String} AND session = {session:UInt128} AND file = {file:Int64}
AND generation = {generation:Int64} AND write <= {write:UInt64}
ORDER BY at, time LIMIT 1 BY at, time, write
"""


def check_texts(reading: Reading, source: str, generation: int, texts: Iterable[TextFact]) -> list[str]:
    """Return how the texts of a generation differ from what they should be."""
    stored: dict[tuple[int, int], Cells] = {}
    repeated: list[tuple[int, int]] = []
    for at, *cells in _list_texts(reading, source, generation):
        place = find_place(at)
        if place in stored:
            repeated.append(place)
        stored[place] = tuple(cells)
    words = {word.decode() for cells in stored.values() for word in cells[_WORDS]}
    unlisted = frozenset(list_unlisted(reading.engine, words))  # asked at once: there are many texts
    found = list(_compare(stored, texts, unlisted))
    found += [f"{_name(*place)} is there more than once" for place in repeated]
    return found if len(found) <= _MOST else [*found[:_MOST], f"and {len(found) - _MOST} more"]


def _list_texts(reading: Reading, source: str, generation: int) -> list[Cells]:
    within = reading.within_source(source)
    if within is None:
        return []
    owner = reading.scope.owner
    place = {"source": number(owner, source), "generation": generation}
    found: list[Cells] = []
    for (write,) in within.query(_PUBLISHED, place):
        file = name_file(owner, source)
        values = {"owner": owner, "file": file, "generation": generation, "write": write}
        found += within.query(_TEXTS, values)
    return found


def _compare(
    stored: dict[tuple[int, int], Cells], texts: Iterable[TextFact], unlisted: frozenset[str]
) -> Iterator[str]:
    for text in texts:
        called = _name(text.number, text.ordinal)
        found = stored.pop((text.number, text.ordinal), None)
        words, counts = pack_words(text.cells)
        if found is None:
            yield f"{called} is missing"
        elif found[:_WORDS] != (text.block, text.kind * 2 + text.is_error, text.time, len(text.cells)):
            yield f"{called} differs"
        elif [word.decode() for word in found[_WORDS]] != words or list(found[_COUNTS]) != counts:
            yield f"{called} is indexed by other words"
        elif not unlisted.isdisjoint(words):
            yield f"{called} is indexed by words that are not listed"
    for place in stored:
        yield f"{_name(*place)} should not be there"


def _name(line: int, ordinal: int) -> str:
    return f"text {ordinal + 1} of line {line + 1}"
