"""Words as numbers in the rows of texts, and the list of all words, in which fragments are looked for.

Whoever adds words has their lock together with others, and whoever deletes words has it alone: so no word goes
that a text has which is just being written.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import merge
from itertools import groupby, islice
from zlib import crc32

from msgspec import Struct
from psycopg import Connection

from turnlog.store.postgres.partitions import LOCKS
from turnlog.store.search.asking import Fragment, is_character
from turnlog.store.search.cell_words import MOST_COUNTED, count_words, split_cell

__all__ = [
    "TextWords",
    "add_words",
    "list_unlisted",
    "list_words",
    "merge_pending",
    "number_word",
    "pack_words",
    "purge_words",
]

_WORDS = 3
"""The second half of the number of our advisory lock."""
_AT_ONCE = 20_000
_REPEATS = 4
"""So many times as many rows as words are looked at: some are listed more than once."""
_SIGN = 1 << 31
_LONG = 4096
"""From how many cells on the words of a text are not all in memory at once."""
_HELD = 1 << 18
"""How many of their numbers are."""
_INDEXES = """
SELECT c.oid::regclass::text FROM pg_class AS c JOIN pg_am AS m ON m.oid = c.relam
WHERE m.amname = 'gin' AND c.relkind = 'i' AND c.relnamespace = current_schema()::regnamespace
"""
_SOME = 20_000
_UNUSUAL = f"""
SELECT g.number FROM unnest(%s::integer[]) AS g (number)
EXCEPT SELECT unnest(t.words) FROM (SELECT words FROM texts LIMIT {_SOME}) AS t
"""
"""Most words are in some of any texts; to ask for one that is in many takes long."""
_PURGE = """
DELETE FROM text_words AS w USING unnest(%s::integer[]) AS g (number)
WHERE w.number = g.number AND NOT EXISTS (SELECT 1 FROM texts AS t WHERE t.words @> ARRAY[g.number])
"""


@lru_cache(maxsize=1 << 16)
def number_word(word: str) -> int:
    """Return the number of a word."""
    return (crc32(word.encode()) ^ _SIGN) - _SIGN


class TextWords(Struct, frozen=True, gc=False):
    """The words of a text, as its row has them."""

    numbers: Sequence[int]
    """Each once, in order."""
    counts: bytes | None
    """In how many cells each of them is; None if there is one cell, or if there are very many."""


def pack_words(cells: Sequence[str], take: Callable[[Collection[str]], object]) -> TextWords:
    """Return the words of a text; `take` is given the words themselves, those of a very long one bit by bit."""
    if len(cells) > _LONG:
        return TextWords(_number_many(cells, take), None)
    if len(cells) == 1:
        words = split_cell(cells[0])
        take(words)
        return TextWords(sorted(set(map(number_word, words))), None)
    counted = count_words(cells)
    take(counted.keys())
    counts: dict[int, int] = {}
    for word, count in counted.items():
        number = number_word(word)
        counts[number] = counts.get(number, 0) + count
    numbers = sorted(counts)
    return TextWords(numbers, bytes(min(counts[number], MOST_COUNTED) for number in numbers))


def _number_many(cells: Iterable[str], take: Callable[[Collection[str]], object]) -> array[int]:
    numbers, held, left = array("i"), set[int](), iter(cells)
    while some := list(islice(left, _LONG)):
        words = {word for cell in some for word in split_cell(cell)}
        take(words)
        held.update(map(number_word, words))
        if len(held) > _HELD:
            numbers, held = _join(numbers, held), set()
    return _join(numbers, held)


def _join(numbers: array[int], held: set[int]) -> array[int]:
    return array("i", (number for number, _ in groupby(merge(numbers, sorted(held)))))


def add_words(connection: Connection, words: Collection[str]) -> None:
    """List words that are not listed yet, in the transaction of the caller."""
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", (LOCKS, _WORDS))
    missing = list_unlisted(connection, words)
    if missing:
        with connection.cursor() as cursor, cursor.copy("COPY text_words (number, word) FROM STDIN") as copy:
            # Letters and digits: nothing has to be escaped.
            copy.write("".join(f"{number_word(word)}\t{word}\n" for word in missing))


def list_unlisted(connection: Connection, words: Collection[str]) -> list[str]:
    """Return those of some words that should be listed and are not, in order."""
    left = iter(sorted(word for word in words if not is_character(word)))
    missing: list[str] = []
    while some := list(islice(left, _AT_ONCE)):
        numbers = f"{{{','.join(str(number_word(word)) for word in some)}}}"  # faster than psycopg's own way
        query = "SELECT word FROM text_words WHERE number = ANY(%s::integer[])"
        known = {word for (word,) in connection.execute(query, (numbers,))}
        missing += [word for word in some if word not in known]
    return missing


def list_words(connection: Connection, fragment: Fragment, most: int) -> list[str] | None:
    """Return the words that contain a fragment, in order; None if there are more than `most`."""
    escaped = fragment.text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    pattern = f"{'%' if fragment.open_left else ''}{escaped}{'%' if fragment.open_right else ''}"
    query = "SELECT word FROM text_words WHERE word LIKE %s LIMIT %s"
    rows = connection.execute(query, (pattern, _REPEATS * most)).fetchall()
    found = {word for (word,) in rows}
    return sorted(found) if len(found) <= most and len(rows) < _REPEATS * most else None


def purge_words(connection: Connection) -> None:
    """Delete words that no text has any more, in the transaction of the caller.

    It is best one of its own: nobody can add words meanwhile.
    """
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCKS, _WORDS))
    rows = connection.execute("DELETE FROM text_words_gone RETURNING number").fetchall()
    if rows:
        merge_pending(connection)
    for numbers in _cut(sorted({number for (number,) in rows})):
        unusual = [number for (number,) in connection.execute(_UNUSUAL, (numbers,))]
        connection.execute(_PURGE, (unusual,))


def merge_pending(connection: Connection) -> None:
    """Merge what the indexes keep beside them for the sake of fast writing: else each search has to read it."""
    for (index,) in connection.execute(_INDEXES).fetchall():
        connection.execute("SELECT gin_clean_pending_list(%s::regclass)", (index,))


def _cut(numbers: list[int]) -> Iterator[list[int]]:
    return (numbers[at : at + _AT_ONCE] for at in range(0, len(numbers), _AT_ONCE))
