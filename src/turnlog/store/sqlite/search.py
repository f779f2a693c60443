"""Search in the embedded store: its index proposes, the matcher decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import apsw

from turnlog.errors import SearchCancelledError
from turnlog.store.identity import Scope
from turnlog.store.search.asking import list_asked
from turnlog.store.search.hits import Cursor, SearchOrder, SearchPage, decode_cursor
from turnlog.store.search.language import Query
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.paging import Cancelled, Candidate, collect_page, stop_if
from turnlog.store.search.ranking import RANKED, rank
from turnlog.store.search.reading import TextReader
from turnlog.store.search.surroundings import Surroundings
from turnlog.store.search.text_rows import Chapter
from turnlog.store.sqlite.archive import SqliteArchive
from turnlog.store.sqlite.connection import reading
from turnlog.store.sqlite.directory import Directory, Run
from turnlog.store.sqlite.leaves import build_leaf
from turnlog.store.sqlite.segments import SegmentCache
from turnlog.store.sqlite.text_rows import SqliteTextRows
from turnlog.store.sqlite.vocabulary import Vocabulary
from turnlog.store.sqlite.walking import Keep, Proposal, Walk

__all__ = ["Searcher"]

_STEPS = 20_000
"""After how many steps of SQLite it is asked whether anybody still waits."""


class Searcher:
    """Searches through one connection; what it learns of the index it keeps."""

    def __init__(self, connection: apsw.Connection, segments: SegmentCache) -> None:
        self._connection = connection
        self._segments = segments
        self._archive = SqliteArchive(Path(connection.filename), lambda _: connection, is_checked=False)
        self._directory = Directory(connection)
        self._vocabulary = Vocabulary(connection)
        self._chapters: dict[int, Chapter | None] = {}
        self._version: object = None

    def search(
        self,
        scope: Scope,
        query: Query,
        order: SearchOrder,
        limit: int,
        cursor: str | None,
        cancelled: Cancelled | None,
    ) -> SearchPage:
        """Return a page of hits."""
        after = decode_cursor(cursor, order)
        with _watching(self._connection, cancelled), reading(self._connection):
            return self._search(scope, query, order, limit, after, cancelled)

    def _search(
        self,
        scope: Scope,
        query: Query,
        order: SearchOrder,
        limit: int,
        after: Cursor | None,
        cancelled: Cancelled | None,
    ) -> SearchPage:
        matcher = Matcher(query)
        runs = self._directory.load(scope)
        self._vocabulary.load()
        leaves = {term: build_leaf(self._connection, self._vocabulary, term) for term in list_asked(query.root)}
        rows = SqliteTextRows(self._connection, scope, self._segments, self._find_chapters(scope))
        around = Surroundings(rows, matcher)
        walk = Walk(self._connection, query.root, leaves, around.list_states())
        reader = TextReader(self._archive.read, scope)

        def keep(run: Run) -> bool:
            stop_if(cancelled)
            return around.may_have_hits(run.generation, run.oldest, run.newest)

        if order is SearchOrder.NEWEST:
            found = walk.propose(runs, keep, None if after is None else after.key)
            return collect_page(_build(found, around), matcher, reader, limit=limit, cancelled=cancelled)
        return self._rank(walk, runs, keep, rows, around, matcher, reader, limit, after, cancelled)

    def _find_chapters(self, scope: Scope) -> dict[int, Chapter | None]:
        """Return what earlier searches have learned of chapters, as long as nothing was written."""
        version = scope, self._connection.pragma("data_version")
        if version != self._version:
            self._chapters, self._version = {}, version
        return self._chapters

    def _rank(
        self,
        walk: Walk,
        runs: list[Run],
        keep: Keep,
        rows: SqliteTextRows,
        around: Surroundings,
        matcher: Matcher,
        reader: TextReader,
        limit: int,
        after: Cursor | None,
        cancelled: Cancelled | None,
    ) -> SearchPage:
        """Return a page of the newest texts by relevance.

        Later pages rank the same texts: those that are no newer than the newest of the first page.
        """
        before = None if after is None else (*after.key[:2], after.key[2] + 1)
        # What hooks told others must not take the place of anything.
        seen = (
            each for each in walk.propose(runs, keep, before) if rows.is_seen(each.generation, each.text.number)
        )
        newest = list(islice(seen, RANKED))
        if not newest:
            return SearchPage(hits=())
        base = after or Cursor(newest[0].key, 0)
        ranked = rank(newest, walk.texts)[base.count :]
        return collect_page(
            _build(ranked, around), matcher, reader, limit=limit, cancelled=cancelled, base=base
        )


def _build(proposals: Iterable[Proposal], around: Surroundings) -> Iterator[Candidate]:
    for proposal in proposals:
        candidate = around.build(proposal)
        if candidate is not None:
            yield candidate


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
