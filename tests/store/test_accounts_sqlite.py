"""Accounts in a file keep to all contracts, and the file is its owner's alone."""

from __future__ import annotations

import multiprocessing
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from contracts.accounts import AccountsContract
from turnlog.errors import BusyStoreError, NewerStoreError, StoreError
from turnlog.store.account_model import Action, AuditEntry, TokenKind, UserRole, digest_secret
from turnlog.store.accounts import ACCOUNT_OPTIONS, ACCOUNT_STEPS, Accounts, find_file, open_accounts
from turnlog.store.catalogue.sqlite import Options, SqliteDatabase

IMPATIENT = Options(busy_seconds=0.05, application_id=ACCOUNT_OPTIONS.application_id, lasting=True)


class TestContract(AccountsContract):
    def open(self, tmp_path: Path, clock: Callable[[], int]) -> Accounts:
        return open_accounts(tmp_path / "turnlog.db", clock=clock)


def test_nothing_is_made_before_there_is_anything_to_keep(tmp_path: Path) -> None:
    place = tmp_path / "home" / "turnlog.db"
    with closing(open_accounts(place, create=False)) as accounts:
        assert not accounts.has_users()
        assert accounts.find_version() == 0
        assert accounts.list_links() == []
        assert accounts.revoke_links(["key"]) == 0
        assert not place.parent.exists()
        with closing(open_accounts(place, create=False)) as other:
            other.add_user("ada", UserRole.ADMIN)
        assert [user.name for user in accounts.list_users()] == ["ada"]


def _open_and_close(place: Path) -> bool:
    with closing(open_accounts(place)) as accounts:
        return accounts.has_users()


def test_several_may_make_the_file_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        for round in range(6):
            place = tmp_path / str(round) / "turnlog.db"
            assert list(pool.map(_open_and_close, [place] * 6)) == [False] * 6


def test_the_file_is_its_owners_alone_and_holds_no_secret(tmp_path: Path) -> None:
    place = tmp_path / "home" / "turnlog.db"
    with closing(open_accounts(place)) as accounts:
        accounts.add_user("ada", UserRole.ADMIN)
        secrets = [accounts.create_token("ada", kind, "")[1] for kind in TokenKind]
        secrets += [accounts.open_session("ada", 1000)]
        secrets += [accounts.create_link("k", title="", created_by=None, expires_ns=2**62)[1]]
        files = sorted(place.parent.glob("accounts.db*"))
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
        data = b"".join(file.read_bytes() for file in files)
        for secret in secrets:
            assert secret.encode() not in data
            assert secret[4:].encode() not in data
            assert digest_secret(secret).encode() in data


def test_what_is_committed_is_on_the_disk(tmp_path: Path) -> None:
    with closing(open_accounts(tmp_path / "turnlog.db")):
        connection = SqliteDatabase(tmp_path / "accounts.db", ACCOUNT_STEPS, ACCOUNT_OPTIONS)
        found = connection.write(lambda connection: connection.execute("PRAGMA synchronous"))
        connection.close()
        assert found == [(2,)]


def test_a_newer_file_is_refused_and_not_touched(tmp_path: Path) -> None:
    place = tmp_path / "turnlog.db"
    open_accounts(place).close()
    with closing(apsw.Connection(str(find_file(place)))) as connection:
        connection.execute("INSERT INTO migrations (name, applied_ns) VALUES ('paint_users', 1)")
        connection.execute("PRAGMA journal_mode=DELETE").fetchall()
    before = (find_file(place).read_bytes(), find_file(place).stat().st_mtime_ns)
    for create in (True, False):
        with pytest.raises(NewerStoreError, match="paint_users"):
            open_accounts(place, create=create)
    assert (find_file(place).read_bytes(), find_file(place).stat().st_mtime_ns) == before
    assert [path.name for path in tmp_path.iterdir()] == ["accounts.db"]


