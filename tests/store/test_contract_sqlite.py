"""The embedded store keeps to all contracts."""

from __future__ import annotations

from pathlib import Path

from turnlog.store.interface import Store
from turnlog.store.sqlite.store import SqliteStore
from turnlog.testing.store_contract import StoreContract


class TestContract(StoreContract):
    def make_store(self, tmp_path: Path) -> Store:
        return SqliteStore.open(tmp_path / "turnlog.db")

    def reopen(self, tmp_path: Path) -> Store:
        return SqliteStore.open(tmp_path / "turnlog.db")
