"""Search in a ClickHouse database: its index proposes, the matcher decides."""

from __future__ import annotations

from turnlog.store.blobs.interface import Blobs
from turnlog.store.clickhouse.reading import Reading
from turnlog.store.clickhouse.search_conditions import build_conditions, build_leaves
from turnlog.store.clickhouse.search_frames import FrameReader
from turnlog.store.clickhouse.search_rows import ClickHouseTextRows
from turnlog.store.clickhouse.search_walk import Proposal, Walk
from turnlog.store.control.interface import Control
from turnlog.store.search.gathering import Gathering
from turnlog.store.search.hits import Cursor, SearchOrder, SearchPage
from turnlog.store.search.language import Query
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.paging import Cancelled, stop_if
from turnlog.store.search.ranking import RANKED
from turnlog.store.search.reading import TextReader
from turnlog.store.search.surroundings import Surroundings

__all__ = ["Searcher"]

_AT_ONCE = 320
"""For how many texts lines are looked up at once: a statement takes a while, however little it asks."""
_COUNT = "SELECT count() FROM texts WHERE owner = {owner:String}"


class Searcher:
    """One search."""

    def __init__(
        self, reading: Reading, control: Control, blobs: Blobs, query: Query, cancelled: Cancelled | None
    ) -> None:
        self._reading = reading
        self._query = query
        self._cancelled = cancelled
        self._matcher = Matcher(query)
        self._frames = FrameReader(reading.engine, blobs)
        self._rows = ClickHouseTextRows(reading, control, self._frames)
        self._around = Surroundings(self._rows, self._matcher)

    def search(self, order: SearchOrder, limit: int, after: Cursor | None) -> SearchPage:
        """Return a page of hits."""
        stop_if(self._cancelled)
        walk = self.build_walk(order, limit)
        reader = TextReader(self._frames.read, self._reading.scope)
        gathering = Gathering(self._matcher, self._rows, self._around, reader, self._cancelled, _AT_ONCE)
        return gathering.gather(walk.propose, order, limit, after, self._count_texts)

    def build_walk(self, order: SearchOrder, limit: int) -> Walk:
        """Return the way through the texts."""
        leaves = build_leaves(self._reading.engine, self._query)
        conditions = build_conditions(self._query, leaves, self._around, self._rows.find_hosts)
        is_ranked = order is SearchOrder.RELEVANCE
        # With one text more it is known whether there is another page.
        wanted = RANKED if is_ranked else limit + 1
        return Walk(self._reading, conditions, wanted, self._keep, leaves if is_ranked else None)

    def _keep(self, proposals: list[Proposal]) -> list[Proposal]:
        stop_if(self._cancelled)
        return self._rows.list_counting(proposals)

    def _count_texts(self) -> int:
        """Return how many texts there are, which is near enough; not to those who do not see them."""
        if self._reading.scope.viewer is not None:
            return RANKED
        [(count,)] = self._reading.query(_COUNT)
        return max(int(count), RANKED)
