"""Logins at a provider: a real one, in a process of its own, through real redirects."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from oidc_login import Browser, LoginProvider, providing, read_query
from team_server import Team, serving_team
from turnlog.config import OidcSettings
from turnlog.server.requests import ServerContext
from turnlog.store.account_model import Action, PendingLogin, UserRole

SECRET = "provider-secret"


def configure(provider: LoginProvider, home: Path, **more: object) -> ServerContext:
    settings = OidcSettings(issuer=provider.issuer, client_id="turnlog", label="Example", **more)  # type: ignore[arg-type]
    return ServerContext(place=home / "turnlog.db", oidc=settings, oidc_secret=SECRET)


@pytest.fixture(scope="module")
def provider() -> Iterator[LoginProvider]:
    with providing() as running:
        yield running


@pytest.fixture(scope="module")
def team(provider: LoginProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    home = tmp_path_factory.mktemp("home")
    with serving_team(home, around=configure(provider, home)) as running:
        running.accounts.add_user("root", UserRole.ADMIN)
        running.accounts.add_user("ada", UserRole.MEMBER, email="ada@example.org")
        running.accounts.add_user("ben", UserRole.MEMBER, email="ben@example.org")
        yield running


@pytest.fixture
def browser(team: Team) -> Iterator[Browser]:
    with Browser(team.served.origin) as opened:
        yield opened


def failure(answer: httpx.Response) -> str:
    """Return why a login came to nothing."""
    assert answer.status_code == 303
    place, _, code = answer.headers["location"].partition("?error=")
    assert place == "/login"
    assert "turnlog_login=" not in str(answer.headers.get_list("set-cookie"))
    return code


def test_whoever_the_provider_knows_is_let_in_as_the_user_with_their_address(
    team: Team, provider: LoginProvider, browser: Browser
) -> None:
    assert browser.get("/api/login").json() == {"team": True, "oidc": {"label": "Example"}}
    provider.tell("subject-ada")
    answer = browser.log_in("/sessions?q=a%20b")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sessions?q=a%20b")
    cookies = answer.headers.get_list("set-cookie")
    [login] = [each.lower() for each in cookies if each.startswith("turnlog_login=")]
    assert "httponly" in login
    assert "samesite=strict" in login
    assert browser.name == "ada"
    [entry, *_] = team.accounts.list_audit()
    assert (entry.action, entry.who, entry.detail) == (Action.LOGGED_IN, "ada", "at the provider")


def test_what_the_provider_is_asked_cannot_be_guessed_or_used_by_others(browser: Browser) -> None:
    first, second = browser.begin(), browser.begin()
    asked = [read_query(each.headers["location"]) for each in (first, second)]
    for query in asked:
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert query["redirect_uri"] == f"{browser.origin}/api/login/callback"
        assert set(query["scope"].split()) == {"openid", "email", "profile"}
    for name in ("state", "nonce", "code_challenge"):
        assert asked[0][name] != asked[1][name]
        assert min(len(query[name]) for query in asked) >= 43
    pending = first.headers["set-cookie"].lower()
    assert "samesite=lax" in pending, "it has to come along when the provider sends the browser back"
    assert "httponly" in pending
    assert "path=/api/login" in pending


def test_from_then_on_the_provider_s_name_counts_and_not_the_address(
    team: Team, provider: LoginProvider, browser: Browser
) -> None:
    provider.tell("subject-ben")
    browser.log_in()
    team.accounts.change_user("ben", email="benjamin@example.org")
    with Browser(browser.origin) as other:
        other.log_in()
        assert other.name == "ben"


def test_somebody_else_with_the_same_address_is_not_let_in(provider: LoginProvider, browser: Browser) -> None:
    provider.tell("subject-ada")
    browser.log_in()
    provider.tell("subject-imp")
    with Browser(browser.origin) as other:
        assert failure(other.log_in()) == "unknown"
        assert other.name is None


@pytest.mark.parametrize(
    ("account", "code"),
    [
        ("subject-new", "unknown"),
        ("subject-bad", "unverified"),
        ("subject-non", "unverified"),
        ("nobody", "denied"),
    ],
)
def test_others_are_not(team: Team, provider: LoginProvider, browser: Browser, account: str, code: str) -> None:
    provider.tell(account)
    assert failure(browser.log_in()) == code
    assert browser.name is None
    assert len(team.accounts.list_users()) == 3


def test_a_disabled_user_is_not(team: Team, provider: LoginProvider, browser: Browser) -> None:
    provider.tell("subject-ada")
    browser.log_in()
    team.accounts.disable_user("ada")
    try:
        assert browser.name is None
        assert failure(browser.log_in()) == "disabled"
    finally:
        team.accounts.enable_user("ada")
    browser.log_in()
    assert browser.name == "ada"


@pytest.mark.parametrize(
    ("tamper", "code"),
    [
        ("nonce", "refused"),
        ("no-nonce", "refused"),
        ("audience", "refused"),
        ("issuer", "refused"),
        ("expired", "refused"),
        ("future", "refused"),
        ("none", "refused"),
        ("shared", "refused"),
        ("other-key", "refused"),
        ("somebody-else", "refused"),
        ("huge", "unreachable"),
    ],
)
def test_what_the_provider_did_not_say_so_lets_nobody_in(
    provider: LoginProvider, browser: Browser, tamper: str, code: str
) -> None:
    provider.tell("subject-ada", tamper)
    assert failure(browser.log_in()) == code
    assert browser.name is None


def test_clocks_may_differ_a_little(provider: LoginProvider, browser: Browser) -> None:
    provider.tell("subject-ada", "skewed")
    browser.log_in()
    assert browser.name == "ada"


def test_a_login_belongs_to_the_browser_that_began_it(provider: LoginProvider, browser: Browser) -> None:
    provider.tell("subject-ada")
    address = browser.go_there()
    with Browser(browser.origin) as victim:
        assert failure(victim.client.get(address)) == "expired"
        victim.begin()
        assert failure(victim.client.get(address)) == "expired", "nor is it another login of theirs"
        assert victim.name is None
    browser.client.get(address)
    assert browser.name == "ada", "the attempts did not use it up"


def test_a_wrong_state_is_refused(provider: LoginProvider, browser: Browser) -> None:
    provider.tell("subject-ada")
    address = browser.go_there()
    state = read_query(address)["state"]
    for wrong in ("x" * 43, state[:-1], ""):
        assert failure(browser.client.get(address.replace(state, wrong))) == "expired"


def test_a_code_is_good_once(provider: LoginProvider, browser: Browser) -> None:
    provider.tell("subject-ada")
    address = browser.go_there()
    used, cookie = read_query(address), f"turnlog_pending={read_query(address)['state']}"
    assert browser.client.get(address).headers["location"] == "/"
    with Browser(browser.origin) as other:
        assert failure(other.client.get(address, headers={"Cookie": cookie})) == "expired"
        fresh = other.go_there()
        again = fresh.replace(read_query(fresh)["code"], used["code"])
        assert failure(other.client.get(again)) == "refused"
        assert other.name is None


def test_another_provider_s_answer_is_refused(provider: LoginProvider, browser: Browser) -> None:
    provider.tell("subject-ada")
    address = browser.go_there()
    assert "iss" in read_query(address)
    assert failure(browser.client.get(address + "x")) == "refused"


def test_a_login_that_took_too_long_is_over(team: Team, browser: Browser) -> None:
    late = PendingLogin(
        state="s" * 43, nonce="n", verifier="v" * 43, next="/", expires_ns=time.time_ns() - 10**9
    )
    team.accounts.keep_login(late)
    answer = browser.get(
        f"/api/login/callback?code=c&state={late.state}", Cookie=f"turnlog_pending={late.state}"
    )
    assert failure(answer) == "expired"


@pytest.mark.parametrize(
    "next",
    [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "evil",
        "/api/export?id=x",
        "/open?key=x",
        "///evil.example",
        "/%0d%0aSet-Cookie:x\r\n",
    ],
)
def test_nobody_is_sent_elsewhere_afterwards(team: Team, browser: Browser, next: str) -> None:
    kept = team.accounts.take_login(read_query(browser.begin(next).headers["location"])["state"])
    assert kept is not None
    assert kept.next == "/"


def test_the_provider_may_have_new_keys_and_tell_addresses_at_once(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with providing() as first:
            team = stack.enter_context(serving_team(tmp_path, around=configure(first, tmp_path)))
            team.accounts.add_user("ada", UserRole.ADMIN, email="ada@example.org")
            browser = stack.enter_context(Browser(team.served.origin))
            first.tell("subject-ada")
            browser.log_in()
            assert browser.name == "ada"
        assert failure(browser.get(begun(browser))) == "unreachable", (
            "where it is, is known; it does not answer"
        )
        with providing(port=first.port, conforms=False) as second, Browser(browser.origin) as other:
            second.tell("subject-ada")
            other.log_in()
            assert other.name == "ada"


def begun(browser: Browser) -> str:
    """Begin a login, and return an address with which it would be finished."""
    asked = httpx.URL(browser.begin().headers["location"])
    issuer = f"{asked.scheme}://{asked.host}:{asked.port}"
    given = httpx.QueryParams({"state": asked.params["state"], "code": "x", "iss": issuer})
    return f"/api/login/callback?{given}"


def test_whom_the_provider_knows_may_get_an_account(provider: LoginProvider, tmp_path: Path) -> None:
    around = configure(provider, tmp_path, create_users=True, role=UserRole.VIEWER, domains=("Example.org",))
    with serving_team(tmp_path, around=around) as team:
        team.accounts.add_user("new.person-x", UserRole.ADMIN)
        for account, code in (("subject-cat", "domain"), ("subject-bad", "unverified")):
            provider.tell(account)
            with Browser(team.served.origin) as browser:
                assert failure(browser.log_in()) == code
        provider.tell("subject-new")
        with Browser(team.served.origin) as browser:
            browser.log_in()
            assert browser.name == "new.person-x-2"
        user = team.accounts.find_user("new.person-x-2")
        assert user is not None
        assert (user.role, user.full_name, user.email) == (UserRole.VIEWER, "New", "new.Person+x@example.org")
        assert {entry.action for entry in team.accounts.list_audit()} == {Action.LOGGED_IN, Action.USER_ADDED}


def test_without_users_or_a_provider_there_is_no_such_login(provider: LoginProvider, tmp_path: Path) -> None:
    with serving_team(tmp_path / "a", around=configure(provider, tmp_path / "a")) as team:
        assert team.served.ask("GET", "/api/login").json == {"team": False, "oidc": None}
        assert team.served.ask("GET", "/api/login/oidc").status == 404
    with serving_team(tmp_path / "b") as team:
        team.add("ada")
        assert team.served.ask("GET", "/api/login/oidc").status == 404
        assert team.served.ask("GET", "/api/login/callback?code=a&state=b").status == 404


def test_a_provider_that_is_another_or_away_is_told_of(provider: LoginProvider, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    settings = OidcSettings(issuer=f"{provider.issuer}/", client_id="turnlog")
    around = ServerContext(place=tmp_path / "a" / "turnlog.db", oidc=settings, oidc_secret=SECRET)
    with serving_team(tmp_path / "a", around=around) as team, Browser(team.served.origin) as browser:
        team.add("ada")
        assert failure(browser.begin()) == "unreachable"
