"""What contracts of accounts rest on: accounts at several servers, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, ParamSpec

from turnlog.errors import AccountError
from turnlog.store.accounts.interface import Accounts, UserRole

P = ParamSpec("P")
ODD_TEXTS = (
    "\x00", "\ud800", "'; DROP TABLE users; --", '" OR 1=1 --', "%s ? @users {0}", "a\u2028b", "\x1b[31m",
    "\U0001f375", "x" * 150,
)  # fmt: skip
"""What nobody is called, and what can stand in any text."""


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000_000_000

    def __call__(self) -> int:
        """Return the time."""
        return self.now


class AccountsBase:
    """How a test gets accounts."""

    def open(self, tmp_path: Path, clock: Callable[[], int]) -> Accounts:
        """Open the accounts of a test, and make them if they are not there."""
        raise NotImplementedError

    @contextmanager
    def opened(self, tmp_path: Path, servers: int = 1) -> Iterator[tuple[Any, ...]]:
        """Lend the accounts as one server has them, the clock, and the same as further servers have them."""
        clock = Clock()
        with ExitStack() as stack:
            first, *others = (stack.enter_context(closing(self.open(tmp_path, clock))) for _ in range(servers))
            yield (first, clock, *others)


def refuses(work: Callable[P, object], *given: P.args, **named: P.kwargs) -> str:
    """Return what is said when something is refused."""
    try:
        work(*given, **named)
    except AccountError as error:
        return str(error)
    raise AssertionError("It was not refused")


def add_ada(accounts: Accounts) -> str:
    """Add the first user."""
    return accounts.add_user("ada", UserRole.ADMIN, email="ada@example.org").name


def add_user(accounts: Accounts, name: str, role: UserRole = UserRole.MEMBER) -> str:
    """Add a further user."""
    return accounts.add_user(name, role).name
