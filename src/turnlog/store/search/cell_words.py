"""The words of texts, as engines keep them that have a row for each text: each once, and in how many cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from turnlog.store.search.asking import is_character
from turnlog.store.search.indexing import split_words

__all__ = ["MOST_COUNTED", "count_words", "split_cell"]

MOST_COUNTED = 255
"""So many cells with a word, or more, are one number."""


def split_cell(cell: str) -> set[str]:
    """Return the words of a cell.

    The first one of a pair of characters is a word as well, so that each character can be asked for.
    """
    words = set(split_words(cell))
    if not cell.isascii():
        words.update(word[0] for word in tuple(words) if len(word) == 2 and is_character(word))
    return words


def count_words(cells: Iterable[str]) -> Mapping[str, int]:
    """Return the words of a text, and in how many of its cells each is."""
    return Counter(word for cell in cells for word in split_cell(cell))
