"""The store on ClickHouse keeps to the contracts of what is in the control database, also on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from clickhouse_engine import ADDRESSES, make_address
from postgres_server import start_server
from turnlog.store.care import CaredStore
from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.places import ServerPlace
from turnlog.testing.contracts.feed import FeedContract
from turnlog.testing.contracts.marks import MarkContract

pytestmark = pytest.mark.soak

_CONTROLS: dict[Path, ServerPlace] = {}


class TestContract(FeedContract, MarkContract):
    def make_store(self, tmp_path: Path) -> CaredStore:
        server = start_server()
        ADDRESSES[tmp_path] = make_address()
        _CONTROLS[tmp_path] = ServerPlace(server.address(server.create()), tmp_path)
        return self.reopen(tmp_path)

    def reopen(self, tmp_path: Path) -> CaredStore:
        return ClickHouseStore.open(
            ADDRESSES[tmp_path], control=_CONTROLS[tmp_path], blobs=str(tmp_path / "blobs")
        )
