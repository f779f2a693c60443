"""What any `Accounts` must keep to, one test for each contract.

A test module has a class of its own with one method, and every implementation runs the same tests:

    class TestContract(AccountsContract):
        def open(self, tmp_path, clock):
            return open_accounts(tmp_path / "turnlog.db", clock=clock)

The first call of a test makes them, each further one opens the same again, as another server would.
"""

from __future__ import annotations

from turnlog.testing.contracts.account_links import LoginContract
from turnlog.testing.contracts.account_tokens import TokenContract
from turnlog.testing.contracts.account_users import UserContract
from turnlog.testing.contracts.audited import AuditContract


class AccountsContract(UserContract, TokenContract, LoginContract, AuditContract):
    """All contracts of accounts."""
