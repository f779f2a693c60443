"""The store in memory keeps to all contracts: they rest on no engine."""

from __future__ import annotations

from pathlib import Path

from contracts.people import PeopleContract
from store.memory_people import Shared
from store.memory_reference import MemoryStore
from turnlog.store.interface import Store
from turnlog.testing.store_contract import StoreContract


class TestContract(PeopleContract, StoreContract):
    def make_store(self, tmp_path: Path) -> Store:
        self.shared = {**getattr(self, "shared", {}), tmp_path: Shared()}
        return self.reopen(tmp_path)

    def reopen(self, tmp_path: Path) -> Store:
        return MemoryStore(self.shared[tmp_path])
