"""Search in a PostgreSQL database: its index proposes, the matcher decides."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice

import psycopg
from psycopg import Connection

from turnlog.errors import SearchCancelledError
from turnlog.store.identity import Scope
from turnlog.store.postgres.search_conditions import build_conditions, build_leaves
from turnlog.store.postgres.search_frames import FrameReader
from turnlog.store.postgres.search_rows import PostgresTextRows
from turnlog.store.postgres.search_walk import Proposal, Walk
from turnlog.store.search.asking import Counts
from turnlog.store.search.gathering import Gathering
from turnlog.store.search.hits import Cursor, SearchOrder, SearchPage, TextKey
from turnlog.store.search.language import Query
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.paging import Cancelled, stop_if
from turnlog.store.search.ranking import RANKED
from turnlog.store.search.reading import TextReader
from turnlog.store.search.surroundings import Surroundings

__all__ = ["Searcher"]

_FEW = 2000
"""Up to so many files their texts are listed."""
_LOOKED_AT = 256
"""How many texts are looked at at once, whether they may be seen."""
_PAUSE = 0.05
"""Seconds between asking whether anybody still waits."""
_NOTHING = SearchPage(hits=())


class Searcher:
    """One search, through one connection, in a transaction that sees one state."""

    def __init__(self, connection: Connection, scope: Scope, query: Query, cancelled: Cancelled | None) -> None:
        self._connection = connection
        self._scope = scope
        self._query = query
        self._cancelled = cancelled
        self._matcher = Matcher(query)
        self._frames = FrameReader(connection)

    def search(self, order: SearchOrder, limit: int, after: Cursor | None) -> SearchPage:
        """Return a page of hits."""
        stop_if(self._cancelled)
        with _watching(self._connection, self._cancelled):
            owner = self._find_owner()
            return _NOTHING if owner is None else self._search(owner, order, limit, after)

    def build_walk(
        self, owner: int, order: SearchOrder, limit: int
    ) -> tuple[Walk, PostgresTextRows, Surroundings]:
        """Return the way through the texts of an owner, and what looks up the rows around them."""
        rows = PostgresTextRows(self._connection, self._scope, self._frames)
        around = Surroundings(rows, self._matcher)
        leaves = build_leaves(self._connection, self._query)
        conditions = build_conditions(self._query, leaves, around, _list_generations(rows, around), _FEW)
        if order is SearchOrder.NEWEST:
            return Walk(self._connection, owner, conditions, limit), rows, around

        def count(words: list[int], counts: bytes | None, cells: int) -> Counts:
            having = dict.fromkeys(words, 1) if counts is None else dict(zip(words, counts, strict=True))
            return tuple(leaf.count(having, cells) for leaf in leaves.values())

        return Walk(self._connection, owner, conditions, RANKED, count), rows, around

    def _search(self, owner: int, order: SearchOrder, limit: int, after: Cursor | None) -> SearchPage:
        walk, rows, around = self.build_walk(owner, order, limit)
        reader = TextReader(self._frames.read, self._scope)
        gathering = Gathering(self._matcher, rows, around, reader, self._cancelled)

        def propose(key: TextKey | None, is_included: bool) -> Iterator[Proposal]:
            before = key if key is None or not is_included else (key[0], key[1] + 1, 0)
            return self._list_seen(walk.propose(before), rows)

        return gathering.gather(propose, order, limit, after, self._count_texts)

    def _list_seen(self, proposals: Iterator[Proposal], rows: PostgresTextRows) -> Iterator[Proposal]:
        """Leave out what hooks told and the viewer may not see."""
        if self._scope.viewer is None:
            yield from proposals
            return
        while some := list(islice(proposals, _LOOKED_AT)):
            stop_if(self._cancelled)
            yield from rows.list_seen(some)

    def _find_owner(self) -> int | None:
        query = "SELECT id FROM text_owners WHERE owner = %s"
        found = self._connection.execute(query, (self._scope.owner,)).fetchone()
        return None if found is None else int(found[0])

    def _count_texts(self) -> int:
        """Return how many texts there are or were, which is near enough; not to those who do not see them."""
        if self._scope.viewer is not None:
            return RANKED
        [(last,)] = self._connection.execute("SELECT last_value FROM text_ids").fetchall()
        return max(int(last), RANKED)


def _list_generations(rows: PostgresTextRows, around: Surroundings) -> list[int] | None:
    """Return the files that may have hits, if filters ask for something of sessions."""
    if not around.asks_sessions:
        return None
    since, until = around.limits
    newest = since if until is None else max(since, until - 1)
    return [each for each in rows.list_generations() if around.may_have_hits(each, since, newest)]


@contextmanager
def _watching(connection: Connection, cancelled: Cancelled | None) -> Iterator[None]:
    """Let the server itself stop when nobody waits any more."""
    if cancelled is None:
        yield
        return
    ended, stopped = threading.Event(), threading.Event()
    watcher = threading.Thread(target=_watch, args=(connection, cancelled, ended, stopped), daemon=True)
    watcher.start()
    try:
        yield
    except psycopg.errors.QueryCanceled:
        if stopped.is_set():
            raise SearchCancelledError from None
        raise
    finally:
        ended.set()
        watcher.join()


def _watch(
    connection: Connection, cancelled: Cancelled, ended: threading.Event, stopped: threading.Event
) -> None:
    """Stop what the server does if nobody waits any more before it has `ended`."""
    while not ended.wait(_PAUSE):
        if cancelled():
            stopped.set()
            with suppress(psycopg.Error):  # it is gone, and whoever waits for it is told
                connection.cancel_safe()
            return
