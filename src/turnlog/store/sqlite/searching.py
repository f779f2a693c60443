"""The part of the embedded store that is searched."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import apsw

from turnlog.store.batch import TextFact
from turnlog.store.identity import Scope
from turnlog.store.search.hits import SearchOrder, SearchPage
from turnlog.store.search.language import Query
from turnlog.store.search.paging import Cancelled
from turnlog.store.sqlite.connection import reading, translate
from turnlog.store.sqlite.forgetting import pack_pages
from turnlog.store.sqlite.hook_texts import index_deliveries
from turnlog.store.sqlite.queries import Queries
from turnlog.store.sqlite.search import Searcher
from turnlog.store.sqlite.search_schema import DROP_SEARCH_TABLES, SEARCH_TABLES
from turnlog.store.sqlite.segments import SegmentCache
from turnlog.store.sqlite.text_checks import WordSums, check_texts
from turnlog.store.sqlite.vocabulary import settle

__all__ = ["Searching"]


class Searching:
    """What `SqliteStore` does to find texts."""

    _path: Path
    _local: threading.local
    _write_lock: threading.Lock
    _segments: SegmentCache

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
        with translate(self._path):
            return self._find_searcher(scope).search(scope, query, order, limit, cursor, cancelled)

    def settle(self) -> None:
        """Put what is searched in order, if much of it is new."""
        with self._writing() as connection:
            is_new = settle(connection)
        if is_new:
            with self._write_lock, translate(self._path):
                pack_pages(self._get_writer())

    def clear_texts(self) -> None:
        """Empty what is searched; what hooks delivered is there at once."""
        with self._writing() as connection:
            connection.execute(DROP_SEARCH_TABLES)
            connection.execute(SEARCH_TABLES)
            index_deliveries(connection)

    def check_texts(self, scope: Scope, source: str, generation: int, texts: Iterable[TextFact]) -> list[str]:
        """Return how what is searched of a generation differs from what it should be."""
        with translate(self._path):
            connection = self._ask().connection
            sums: WordSums | None = getattr(self._local, "word_sums", None)
            if sums is None:
                sums = self._local.word_sums = WordSums(connection)
            with reading(connection):
                return check_texts(connection, sums, scope, source, generation, texts)

    def _find_searcher(self, scope: Scope) -> Searcher:
        """Return the one of this thread's connection for a scope."""
        queries = self._ask(scope)
        searchers: dict[apsw.Connection, Searcher] = self._local.__dict__.setdefault("searchers", {})
        if queries.connection not in searchers:
            searchers[queries.connection] = Searcher(queries.connection, self._segments)
        return searchers[queries.connection]

    def _get_writer(self) -> apsw.Connection:
        raise NotImplementedError

    def _writing(self) -> AbstractContextManager[apsw.Connection]:
        raise NotImplementedError

    def _ask(self, scope: Scope | None = None) -> Queries:
        raise NotImplementedError
