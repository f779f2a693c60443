"""What the index is asked for one term: in which cells it may be.

The words of a term must all be in one cell. A word that may go on at its end, or may be the end of a longer
one, stands for all words of the vocabulary that it can be a part of; if they are too many, it is left out,
and if nothing is left, the term may be anywhere. Cells whose words are not listed yet are asked only for what
needs no list.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import apsw

from turnlog.store.search.asking import Fragment, build_wanted
from turnlog.store.search.language import Term
from turnlog.store.sqlite.vocabulary import Vocabulary, find_next_cell

__all__ = ["Leaf", "build_leaf"]

_MOST_WORDS = 250
"""How many words a fragment may stand for."""
_WIDE = 12
"""From how many words on an expression is better asked once than for run after run."""


class Leaf:
    """One term, as the index sees it."""

    def __init__(
        self,
        connection: apsw.Connection,
        words: Sequence[str],
        beginnings: Sequence[str],
        parts: list[list[str]],
        listed: int | None,
        first_waiting: int | None,
    ) -> None:
        """Begin with nothing asked.

        All of `words`, words with each of `beginnings`, and one of each of `parts` must be in a cell; `parts`
        are known for cells up to `listed`. Cells from `first_waiting` on are in an index of their own.
        """
        self._connection = connection
        self._plain = list(map(_quote, words))
        self._terms = [*self._plain, *(f"{_quote(word)} *" for word in beginnings)]
        self._has_beginnings = bool(beginnings)
        self._parts = sorted(parts, key=len)
        self._listed = listed
        self._first_waiting = first_waiting
        self._known: list[int] | None = None
        self._gave_up = False

    @property
    def is_anywhere(self) -> bool:
        """Whether the index is of no help."""
        return not self._terms and not self._parts

    @property
    def is_wide(self) -> bool:
        """Whether it stands for so many words that it is better asked once than for run after run."""
        return self._has_beginnings or sum(map(len, self._parts)) > _WIDE

    def enumerate(self, most: int) -> list[int] | None:
        """Return all cells where it may be, in order; None if they are more than `most`."""
        if self._known is None and not self.is_anywhere:
            self._known = self._enumerate(most)
            self._gave_up = self._known is None and self.is_wide
        return self._known

    def _enumerate(self, most: int) -> list[int] | None:
        unlisted: Sequence[int] = ()
        if self._listed is not None:
            last = find_next_cell(self._connection) - 1
            if not self._terms and last - self._listed > most:
                return None
            unlisted = self._find_unlisted(self._listed + 1, last)
        found = set(unlisted)
        # An expression of many words costs their number for each cell that is found: one by one they don't.
        for expression in self._list_expressions():
            found.update(self._ask("ORDER BY rowid LIMIT ?", (expression, most + 1 - len(unlisted))))
            if len(found) > most:
                return None
        if self._listed is not None:
            found = {cell for cell in found if cell <= self._listed} | set(unlisted)
        return sorted(found)

    def _list_expressions(self) -> Iterator[str]:
        if not self.is_wide or not self._parts:
            yield self._build_expression()
            return
        *others, widest = self._parts
        rest = [*self._terms, *map(_join, others)]
        for word in widest:
            yield " AND ".join([_quote(word), *rest])

    def find(self, first: int, last: int) -> Sequence[int]:
        """Return the cells from `first` to `last` where it may be."""
        if self._known is not None:
            return self._known[bisect_left(self._known, first) : bisect_right(self._known, last)]
        if self._gave_up:  # it is so common that looking at the texts is faster
            return self._find_by(" AND ".join(self._plain), first, last)
        if self._listed is None or last <= self._listed:
            return self._find_by(self._build_expression(), first, last)
        if first > self._listed:
            return self._find_unlisted(first, last)
        return [
            *self._find_by(self._build_expression(), first, self._listed),
            *self._find_unlisted(self._listed + 1, last),
        ]

    def _find_unlisted(self, first: int, last: int) -> Sequence[int]:
        """Return cells by what needs no list of words."""
        return self._find_by(" AND ".join(self._terms), first, last)

    def _build_expression(self) -> str:
        return " AND ".join([*self._terms, *map(_join, self._parts)])

    def _find_by(self, expression: str, first: int, last: int) -> Sequence[int]:
        if not expression:
            return range(first, last + 1)
        return self._ask("AND rowid BETWEEN ? AND ? ORDER BY rowid", (expression, first, last), last)

    def _ask(self, condition: str, values: tuple[str | int, ...], last: int | None = None) -> list[int]:
        """Return cells, in order; none that wait are behind `last`."""
        is_waiting = self._first_waiting is not None and (last is None or last >= self._first_waiting)
        return [
            cell
            for table in (("cells", "waiting_cells") if is_waiting else ("cells",))
            for (cell,) in self._connection.execute(
                f"SELECT rowid FROM {table} WHERE {table} MATCH ? {condition}", values
            )
        ]


def build_leaf(connection: apsw.Connection, vocabulary: Vocabulary, term: Term) -> Leaf:
    """Return what the index is to be asked for a term."""
    wanted = build_wanted(term)
    parts = [found for each in wanted.fragments if (found := _list_words(vocabulary, each)) is not None]
    listed = vocabulary.listed if wanted.fragments else None
    return Leaf(connection, wanted.words, wanted.beginnings, parts, listed, vocabulary.first_waiting)


def _list_words(vocabulary: Vocabulary, fragment: Fragment) -> list[str] | None:
    before, behind = "" if fragment.open_left else "\n", "" if fragment.open_right else "\n"
    return vocabulary.list_words(before + fragment.text + behind, _MOST_WORDS)


def _join(words: Sequence[str]) -> str:
    if not words:
        return '""'  # nothing has it
    return f"({' OR '.join(map(_quote, words))})"


_QUOTES = re.compile('"')


def _quote(word: str) -> str:
    return f'"{_QUOTES.sub(chr(34) * 2, word)}"'
