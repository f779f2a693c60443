"""What any store must keep to, one test for each contract.

A store's test module has a class of its own with two methods, and every store runs the same tests:

    class TestContract(StoreContract):
        def make_store(self, tmp_path):
            return MyStore.open(tmp_path / "store")

        def reopen(self, tmp_path):
            return MyStore.open(tmp_path / "store")

pytest collects it; nothing here imports pytest. For telling messages, call
`pytest.register_assert_rewrite("turnlog.testing")` in a conftest.
"""

from __future__ import annotations

from turnlog.testing.contracts.archive import ArchiveContract
from turnlog.testing.contracts.batches import BatchContract
from turnlog.testing.contracts.feed import FeedContract
from turnlog.testing.contracts.looks import LookContract
from turnlog.testing.contracts.queries import QueryContract
from turnlog.testing.contracts.values import ValueContract

__all__ = ["StoreContract"]


class StoreContract(ArchiveContract, BatchContract, QueryContract, FeedContract, ValueContract, LookContract):
    """All contracts of a store."""
