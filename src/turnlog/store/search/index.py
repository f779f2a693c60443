"""What an engine's index is asked, what it answers, and how that is ranked.

An index proposes texts; all else is the same for every engine. It keeps the words of cells: a cell is a text,
or a part of it that `texts.cut_cells` gives. Whichever engine is asked, the words of a term are all in one cell
if the term is in the text. What stands around a text is looked up by `TextRows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from math import log
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.batch import IndexedTexts, TextFact
from turnlog.store.model import Scope
from turnlog.store.search.language import And, Node, Or, Query, Term
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.normal_form import is_spaceless, normalise
from turnlog.store.search.paging import (
    Cancelled,
    Candidate,
    Counts,
    Cursor,
    Proposal,
    SearchOrder,
    SearchPage,
    TextKey,
    TextReader,
    collect_page,
    decode_cursor,
    stop_if,
)
from turnlog.store.search.texts import OVERLAP, Tokens, index_form, pair_characters, term_tokens
from turnlog.transcripts.hooks import HookDelivery
from turnlog.transcripts.segments import CallRecord, MessageRecord


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


HOOKS = 0
"""The generation that texts of hook deliveries are said to be of."""


RANKED = 3000
"""How many of the newest texts are ranked."""
_ENOUGH, _LENGTH = 1.2, 0.75
"""The usual constants of BM25: how soon more of the same counts less, and how much longer texts do."""


def rank(proposals: Sequence[Proposal], texts: int) -> list[Proposal]:
    """Return texts by relevance, among equals as they are: `texts` is how many there were to choose from."""
    if not proposals:
        return []
    length = sum(proposal.cells for proposal in proposals) / len(proposals)
    having = [sum(map(bool, column)) for column in zip(*(each.counts for each in proposals), strict=True)]
    weights = [log(1 + (texts - count + 0.5) / (count + 0.5)) for count in having]

    def score(proposal: Proposal) -> float:
        relative = _ENOUGH * (1 - _LENGTH + _LENGTH * proposal.cells / length)
        return sum(
            weight * count * (_ENOUGH + 1) / (count + relative)
            for weight, count in zip(weights, proposal.counts, strict=True)
        )

    return sorted(proposals, key=score, reverse=True)


class Chapter(Struct, frozen=True, gc=False):
    """A file of lines, and the session that it is of."""

    number: int
    """Of its generation, for the engine."""
    generation: int
    source: int
    name: str
    agent_id: str | None
    session: int
    key: str
    names: tuple[str, ...]
    """Of the session: all of its ids."""
    session_id: str
    project: str | None
    title: str | None
    branches: tuple[str, ...] | None
    """All that its lines name, but for `HEAD`; None if that is not known."""
    person: str | None = None
    """Whose session it is."""
    machine: tuple[str, ...] = ()
    """The origin of its machine, and behind `load_chapters` what that calls itself."""


class Delivery(Struct, frozen=True, gc=False):
    """A hook delivery, and the session that it is of, if that is known."""

    delivery_id: str
    session_id: str
    tool: str | None
    key: str | None
    project: str | None
    title: str | None
    person: str | None = None
    """Whose machine it comes from; where nobody said, whose the session is."""
    machine: tuple[str, ...] = ()
    """Its origin, and what that calls itself, if it may be known."""


class KnownChapters:
    """Files that were looked up, by the numbers of their generations."""

    def __init__(self) -> None:
        self.each: dict[int, Chapter | None] = {}
        """None for what is somebody else's."""
        self.all: dict[int, Chapter] = {}
        """All that there are, once they were asked for."""


class TextRows(Protocol):
    """Looks up the rows of one owner around texts."""

    @property
    def at_once(self) -> int:
        """How many texts it pays to look up together."""

    def prefetch(self, proposals: Sequence[Proposal]) -> None:
        """Look up where some texts are, and load their lines, since all of them are about to be read."""

    def use_chapters(self, known: KnownChapters) -> None:
        """Look up no file that is among these, and add the others."""

    def find_chapter(self, generation: int) -> Chapter | None:
        """Return the file that a generation is of; None if it is somebody else's."""

    def load_chapters(self) -> Mapping[int, Chapter]:
        """Return all files by the numbers of their generations, for a query that asks for each where it is."""

    def find_line(self, generation: int, number: int) -> tuple[int, int, bool] | None:
        """Return where a line begins, how long it is, and whether it calls itself a sidechain's."""

    def find_message(self, chapter: Chapter, number: int) -> MessageRecord | None:
        """Return the message that a line belongs to; raises `KeyError` if there is no such line."""

    def find_call(self, chapter: Chapter, kind: str, number: int, block: int) -> CallRecord | None:
        """Return the call whose input or output a block is."""

    def list_agent_names(self, chapter: Chapter, agent_id: str | None) -> tuple[str, ...]:
        """Return the id and the type of an agent."""

    def is_seen(self, proposal: Proposal) -> bool:
        """Tell whether a text may be seen; of a file the index was told before."""

    def load_delivery(self, number: int) -> HookDelivery | None:
        """Return a hook delivery with its payload."""

    def find_delivery(self, number: int) -> Delivery | None:
        """Return a hook delivery, and the session that it is of."""


ReadBytes = Callable[[int, int, int], bytes]
"""As `Archive.read`, by the engine's number of a generation, where bytes begin and how many they are."""


class CandidateBuilder(Protocol):
    """Tells where proposed texts stand, as `text_context.TextContext` does."""

    def build(self, proposal: Proposal) -> Candidate | None:
        """Return a text with where it stands; None if filters leave it out."""


