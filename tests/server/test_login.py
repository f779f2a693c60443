"""Coming in as a person: by a token, with a cookie, and out again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from server_app import serving
from team_server import Team, cookie_of, serving_team
from turnlog.server.requests import ServerContext
from turnlog.server.security.guard import FailureLimit
from turnlog.store.account_model import Action, AuditFilter, TokenKind, UserRole
from turnlog.store.accounts import open_accounts


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    with serving_team(tmp_path, failures=FailureLimit(5)) as running:
        yield running


def test_without_users_the_server_is_one_person_s(team: Team) -> None:
    assert team.served.ask("GET", "/api/login").json == {"team": False, "oidc": None}
    assert team.served.get("/api/me").json == {
        "kind": "operator",
        "name": None,
        "full_name": "",
        "role": None,
        "is_admin": True,
        "may_write": True,
        "team": False,
        "link": None,
    }
    assert team.log_in("tlp_" + "x" * 43).status == 401


def test_a_token_is_exchanged_for_a_cookie_of_its_user(team: Team) -> None:
    token = team.add("ada", UserRole.VIEWER)
    assert team.served.ask("GET", "/api/login").json == {"team": True, "oidc": None}
    answer = team.log_in(f" {token}\n")
    assert (answer.status, answer.body) == (204, b"")
    value, *flags = answer.headers["set-cookie"].split("; ")
    lowered = {flag.lower() for flag in flags}
    assert {"httponly", "samesite=strict", "path=/"} <= lowered
    assert "secure" not in lowered, "the server is reached by http"
    me = team.served.ask("GET", "/api/me", {"Cookie": value}).json
    assert (me["kind"], me["name"], me["role"], me["may_write"], me["team"]) == (
        "person",
        "ada",
        "viewer",
        False,
        True,
    )
    assert [entry.action for entry in team.accounts.list_audit()] == [Action.LOGGED_IN]
    assert token not in str(team.accounts.list_audit())


def test_by_https_the_cookie_is_for_https_alone(tmp_path: Path) -> None:
    around = ServerContext(place=tmp_path / "turnlog.db", public_url="https://turnlog.example.org")
    with serving_team(tmp_path, around=around) as team:
        served, token = team.served, team.add("ada")
        public = {"Host": "turnlog.example.org", "Origin": "https://turnlog.example.org"}
        answer = team.log_in(token, **public)
        assert answer.status == 204
        value, *flags = answer.headers["set-cookie"].split("; ")
        assert value.startswith("__Host-")
        assert "secure" in {flag.lower() for flag in flags}
        assert served.ask("GET", "/api/me", {"Cookie": value, "Host": "turnlog.example.org"}).status == 200
        plain = value.removeprefix("__Host-")
        assert served.ask("GET", "/api/me", {"Cookie": plain, "Host": "turnlog.example.org"}).status == 401
        elsewhere = {"Host": "turnlog.example.org", "Origin": "https://evil.example.org"}
        assert team.log_in(token, **elsewhere).status == 403
        assert "secure" not in team.log_in(token).headers["set-cookie"].lower(), "under the local address"


def test_logging_out_ends_the_cookie_and_not_the_token(team: Team) -> None:
    token = team.add("ada")
    cookie = {"Cookie": cookie_of(team.log_in(token)), "Origin": team.served.origin}
    other = {"Cookie": cookie_of(team.log_in(token))}
    answer = team.served.ask("POST", "/api/logout", cookie)
    assert answer.status == 204
    assert "max-age=0" in answer.headers["set-cookie"].lower()
    assert team.served.ask("GET", "/api/me", cookie).status == 401
    assert team.served.ask("GET", "/api/me", other).status == 200
    assert team.ask(token, "GET", "/api/me").status == 200
    assert team.accounts.list_audit(AuditFilter(actions=(Action.LOGGED_OUT,)))[0].who == "ada"


def test_the_operator_logs_in_and_out_too(team: Team) -> None:
    team.add("ada")
    cookie = {"Cookie": cookie_of(team.log_in(team.served.keeper.token)), "Origin": team.served.origin}
    assert team.served.ask("GET", "/api/me", cookie).json["kind"] == "operator"
    assert team.served.ask("POST", "/api/logout", cookie).status == 204
    assert team.served.ask("GET", "/api/me", cookie).status == 401


def test_a_machine_s_token_does_not_let_people_in(team: Team) -> None:
    team.add("ada")
    [_, secret] = team.accounts.create_token("ada", TokenKind.MACHINE, "laptop")
    answer = team.log_in(secret)
    assert (answer.status, answer.code) == (403, "forbidden")


@pytest.mark.parametrize("way", ["disabled", "revoked", "wrong"])
def test_what_is_not_good_any_more_lets_nobody_in(team: Team, way: str) -> None:
    token = team.add("ada")
    cookie = {"Cookie": cookie_of(team.log_in(token))}
    if way == "disabled":
        team.accounts.disable_user("ada")
        assert team.served.ask("GET", "/api/me", cookie).status == 401
    elif way == "revoked":
        team.accounts.revoke_token(team.accounts.list_tokens("ada")[0].id)
    else:
        token = token[:-1] + ("a" if token[-1] != "a" else "b")
    refused = team.ask(token, "GET", "/api/me")
    assert (refused.status, refused.code) == (401, "unauthorized")
    assert "Log in" in refused.json["error"]["message"]
    assert team.log_in(token).status == 401


def test_a_cookie_is_good_no_longer_than_its_token(team: Team) -> None:
    team.add("ada")
    soon = team.accounts.create_token("ada", TokenKind.PERSONAL, "soon", expires_ns=_in_seconds(100))[1]
    flags = team.log_in(soon).headers["set-cookie"].lower().split("; ")
    [seconds] = [int(flag.removeprefix("max-age=")) for flag in flags if flag.startswith("max-age=")]
    assert 0 < seconds <= 100


def test_guessing_is_stopped_at_the_login_too(team: Team) -> None:
    token = team.add("ada")
    wrong = "tlp_" + "x" * 43
    assert [team.log_in(wrong).status for _ in range(6)] == [401] * 5 + [429]
    assert team.log_in(token).status == 429, "not even a right one, or guessing would go on"


def test_who_comes_through_a_trusted_proxy_has_attempts_of_their_own(tmp_path: Path) -> None:
    with serving_team(tmp_path, failures=FailureLimit(1, proxies=["127.0.0.0/8", "::1"])) as team:
        token, wrong = team.add("ada"), "tlp_" + "x" * 43
        guesser, other = {"X-Forwarded-For": "192.0.2.9, 203.0.113.7"}, {"X-Forwarded-For": "198.51.100.1"}
        assert [team.log_in(wrong, **guesser).status for _ in range(2)] == [401, 429]
        invented = {"X-Forwarded-For": "198.51.100.9, 203.0.113.7, 127.0.0.2"}
        assert team.log_in(token, **invented).status == 429, "what it says itself does not count"
        assert team.log_in(token, **other).status == 204
        assert team.log_in(token).status == 204


def test_nobody_else_s_word_counts_for_where_a_request_comes_from(tmp_path: Path) -> None:
    with serving_team(tmp_path, failures=FailureLimit(1)) as team:
        token, wrong = team.add("ada"), "tlp_" + "x" * 43
        assert team.log_in(wrong).status == 401
        assert team.log_in(token, **{"X-Forwarded-For": "198.51.100.1"}).status == 429


def test_changes_by_a_person_s_cookie_need_the_page_s_origin(team: Team) -> None:
    cookie = {"Cookie": cookie_of(team.log_in(team.add("ada")))}
    body, kind = b'{"kind": "machine"}', {"Content-Type": "application/json"}
    own = {**cookie, **kind, "Origin": team.served.origin}
    assert team.served.ask("POST", "/api/tokens", own, body).status == 201
    assert team.served.ask("POST", "/api/tokens", {**cookie, **kind}, body).status == 401
    foreign = {**cookie, **kind, "Origin": "http://evil.example"}
    assert team.served.ask("POST", "/api/tokens", foreign, body).status == 403
    assert team.served.ask("GET", "/api/me", {**cookie, "Sec-Fetch-Site": "same-site"}).status == 403


def test_every_server_of_a_team_knows_a_cookie(team: Team, tmp_path: Path) -> None:
    cookie = {"Cookie": cookie_of(team.log_in(team.add("ada")))}
    with (
        closing(open_accounts(tmp_path / "turnlog.db")) as accounts,
        serving(tmp_path / "other", accounts=accounts) as other,
    ):
        assert other.keeper.token != team.served.keeper.token
        assert other.ask("GET", "/api/me", cookie).json["name"] == "ada"


def _in_seconds(seconds: float) -> int:
    return time.time_ns() + int(seconds * 10**9)


@pytest.mark.skipif(not shutil.which("curl") or sys.platform != "linux", reason="needs Linux and curl")
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else")
def test_other_users_of_the_machine_are_welcome_as_themselves(team: Team) -> None:
    def ask(*args: str) -> str:
        url = f"{team.served.origin}/api/me"
        given = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *args, url]
        ran = subprocess.run(
            given, user=12345, group=12345, extra_groups=[], capture_output=True, text=True, check=False
        )
        return ran.stdout

    token = team.add("ada")
    cookie = cookie_of(team.log_in(token))
    assert ask("-H", f"Authorization: Bearer {token}") == "200"
    assert ask("-H", f"Cookie: {cookie}") == "200"
    [(name, own)] = team.served.cookie.items()
    assert ask("-H", f"{name}: {own}") == "401", "what the owner's browser has is the owner's alone"
