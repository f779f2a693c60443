"""The part of the store that takes care of it: mending, forgetting, backups, hook deliveries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from turnlog.store.batch import DerivedRows
from turnlog.store.care import NO_TEXTS, Backup, Flaw, Forgotten, Tombstone
from turnlog.store.hooks import HookDelivery, HookEvent, HookSession
from turnlog.store.identity import Scope
from turnlog.store.postgres.backup import list_backups, record_backup, write_backup
from turnlog.store.postgres.checking import list_flaws, measure
from turnlog.store.postgres.connection import Connected
from turnlog.store.postgres.feed import renew_epoch
from turnlog.store.postgres.forgetting import forget_sessions, weigh_sessions
from turnlog.store.postgres.hooks import (
    add_deliveries,
    count_deliveries,
    list_deliveries,
    list_deliveries_between,
    list_deliveries_of,
    list_hook_events,
    list_hook_sessions,
    number_deliveries,
)
from turnlog.store.postgres.rewriting import mend_frames, rewrite_session
from turnlog.store.postgres.scrubbing import scrub
from turnlog.store.postgres.tombstones import bury, lift_tombstones, list_tombstones
from turnlog.store.postgres.wire import SCHEMA
from turnlog.store.rows import LineFact

__all__ = ["Caring"]


class Caring(Connected):
    """What `PostgresStore` does besides keeping up and answering."""

    def rewrite(
        self,
        scope: Scope,
        key: str,
        revision: int,
        lines: Mapping[tuple[str, int], Sequence[LineFact]],
        derived: DerivedRows | None,
        derivation: int = 0,
        texts: Mapping[tuple[str, int], Sequence[bytes]] = NO_TEXTS,
    ) -> int:
        """Write facts and derived rows of a session anew, whatever is there, and return its new revision."""
        return self._write(rewrite_session, scope, key, revision, lines, derived, derivation, texts)

    def mend(self, scope: Scope, source: str, generation: int, find: Callable[[int, int], bytes | None]) -> int:
        """Put bytes back in the place of damaged ones that had the same digest; return how many stretches."""
        return self._write(mend_frames, scope, source, generation, find)

    def list_flaws(self, scope: Scope) -> list[Flaw]:
        """Return what contradicts itself: indexes that are none, rows without those that they belong to."""
        return self._read(scope, list_flaws, scope)

    def measure(self) -> int:
        """Return how many bytes the tables take, with their indexes."""
        return self._database.ask(measure)

    def forget(self, scope: Scope, keys: Sequence[str]) -> Forgotten:
        """Delete sessions for good, and leave tombstones."""
        forgotten = self._write(forget_sessions, scope, keys)
        return replace(forgotten, scrubbed=self.scrub()) if forgotten.sessions else forgotten

    def weigh(self, scope: Scope, keys: Sequence[str]) -> Forgotten:
        """Return what `forget` would delete."""
        return self._database.read(weigh_sessions, scope, keys)

    def lift(self, scope: Scope, keys: Sequence[str]) -> int:
        """Take tombstones away, and return how many."""
        return self._write(lift_tombstones, scope, keys)

    def list_tombstones(self, scope: Scope) -> list[Tombstone]:
        """Return what was forgotten, by time."""
        return self._ask(scope, list_tombstones, scope)

    def scrub(self) -> bool:
        """Remove from the server's tables what was deleted before; return False if they are in use just now."""
        return self._database.ask(lambda connection: scrub(connection, SCHEMA))

    def bury(self, scope: Scope, tombstones: Sequence[Tombstone]) -> None:
        """Add tombstones that another copy of this store has."""
        self._write(bury, scope, tombstones)

    def back_up(
        self, target: Path, *, force: bool = False, on_progress: Callable[[int, int], None] | None = None
    ) -> Backup:
        """Write a copy of one state of the store to a file, check it, and remember it."""
        backup = write_backup(
            self._database.address, self.measure(), target, force=force, on_progress=on_progress
        )
        self.record_backup(backup)
        return backup

    def record_backup(self, backup: Backup) -> None:
        """Remember that a copy was made."""
        self._write(record_backup, backup)

    def renew_epoch(self) -> None:
        """Give the feed another name: what was numbered before means nothing here."""
        self._write(renew_epoch)

    def list_backups(self) -> list[Backup]:
        """Return the copies that were made, by time."""
        return self._database.ask(list_backups)

    def add_deliveries(self, scope: Scope, deliveries: Sequence[HookDelivery]) -> int:
        """Keep what hooks were given, each delivery once, and return how many are new."""
        return self._database.write(
            lambda connection: add_deliveries(connection, scope, deliveries), is_repeatable=True
        )

    def number_deliveries(self, scope: Scope, delivery_ids: Collection[str]) -> dict[str, int]:
        """Return the numbers that `HookEvent.id` tells of some deliveries, of those that are there."""
        return self._ask(scope, number_deliveries, scope, delivery_ids)

    def list_deliveries(
        self, scope: Scope, session_id: str | None = None, *, first: int = 0, count: int = 1000
    ) -> list[HookDelivery]:
        """Return deliveries of a session, or of all, by time."""
        return self._ask(scope, list_deliveries, scope, session_id, first, count)

    def list_deliveries_between(
        self, scope: Scope, session_id: str, since_ns: int, until_ns: int, count: int = 1000
    ) -> list[HookDelivery]:
        """Return deliveries of a session that came at `since_ns` or later, and before `until_ns`, by time."""
        return self._ask(scope, list_deliveries_between, scope, session_id, since_ns, until_ns, count)

    def list_deliveries_of(
        self, scope: Scope, session_id: str, tool_use_ids: Collection[str]
    ) -> list[HookDelivery]:
        """Return deliveries of a session that are about any of some calls, by time."""
        return self._ask(scope, list_deliveries_of, scope, session_id, tool_use_ids)

    def count_deliveries(self, scope: Scope, session_id: str | None = None) -> int:
        """Return how many deliveries there are of a session, or of all."""
        return self._ask(scope, count_deliveries, scope, session_id)

    def list_hook_sessions(self, scope: Scope, since_ns: int, count: int = 200) -> list[HookSession]:
        """Return the sessions that hooks told of at a time or later, the latest first."""
        return self._ask(scope, list_hook_sessions, scope, since_ns, count)

    def list_hook_events(
        self, scope: Scope, session_id: str, *, first: int = 0, count: int = 1000
    ) -> list[HookEvent]:
        """Return a session's hook events as spec 002 tells them, by time."""
        return self._ask(scope, list_hook_events, scope, session_id, first, count)
