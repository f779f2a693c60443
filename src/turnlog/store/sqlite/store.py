"""The embedded store: one SQLite file, one writer, any number of readers.

A store may be used by several threads: each reads through a connection of its own, and sees what was committed
when its query began. Writing is one thread's at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from turnlog.errors import StoreError
from turnlog.store.batch import SessionBatch
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeEntry, KnownSession
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
from turnlog.store.sqlite.feed_schema import find_epoch
from turnlog.store.sqlite.opening import check_current, open_migrated
from turnlog.store.sqlite.overview import Overview
from turnlog.store.sqlite.peopling import Peopling
from turnlog.store.sqlite.queries import Queries
from turnlog.store.sqlite.searching import Searching
from turnlog.store.sqlite.seen import SeenConnection
from turnlog.store.sqlite.segments import SegmentCache, SqliteSession
from turnlog.store.sqlite.usage_queries import SqliteUsage, find_answers, find_usage_version
from turnlog.store.sqlite.usage_writing import UsageKeeper
from turnlog.store.sqlite.values import Numbers
from turnlog.store.sqlite.viewing import Viewing
from turnlog.store.sqlite.writing import write_batch
from turnlog.store.usage.recounting import RecountedUsage, recount_answers
from turnlog.store.usage.source import UsageSource
from turnlog.store.windows import AnswerUse, FileCounts
from turnlog.transcripts.queries.actions import SessionActions

__all__ = ["SqliteStore"]


class SqliteStore(Overview, Searching, Peopling):
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
                store.recount()
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

    def find_known(self, scope: Scope, key: str) -> KnownSession | None:
        """Return what is known of a session's files."""
        with translate(self._path):
            return next(iter(list(self._ask(scope).list_known(scope, key))), None)

    def list_known(self, scope: Scope, origin: str | None = None) -> Iterator[KnownSession]:
        """Yield what is known of all sessions' files, or of those of one machine, by their keys."""
        with translate(self._path):
            yield from self._ask(scope).list_known(scope, origin=origin)

    @contextmanager
    def open_session(self, scope: Scope, key: str, *, hooks: str | None = None) -> Iterator[SessionActions]:
        """Return all that is kept of one session, as it is now; it stays so until it is closed."""
        connection = self._ask(scope).connection
        with translate_damage(self._path), reading(connection):
            reader = SqliteSession(connection, self._archive, self._segments, scope, key, hooks)
            yield SessionActions(reader)

    def read_usage(self, scope: Scope) -> UsageSource:
        """Return what sessions used and cost."""
        if _is_of_one(scope):
            return RecountedUsage(self, scope)
        return SqliteUsage(self._path, lambda: self._ask(scope).connection, self._segments, scope)

    def find_answers(self, scope: Scope, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""
        if _is_of_one(scope):
            return recount_answers(self, scope, ids)
        with translate(self._path):
            return find_answers(self._ask(scope).connection, scope, ids)

    def find_usage_version(self, scope: Scope, key: str) -> int:
        """Return a number that changes when another session changes what is told of this one's answers."""
        with translate(self._path):
            return find_usage_version(self._ask(scope).connection, scope, key)

    def count_files(self, scope: Scope) -> FileCounts:
        """Return how much there is of all sessions."""
        with translate(self._path):
            return self._ask(scope).count_files(scope)

    def list_changes(self, scope: Scope, after: int = 0, limit: int = 1000) -> list[ChangeEntry]:
        """Return entries of the feed, each once and in order."""
        with translate(self._path):
            return self._ask(scope).list_changes(scope, after, limit)

    def find_last_change(self, scope: Scope) -> int:
        """Return the last `seq` of the feed; 0 if nothing happened yet."""
        with translate(self._path):
            return self._ask(scope).find_last_change(scope)

    def find_epoch(self) -> str:
        """Return the name of the feed."""
        with translate(self._path):
            return find_epoch(self._ask().connection)

    def listen(self) -> None:
        """Return nothing: other processes that write to the file tell nobody."""
        return

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

    def _connect(self, for_viewers: bool) -> apsw.Connection:
        kind = SeenConnection if for_viewers else apsw.Connection
        connection = open_to_read(self._path, self._options, kind=kind)
        self._readers.append(connection)
        return connection


def _is_of_one(scope: Scope) -> bool:
    """Tell whether somebody sees a session by its key: answers were elected among more than they see."""
    return scope.viewer is not None and scope.viewer.session is not None
