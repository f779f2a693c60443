"""The store on a ClickHouse server, put together from its parts."""

from __future__ import annotations

from contextlib import ExitStack, closing

from turnlog.store.blobs.interface import Blobs
from turnlog.store.blobs.opening import open_blobs
from turnlog.store.clickhouse.backup import BackingUp
from turnlog.store.clickhouse.blob_claims import claim_blobs
from turnlog.store.clickhouse.browsing import Browsing
from turnlog.store.clickhouse.caring import Caring
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.counting import Counting
from turnlog.store.clickhouse.feed import Feed
from turnlog.store.clickhouse.forgetting import Forgetting
from turnlog.store.clickhouse.hooks import Hooks
from turnlog.store.clickhouse.keeping import Keeping
from turnlog.store.clickhouse.lists import Lists
from turnlog.store.clickhouse.marks import Marking
from turnlog.store.clickhouse.opening import open_beside
from turnlog.store.clickhouse.people import People
from turnlog.store.clickhouse.rewriting import Rewriting
from turnlog.store.clickhouse.searching import Searching
from turnlog.store.control.interface import Control
from turnlog.store.places import StorePlace

__all__ = ["ClickHouseStore"]


class _Telling(Lists, Browsing, Searching, Counting, Feed):
    """What tells of what there is."""


class _Keeping(Keeping, Rewriting, Marking, People, Hooks):
    """What keeps what comes from files, hooks and people."""


class ClickHouseStore(_Telling, _Keeping, Forgetting, Caring, BackingUp):
    """A store in a ClickHouse database, with a control database and bytes beside it; `open` makes one.

    A store may be used by several threads, and a database by any number of stores.
    """

    def __init__(
        self, engine: Engine, control: Control, blobs: Blobs, retention_days: int | None = None
    ) -> None:
        self._engine = engine
        self._control = control
        self._blobs = blobs
        self._retention_days = retention_days

    @classmethod
    def open(
        cls,
        address: str,
        *,
        control: StorePlace,
        blobs: str,
        retention_days: int | None = None,
        read_only: bool = False,
    ) -> ClickHouseStore:
        """Open the store in a database, whose tables are made if they are missing and may be written.

        Raises `NewerStoreError` for one of a newer version, which is not touched, and `StoreError` for one that
        cannot be used.
        """
        with ExitStack() as opened:
            engine = opened.enter_context(closing(Engine(address, read_only=read_only)))
            beside = opened.enter_context(closing(open_beside(engine, control, retention_days)))
            bytes_beside = opened.enter_context(closing(open_blobs(blobs)))
            store = cls(engine, beside, bytes_beside, retention_days)
            if not read_only:
                claim_blobs(bytes_beside, beside)
                store._recover_all()
                store._keep_retention()
                store._keep_prices_current()
            opened.pop_all()
        return store

    @property
    def writes(self) -> int:
        """How many rows were written through this store."""
        return self._engine.writes

    @property
    def inserts(self) -> int:
        """How many statements added rows through this store."""
        return self._engine.inserts

    def close(self) -> None:
        """Let go of the store, whatever other threads ask it just now; again does nothing."""
        self._engine.close()
        self._control.close()
        self._blobs.close()
