"""Search in the embedded store: its index proposes, the matcher decides.

Runs of texts are visited in the order of their newest text, as far as they are needed; all of them are at hand,
and read again only if something was written. In each run the index says which texts may have the terms. Texts
come out in order: one is given as soon as no run that is still to come can have a newer one. A common word
fills a page from a few runs. If it does not, all cells of the rarest part of the query are asked for, and only
runs that have some of them are visited from then on.

The words of a term must all be in one cell. A word that may go on at its end, or may be the end of a longer
one, stands for all words of the vocabulary that it can be a part of; if they are too many, it is left out,
and if nothing is left, the term may be anywhere. Cells whose words are not listed yet are asked only for what
needs no list.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from importlib import import_module
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import Any

import apsw
from msgspec import Struct, json

from turnlog.errors import SearchCancelledError
from turnlog.store.model import Scope
from turnlog.store.search.index import (
    HOOKS,
    Fragment,
    IndexSharding,
    KnownChapters,
    TextRows,
    build_possible,
    build_wanted,
    list_asked,
)
from turnlog.store.search.language import And, Node, Or, Term
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.paging import (
    Cancelled,
    Proposal,
    TextKey,
    stop_if,
)
from turnlog.store.search.sqlite_index import IndexTables, RunTexts, Vocabulary, find_next_cell
from turnlog.store.search.text_context import TextContext


class SqliteTextIndex(IndexTables):
    """The index in SQLite's FTS5."""

    @property
    def sharding(self) -> IndexSharding:
        """How others than the writer may index texts; it is loaded by those who do."""
        found: IndexSharding = import_module("turnlog.store.search.sqlite_shards").SqliteSharding()
        return found

    @contextmanager
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
    ) -> Iterator[IndexScan]:
        """Propose texts for a query."""
        searcher: Searcher = connection.cache.setdefault("searcher", Searcher(connection.driver))
        with _watching(connection.driver, cancelled):
            yield searcher.open_scan(rows, scope, matcher, cancelled, is_ranked=is_ranked)


_STEPS = 20_000
"""After how many steps of SQLite it is asked whether anybody still waits."""


class Searcher:
    """Searches through one connection; what it learns of the index it keeps."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._directory = Directory(connection)
        self._vocabulary = Vocabulary(connection)

    def open_scan(
        self, rows: TextRows, scope: Scope, matcher: Matcher, cancelled: Cancelled | None, *, is_ranked: bool
    ) -> IndexScan:
        """Return a query's scan of the runs that may have hits."""
        runs = self._directory.load(scope)
        rows.use_chapters(self._directory.load_chapters(scope))
        self._vocabulary.load()
        root = matcher.query.root
        lookups = {term: build_lookup(self._connection, self._vocabulary, term) for term in list_asked(root)}
        context = TextContext(rows, matcher)
        since, until = context.limits
        if context.generations is not None:
            runs = [run for run in runs if run.generation in context.generations]

        def keep(run: Run) -> bool:
            stop_if(cancelled)
            return run.newest >= since and (until is None or run.oldest < until)

        visited = self._directory.visited
        return IndexScan(
            self._connection, root, lookups, context, visited, runs, keep, rows, is_ranked=is_ranked
        )


@contextmanager
def _watching(connection: apsw.Connection, cancelled: Cancelled | None) -> Iterator[None]:
    """Let SQLite itself stop when nobody waits any more."""
    if cancelled is None:
        yield
        return
    stop_if(cancelled)
    connection.set_progress_handler(cancelled, _STEPS)
    try:
        yield
    except apsw.InterruptError:
        raise SearchCancelledError from None
    finally:
        connection.set_progress_handler(None)


_QUERY = f"""
SELECT r.id, r.generation, r.first_cell, r.last_cell, r.newest, r.oldest FROM text_runs AS r
LEFT JOIN generations AS g ON g.id = r.generation LEFT JOIN sources AS s ON s.id = g.source
WHERE s.owner = ?1 OR r.generation = {HOOKS} ORDER BY r.newest DESC, r.id DESC
"""
_KEPT = 4
"""How many scopes' runs are kept."""


class Run(Struct, frozen=True, gc=False):
    """Where a run is."""

    id: int
    generation: int
    first_cell: int
    last_cell: int
    newest: int
    oldest: int


