"""The part of the embedded store that takes care of it: mending, forgetting, backups, hook deliveries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import assert_never

import apsw
from msgspec.structs import replace

from turnlog.store.batch import Derived, TextFact
from turnlog.store.identity import Scope
from turnlog.store.interface import Maintenance
from turnlog.store.maintenance import NO_TEXTS, NOTHING, Backup, Flaw, Forgotten, Tombstone
from turnlog.store.sqlite.archive import repair_frames
from turnlog.store.sqlite.backup import list_backups, record_backup, write_backup
from turnlog.store.sqlite.checking import list_flaws
from turnlog.store.sqlite.connection import flush_log, translate
from turnlog.store.sqlite.forgetting import (
    bury,
    count_forgotten,
    delete_tombstones,
    forget_sessions,
    list_tombstones,
    pack_pages,
    rewrite_file,
)
from turnlog.store.sqlite.hooks import (
    add_deliveries,
    count_deliveries,
    index_deliveries,
    list_deliveries,
    list_hook_sessions,
)
from turnlog.store.sqlite.queries import Queries
from turnlog.store.sqlite.schema import DROP_SEARCH_TABLES, SEARCH_TABLES, renew_epoch
from turnlog.store.sqlite.texts import settle
from turnlog.store.sqlite.usage import UsageKeeper
from turnlog.store.sqlite.values import Numbers
from turnlog.store.sqlite.writing import rewrite_session
from turnlog.transcripts.hooks.deliveries import EVERY_DELIVERY, DeliveryFilter, HookDelivery

__all__ = ["Upkeep"]


class Upkeep:
    """What `SqliteStore` does besides keeping up and answering."""

    _path: Path
    _numbers: Numbers
    _usage: UsageKeeper
    _write_lock: threading.Lock

    def rewrite(
        self,
        scope: Scope,
        key: str,
        revision: int,
        derived: Derived | None,
        derivation: int = 0,
        *,
        lines: Mapping[str, int] = NOTHING,
        texts: Mapping[tuple[str, int], Iterable[TextFact]] = NO_TEXTS,
    ) -> int:
        """Write what follows from a session's bytes anew, whatever is there, and return its new revision."""
        with self._writing() as connection:
            return rewrite_session(
                connection, self._usage, scope, key, revision, derived, derivation, lines, texts
            )

    def repair_bytes(
        self, scope: Scope, source: str, generation: int, find: Callable[[int, int], bytes | None]
    ) -> int:
        """Put bytes back in the place of damaged ones that had the same digest; return how many stretches."""
        with self._writing() as connection:
            return repair_frames(connection, scope, source, generation, find)

    def list_flaws(self, scope: Scope) -> list[Flaw]:
        """Return what contradicts itself: damaged pages, rows without those that they belong to."""
        with translate(self._path):
            return list_flaws(self._ask(scope).connection, scope)

    def forget(self, scope: Scope, keys: Sequence[str], *, dry_run: bool = False) -> Forgotten:
        """Delete sessions for good, and leave tombstones."""
        if dry_run:
            with translate(self._path):
                return count_forgotten(self._ask().connection, scope, keys)
        with self._writing() as connection:
            # In a transaction, the pragma counts for what it deletes.
            connection.execute("PRAGMA secure_delete=ON")
            try:
                forgotten = forget_sessions(connection, scope, keys, self._usage)
            finally:
                connection.execute("PRAGMA secure_delete=OFF")
        self._numbers.reset()
        if not forgotten.sessions:
            return forgotten
        with self._write_lock, translate(self._path):
            return replace(forgotten, scrubbed=rewrite_file(self._get_writer()))

    def delete_tombstones(self, scope: Scope, keys: Sequence[str]) -> int:
        """Let sessions be kept again, and return how many."""
        with self._writing() as connection:
            return delete_tombstones(connection, scope, keys)

    def list_tombstones(self, scope: Scope) -> list[Tombstone]:
        """Return what was forgotten, by time."""
        with translate(self._path):
            return list_tombstones(self._ask(scope).connection, scope)

    def maintain(self, work: Maintenance = Maintenance.SETTLE) -> bool:
        """Do some work on the store as a whole; return False if its file is in use, and cannot be purged."""
        match work:
            case Maintenance.SETTLE:
                with self._writing() as connection:
                    is_new = settle(connection)
                with self._write_lock, translate(self._path):
                    pack_pages(self._get_writer(), is_new=is_new)
            case Maintenance.PURGE:
                with self._write_lock, translate(self._path):
                    return rewrite_file(self._get_writer())
            case Maintenance.CLEAR_TEXTS:
                with self._writing() as connection:
                    connection.execute(DROP_SEARCH_TABLES)
                    connection.execute(SEARCH_TABLES)
                    index_deliveries(connection)
            case Maintenance.RECOUNT:
                with self._writing():
                    self._usage.recount()
            case _:
                assert_never(work)
        return True

    def bury(self, scope: Scope, tombstones: Sequence[Tombstone]) -> None:
        """Add tombstones that another copy of this store has."""
        with self._writing() as connection:
            for each in tombstones:
                bury(connection, scope, each)

    def back_up(
        self, target: Path, *, force: bool = False, on_progress: Callable[[int, int], None] | None = None
    ) -> Backup:
        """Write a copy of one state of the store to a file, check it, and remember it."""
        with translate(self._path):
            backup = write_backup(self._ask().connection, target, force=force, on_progress=on_progress)
        self.record_backup(backup)
        return backup

    def record_backup(self, backup: Backup) -> None:
        """Remember that a copy was made."""
        with self._writing() as connection:
            record_backup(connection, backup)

    def renew_epoch(self) -> None:
        """Give the feed another name: what was numbered before means nothing here."""
        with self._writing() as connection:
            renew_epoch(connection)

    def list_backups(self) -> list[Backup]:
        """Return the copies that were made, by time."""
        with translate(self._path):
            return list_backups(self._ask().connection)

    def add_deliveries(self, scope: Scope, deliveries: Sequence[HookDelivery]) -> int:
        """Keep what hooks were given, each delivery once, and return how many are new."""
        with self._writing() as connection:
            added = add_deliveries(connection, scope, deliveries)
        with translate(self._path):
            flush_log(self._path)
        return added

    def list_deliveries(self, scope: Scope, which: DeliveryFilter = EVERY_DELIVERY) -> list[HookDelivery]:
        """Return deliveries, by time."""
        with translate(self._path):
            return list_deliveries(self._ask(scope).connection, scope, which)

    def count_deliveries(self, scope: Scope, session_id: str | None = None) -> int:
        """Return how many deliveries there are of a session, or of all."""
        with translate(self._path):
            return count_deliveries(self._ask(scope).connection, scope, session_id)

    def list_hook_sessions(self, scope: Scope, since_ns: int, count: int = 200) -> list[str]:
        """Return the ids of the sessions that hooks told of at a time or later, the latest first."""
        with translate(self._path):
            return list_hook_sessions(self._ask(scope).connection, scope, since_ns, count)

    def _writing(self) -> AbstractContextManager[apsw.Connection]:
        raise NotImplementedError

    def _get_writer(self) -> apsw.Connection:
        raise NotImplementedError

    def _ask(self, scope: Scope | None = None) -> Queries:
        raise NotImplementedError
