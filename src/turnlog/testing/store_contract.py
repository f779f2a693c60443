"""What any store must keep to, one test for each contract.

A store's test module has a class of its own with two methods, and every store runs the same tests:

    class TestContract(StoreContract):
        def make_store(self, tmp_path):
            return MyStore.open(tmp_path / "store")

        def reopen(self, tmp_path):
            return MyStore.open(tmp_path / "store")

A store that can be mended and made to forget takes `CaredStoreContract`, which has more; one that only keeps
and answers takes `StoreContract`.

pytest collects it; nothing here imports pytest. For telling messages, call
`pytest.register_assert_rewrite("turnlog.testing")` in a conftest.
"""

from __future__ import annotations

from turnlog.testing.contracts.archive import ArchiveContract, ChapterContract, ValueContract
from turnlog.testing.contracts.batches import BatchContract
from turnlog.testing.contracts.feed import FeedContract, NewsContract
from turnlog.testing.contracts.forgetting import ForgetContract, MendContract
from turnlog.testing.contracts.hooks import HookContract
from turnlog.testing.contracts.lists import ListContract, MarkContract
from turnlog.testing.contracts.people import LookContract, PeopleContract, PeopledCareContract
from turnlog.testing.contracts.search import QueryContract, SearchContract, SearchedCareContract


class StoreContract(
    ArchiveContract,
    BatchContract,
    ChapterContract,
    NewsContract,
    QueryContract,
    ListContract,
    MarkContract,
    FeedContract,
    ValueContract,
    LookContract,
    SearchContract,
):
    """All contracts of a store."""


class CaredStoreContract(
    SearchedCareContract,
    MendContract,
    ForgetContract,
    HookContract,
    PeopledCareContract,
    PeopleContract,
    StoreContract,
):
    """All contracts of a store that can be taken care of, too (`turnlog.store.interface`)."""
