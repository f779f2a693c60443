"""Backups carry accounts along, and restoring one lets nobody in again who was let in no longer."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from postgres_server import make_database
from turnlog.errors import StoreError
from turnlog.store.account_backups import back_up_accounts, find_copy, restore_store
from turnlog.store.account_model import Action, AuditEntry, Identity, TokenKind, UserRole
from turnlog.store.accounts import check_accounts, find_file, open_accounts
from turnlog.store.model import ServerPlace, StorePlace
from turnlog.store.opening import open_store


def make_place(engine: str, home: Path) -> StorePlace:
    """Return where a new store is."""
    return home / "turnlog.db" if engine == "sqlite" else ServerPlace(make_database(), home)


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    """Where stores and accounts are."""
    return str(request.param)


@pytest.fixture
def place(engine: str, tmp_path: Path) -> StorePlace:
    """A store of each engine."""
    return make_place(engine, tmp_path / "home")


def back_up(place: StorePlace, target: Path) -> None:
    with closing(open_store(place)) as store:
        if isinstance(place, Path):
            back_up_accounts(place, target, force=True)
        store.back_up(target, force=True)


def test_what_ended_since_stays_ended_and_nothing_is_lost(place: StorePlace, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    with closing(open_accounts(place)) as accounts:
        for name in ("ada", "ben", "cleo"):
            accounts.add_user(name, UserRole.ADMIN, email=f"{name}@example.org")
        kept, gone, bens = (
            accounts.create_token(name, TokenKind.PERSONAL, "") for name in ("ada", "ada", "ben")
        )
        _, machine_secret = accounts.create_token("ada", TokenKind.MACHINE, "")
        cookie = accounts.open_session("ada", 1000)
        link, shown = accounts.create_link("key\x00", title="\ud800", created_by=None, expires_ns=2**62)
        accounts.record([AuditEntry(at_ns=1, who=None, action=Action.VIEWED, detail="before")])
    back_up(place, target)
    with closing(open_accounts(place)) as accounts:
        accounts.disable_user("ben")
        accounts.change_user("cleo", role=UserRole.VIEWER, email="moved@example.org")
        accounts.add_user("dan", UserRole.MEMBER, email="cleo@example.org")
        accounts.bind_identity("dan", Identity("https://id.example", "4"))
        accounts.revoke_token(gone[0].id)
        accounts.revoke_link(link.id)
        assert accounts.find_by_token(machine_secret, origin="one") is not None
        new = accounts.create_token("dan", TokenKind.PERSONAL, "")
        accounts.record([AuditEntry(at_ns=2, who=None, action=Action.VIEWED, detail="since")])
        users, version = accounts.list_users(), accounts.find_version()
    restored = restore_store(place, target)
    assert restored.accounts is not None
    assert restored.accounts.users == 4
    with closing(open_accounts(place)) as accounts:
        assert [user.name for user in accounts.list_users()] == [user.name for user in users]
        assert {user.name: user.role for user in accounts.list_users()} == {
            user.name: user.role for user in users
        }
        assert accounts.find_by_token(kept[1]) is not None
        assert accounts.find_by_token(new[1]) is not None
        assert accounts.find_by_token(gone[1]) is None
        assert accounts.find_by_token(bens[1]) is None
        assert accounts.find_by_token(machine_secret, origin="two") is None
        assert accounts.find_link(shown) is None
        assert accounts.find_by_session(cookie) is None
        assert [entry.detail for entry in accounts.list_audit()] == ["since", "before"]
        assert getattr(accounts.find_by_email("cleo@example.org"), "name", None) == "dan"
        assert getattr(accounts.find_identified(Identity("https://id.example", "4")), "name", None) == "dan"
        assert accounts.find_version() > version
        accounts.record([AuditEntry(at_ns=3, who=None, action=Action.VIEWED, detail="after")])
        assert accounts.list_audit()[0].detail == "after"
    assert check_accounts(place) == []


def test_accounts_that_are_gone_come_back(place: StorePlace, engine: str, tmp_path: Path) -> None:
    with closing(open_accounts(place)) as accounts:
        accounts.add_user("ada", UserRole.ADMIN)
        _, secret = accounts.create_token("ada", TokenKind.PERSONAL, "")
    back_up(place, tmp_path / "copy")
    other = make_place(engine, tmp_path / "other")
    restored = restore_store(other, tmp_path / "copy")
    assert restored.accounts is not None
    assert (restored.accounts.users, restored.accounts.newer) == (1, 0)
    with closing(open_accounts(other)) as accounts:
        assert accounts.find_by_token(secret) is not None


def test_a_backup_without_accounts_leaves_those_that_are_there(place: StorePlace, tmp_path: Path) -> None:
    back_up(place, tmp_path / "copy")
    with closing(open_accounts(place)) as accounts:
        accounts.add_user("ada", UserRole.ADMIN)
        cookie = accounts.open_session("ada", 1000)
    assert restore_store(place, tmp_path / "copy").accounts is None
    with closing(open_accounts(place)) as accounts:
        assert accounts.find_by_session(cookie) is not None


def test_a_copy_is_not_overwritten_unless_it_is_said(tmp_path: Path) -> None:
    place, target = tmp_path / "turnlog.db", tmp_path / "copy"
    with closing(open_accounts(place)) as accounts:
        accounts.add_user("ada", UserRole.ADMIN)
    back_up_accounts(place, target, force=False)
    assert find_copy(target).stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreError, match="already"):
        back_up_accounts(place, target, force=False)
    back_up_accounts(place, target, force=True)
    find_file(place).unlink()
    back_up_accounts(place, target, force=True)  # a copy of accounts that are no more would belong to others
    assert not find_copy(target).exists()
