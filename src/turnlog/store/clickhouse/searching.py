"""The part of a store on ClickHouse that is searched."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack

from turnlog.store.clickhouse.blob_upkeep import tidy_blobs
from turnlog.store.clickhouse.connection import LOCAL_SUFFIX, Engine, quote
from turnlog.store.clickhouse.search_checks import check_texts
from turnlog.store.clickhouse.search_engine import Searcher
from turnlog.store.clickhouse.search_schema import SEARCH_TABLES
from turnlog.store.clickhouse.texts import index_deliveries
from turnlog.store.clickhouse.tidying import tidy_tables
from turnlog.store.clickhouse.transaction import Connected
from turnlog.store.identity import Scope
from turnlog.store.packing import unpack_text
from turnlog.store.search.hits import SearchOrder, SearchPage, decode_cursor
from turnlog.store.search.language import Query
from turnlog.store.search.packing import unpack_texts
from turnlog.store.search.paging import Cancelled

__all__ = ["Searching"]

_OWNERS = (
    "SELECT DISTINCT owner FROM (SELECT owner FROM sessions UNION ALL SELECT owner FROM texts) ORDER BY owner"
)


class Searching(Connected):
    """What `ClickHouseStore` does to find texts."""

    def search(
        self,
        scope: Scope,
        query: Query,
        *,
        order: SearchOrder = SearchOrder.NEWEST,
        limit: int = 20,
        cursor: str | None = None,
        cancelled: Cancelled | None = None,
    ) -> SearchPage:
        """Return a page of the passages that match."""
        after = decode_cursor(cursor, order)
        searcher = Searcher(self._reading(scope), self._control, self._blobs, query, cancelled)
        return searcher.search(order, limit, after)

    def settle(self) -> None:
        """Delete what is superseded, now and then, and bytes that nobody needs."""
        now_ns = time.time_ns()
        tidy_tables(self, now_ns)
        tidy_blobs(self, now_ns)

    def clear_texts(self) -> None:
        """Empty what is searched; what hooks delivered is there at once."""
        self._engine.check_writable()
        with ExitStack() as locks:
            for (owner,) in self._engine.query(_OWNERS):
                locks.enter_context(self._locked(unpack_text(owner), None))
            _empty_tables(self._engine)
            index_deliveries(self._engine)

    def check_texts(self, scope: Scope, source: str, generation: int, texts: Sequence[bytes]) -> list[str]:
        """Return how what is searched of a generation differs from what it should be."""
        return check_texts(self._reading(scope), source, generation, unpack_texts(texts))


def _empty_tables(engine: Engine) -> None:
    """Delete all that is searched, from the disk as well."""
    there = "" if engine.cluster is None else f"{LOCAL_SUFFIX} ON CLUSTER {quote(engine.cluster)}"
    for table in SEARCH_TABLES:
        engine.command(f"TRUNCATE TABLE {table.name}{there}")
