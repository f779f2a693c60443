"""The part of the store that keeps up with files, and says what it knows of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turnlog.errors import StoreError
from turnlog.store.batch import SessionBatch
from turnlog.store.clickhouse.archiving import Archiving
from turnlog.store.clickhouse.known import find_known, list_known, list_lines, list_twins
from turnlog.store.clickhouse.machine_writes import write_of_machines
from turnlog.store.clickhouse.reading import NAMED
from turnlog.store.clickhouse.writing import write_batches
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.interface import KnownSession, Twin
from turnlog.store.rows import LineFact

__all__ = ["Keeping"]


class Keeping(Archiving):
    """What `ClickHouseStore` does to keep up."""

    def apply(self, batches: Sequence[SessionBatch]) -> int:
        """Write batches, all or nothing, and return the last `seq` of the feed; they are of one owner."""
        owners = sorted({batch.owner for batch in batches}) or [LOCAL.owner]
        if len(owners) > 1:
            raise StoreError(f"Expected batches of one owner, found some of {' and '.join(owners)}")
        [owner] = owners
        if not batches:
            return self._control.find_last_change(owner)
        with write_of_machines(self, owner, {batch.origin for batch in batches}) as write:
            write_batches(self, self.archive.read, write, batches)
        return write.last_change

    def find_known(self, scope: Scope, key: str) -> KnownSession | None:
        """Return what is known of a session's files."""
        within = self._reading(scope).within(key, NAMED)
        return None if within is None else find_known(within)

    def list_known(self, scope: Scope, origin: str | None = None) -> Iterator[KnownSession]:
        """Yield what is known of all sessions' files, or of those of one machine, by their keys."""
        return iter(list_known(self._reading(scope), origin))

    def list_twins(self, scope: Scope, uuid: str) -> list[Twin]:
        """Return the sessions whose transcripts begin with a message, by key."""
        return list_twins(self._reading(scope), uuid)

    def list_lines(
        self, scope: Scope, source: str, generation: int, *, first: int = 0, count: int | None = None
    ) -> list[LineFact]:
        """Return lines of a generation, in order."""
        within = self._reading(scope).within_source(source, NAMED)
        return [] if within is None else list_lines(within, source, generation, first, count)
