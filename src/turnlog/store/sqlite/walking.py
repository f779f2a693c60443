"""Proposing texts, newest first: runs are visited in the order of their newest text, as far as they are needed.

In each run the index says which texts may have the terms. Texts come out in order: one is given as soon as no
run that is still to come can have a newer one. A common word fills a page from a few runs. If it does not,
all cells of the rarest part of the query are asked for, and only runs that have some of them are visited from
then on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator
from heapq import heappop, heappush

import apsw
from msgspec import Struct

from turnlog.store.search.asking import Counts, build_possible
from turnlog.store.search.hits import TextKey
from turnlog.store.search.language import And, Node, Or, Term
from turnlog.store.search.texts import KINDS
from turnlog.store.sqlite.directory import Run
from turnlog.store.sqlite.leaves import Leaf
from turnlog.store.sqlite.runs import RunTexts, Text

__all__ = ["Keep", "Proposal", "Walk"]

_STAGES = ((1_000, 20_000), (15_000, 1_000_000))
"""After how many texts all cells of a query are listed, if they are no more than so many.

What has more is common, and found run after run.
"""
_WORTH = 500
"""How many cells are listed in the time that it takes to ask for those of one run."""
_MOST = 1_000_000
_WIDE_STAGES = ((0, 20_000), (1_000, 200_000))
"""The same for what is not asked run after run."""
_EVERY_STATE = 2 * len(KINDS)


class Proposal(Struct, frozen=True, gc=False):
    """A text that may match."""

    key: TextKey
    run: Run
    text: Text
    counts: Counts
    """In how many of its cells each term may be."""

    @property
    def generation(self) -> int:
        """Of its file."""
        return self.run.generation

    @property
    def cells(self) -> int:
        """How many it has."""
        return self.text.cells


Keep = Callable[[Run], bool]
"""Tells whether a run may have hits at all."""


class Walk:
    """One query's way through the runs."""

    def __init__(
        self, connection: apsw.Connection, root: Node, leaves: dict[Term, Leaf], states: Collection[int]
    ) -> None:
        """Begin with nothing visited; only texts of some `states` (kind, and whether an error) may match."""
        self._connection = connection
        self._root = root
        self._leaves = leaves
        self._states = frozenset(states)
        self._is_possible = build_possible(root, list(leaves))
        self._needs_any = not self._is_possible((0,) * len(leaves))
        """Whether a text without any of the terms cannot match."""
        self._cells: list[int] | None = None
        self._required: list[list[int]] = []
        """Lists of cells: a text has some of each."""
        self.texts = 0
        """How many texts were in the runs that were visited."""

    def propose(self, runs: list[Run], keep: Keep, before: TextKey | None) -> Iterator[Proposal]:
        """Yield texts that may match and come behind `before`, in order."""
        heap: list[tuple[int, int, int, Proposal]] = []
        stages = list(_WIDE_STAGES if any(leaf.is_wide for leaf in self._leaves.values()) else _STAGES)
        for run in runs:
            if before is not None and run.oldest > before[0]:
                continue
            while heap and (-heap[0][0], -heap[0][1]) > (run.newest, run.id):
                yield heappop(heap)[3]
            if stages and self.texts >= stages[0][0] and self._cells is None:
                self._list_cells(stages.pop(0)[1])
            if not self._may_have(run) or not keep(run):
                continue
            for proposal in self._visit(run, before):
                time, number, position = proposal.key
                heappush(heap, (-time, -number, -position, proposal))
        while heap:
            yield heappop(heap)[3]

    def _may_have(self, run: Run) -> bool:
        if self._cells is None:
            return True
        for cells in self._required:
            at = bisect_left(cells, run.first_cell)
            if at == len(cells) or cells[at] > run.last_cell:
                return False
        return True

    def _list_cells(self, most: int) -> None:
        """Ask for all cells of the query, if they are not too many."""
        found = self._enumerate(self._root, most)
        if found is None:
            return
        self._cells = found
        self._required = [found]
        parts = self._root.parts if isinstance(self._root, And) else ()
        for term, leaf in self._leaves.items():
            # To list what is common takes less time than to ask for it in that many runs.
            cells = leaf.enumerate(min(_MOST, _WORTH * len(found)))
            if cells is not None and term in parts:
                self._required.append(cells)

    def _enumerate(self, node: Node, most: int) -> list[int] | None:
        if isinstance(node, Term):
            return self._leaves[node].enumerate(most)
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

    def _visit(self, run: Run, before: TextKey | None) -> Iterator[Proposal]:
        [(data,)] = self._connection.execute("SELECT texts FROM text_runs WHERE id = ?", (run.id,))
        texts = RunTexts(data)
        self.texts += len(texts)
        wanted = set(range(len(texts)))
        if len(self._states) < _EVERY_STATE:
            wanted = {at for at, state in enumerate(texts.states) if state in self._states}
        if before is not None:
            wanted = {at for at in wanted if (texts.time(at), run.id, at) < before}
        if not wanted:
            return
        columns = [self._count(run, texts, leaf) for leaf in self._leaves.values()]
        for position in sorted(set().union(*columns) & wanted if self._needs_any else wanted):
            counts = tuple(column.get(position, 0) for column in columns)
            if self._is_possible(counts):
                yield Proposal((texts.time(position), run.id, position), run, texts.get(position), counts)

    def _count(self, run: Run, texts: RunTexts, leaf: Leaf) -> dict[int, int]:
        """Return in how many cells of each text a term may be."""
        found: dict[int, int] = {}
        for cell in leaf.find(run.first_cell, run.last_cell):
            at = bisect_right(texts.firsts, cell) - 1
            if at >= 0 and cell < texts.firsts[at] + texts.sizes[at]:
                found[at] = found.get(at, 0) + 1
        return found
