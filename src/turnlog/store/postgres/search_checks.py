"""Whether what is searched is what it should be: which texts there are, and which words they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from psycopg import Connection

from turnlog.store.identity import Scope
from turnlog.store.packing import Cells
from turnlog.store.postgres.words import list_unlisted, pack_words
from turnlog.store.search.packing import TextFact

__all__ = ["check_texts"]

_MOST = 20
_GENERATION = """
SELECT g.month, g.id FROM sources AS s JOIN generations AS g ON g.source = s.id
WHERE s.owner = %s AND s.source = %s AND g.generation = %s
"""
_TEXTS = """
SELECT number, ordinal, block, state, time, cells, words, counts FROM texts
WHERE month = %s AND generation = %s ORDER BY id
"""


def check_texts(
    connection: Connection, scope: Scope, source: str, generation: int, texts: Iterable[TextFact]
) -> list[str]:
    """Return how the texts of a generation differ from what they should be."""
    stored: dict[tuple[int, int], Cells] = {}
    repeated: list[tuple[int, int]] = []
    for place in connection.execute(_GENERATION, (scope.owner, source, generation)).fetchall():
        for number, ordinal, *cells in connection.execute(_TEXTS, place):
            if (number, ordinal) in stored:
                repeated.append((number, ordinal))
            stored[number, ordinal] = tuple(cells)
    found = list(_compare(connection, stored, texts))
    found += [f"{_name(*place)} is there more than once" for place in repeated]
    return found if len(found) <= _MOST else [*found[:_MOST], f"and {len(found) - _MOST} more"]


def _compare(
    connection: Connection, stored: dict[tuple[int, int], Cells], texts: Iterable[TextFact]
) -> Iterator[str]:
    for text in texts:
        called = _name(text.number, text.ordinal)
        found = stored.pop((text.number, text.ordinal), None)
        listed: set[str] = set()
        words = pack_words(text.cells, listed.update)
        if found is None:
            yield f"{called} is missing"
        elif found[:4] != (text.block, text.kind * 2 + text.is_error, text.time, len(text.cells)):
            yield f"{called} differs"
        elif found[4:] != (list(words.numbers), words.counts) or list_unlisted(connection, listed):
            yield f"{called} is indexed by other words"
    for number, ordinal in stored:
        yield f"{_name(number, ordinal)} should not be there"


def _name(number: int, ordinal: int) -> str:
    return f"text {ordinal + 1} of line {number + 1}"
