"""From a query to what the engine is asked for.

A text must have all words of a term; a fragment stands for all words that it can be a part of, of which the
text must have one. If they are too many, the fragment is left out, and if nothing is left, the term may be
anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.ids import NOWHERE
from turnlog.store.clickhouse.search_sessions import Hosts, build_session_clause
from turnlog.store.clickhouse.words import list_words
from turnlog.store.search.asking import build_wanted, list_asked
from turnlog.store.search.clauses import ANYTHING, build_clause, join_clauses
from turnlog.store.search.language import Query, Term
from turnlog.store.search.packing import KINDS
from turnlog.store.search.surroundings import Surroundings

__all__ = ["Conditions", "Leaf", "build_conditions", "build_counts", "build_leaves"]

_MOST_WORDS = 500
"""How many words a fragment may stand for."""
_EACH = "if(empty(counts), arrayWithConstant(length(words), toUInt8(1)), counts)"
_COUNT = f"toInt64(arraySum((word, count) -> if({{}}, count, 0), words, {_EACH}))"
"""In how many cells the words are that fulfil a condition."""


class Leaf(Struct, frozen=True, gc=False):
    """One term, as the index sees it."""

    words: tuple[str, ...]
    """All of these."""
    parts: tuple[tuple[str, ...], ...]
    """One of each of these."""


class Conditions(Struct, frozen=True, gc=False):
    """What texts must fulfil to be proposed."""

    where: str
    values: dict[str, Any]


def build_leaves(engine: Engine, query: Query) -> dict[Term, Leaf]:
    """Return what the index is to be asked for each term of a query."""
    return {term: _build_leaf(engine, term) for term in list_asked(query.root)}


def build_conditions(
    query: Query, leaves: Mapping[Term, Leaf], around: Surroundings, find_hosts: Callable[[], Hosts]
) -> Conditions:
    """Return the conditions of a query; `find_hosts` returns what machines call themselves."""
    values: dict[str, Any] = {}
    clauses = [build_clause(query.root, lambda term: _build_term(leaves[term], values))]
    states = around.list_states()
    if len(states) < 2 * len(KINDS):
        clauses.append("state IN {states:Array(UInt8)}")
        values["states"] = states
    if around.asks_sessions:
        sessions = build_session_clause(query.root, values, find_hosts)
        clauses.append(sessions if sessions == ANYTHING else f"(session = {NOWHERE} OR {sessions})")
    since, until = around.limits
    if since:
        clauses.append("time >= {since:Int64}")
        values["since"] = since
    if until is not None:
        clauses.append("time < {until:Int64}")
        values["until"] = until
    return Conditions(join_clauses(clauses), values)


def build_counts(leaves: Mapping[Term, Leaf]) -> tuple[str, dict[str, Any]]:
    """Return an array of in how many cells of a text each term may be, and the values it needs."""
    values: dict[str, Any] = {}
    counts = []
    for leaf in leaves.values():
        found = ["cells"]
        for word in leaf.words:
            name = _bind(values, "counted", word)
            found.append(_COUNT.format(f"word = {{{name}:String}}"))
        for part in leaf.parts:
            name = _bind(values, "counted", list(part))
            found.append(_COUNT.format(f"has({{{name}:Array(String)}}, word)"))
        counts.append(found[0] if len(found) == 1 else f"least({', '.join(found)})")
    return f"[{', '.join(counts)}]", values


def _build_leaf(engine: Engine, term: Term) -> Leaf:
    wanted = build_wanted(term)
    parts = [list_words(engine, fragment, _MOST_WORDS) for fragment in wanted.fragments]
    words = dict.fromkeys((*wanted.words, *wanted.beginnings))
    return Leaf(tuple(words), tuple(tuple(part) for part in parts if part is not None))


def _build_term(leaf: Leaf, values: dict[str, Any]) -> str:
    clauses = []
    if leaf.words:
        name = _bind(values, "words", list(leaf.words))
        clauses.append(f"hasAllTokens(words, {{{name}:Array(String)}})")
    for part in leaf.parts:
        name = _bind(values, "words", list(part))
        clauses.append(f"hasAnyTokens(words, {{{name}:Array(String)}})" if part else "false")
    return join_clauses(clauses)


def _bind(values: dict[str, Any], name: str, value: Any) -> str:
    name = f"{name}{len(values)}"
    values[name] = value
    return name
