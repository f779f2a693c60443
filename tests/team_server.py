"""A server with accounts, and asking it as somebody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from server_app import Answer, Served, serving
from turnlog.server.requests import ServerContext
from turnlog.server.security.guard import FailureLimit
from turnlog.store.account_model import TokenKind, UserRole
from turnlog.store.accounts import Accounts, open_accounts


class Team:
    """A server with accounts."""

    def __init__(self, served: Served, accounts: Accounts) -> None:
        self.served = served
        self.accounts = accounts

    def add(self, name: str, role: UserRole = UserRole.MEMBER) -> str:
        """Make a user, and return a personal token."""
        if not self.accounts.has_users() and role is not UserRole.ADMIN:
            self.accounts.add_user("root", UserRole.ADMIN)
        self.accounts.add_user(name, role)
        return self.accounts.create_token(name, TokenKind.PERSONAL, "test")[1]

    def ask(self, token: str, method: str, path: str, body: Any = None) -> Answer:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return self.served.ask(method, path, headers, None if body is None else json.dumps(body).encode())

    def log_in(self, token: str, **headers: str) -> Answer:
        given = {"Content-Type": "application/json", "Origin": self.served.origin, **headers}
        return self.served.ask("POST", "/api/login", given, json.dumps({"token": token}).encode())


@contextmanager
def serving_team(
    home: Path, *, failures: FailureLimit | None = None, around: ServerContext | None = None
) -> Iterator[Team]:
    """Run a server with accounts, of which there are none yet."""
    home.mkdir(parents=True, exist_ok=True)
    with (
        closing(open_accounts(home / "turnlog.db")) as accounts,
        serving(home, accounts=accounts, failures=failures, around=around) as served,
    ):
        yield Team(served, accounts)


def cookie_of(answer: Answer) -> str:
    return answer.headers["set-cookie"].split(";")[0]
