"""Users: names, addresses, and an admin who can come in at any time."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from turnlog.errors import AccountError
from turnlog.store.accounts.interface import Accounts, Identity, UserRole
from turnlog.testing.contracts.clocked import ODD_TEXTS, AccountsBase, add_ada, add_user, refuses


class UserContract(AccountsBase):
    """Contracts of users."""

    def test_without_users_it_is_one_persons(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, _):
            assert not accounts.has_users()
            assert accounts.list_users() == []
            assert accounts.find_user("ada") is None
            add_ada(accounts)
            assert accounts.has_users()

    def test_a_user_is_what_was_said(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, clock):
            add_ada(accounts)
            made = accounts.add_user("bob.b-2_x", UserRole.VIEWER, full_name=" Bob ", email=" Bob@Example.org ")
            assert (made.role, made.full_name, made.email) == (UserRole.VIEWER, "Bob", "Bob@Example.org")
            assert (made.created_ns, made.disabled_ns, made.seen_ns) == (clock.now, None, None)
            assert accounts.find_user("bob.b-2_x") == made
            assert [user.name for user in accounts.list_users()] == ["ada", "bob.b-2_x"]
            changed = accounts.change_user("bob.b-2_x", role=UserRole.MEMBER, full_name="B", email="")
            assert (changed.role, changed.full_name, changed.email) == (UserRole.MEMBER, "B", "")
            assert accounts.change_user("bob.b-2_x") == changed

    def test_the_first_user_is_an_admin(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, _):
            for role in (UserRole.MEMBER, UserRole.VIEWER):
                assert "admin" in refuses(accounts.add_user, "bob", role)
            assert not accounts.has_users()

    def test_names_are_of_a_few_characters_and_taken_once(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, _):
            add_ada(accounts)
            accounts.disable_user(add_user(accounts, "bob"))
            for name in ("ada", "bob"):
                assert "already" in refuses(accounts.add_user, name, UserRole.MEMBER)
            for name in ("", "Ada", "1a", "-a", "a b", "a/b", "ä", "a\n", "a" * 65, "a'--", *ODD_TEXTS):
                refuses(accounts.add_user, name, UserRole.MEMBER)
                assert accounts.find_user(name) is None
                for change in (accounts.change_user, accounts.disable_user, accounts.enable_user):
                    assert "no user" in refuses(change, name)

    def test_addresses_are_told_by_their_letters_whatever_their_case(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, _):
            add_ada(accounts)
            accounts.add_user("kim", UserRole.MEMBER, email="Kim@Example.org")
            for email in ("kim@example.org", " KIM@EXAMPLE.ORG "):
                assert getattr(accounts.find_by_email(email), "name", None) == "kim"
                assert "kim" in refuses(accounts.add_user, "bob", UserRole.MEMBER, email=email)
                assert "kim" in refuses(accounts.change_user, "ada", email=email)
            # The sign for kelvin becomes a k when its case is changed: it must not be let in as Kim.
            for email in ("\u212aim@example.org", "", "kim", *ODD_TEXTS):
                assert accounts.find_by_email(email) is None
            for email in ("kim", "a@", "@b", "a b@c", "a@b@c", "a@b\n.c", f"{'a' * 250}@b.org", "a\x00@b"):
                refuses(accounts.change_user, "ada", email=email)
            accounts.change_user("kim", email="KIM@example.org")
            accounts.change_user("ada", email="")

    def test_there_is_always_an_admin_who_can_come_in(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, _):
            add_ada(accounts)
            add_user(accounts, "bob")
            for role in (UserRole.MEMBER, UserRole.VIEWER):
                assert "only admin" in refuses(accounts.change_user, "ada", role=role)
            assert "only admin" in refuses(accounts.disable_user, "ada")
            accounts.change_user("bob", role=UserRole.ADMIN)
            accounts.disable_user("bob")
            assert "only admin" in refuses(accounts.disable_user, "ada")
            accounts.enable_user("bob")
            accounts.disable_user("ada")
            assert "only admin" in refuses(accounts.change_user, "bob", role=UserRole.MEMBER)

    def test_two_servers_cannot_disable_the_last_two_admins(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=4) as (first, _, *others):
            add_ada(first)
            first.add_user("bob", UserRole.ADMIN)
            servers = (first, *others)
            for _ in range(5):
                names = [("ada", "bob")[at % 2] for at in range(len(servers))]
                with ThreadPoolExecutor(len(servers)) as pool:
                    list(pool.map(_disable, servers, names))
                assert len([user for user in first.list_users() if user.disabled_ns is None]) == 1
                for name in ("ada", "bob"):
                    first.enable_user(name)

    def test_a_login_at_a_provider_is_one_users(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, _):
            add_ada(accounts)
            add_user(accounts, "bob")
            for number, text in enumerate(("1", *ODD_TEXTS)):
                identity = Identity(f"https://{number}.example", text)
                assert accounts.find_identified(identity) is None
                accounts.bind_identity("ada", identity)
                accounts.bind_identity("ada", identity)
                refuses(accounts.bind_identity, "bob", identity)
                refuses(accounts.bind_identity, "ada", Identity(identity.issuer, f"{text}2"))
                assert getattr(accounts.find_identified(identity), "name", None) == "ada"
                assert accounts.find_identified(Identity("https://other.example", text)) is None
            refuses(accounts.bind_identity, "nobody", Identity("a", "b"))


def _disable(accounts: Accounts, name: str) -> None:
    try:
        accounts.disable_user(name)
    except AccountError:
        return