class Directory:
    """The runs that may be seen within a scope, of the last few that were asked for."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._runs: dict[Scope, list[Run]] = {}
        self._chapters: tuple[Scope | None, KnownChapters] = None, KnownChapters()
        self.visited: dict[int, tuple[int, int]] = {}
        """How many texts runs have, and in which states, as bits, by the runs' numbers."""
        self._version: object = None

    def load(self, scope: Scope) -> list[Run]:
        """Return all runs, newest first."""
        version = self._connection.pragma("data_version")
        if version != self._version:
            self._chapters, self.visited, self._version = (None, KnownChapters()), {}, version
            self._runs.clear()
        if scope not in self._runs and len(self._runs) >= _KEPT:
            self._runs.clear()
        if scope not in self._runs:
            self._runs[scope] = [Run(*row) for row in self._connection.execute(_QUERY, (scope.owner,))]
        return self._runs[scope]

    def load_chapters(self, scope: Scope) -> KnownChapters:
        """Return the files that were looked up since something was written, if it was for the same scope."""
        if self._chapters[0] != scope:
            self._chapters = scope, KnownChapters()
        return self._chapters[1]


_MOST_WORDS = 250
"""How many words a fragment may stand for."""
# As one value: to fetch as many rows takes longer.
_ASK = "SELECT json_group_array(rowid) FROM (SELECT rowid FROM {table} WHERE {table} MATCH ? {condition})"
_decode = json.Decoder(list[int]).decode
_WIDE = 12
"""From how many words on an expression is better asked once than for run after run."""


class TermLookup:
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
        self.has_beginnings = bool(beginnings)
        """Whether it asks for beginnings of words: each time FTS5 joins all places of all such words."""
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
        return self.has_beginnings or sum(map(len, self._parts)) > _WIDE

    @property
    def known(self) -> int:
        """In how many cells it may be, if these are listed; else more than any."""
        return _NO_CELL if self._known is None else len(self._known)

    def enumerate(self, most: int) -> list[int] | None:
        """Return all cells where it may be, in order; None if they are more than `most`."""
        if self._known is None and not self.is_anywhere:
            self._known = self._enumerate(most)
            self._gave_up = self._known is None and self.is_wide
        return self._known

    def _enumerate(self, most: int) -> list[int] | None:
        if not self.is_wide and self._listed is None:
            cells = self._ask("ORDER BY rowid LIMIT ?", (self._build_expression(), most + 1))
            return cells if len(cells) <= most else None
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
        found: list[int] = []
        for table in ("cells", "waiting_cells") if is_waiting else ("cells",):
            query = _ASK.format(table=table, condition=condition)
            [(cells,)] = self._connection.execute(query, values)
            found += _decode(cells)
        return found


def build_lookup(connection: apsw.Connection, vocabulary: Vocabulary, term: Term) -> TermLookup:
    """Return what the index is to be asked for a term."""
    wanted = build_wanted(term)
    parts = [found for each in wanted.fragments if (found := _list_words(vocabulary, each)) is not None]
    listed = vocabulary.listed if wanted.fragments else None
    return TermLookup(connection, wanted.words, wanted.beginnings, parts, listed, vocabulary.first_waiting)


def _list_words(vocabulary: Vocabulary, fragment: Fragment) -> list[str] | None:
    before, behind = "" if fragment.open_left else "\n", "" if fragment.open_right else "\n"
    return vocabulary.list_words(before + fragment.text + behind, _MOST_WORDS)


def _choose_by(required: list[list[int]], runs: Iterator[Run]) -> Iterator[Run]:
    """Yield the runs that may have some cells of each list."""
    lists = [[*cells, _NO_CELL] for cells in required]
    while some := list(islice(runs, _CHOSEN_AT_ONCE)):
        for cells in lists:
            places = map(bisect_left, repeat(cells), map(_first_cell, some))
            some = [run for run, at in zip(some, places, strict=True) if cells[at] <= run.last_cell]
        yield from some


def _join(words: Sequence[str]) -> str:
    if not words:
        return '""'  # nothing has it
    return f"({' OR '.join(map(_quote, words))})"


_QUOTES = re.compile('"')


def _quote(word: str) -> str:
    return f'"{_QUOTES.sub(chr(34) * 2, word)}"'


