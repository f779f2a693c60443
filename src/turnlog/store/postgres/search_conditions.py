"""From a query to what the index is asked for, in SQL.

A text must have all words of a term; a fragment stands for all words that it can be a part of, of which the
text must have one. If they are too many, the fragment is left out, and if nothing is left, the term may be
anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from psycopg import Connection

from turnlog.store.postgres.words import list_words, number_word
from turnlog.store.search.asking import build_wanted, list_asked
from turnlog.store.search.clauses import ANYTHING, build_clause, join_clauses
from turnlog.store.search.language import Query, Term
from turnlog.store.search.packing import KINDS
from turnlog.store.search.surroundings import Surroundings

__all__ = ["Conditions", "Leaf", "build_conditions", "build_leaves"]

_MOST_WORDS = 500
"""How many words a fragment may stand for."""
_WIDE = 50


class Leaf(Struct, frozen=True, gc=False):
    """One term, as the index sees it, in numbers of words."""

    words: tuple[int, ...]
    """All of these."""
    parts: tuple[frozenset[int], ...]
    """One of each of these."""

    @property
    def is_anywhere(self) -> bool:
        """Whether the index is of no help."""
        return not self.words and not self.parts

    def count(self, having: Mapping[int, int], cells: int) -> int:
        """Return in how many cells of a text it may be, given in how many each of its words is."""
        found = [having.get(number, 0) for number in self.words]
        found += [min(cells, sum(having[number] for number in part & having.keys())) for part in self.parts]
        return min(found, default=cells)


class Conditions(Struct, frozen=True, gc=False):
    """What texts must fulfil to be proposed."""

    words: str
    """SQL that only the index of words can tell early."""
    others: str
    """SQL about the other columns."""
    times: str
    """SQL about the time, which texts are ordered by."""
    values: dict[str, Any]
    is_narrow: bool
    """Whether it is known that few files are left."""
    is_wide: bool
    """Whether there are many words, one of which a text must have: the index knows better."""

    @property
    def uses_index(self) -> bool:
        """Whether the index of words is of any help."""
        return self.words != ANYTHING


def build_leaves(connection: Connection, query: Query) -> dict[Term, Leaf]:
    """Return what the index is to be asked for each term of a query."""
    return {term: _build_leaf(connection, term) for term in list_asked(query.root)}


def build_conditions(
    query: Query, leaves: Mapping[Term, Leaf], around: Surroundings, generations: Sequence[int] | None, few: int
) -> Conditions:
    """Return the conditions of a query; only texts of some `generations` may match, if they are given.

    Up to `few` of them are few.
    """
    values: dict[str, Any] = {}
    words = build_clause(query.root, lambda term: _build_term(leaves[term], values))
    others, times = [], []
    states = around.list_states()
    if len(states) < 2 * len(KINDS):
        others.append("t.state = ANY(%(states)s::smallint[])")
        values["states"] = states
    if generations is not None:
        others.append("t.generation = ANY(%(generations)s::bigint[])")
        values["generations"] = list(generations)
    since, until = around.limits
    if since:
        times.append("t.time >= %(since)s")
        values["since"] = since
    if until is not None:
        times.append("t.time < %(until)s")
        values["until"] = until
    is_narrow = generations is not None and len(generations) <= few
    is_wide = any(len(part) > _WIDE for leaf in leaves.values() for part in leaf.parts)
    return Conditions(words, join_clauses(others), join_clauses(times), values, is_narrow, is_wide)


def _build_leaf(connection: Connection, term: Term) -> Leaf:
    wanted = build_wanted(term)
    parts = [list_words(connection, fragment, _MOST_WORDS) for fragment in wanted.fragments]
    return Leaf(
        tuple(map(number_word, (*wanted.words, *wanted.beginnings))),
        tuple(frozenset(map(number_word, part)) for part in parts if part is not None),
    )


def _build_term(leaf: Leaf, values: dict[str, Any]) -> str:
    clauses = []
    for operator, numbers in [("@>", frozenset(leaf.words)), *(("&&", part) for part in leaf.parts)]:
        if numbers or operator == "&&":
            name = f"words{len(values)}"
            values[name] = sorted(numbers)
            clauses.append(f"t.words {operator} %({name})s::integer[]")
    return join_clauses(clauses)
