"""The part of the store that takes care of it: flaws, how much there is, and how long it is kept."""

from __future__ import annotations

from turnlog.store.care import Flaw
from turnlog.store.clickhouse.checking import list_flaws, measure_tables
from turnlog.store.clickhouse.retention import drop_expired_marks, keep_for
from turnlog.store.clickhouse.transaction import Connected
from turnlog.store.identity import Scope

__all__ = ["Caring"]


class Caring(Connected):
    """What `ClickHouseStore` does to be taken care of."""

    def list_flaws(self, scope: Scope) -> list[Flaw]:
        """Return what contradicts itself: rows without those that they belong to, and rows that are missing."""
        return list_flaws(self._engine, self._control, scope)

    def _keep_retention(self) -> None:
        """Have what is too old dropped, as it is said now."""
        keep_for(self._engine, self._retention_days)
        if self._retention_days is not None:
            drop_expired_marks(self._engine, self._control)

    def measure(self) -> int:
        """Return how many bytes the tables and the bytes beside them take."""
        return measure_tables(self._engine) + sum(size for _, size in self._blobs.list_under())
