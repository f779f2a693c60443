"""A page of hits from the texts that an engine proposes, for engines that look up many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, Protocol, TypeVar

from turnlog.store.search.asking import Counts
from turnlog.store.search.hits import Cursor, SearchOrder, SearchPage, TextKey
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.paging import Cancelled, Candidate, collect_page, stop_if
from turnlog.store.search.ranking import RANKED, rank
from turnlog.store.search.reading import TextReader
from turnlog.store.search.surroundings import Surroundings
from turnlog.store.search.text_rows import Proposed

__all__ = ["Gathering", "PreparedRows", "RankedText"]

_LEAST, _FIRST = 16, 80
"""For how many texts rows and bytes are fetched at once: at first for a page, then twice as many each time."""
_NOTHING = SearchPage(hits=())


class RankedText(Proposed, Protocol):
    """A text that an engine proposes, and that can be ranked."""

    @property
    def counts(self) -> Counts:
        """In how many of its cells each term may be."""

    @property
    def cells(self) -> int:
        """How many it has."""


P = TypeVar("P", bound=RankedText)
_Contra = TypeVar("_Contra", bound=RankedText, contravariant=True)


class PreparedRows(Protocol[_Contra]):
    """Looks up rows and bytes for many texts at once, before they are asked for."""

    def prepare(self, proposals: Sequence[_Contra]) -> None:
        """Look up all that is asked for some texts, but for the bytes of their lines."""

    def prepare_bytes(self, proposals: Iterable[_Contra]) -> None:
        """Fetch the bytes of the lines of some texts."""


class Gathering(Generic[P]):
    """One search: `rows` are those that `around` looks at."""

    def __init__(
        self,
        matcher: Matcher,
        rows: PreparedRows[P],
        around: Surroundings,
        reader: TextReader,
        cancelled: Cancelled | None,
        at_once: int = _FIRST,
    ) -> None:
        """Begin with nothing looked at; rows are looked up for up to so many texts `at_once`."""
        self._matcher = matcher
        self._rows = rows
        self._around = around
        self._reader = reader
        self._cancelled = cancelled
        self._at_once = at_once

    def gather(
        self,
        propose: Callable[[TextKey | None, bool], Iterator[P]],
        order: SearchOrder,
        limit: int,
        after: Cursor | None,
        count_texts: Callable[[], int],
    ) -> SearchPage:
        """Return a page of hits.

        `propose` is given where the page before this one ended, and whether the text there counts as well;
        `count_texts` is asked by relevance.
        """
        base: Cursor | None = None
        key = None if after is None else after.key
        if order is SearchOrder.NEWEST:
            proposals = propose(key, False)
        else:
            # Later pages rank the same texts: those that are no newer than the newest of the first page.
            newest = list(islice(propose(key, True), RANKED))
            if not newest:
                return _NOTHING
            base = after or Cursor(newest[0].key, 0)
            proposals = iter(rank(newest, count_texts())[base.count :])
        # With one text more it is known whether there is another page.
        candidates = self._build(proposals, limit + 1)
        return collect_page(
            candidates, self._matcher, self._reader, limit=limit, cancelled=self._cancelled, base=base
        )

    def _build(self, proposals: Iterator[P], wanted: int) -> Iterator[Candidate]:
        size = max(_LEAST, min(wanted, _FIRST))
        while some := list(islice(proposals, size)):
            stop_if(self._cancelled)
            self._rows.prepare(some)
            built = [(proposal, self._around.build(proposal)) for proposal in some]
            self._rows.prepare_bytes(proposal for proposal, candidate in built if candidate is not None)
            yield from (candidate for _, candidate in built if candidate is not None)
            size = min(2 * size, self._at_once)
