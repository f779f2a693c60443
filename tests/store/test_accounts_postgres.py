"""Accounts on a PostgreSQL server keep to all contracts, and outlast the loss of connections."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from contracts.accounts import AccountsContract
from postgres_server import start_server
from turnlog.errors import NewerStoreError, StoreError
from turnlog.store.account_model import Action, AuditEntry, TokenKind, UserRole
from turnlog.store.accounts import Accounts, open_accounts
from turnlog.store.model import ServerPlace

_TEMPLATE: dict[str, str] = {}
_PLACES: dict[Path, ServerPlace] = {}
_KILL = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def make_place(home: Path) -> ServerPlace:
    """Return a database of the test's own, with the tables of accounts."""
    server = start_server()
    if not _TEMPLATE:
        name = server.create()
        open_accounts(ServerPlace(server.address(name), home)).close()
        _TEMPLATE["name"] = name
    return ServerPlace(server.address(server.create(_TEMPLATE["name"])), home)


@pytest.fixture
def place(tmp_path: Path) -> ServerPlace:
    return make_place(tmp_path)


class TestContract(AccountsContract):
    def open(self, tmp_path: Path, clock: Callable[[], int]) -> Accounts:
        if tmp_path not in _PLACES:
            _PLACES[tmp_path] = make_place(tmp_path)
        return open_accounts(_PLACES[tmp_path], clock=clock)


def execute(place: ServerPlace, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(place.address, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return list(cursor.fetchall()) if cursor.description else []


def test_nothing_is_made_before_there_is_anything_to_keep(tmp_path: Path) -> None:
    server = start_server()
    place = ServerPlace(server.address(server.create()), tmp_path)
    schemas = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'turnlog%'"
    with closing(open_accounts(place, create=False)) as accounts:
        assert not accounts.has_users()
        assert accounts.find_version() == 0
        assert accounts.revoke_links(["key"]) == 0
        assert execute(place, schemas) == []
        with closing(open_accounts(place, create=False)) as other:
            other.add_user("ada", UserRole.ADMIN)
        assert [user.name for user in accounts.list_users()] == ["ada"]
        assert execute(place, schemas) == [("turnlog_accounts",)]


def test_lost_connections_are_replaced(place: ServerPlace) -> None:
    with closing(open_accounts(place)) as accounts:
        accounts.add_user("ada", UserRole.ADMIN)
        _, secret = accounts.create_token("ada", TokenKind.MACHINE, "")
        asked: list[Callable[[], object]] = [
            lambda: accounts.find_by_token(secret, origin="one"),
            lambda: accounts.find_by_token(secret),
            accounts.list_users,
            lambda: accounts.record([AuditEntry(at_ns=1, who="ada", action=Action.VIEWED)]),
            lambda: accounts.open_session("ada", 10),
        ]
        for each in asked:
            execute(place, _KILL)
            each()
        assert accounts.list_tokens()[0].origin == "one"
        assert len(accounts.list_audit()) == 1


def test_newer_tables_are_refused_and_not_touched(place: ServerPlace) -> None:
    execute(place, "INSERT INTO turnlog_accounts.migrations VALUES ('paint_users', 1)")
    for create in (True, False):
        with pytest.raises(NewerStoreError, match="paint_users"):
            open_accounts(place, create=create)


def test_what_a_newer_program_changed_meanwhile_is_not_written_to(place: ServerPlace) -> None:
    with closing(open_accounts(place)) as accounts:
        accounts.add_user("ada", UserRole.ADMIN)
        execute(place, "INSERT INTO turnlog_accounts.migrations VALUES ('paint_users', 1)")
        with pytest.raises(NewerStoreError, match="paint_users"):
            accounts.add_user("ben", UserRole.MEMBER)


def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    address = f"postgresql://ada:hunter2@/nothing?host={tmp_path}&connect_timeout=1"
    with pytest.raises(StoreError) as caught:
        open_accounts(ServerPlace(address, tmp_path))
    assert "hunter2" not in str(caught.value)


def test_a_driver_that_is_missing_is_told_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "turnlog.store.catalogue.postgres", raising=False)
    with pytest.raises(StoreError, match=r"pip install 'turnlog\[postgres\]'"):
        open_accounts(ServerPlace("postgresql://db/turnlog", tmp_path))
