"""A query as a condition in SQL, as far as an index of words can decide it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from turnlog.store.search.language import And, Node, Or, Term

__all__ = ["ANYTHING", "build_clause", "join_clauses"]

ANYTHING = "true"
"""The condition that all texts fulfil."""


def build_clause(node: Node, build_term: Callable[[Term], str]) -> str:
    """Return the condition of a query, given that of each term; `ANYTHING` if an index is of no help."""
    if isinstance(node, Term):
        return build_term(node)
    if isinstance(node, And):
        return join_clauses(build_clause(part, build_term) for part in node.parts)
    if isinstance(node, Or):
        parts = [build_clause(part, build_term) for part in node.parts]
        return ANYTHING if ANYTHING in parts else f"({' OR '.join(f'({part})' for part in parts)})"
    return ANYTHING  # filters are decided elsewhere, and what must not be there by the matcher


def join_clauses(parts: Iterable[str]) -> str:
    """Return the condition that all of some are fulfilled."""
    return " AND ".join(part for part in parts if part != ANYTHING) or ANYTHING