def test_what_a_newer_program_changed_meanwhile_is_not_written_to(tmp_path: Path) -> None:
    with closing(open_accounts(tmp_path / "turnlog.db")) as accounts:
        accounts.add_user("ada", UserRole.ADMIN)
        with closing(apsw.Connection(str(tmp_path / "accounts.db"))) as connection:
            connection.execute("INSERT INTO migrations (name, applied_ns) VALUES ('paint_users', 1)")
        with pytest.raises(NewerStoreError, match="paint_users"):
            accounts.add_user("ben", UserRole.MEMBER)
        assert [user.name for user in accounts.list_users()] == ["ada"]


@pytest.mark.parametrize("data", [b"not a database, but of some length" * 40, b"\x00" * 4096])
def test_what_is_no_file_of_accounts_is_refused(tmp_path: Path, data: bytes) -> None:
    find_file(tmp_path / "turnlog.db").write_bytes(data)
    with pytest.raises(StoreError):
        open_accounts(tmp_path / "turnlog.db")
    assert find_file(tmp_path / "turnlog.db").read_bytes() == data


def test_other_databases_are_left_alone(tmp_path: Path) -> None:
    with closing(apsw.Connection(str(tmp_path / "accounts.db"))) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StoreError, match="another program"):
        open_accounts(tmp_path / "turnlog.db")


def test_a_locked_file_still_lets_in_and_says_so_where_it_must_write(tmp_path: Path) -> None:
    with closing(
        Accounts(SqliteDatabase(tmp_path / "accounts.db", ACCOUNT_STEPS, IMPATIENT), time.time_ns)
    ) as accounts:
        accounts.add_user("ada", UserRole.ADMIN)
        _, secret = accounts.create_token("ada", TokenKind.PERSONAL, "")
        _, machine = accounts.create_token("ada", TokenKind.MACHINE, "")
        with closing(apsw.Connection(str(tmp_path / "accounts.db"))) as other:
            other.execute("BEGIN IMMEDIATE")
            assert accounts.find_by_token(secret) is not None
            assert accounts.find_by_token(machine) is not None
            with pytest.raises(BusyStoreError):
                accounts.find_by_token(machine, origin="a")  # it must be bound, or anybody could use it
            with pytest.raises(BusyStoreError):
                accounts.record([AuditEntry(at_ns=1, who="ada", action=Action.VIEWED)])
            other.execute("ROLLBACK")
        assert accounts.list_audit() == []
        assert accounts.find_by_token(machine, origin="a") is not None


def test_closed_accounts_say_so(tmp_path: Path) -> None:
    accounts = open_accounts(tmp_path / "turnlog.db")
    accounts.close()
    accounts.close()
    with pytest.raises(StoreError, match="closed"):
        accounts.list_users()


def _bind_in_process(place: Path, secret: str, origin: str) -> bool:
    with closing(open_accounts(place)) as accounts:
        return accounts.find_by_token(secret, origin=origin) is not None


def test_of_two_processes_one_gets_a_machines_token(tmp_path: Path) -> None:
    place = tmp_path / "turnlog.db"
    with closing(open_accounts(place)) as accounts:
        accounts.add_user("ada", UserRole.ADMIN)
        _, secret = accounts.create_token("ada", TokenKind.MACHINE, "")
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            found = pool.starmap(_bind_in_process, [(place, secret, name) for name in ("one", "two")])
        assert sorted(found) == [False, True]
        assert accounts.list_tokens()[0].origin == ("one", "two")[found.index(True)]


def test_views_and_searches_are_stored_by_the_names_that_older_versions_know(tmp_path: Path) -> None:
    with closing(open_accounts(tmp_path / "turnlog.db")) as accounts:
        actions = [Action.SEARCHED, Action.VIEWED, Action.EXPORTED]
        accounts.record([AuditEntry(at_ns=1, who="ada", action=action) for action in actions])
        with closing(apsw.Connection(str(tmp_path / "accounts.db"))) as other:
            stored = [action for (action,) in other.execute("SELECT action FROM audit ORDER BY id")]
        assert stored == ["found", "looked", "exported"]
        assert [entry.action for entry in accounts.list_audit()] == actions[::-1]