_STAGES = ((1_000, 200_000), (15_000, 1_000_000))
"""After how many texts all cells of a query are listed, if they are no more than so many.

What has more is common, and found run after run.
"""
_WORTH, _WORTH_RANKED = 60, 500
"""How many cells are listed rather than to ask for those of one run."""
_WIDE_STAGES = ((250, 20_000), (1_000, 200_000))
_WIDE_STAGES_AT_ONCE = ((0, 20_000), (1_000, 200_000))
"""The same for what takes long to ask run after run."""
_PASSED = 16
"""To tell that a run cannot have hits takes the time of so many texts."""
_RUNS_AT_ONCE = 32
"""How many runs are read at once, once it is known that one page takes more than a few."""
_CHOSEN_AT_ONCE = 1024
"""How many runs are held against lists of cells at once."""
_NO_CELL = 1 << 62
_first_cell = attrgetter("first_cell")


Keep = Callable[[Run], bool]
"""Tells whether a run may have hits at all."""


class IndexScan:
    """One query's scan of the runs."""

    backlog = 0

    def __init__(
        self,
        connection: apsw.Connection,
        root: Node,
        lookups: dict[Term, TermLookup],
        context: TextContext,
        visited: dict[int, tuple[int, int]],
        runs: list[Run],
        keep: Keep,
        rows: TextRows,
        *,
        is_ranked: bool,
    ) -> None:
        """Begin with nothing visited of the runs.

        `visited` is what earlier queries learned of them, as `Directory` has it.
        """
        self.context = context
        self._connection = connection
        self._runs = runs
        self._keep = keep
        self._rows = rows
        self._root = root
        self._lookups = lookups
        self._is_ranked = is_ranked
        self._states = frozenset(context.list_states())
        """Kind, and whether an error, of the texts that may match."""
        self._bits = sum(1 << state for state in self._states)
        self._visited = visited
        self._is_possible = build_possible(root, list(lookups))
        self._needs_any = not self._is_possible((0,) * len(lookups))
        """Whether a text without any of the terms cannot match."""
        parts = root.parts if isinstance(root, And) else (root,)
        self._needed = [term for term in lookups if term in parts]
        """Terms that a text must have; the first ones are the longest, and mostly the rarest."""
        self._needed.sort(key=lambda term: len(term.needle), reverse=True)
        self._is_counted = is_ranked or len(self._needed) < len(lookups)
        self.texts = 0
        """How many texts were in the runs that were visited."""

    def propose(self, before: TextKey | None) -> Iterator[Proposal]:
        """Yield texts that may match and come behind `before`, in order."""
        # What hooks told others must not take the place of anything where texts are ranked.
        found = self._propose(before)
        return (each for each in found if self._rows.is_seen(each)) if self._is_ranked else found

    def _propose(self, before: TextKey | None) -> Iterator[Proposal]:
        heap: list[tuple[int, int, int, Proposal]] = []
        runs = self._runs
        chosen = self._choose(runs if before is None else (run for run in runs if run.oldest <= before[0]))
        size = 1
        while some := list(islice(chosen, size)):
            size = min(2 * size, _RUNS_AT_ONCE)
            for run, texts in self._open(some):
                while heap and (-heap[0][0], -heap[0][1]) > (run.newest, run.id):
                    yield heappop(heap)[3]
                for proposal in self._visit(run, texts, before):
                    time, number, position = proposal.key
                    heappush(heap, (-time, -number, -position, proposal))
        while heap:
            yield heappop(heap)[3]

    def _choose(self, runs: Iterable[Run]) -> Iterator[Run]:
        """Yield the runs that may have hits, and list the cells of the query when that is faster."""
        lookups = self._lookups.values()
        at_once = self._is_ranked or any(lookup.has_beginnings for lookup in lookups)
        wide = _WIDE_STAGES_AT_ONCE if at_once else _WIDE_STAGES
        stages = list(wide if any(lookup.is_wide for lookup in lookups) else _STAGES)
        passed, left = 0, iter(runs)
        for run in left:
            if stages and self.texts + passed >= stages[0][0]:
                required = self._list_cells(stages.pop(0)[1])
                if required:
                    chosen = _choose_by(required, chain((run,), left))
                    yield from (each for each in chosen if self._keep(each) and self._may_match(each))
                    return
            if not self._keep(run):
                passed += 0 if self._is_ranked else _PASSED
            elif self._may_match(run):
                yield run

    def _may_match(self, run: Run) -> bool:
        """Tell whether a run has texts in states that are asked for, as far as earlier queries learned it."""
        count, bits = self._visited.get(run.id, (0, self._bits))
        if bits & self._bits:
            return True
        self.texts += count
        return False

    def _open(self, runs: list[Run]) -> Iterator[tuple[Run, RunTexts]]:
        query = "SELECT id, texts FROM text_runs WHERE id IN (SELECT value FROM carray(?))"
        numbers = apsw.carray(array("q", [run.id for run in runs]))
        found: dict[int, bytes] = dict(self._connection.execute(query, (numbers,)))
        for run in runs:
            yield run, RunTexts(found[run.id])

    def _list_cells(self, most: int) -> list[list[int]]:
        """Return lists of cells of which a text has some each, unless all cells of the query are too many."""
        found = self._enumerate(self._root, most)
        if found is None:
            return []
        required = [found]
        # What is rarest leaves the fewest texts to look for the others in.
        for term, lookup in self._lookups.items():
            # To list what is common takes less time than to ask for it in that many runs.
            worth = _WORTH_RANKED if self._is_ranked else _WORTH
            cells = lookup.enumerate(min(most, worth * len(found)))
            if cells is not None and term in self._needed:
                required.append(cells)
        self._needed.sort(key=lambda term: self._lookups[term].known)
        return required

    def _enumerate(self, node: Node, most: int) -> list[int] | None:
        if isinstance(node, Term):
            return self._lookups[node].enumerate(most)
        if isinstance(node, And):
            best: list[int] | None = None
            for part in node.parts:
                found = self._enumerate(part, most)
                if found is not None and (best is None or len(found) < len(best)):
                    best = found
            return best
        if isinstance(node, Or):
            parts = [self._enumerate(part, most) for part in node.parts]
            if all(part is not None for part in parts):
                return sorted({cell for part in parts for cell in part or ()})
        return None

    def _visit(self, run: Run, texts: RunTexts, before: TextKey | None) -> Iterator[Proposal]:
        self.texts += len(texts)
        if run.id not in self._visited:
            bits = sum(1 << state for state in set(texts.states))
            self._visited[run.id] = len(texts), bits
            if not bits & self._bits:
                return
        columns: dict[Term, dict[int, int]] = {}
        states = texts.states
        wanted: Collection[int] = {at: 0 for at, state in enumerate(states) if state in self._states}
        for term in self._needed:
            columns[term] = wanted = self._count(run, texts, self._lookups[term], wanted)
            if not wanted:
                return
        for term in self._lookups.keys() - columns.keys():
            columns[term] = self._count(run, texts, self._lookups[term], wanted)
        if self._needs_any and not self._needed:
            wanted = set().union(*columns.values())
        # Where all terms must be there, nothing is left to decide.
        ordered = [columns[term] for term in self._lookups] if self._is_counted else []
        for position in wanted:
            key = texts.time(position), run.id, position
            if before is not None and key >= before:
                continue
            counts = tuple([column.get(position, 0) for column in ordered])
            if not ordered or self._is_possible(counts):
                text = texts.get(position)
                yield Proposal(
                    key, run.generation, text.number, text.ordinal, text.block, text.kind, text.is_error,
                    text.time, text.cells, counts, text.offset, text.length,
                )  # fmt: skip

    def _count(self, run: Run, texts: RunTexts, lookup: TermLookup, wanted: Collection[int]) -> dict[int, int]:
        """Return in how many cells of each text a term may be, of those that are wanted."""
        cells, firsts, sizes = lookup.find(run.first_cell, run.last_cell), texts.firsts, texts.sizes
        found: dict[int, int] = {}
        if len(wanted) < len(cells):
            for at in wanted:
                first = bisect_left(cells, firsts[at])
                count = bisect_left(cells, firsts[at] + sizes[at], first) - first
                if count:
                    found[at] = count
            return found
        for cell in cells:
            at = bisect_right(firsts, cell) - 1
            if at >= 0 and cell < firsts[at] + sizes[at]:
                found[at] = found.get(at, 0) + 1
        return {at: count for at, count in found.items() if at in wanted}
