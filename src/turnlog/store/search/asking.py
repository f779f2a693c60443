"""What an index of words is asked for a query: which words one cell must have for a term to be in it.

A cell is a text, or a part of it that `cells.cut_cells` gives. Whichever engine is asked, the words of a term
are all in one cell if the term is in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from turnlog.store.search.cells import OVERLAP, pair_characters
from turnlog.store.search.characters import is_spaceless
from turnlog.store.search.indexing import Tokens, index_form, term_tokens
from turnlog.store.search.language import And, Node, Or, Term
from turnlog.store.search.normal import normalise

__all__ = ["Counts", "Fragment", "Wanted", "build_possible", "build_wanted", "list_asked"]

Counts = tuple[int, ...]
"""In how many cells of a text each term of a query may be."""


class Fragment(Struct, frozen=True, gc=False):
    """A part of a word."""

    text: str
    open_left: bool
    """Whether the word may have more before it; if not, it begins with it."""
    open_right: bool


class Wanted(Struct, frozen=True, gc=False):
    """What a cell has that a term is in; nothing at all if an index is of no help."""

    words: tuple[str, ...]
    """All of these words."""
    beginnings: tuple[str, ...]
    """Words that begin with each of these characters, which are of scripts without spaces."""
    fragments: tuple[Fragment, ...]
    """Words with each of these in them."""


def build_wanted(term: Term) -> Wanted:
    """Return what an index is to be asked for a term."""
    body = " ".join(index_form(normalise(term.needle)).split())
    whole, fragments = _pair(body), list[Fragment]()
    # Behind so many characters, what is in one cell with the pairs is not known.
    tokens = [] if whole and len(body) > OVERLAP else _choose(body, term_tokens(term))
    for token in tokens:
        if _is_character(token.text):
            continue
        if token.open_left or token.open_right:
            fragments.append(token)
        else:
            whole.append(token.text)
    return Wanted(tuple(dict.fromkeys(whole)), tuple(_list_single(body)), tuple(fragments))


def list_asked(node: Node) -> list[Term]:
    """Return the terms of a query that an index can be asked for: not those that must not be there."""
    if isinstance(node, Term):
        return [node]
    if isinstance(node, And | Or):
        return list(dict.fromkeys(term for part in node.parts for term in list_asked(part)))
    return []


def build_possible(node: Node, terms: list[Term]) -> Callable[[Counts], bool]:
    """Return what tells whether a text may match, by how often it may have each term."""
    if isinstance(node, Term):
        at = terms.index(node)
        return lambda counts: counts[at] > 0
    if isinstance(node, And | Or):
        parts = [build_possible(part, terms) for part in node.parts]
        decide = all if isinstance(node, And) else any
        return lambda counts: decide(part(counts) for part in parts)
    return lambda counts: True  # filters are decided elsewhere, and what must not be there by the matcher


def _is_character(word: str) -> bool:
    """Tell whether a word is a character, or two, of a script without spaces."""
    return len(word) <= 2 and not word.isascii() and is_spaceless(word[0])


def _pair(body: str) -> list[str]:
    """Return the pairs of characters of scripts without spaces."""
    return [word for word in pair_characters(body[:OVERLAP]).split() if len(word) == 2 and _is_character(word)]


def _list_single(body: str) -> list[str]:
    """Return such characters that are in no pair: each begins a word."""
    found = body.split() if len(body) <= OVERLAP else []
    paired = set("".join(_pair(body)))
    return [word for word in dict.fromkeys(found) if _is_character(word) and word not in paired]


def _choose(body: str, tokens: Tokens) -> list[Fragment]:
    """Return the tokens that surely are in one cell, as many as there can be."""
    words, last = tokens.words, len(tokens.words) - 1
    every = [
        Fragment(word, tokens.open_left and at == 0, tokens.open_right and at == last)
        for at, word in enumerate(words)
    ]
    if len(body) <= OVERLAP:
        return every
    places = _find_places(body, words)
    best: list[Fragment] = []
    for first, begin in enumerate(places):
        some = [
            each
            for each, place in zip(every[first:], places[first:], strict=True)
            if place + len(each.text) - begin <= OVERLAP
        ]
        if len(some) > len(best):
            best = some
    if best:
        return best
    # A single word that is longer than what surely is in one cell: how it begins must do.
    return [Fragment(words[0][:OVERLAP], tokens.open_left, True)] if words else []


def _find_places(body: str, words: Sequence[str]) -> list[int]:
    places, at = [], 0
    for word in words:
        at = body.index(word, at)
        places.append(at)
        at += len(word)
    return places
