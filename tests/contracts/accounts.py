"""What any `Accounts` must keep to, one test for each contract: users, tokens, logins, links, the audit.

A test module has a class of its own with one method, and every implementation runs the same tests:

    class TestContract(AccountsContract):
        def open(self, tmp_path, clock):
            return open_accounts(tmp_path / "turnlog.db", clock=clock)

The first call of a test makes them, each further one opens the same again, as another server would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, ParamSpec

from msgspec.structs import replace

from turnlog.errors import AccountError
from turnlog.store.account_model import (
    Action,
    AuditEntry,
    AuditFilter,
    Identity,
    Link,
    PendingLogin,
    Token,
    TokenKind,
    UserRole,
)
from turnlog.store.accounts import Accounts

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


_ENTRIES = (
    AuditEntry(at_ns=5, who="ada", action=Action.VIEWED, session="one", person="bob"),
    AuditEntry(at_ns=7, who=None, action=Action.LINK_OPENED, session="one", person="bob", link="l1"),
    AuditEntry(at_ns=6, who="bob", action=Action.EXPORTED, session="two", person="ada", detail="as HTML"),
    AuditEntry(at_ns=8, who=None, action=Action.USER_ADDED, person="cleo", detail="member"),
)


class AuditContract(AccountsBase):
    """Contracts of the audit."""

    def test_what_happened_is_kept_newest_first(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (accounts, _, other):
            assert accounts.list_audit() == []
            accounts.record([])
            accounts.record(_ENTRIES[:2])
            other.record(_ENTRIES[2:])
            found = accounts.list_audit()
            assert [replace(entry, id=0) for entry in found] == [*reversed(_ENTRIES)]
            assert [entry.id for entry in found] == sorted((entry.id for entry in found), reverse=True)
            assert accounts.list_audit(limit=2) == found[:2]
            assert accounts.list_audit(before=found[1].id, limit=1) == found[2:3]
            assert accounts.list_audit(before=found[-1].id) == accounts.list_audit(limit=0) == []
            assert accounts.list_audit(before=2**70, limit=2**70) == found

    def test_entries_are_found_by_what_they_are_about(self, tmp_path: Path) -> None:
        asked = {
            AuditFilter(who="ada"): [0],
            AuditFilter(person="bob"): [1, 0],
            AuditFilter(session="one"): [1, 0],
            AuditFilter(session="one", who="ada"): [0],
            AuditFilter(actions=(Action.VIEWED, Action.EXPORTED)): [2, 0],
            AuditFilter(since_ns=6, until_ns=8): [2, 1],
            AuditFilter(about="bob"): [2, 1, 0],
            AuditFilter(about="bob", person="ada"): [2],
            AuditFilter(who=""): [],
            **{AuditFilter(who=text): [] for text in ODD_TEXTS},
        }
        with self.opened(tmp_path) as (accounts, _):
            accounts.record(_ENTRIES)
            for filter, expected in asked.items():
                found = [replace(entry, id=0) for entry in accounts.list_audit(filter)]
                assert found == [_ENTRIES[at] for at in expected], filter

    def test_entries_hold_any_text(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, _):
            for text in ODD_TEXTS:
                entry = AuditEntry(
                    at_ns=1, who=text, action=Action.SEARCHED, link=text, session=text, person=text, detail=text
                )
                accounts.record([entry])
                [found] = accounts.list_audit(AuditFilter(who=text, session=text, about=text))
                assert replace(found, id=0) == entry

    def test_several_threads_and_servers_record_at_once(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (first, _, other), ThreadPoolExecutor(8) as pool:
            jobs = [
                pool.submit((first, other)[at % 2].record, [replace(_ENTRIES[0], detail=str(at))])
                for at in range(40)
            ]
            for job in jobs:
                job.result()
            assert {entry.detail for entry in first.list_audit()} == {str(at) for at in range(40)}


class AccountsContract(UserContract, TokenContract, LoginContract, AuditContract):
    """All contracts of accounts."""