class TextScan(Protocol):
    """One query's scan of the texts of an owner, newest first, as far as a viewer may see them."""

    @property
    def context(self) -> CandidateBuilder:
        """Tells where texts stand."""

    @property
    def texts(self) -> int:
        """How many texts there were to choose from so far, for ranking."""

    @property
    def backlog(self) -> int:
        """How many changes the index has yet to learn of."""

    def propose(self, before: TextKey | None) -> Iterator[Proposal]:
        """Yield texts that may match and come behind `before`, in order."""


def search_texts(
    index: TextIndex,
    connection: Any,
    rows: TextRows,
    read: ReadBytes,
    scope: Scope,
    query: Query,
    *,
    order: SearchOrder,
    limit: int,
    cursor: str | None,
    cancelled: Cancelled | None,
) -> SearchPage:
    """Return a page of hits; `rows` looks up what is around texts, and `read` the bytes of lines."""
    after, is_ranked = decode_cursor(cursor, order), order is SearchOrder.RELEVANCE
    matcher = Matcher(query)
    wanted = RANKED if is_ranked else limit
    with index.scanning(
        connection, rows, scope, matcher, wanted=wanted, is_ranked=is_ranked, cancelled=cancelled
    ) as scan:
        base = None
        if is_ranked:
            # Later pages rank the same texts: those that are no newer than the newest of the first page.
            before = None if after is None else (*after.key[:2], after.key[2] + 1)
            newest = list(islice(scan.propose(before), RANKED))
            if not newest:
                return SearchPage(hits=(), backlog=scan.backlog)
            base = after or Cursor(newest[0].key, 0)
            proposals = iter(rank(newest, scan.texts)[base.count :])
        else:
            proposals = scan.propose(None if after is None else after.key)
        candidates = _build(proposals, rows, scan.context, cancelled)
        page = collect_page(candidates, matcher, TextReader(read), limit=limit, cancelled=cancelled, base=base)
        return replace(page, backlog=scan.backlog) if scan.backlog else page


def _build(
    proposals: Iterator[Proposal], rows: TextRows, context: CandidateBuilder, cancelled: Cancelled | None
) -> Iterator[Candidate]:
    size = rows.at_once
    while some := list(islice(proposals, size)):
        rows.prefetch(some)
        for proposal in some:
            stop_if(cancelled)
            candidate = context.build(proposal)
            if candidate is not None:
                yield candidate
        size = min(2 * size, 4 * rows.at_once) if size > 1 else 1


class ShardBuilder(Protocol):
    """Builds shards, one after another."""

    def add(self, texts: Sequence[TextFact], first: int) -> IndexedTexts:
        """Put texts into the shard, with cells from a number on, and return what the index keeps of them."""

    def finish(self) -> bytes | None:
        """Return the shard, and begin with the next one; None if nothing was put into it."""


class IndexSharding(Protocol):
    """Lets worker processes index texts by themselves, in shards that the writer takes over whole."""

    def reserve(self, connection: Any, cells: int) -> range:
        """Reserve numbers for so many cells."""

    def release(self, connection: Any, numbers: range, used: int) -> None:
        """Give back all numbers but the first that were used, unless others have numbers behind them by now."""

    def begin(self) -> ShardBuilder:
        """Return what builds shards, one after another."""

    def take_over(self, connection: Any, shard: bytes) -> None:
        """Add a shard to the index, in the transaction of the caller."""

    def write(self, connection: Any, generation: int, texts: IndexedTexts) -> None:
        """Say that texts of a shard are those of a generation."""

    def discard(self, connection: Any, texts: IndexedTexts) -> None:
        """Delete the cells of texts that came with a shard, and are not wanted after all."""


class TextIndex(Protocol):
    """Keeps which words are in which texts, in tables of its own; `connection` is of the catalogue.

    A text is of a generation of a file, by its row's number, or of a hook delivery (`HOOKS`).
    """

    @property
    def sharding(self) -> IndexSharding | None:
        """How others than the writer may index texts; None if they may not."""

    def create(self, connection: Any) -> None:
        """Make the tables."""

    def clear(self, connection: Any) -> None:
        """Empty them."""

    def write(self, connection: Any, generation: int, texts: Iterable[TextFact], *, start: int = 0) -> None:
        """Add texts of lines from `start` on behind those that a generation has."""

    def flush(self, connection: Any) -> None:
        """Write what is still held of texts, at the latest before the transaction ends."""

    def delete(self, connection: Any, generations: Iterable[int]) -> None:
        """Delete all texts of some generations."""

    def delete_lines(self, connection: Any, generation: int, numbers: Iterable[int]) -> None:
        """Delete the texts of some lines of a generation."""

    def settle(self, connection: Any) -> bool | None:
        """Do a piece of what puts the index in order after much was written; return None if there is none.

        Else tell whether much of what there is was new, and is in order now.
        """

    def read_words(self, connection: Any) -> Any:
        """Return the list of words, if it is to be written anew; None where there is no such list."""

    def write_words(self, connection: Any, words: Any) -> None:
        """Replace the list of words, unless that was done since it was read."""

    def purge(self, connection: Any) -> None:
        """Leave nothing of what was deleted."""

    def check(self, connection: Any, generation: int, texts: Iterable[TextFact]) -> list[str]:
        """Return how the texts of a generation differ from what they should be."""

    def scanning(
        self,
        connection: Any,
        rows: TextRows,
        scope: Scope,
        matcher: Matcher,
        *,
        wanted: int,
        is_ranked: bool,
        cancelled: Cancelled | None,
    ) -> AbstractContextManager[TextScan]:
        """Propose texts for a query, of which about so many are wanted; `rows` looks up what is around them.

        `cancelled` ends it: raises `SearchCancelledError`.
        """
