"""Tokens and cookies: whom they let in, and when they end."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from turnlog.store.accounts.interface import Accounts, Token, TokenKind, UserRole
from turnlog.testing.contracts.clocked import ODD_TEXTS, AccountsBase, add_ada, add_user, refuses

_SECOND = 10**9
_LATER = 2**62


class TokenContract(AccountsBase):
    """Contracts of tokens and cookies."""

    def test_a_token_lets_its_user_in_until_it_ends(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (accounts, clock, other):
            ada = add_ada(accounts)
            token, secret = accounts.create_token("ada", TokenKind.PERSONAL, " laptop ")
            assert secret.startswith("tlp_")
            assert len(secret) == 47
            assert (token.user, token.label, token.kind, token.origin) == (
                "ada", "laptop", TokenKind.PERSONAL, None,
            )  # fmt: skip
            for server in (accounts, other):
                found = server.find_by_token(secret)
                assert found is not None
                assert (found[0].name, found[1].id) == (ada, token.id)
            for wrong in (
                secret[:-1],
                secret + "x",
                secret.upper(),
                f"tlm_{secret[4:]}",
                "",
                token.id,
                *ODD_TEXTS,
            ):
                assert accounts.find_by_token(wrong) is None
            version = other.find_version()
            revoked = accounts.revoke_token(token.id)
            assert revoked.revoked_ns == clock.now
            assert other.find_by_token(secret) is None
            assert accounts.find_version() > version
            clock.now += _SECOND
            assert accounts.revoke_token(token.id) == revoked
            assert accounts.list_tokens() == accounts.list_tokens("ada") == [revoked]

    def test_a_token_ends_when_it_was_said(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, clock):
            add_ada(accounts)
            _, secret = accounts.create_token("ada", TokenKind.PERSONAL, "", expires_ns=clock.now + 10)
            clock.now += 9
            assert accounts.find_by_token(secret) is not None
            clock.now += 1
            assert accounts.find_by_token(secret) is None

    def test_tokens_are_for_users_who_may_come_in_and_machines_tokens_for_who_has_sessions(
        self, tmp_path: Path
    ) -> None:
        with self.opened(tmp_path) as (accounts, _):
            add_ada(accounts)
            add_user(accounts, "vera", UserRole.MEMBER)
            _, machine = accounts.create_token("vera", TokenKind.MACHINE, "")
            accounts.change_user("vera", role=UserRole.VIEWER)
            assert accounts.find_by_token(machine, origin="a") is None
            assert "viewer" in refuses(accounts.create_token, "vera", TokenKind.MACHINE, "")
            accounts.create_token("vera", TokenKind.PERSONAL, "")
            accounts.disable_user("vera")
            assert "disabled" in refuses(accounts.create_token, "vera", TokenKind.PERSONAL, "")
            assert "disabled" in refuses(accounts.open_session, "vera", 10)
            for name in ("nobody", *ODD_TEXTS):
                refuses(accounts.create_token, name, TokenKind.PERSONAL, "")
                refuses(accounts.revoke_token, name)
                assert accounts.list_tokens(name) == []

    def test_labels_are_any_text(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, _):
            add_ada(accounts)
            for text in ODD_TEXTS:
                token, _ = accounts.create_token("ada", TokenKind.PERSONAL, f"a{text}b")
                assert token.label == f"a{text}b"
                assert accounts.change_user("ada", full_name=f"a{text}b").full_name == f"a{text}b"
            refuses(accounts.create_token, "ada", TokenKind.PERSONAL, "x" * 201)
            assert len(accounts.list_tokens()) == len(ODD_TEXTS)

    def test_tokens_are_listed_newest_first(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, clock):
            add_ada(accounts)
            add_user(accounts, "bob")
            for label in "abc":
                clock.now += 1
                accounts.create_token("bob" if label == "b" else "ada", TokenKind.PERSONAL, label)
            assert [token.label for token in accounts.list_tokens()] == ["c", "b", "a"]
            assert [token.label for token in accounts.list_tokens("ada")] == ["c", "a"]

    def test_use_is_noted_once_a_minute(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, clock):
            add_ada(accounts)
            _, secret = accounts.create_token("ada", TokenKind.PERSONAL, "")
            first = clock.now
            accounts.find_by_token(secret)
            clock.now += 59 * _SECOND
            accounts.find_by_token(secret)
            assert _used(accounts) == (first, first)
            clock.now += _SECOND
            accounts.find_by_token(secret)
            assert _used(accounts) == (clock.now, clock.now)
            clock.now -= 600 * _SECOND  # a clock that was put right
            accounts.find_by_token(secret)
            assert _used(accounts) == (clock.now, clock.now)

    def test_a_machines_token_is_good_for_the_first_machine_alone(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (accounts, _, other):
            add_ada(accounts)
            _, secret = accounts.create_token("ada", TokenKind.MACHINE, "")
            assert secret.startswith("tlm_")
            assert _origin(accounts.find_by_token(secret)) is None
            assert _origin(accounts.find_by_token(secret, origin="one")) == "one"
            for server in (accounts, other):
                assert server.find_by_token(secret, origin="two") is None
                assert _origin(server.find_by_token(secret, origin="one")) == "one"
            _, personal = accounts.create_token("ada", TokenKind.PERSONAL, "")
            assert _origin(accounts.find_by_token(personal, origin="one")) is None
            assert _origin(accounts.find_by_token(personal, origin="two")) is None

    def test_of_several_machines_at_once_one_gets_the_token(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=4) as (first, _, *others):
            add_ada(first)
            servers = (first, *others)
            for _ in range(5):
                token, secret = first.create_token("ada", TokenKind.MACHINE, "")
                names = [f"machine {at}" for at in range(len(servers))]
                with ThreadPoolExecutor(len(servers)) as pool:
                    found = list(pool.map(_bind, servers, names, [secret] * len(servers)))
                let_in = [name for name, answer in zip(names, found, strict=True) if answer is not None]
                assert let_in == [each.origin for each in first.list_tokens() if each.id == token.id]

    def test_a_cookie_lets_in_until_it_ends(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (accounts, clock, other):
            ada = add_ada(accounts)
            secret, short = accounts.open_session("ada", 100), accounts.open_session("ada", 10)
            assert getattr(other.find_by_session(secret), "name", None) == ada
            assert other.find_by_token(secret) is None
            clock.now += 10 * _SECOND
            assert other.find_by_session(short) is None
            assert other.find_by_session(secret) is not None
            version = accounts.find_version()
            accounts.end_session(secret)
            accounts.end_session(secret)
            assert other.find_by_session(secret) is None
            assert accounts.find_version() > version
            for wrong in ("", "tlc_", *ODD_TEXTS):
                assert accounts.find_by_session(wrong) is None
                accounts.end_session(wrong)

    def test_a_cookie_ends_with_the_token_that_opened_it(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (accounts, _, other):
            add_ada(accounts)
            token, _ = accounts.create_token("ada", TokenKind.PERSONAL, "")
            by_token = accounts.open_session("ada", 100, token=token.id)
            by_login = accounts.open_session("ada", 100)
            assert other.find_by_session(by_token) is not None
            accounts.revoke_token(token.id)
            assert other.find_by_session(by_token) is None
            assert other.find_by_session(by_login) is not None

    def test_disabling_ends_all_that_lets_in_and_enabling_brings_nothing_back(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (accounts, clock, other):
            add_ada(accounts)
            add_user(accounts, "bob")
            kinds = (TokenKind.PERSONAL, TokenKind.MACHINE)
            tokens = [accounts.create_token("bob", kind, "")[1] for kind in kinds]
            cookie = accounts.open_session("bob", 100)
            _, link = accounts.create_link("s", title="", created_by="bob", expires_ns=_LATER)
            _, ours = accounts.create_link("s", title="", created_by=None, expires_ns=_LATER)
            _, adas = accounts.create_token("ada", TokenKind.PERSONAL, "")
            version = other.find_version()
            assert accounts.disable_user("bob").disabled_ns == clock.now
            for name in (None, "enabled"):
                assert [other.find_by_token(secret) for secret in tokens] == [None, None]
                assert other.find_by_session(cookie) is None
                assert other.find_link(link) is None
                if name is None:
                    assert accounts.disable_user("bob").disabled_ns == clock.now
                    accounts.enable_user("bob")
            assert accounts.find_version() > version
            assert other.find_link(ours) is not None
            assert other.find_by_token(adas) is not None
            assert other.find_by_token(accounts.create_token("bob", TokenKind.PERSONAL, "")[1]) is not None


def _used(accounts: Accounts) -> tuple[int | None, int | None]:
    user = accounts.find_user("ada")
    assert user is not None
    return accounts.list_tokens()[0].used_ns, user.seen_ns


def _origin(found: tuple[object, Token] | None) -> str | None:
    assert found is not None
    return found[1].origin


def _bind(accounts: Accounts, origin: str, secret: str) -> object:
    return accounts.find_by_token(secret, origin=origin)
