"""All that an engine must hold: what any store must, people, hooks, deletion and repairs."""

from __future__ import annotations

from contracts.deletion import DeletionContract, RepairContract
from contracts.hooks import HookContract
from contracts.people import PeopleContract, PeopleOfHooksContract
from contracts.search import SearchUpkeepContract
from turnlog.testing.store_contract import StoreContract


class EngineContract(
    SearchUpkeepContract,
    RepairContract,
    DeletionContract,
    HookContract,
    PeopleOfHooksContract,
    PeopleContract,
    StoreContract,
):
    """All contracts of an engine of ours."""
