"""What any `Control` must keep to, one test for each contract.

A test module has a class of its own with one method, and every implementation runs the same tests:

    class TestContract(ControlContract):
        def open(self, tmp_path):
            return open_control(tmp_path / "control.db")

The first call of a test makes the database, each further one opens the same again, as another process would.
"""

from __future__ import annotations

from turnlog.testing.contracts.control_feed import ControlFeedContract
from turnlog.testing.contracts.control_locks import ControlLockContract
from turnlog.testing.contracts.control_writes import ControlWriteContract

__all__ = ["ControlContract"]


class ControlContract(ControlWriteContract, ControlFeedContract, ControlLockContract):
    """All contracts of control databases."""
