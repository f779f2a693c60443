"""The part of the store that has to do with bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from turnlog.store.clickhouse.archive import ClickHouseArchive
from turnlog.store.clickhouse.mending import mend_frames
from turnlog.store.clickhouse.transaction import Connected
from turnlog.store.identity import Scope

__all__ = ["Archiving"]


class Archiving(Connected):
    """What `ClickHouseStore` does about the bytes of files."""

    @cached_property
    def archive(self) -> ClickHouseArchive:
        """The bytes behind the rows."""
        return ClickHouseArchive(self)

    def mend(self, scope: Scope, source: str, generation: int, find: Callable[[int, int], bytes | None]) -> int:
        """Put bytes back in the place of damaged ones that had the same digest; return how many stretches."""
        return mend_frames(self, scope, source, generation, find)
