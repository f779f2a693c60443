"""The part of a store on PostgreSQL that is searched."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import Connection

from turnlog.store.identity import Scope
from turnlog.store.postgres.connection import Connected
from turnlog.store.postgres.search_checks import check_texts
from turnlog.store.postgres.search_engine import Searcher
from turnlog.store.postgres.search_schema import SEARCH_TABLE_NAMES
from turnlog.store.postgres.texts import index_deliveries
from turnlog.store.postgres.words import merge_pending, purge_words
from turnlog.store.search.hits import Cursor, SearchOrder, SearchPage, decode_cursor
from turnlog.store.search.language import Query
from turnlog.store.search.packing import unpack_texts
from turnlog.store.search.paging import Cancelled

__all__ = ["Searching"]

_MUCH = 2000
"""So many new texts are worth putting everything in order."""
_COUNTED = (
    "texts", "text_words", "sessions", "sources", "generations", "summaries", "lines", "messages", "calls",
    "placements", "turns", "agents", "sightings", "delivery_numbers", "hook_deliveries",
)  # fmt: skip
"""The tables that queries are planned for by how much is in them."""


class Searching(Connected):
    """What `PostgresStore` does to find texts."""

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
        return self._read(scope, _search, scope, query, order, limit, after, cancelled)

    def settle(self) -> None:
        """Put what is searched in order, if much of it is new."""
        self._write(_settle)

    def clear_texts(self) -> None:
        """Empty what is searched; what hooks delivered is there at once."""
        self._write(_clear)

    def check_texts(self, scope: Scope, source: str, generation: int, texts: Sequence[bytes]) -> list[str]:
        """Return how what is searched of a generation differs from what it should be."""
        return self._read(scope, _check, scope, source, generation, texts)


def _search(
    connection: Connection,
    scope: Scope,
    query: Query,
    order: SearchOrder,
    limit: int,
    after: Cursor | None,
    cancelled: Cancelled | None,
) -> SearchPage:
    return Searcher(connection, scope, query, cancelled).search(order, limit, after)


def _check(
    connection: Connection, scope: Scope, source: str, generation: int, texts: Sequence[bytes]
) -> list[str]:
    return check_texts(connection, scope, source, generation, unpack_texts(texts))


def _settle(connection: Connection) -> None:
    """Merge what the indexes keep beside them for the sake of fast writing, and count what is how common."""
    [(last,)] = connection.execute("SELECT last_value FROM text_ids").fetchall()
    [(settled,)] = connection.execute("SELECT settled FROM text_state FOR UPDATE").fetchall()
    if last - settled > _MUCH:
        merge_pending(connection)
        connection.execute(f"ANALYZE {', '.join(_COUNTED)}")
        connection.execute("UPDATE text_state SET settled = %s", (last,))
    if connection.execute("SELECT 1 FROM text_words_gone LIMIT 1").fetchone() is not None:
        purge_words(connection)


def _clear(connection: Connection) -> None:
    connection.execute(f"TRUNCATE {', '.join(SEARCH_TABLE_NAMES)}")
    index_deliveries(connection)
