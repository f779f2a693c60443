"""Logins that are to be confirmed, and links: each good once, or until it ends."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from pathlib import Path

from turnlog.store.accounts.interface import Link, PendingLogin
from turnlog.testing.contracts.clocked import ODD_TEXTS, AccountsBase, add_ada, refuses

_LATER = 2**62


class LoginContract(AccountsBase):
    """Contracts of logins at a provider, and of links."""

    def test_a_login_is_taken_once_and_in_time(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (accounts, clock, other):
            for text in ("state", *ODD_TEXTS):
                login = PendingLogin(
                    state=text, nonce=text, verifier=text, next=f"/{text}", expires_ns=clock.now + 10
                )
                accounts.keep_login(login)
                assert other.take_login(f"{text}?") is None
                assert other.take_login(text) == login
                assert accounts.take_login(text) is None
                accounts.keep_login(login)
                clock.now += 10
                assert accounts.take_login(text) is None

    def test_a_link_shows_a_session_until_it_ends(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (accounts, clock, other):
            add_ada(accounts)
            link, secret = accounts.create_link(
                "key", title="Tea", created_by="ada", expires_ns=clock.now + 10, words=("acme", "\ud800\x00")
            )
            assert secret.startswith("tls_")
            assert link == Link(
                id=link.id, session="key", title="Tea", created_by="ada", created_ns=clock.now,
                expires_ns=clock.now + 10, words=("acme", "\ud800\x00"),
            )  # fmt: skip
            assert other.find_link(secret) == link
            accounts.note_opened(link.id)
            accounts.note_opened(link.id)
            found = other.find_link(secret)
            assert found is not None
            assert (found.opened, found.opened_ns) == (2, clock.now)
            clock.now += 10
            assert other.find_link(secret) is None
            for wrong in ("", secret[:-1], link.id, *ODD_TEXTS):
                assert accounts.find_link(wrong) is None
                refuses(accounts.note_opened, f"{wrong}?")
                refuses(accounts.revoke_link, f"{wrong}?")

    def test_links_are_listed_and_revoked(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (accounts, clock, other):
            add_ada(accounts)
            assert accounts.revoke_links(["one"]) == 0
            made = []
            for session, who in (("one", "ada"), ("one", None), ("two\x00", "ada"), ("three", None)):
                clock.now += 1
                made.append(accounts.create_link(session, title="", created_by=who, expires_ns=_LATER))
            ids = [link.id for link, _ in made]
            assert [link.id for link in accounts.list_links()] == ids[::-1]
            assert [link.id for link in accounts.list_links(created_by="ada")] == [ids[2], ids[0]]
            assert [link.id for link in accounts.list_links(session="one")] == [ids[1], ids[0]]
            assert [link.id for link in accounts.list_links(created_by="ada", session="two\x00")] == [ids[2]]
            for odd in ODD_TEXTS:
                assert accounts.list_links(created_by=odd) == accounts.list_links(session=odd) == []
            version = accounts.find_version()
            revoked = accounts.revoke_link(ids[0])
            assert accounts.revoke_link(ids[0]) == revoked
            assert accounts.find_version() > version
            assert accounts.revoke_links(["one", "two\x00", "one", "unknown"]) == 2
            assert accounts.revoke_links(["one", "two\x00"]) == 0
            assert [other.find_link(secret) is not None for _, secret in made] == [False, False, False, True]
            refuses(accounts.create_link, "one", title="", created_by="nobody", expires_ns=_LATER)
            refuses(accounts.create_link, "one", title="", created_by=None, expires_ns=2**63)
