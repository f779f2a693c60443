"""The embedded store: one SQLite file, one writer, any number of readers.

A store may be used by several threads: each reads through a connection of its own, and sees what was committed
when its query began. Writing is one thread's at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import SessionBatch, TextFact
from turnlog.store.identity import Scope
from turnlog.store.interface import Feed, KnownSession, Maintenance
from turnlog.store.lists import (
    EVERYTHING_SHOWN,
    Facets,
    ProjectOrder,
    SessionFilter,
    SessionOrder,
    SessionPage,
    StoredProject,
    sort_projects,
)
from turnlog.store.marks import MarkChange, MarkedSession
from turnlog.store.people import Machine, ProjectRule, SessionAccess, Visibility
from turnlog.store.search.hits import SearchOrder, SearchPage
from turnlog.store.search.language import Query
from turnlog.store.search.paging import Cancelled
from turnlog.store.sqlite import people
from turnlog.store.sqlite.archive import SqliteArchive
from turnlog.store.sqlite.connection import (
    Options,
    break_off,
    open_to_read,
    reading,
    translate,
    translate_damage,
    writing,
)
from turnlog.store.sqlite.marks import mark_sessions, undo_marks
from turnlog.store.sqlite.migrations import check_current, open_migrated
from turnlog.store.sqlite.queries import Queries
from turnlog.store.sqlite.search import Searcher
from turnlog.store.sqlite.seen import SeenConnection, Viewing
from turnlog.store.sqlite.segments import SegmentCache, SqliteSession
from turnlog.store.sqlite.texts import WordSums, check_texts
from turnlog.store.sqlite.upkeep import Upkeep
from turnlog.store.sqlite.usage import SqliteUsage, UsageKeeper
from turnlog.store.sqlite.values import Numbers
from turnlog.store.sqlite.writing import write_batch
from turnlog.store.usage.recounting import RecountedUsage
from turnlog.store.usage.source import StoredUsage
from turnlog.transcripts.queries.actions import SessionActions


class SqliteStore(Upkeep):
    """A store in an SQLite file; `open` makes one."""

    def __init__(self, path: Path, options: Options, connection: apsw.Connection | None) -> None:
        self._path = path
        self._options = options
        self._writer = connection
        self._write_lock = threading.Lock()
        self._readers: list[apsw.Connection] = []
        self._local = threading.local()
        self._closed = False
        self._data_version: object = None
        self._archive = SqliteArchive(path, lambda scope: self._ask(scope).connection)
        self._segments = SegmentCache()
        if connection is not None:
            self._own_archive = SqliteArchive(path, lambda _: connection)
            self._numbers = Numbers(connection)
            self._usage = UsageKeeper(connection, self._segments, self._numbers)

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False, options: Options | None = None) -> SqliteStore:
        """Open the store in a file, which is made if it is missing and may be written.

        Raises `NewerStoreError` for a file of a newer version, which is not touched, and `StoreError` for
        one that cannot be used.
        """
        options = options or Options()
        if read_only:
            check_current(path, options)
            return cls(path, options, None)
        store = cls(path, options, open_migrated(path, options))
        with translate(path):
            if store._usage.is_outdated():
                store.maintain(Maintenance.RECOUNT)
        return store

    @property
    def archive(self) -> SqliteArchive:
        """The bytes behind the rows."""
        return self._archive

    @property
    def writes(self) -> int:
        """How many rows were inserted or deleted through this store."""
        return 0 if self._writer is None else self._writer.total_changes()

    def apply(self, batches: Sequence[SessionBatch]) -> int:
        """Write batches, all or nothing, and return the last `seq` of the feed."""
        with self._writing() as connection:
            for batch in batches:
                write_batch(connection, self._own_archive, self._usage, batch)
            [(seq,)] = connection.execute("SELECT ifnull(max(seq), 0) FROM changes")
            return int(seq)

    def list_known(
        self, scope: Scope, origin: str | None = None, *, key: str | None = None
    ) -> Iterator[KnownSession]:
        """Yield what is known of the files of all sessions, of those of a machine, or of one, by their keys."""
        with translate(self._path):
            yield from self._ask(scope).list_known(scope, key, origin)

    def list_sessions(
        self,
        scope: Scope,
        asked: SessionFilter = EVERYTHING_SHOWN,
        *,
        order: SessionOrder = SessionOrder.NEWEST,
        limit: int = 100,
        cursor: str | None = None,
        grouped: bool = False,
        summaries: bool = False,
    ) -> SessionPage:
        """Return a page of sessions: the first, or the one that begins where another one ended."""
        with translate(self._path):
            lists = self._ask(scope).lists
            return lists.list_sessions(scope, asked, order, limit, cursor, grouped, summaries)

    def list_projects(
        self, scope: Scope, *, text: str | None = None, order: ProjectOrder = ProjectOrder.NEWEST
    ) -> list[StoredProject]:
        """Return all projects, or those with a text in their paths."""
        with translate(self._path):
            return sort_projects(self._ask(scope).lists.list_projects(scope, text), order)

    def list_facets(self, scope: Scope, asked: SessionFilter = EVERYTHING_SHOWN) -> Facets:
        """Return what the sessions that are asked for can be told apart by."""
        with translate(self._path):
            return self._ask(scope).lists.list_facets(scope, asked)

    def mark(self, scope: Scope, keys: Sequence[str], change: MarkChange) -> list[MarkedSession]:
        """Change the marks of sessions, and return those that are not as they were."""
        with self._writing() as connection:
            return mark_sessions(connection, scope, keys, change)

    def undo_mark(self, scope: Scope) -> list[MarkedSession]:
        """Take back the last call of `mark` that still stands, and return the sessions that it changed."""
        with self._writing() as connection:
            return undo_marks(connection, scope)

    @contextmanager
    def open_session(self, scope: Scope, key: str, *, hooks: str | None = None) -> Iterator[SessionActions]:
        """Return all that is kept of one session, as it is now; it stays so until it is closed."""
        connection = self._ask(scope).connection
        with translate_damage(self._path), reading(connection):
            reader = SqliteSession(connection, self._archive, self._segments, scope, key, hooks)
            yield SessionActions(reader)

    def read_usage(self, scope: Scope) -> StoredUsage:
        """Return what sessions used and cost."""
        kept = SqliteUsage(self._path, lambda: self._ask(scope).connection, self._segments, scope)
        return RecountedUsage(self, scope, version_of=kept.find_version) if _is_of_one(scope) else kept

    def read_feed(self, scope: Scope, after: int | None = None, limit: int = 1000) -> Feed:
        """Return the name of the feed and how far it goes; with `after`, also the entries behind that one."""
        with translate(self._path):
            queries = self._ask(scope)
            if after is None:
                return queries.find_feed(scope)
            with reading(queries.connection):
                return replace(queries.find_feed(scope), entries=queries.list_changes(scope, after, limit))

    def listen(self) -> None:
        """Return nothing: other processes that write to the file tell nobody."""
        return

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

    def check_texts(self, scope: Scope, source: str, generation: int, texts: Iterable[TextFact]) -> list[str]:
        """Return how what is searched of a generation differs from what it should be."""
        with translate(self._path):
            connection = self._ask().connection
            sums: WordSums | None = getattr(self._local, "word_sums", None)
            if sums is None:
                sums = self._local.word_sums = WordSums(connection)
            with reading(connection):
                return check_texts(connection, sums, scope, source, generation, texts)

    def save_machine(
        self,
        scope: Scope,
        origin: str,
        *,
        person: str | None = None,
        host: str = "",
        user: str = "",
        at_ns: int | None = None,
        reassign: bool = False,
    ) -> Machine:
        """Remember that something came from a machine, and whose it is; its sessions are theirs from now on."""
        with self._writing() as connection:
            affect = self._usage.affect
            if reassign:
                people.assign_machine(connection, scope, origin, person, affect)
            else:
                at_ns = time.time_ns() if at_ns is None else at_ns
                people.note_machine(connection, scope, origin, person, host, user, at_ns, affect)
            [machine] = people.list_machines(connection, Scope(scope.owner), origin)
        if scope.viewer is None:
            return machine
        return next((each for each in self.list_machines(scope) if each.origin == origin), machine)

    def list_machines(self, scope: Scope) -> list[Machine]:
        """Return machines by host, user and origin."""
        with translate(self._path):
            return people.list_machines(self._ask(scope).connection, scope)

    def list_access(self, scope: Scope, keys: Collection[str] | None = None) -> list[SessionAccess]:
        """Return who may see sessions, all or those of some keys that are there, by key."""
        with translate(self._path):
            return people.list_access(self._ask(scope).connection, scope, keys)

    def set_visibility(
        self, scope: Scope, keys: Sequence[str], chosen: Visibility | None
    ) -> list[SessionAccess]:
        """Say who sees sessions, and return those of which it was not so before."""
        with self._writing() as connection:
            return people.set_visibility(connection, scope, keys, chosen, self._usage.affect)

    def list_rules(self, scope: Scope) -> list[ProjectRule]:
        """Return the rules for projects, by pattern; everybody may know them."""
        with translate(self._path):
            return people.list_rules(self._ask(scope).connection, scope)

    def set_rule(
        self, scope: Scope, pattern: str, visibility: Visibility | None, *, dry_run: bool = False
    ) -> int:
        """Set or (with None) remove a rule, and return how many sessions others see, or don't, by that."""
        if dry_run:
            with translate(self._path):
                connection = self._ask().connection
                return people.preview_rule(connection, Scope(scope.owner), pattern, visibility)
        with self._writing() as connection:
            return people.set_rule(connection, scope, pattern, visibility, self._usage.affect)

    def close(self) -> None:
        """Let go of the store, whatever other threads ask it just now; again does nothing."""
        self._closed = True
        for reader in self._readers:
            break_off(reader)
        self._readers.clear()
        if self._writer is not None:
            break_off(self._writer)

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Write, all or nothing, as the only one."""
        connection = self._get_writer()
        with self._write_lock, translate(self._path):
            try:
                with writing(connection):
                    version = connection.pragma("data_version")
                    if version != self._data_version:  # another process may have forgotten words
                        self._numbers.reset()
                        self._usage.reset()
                        self._data_version = version
                    yield connection
                    self._usage.settle()
            except BaseException:
                self._segments.clear()
                self._numbers.reset()
                self._usage.reset()
                raise

    def _get_writer(self) -> apsw.Connection:
        if self._writer is None or self._closed:
            raise StoreError(
                f"The store {self._path} is {'closed' if self._closed else 'open for reading only'}"
            )
        return self._writer

    def _ask(self, scope: Scope | None = None) -> Queries:
        """Return this thread's own queries, for a scope; without one, those that see everything."""
        if self._closed:
            raise StoreError(f"The store {self._path} is closed")
        viewing: Viewing | None = getattr(self._local, "viewing", None)
        if viewing is None:
            viewing = self._local.viewing = Viewing(self._connect)
        return viewing.ask(scope)

    def _find_searcher(self, scope: Scope) -> Searcher:
        """Return the one of this thread's connection for a scope."""
        queries = self._ask(scope)
        searchers: dict[apsw.Connection, Searcher] = self._local.__dict__.setdefault("searchers", {})
        if queries.connection not in searchers:
            searchers[queries.connection] = Searcher(queries.connection, self._segments)
        return searchers[queries.connection]

    def _connect(self, for_viewers: bool) -> apsw.Connection:
        kind = SeenConnection if for_viewers else apsw.Connection
        connection = open_to_read(self._path, self._options, kind=kind)
        self._readers.append(connection)
        return connection


def _is_of_one(scope: Scope) -> bool:
    """Tell whether somebody sees a session by its key: answers were elected among more than they see."""
    return scope.viewer is not None and scope.viewer.session is not None
