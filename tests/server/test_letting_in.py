"""Who is let in: the token for programs, a one-time key and a cookie for a browser."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from litestar import get, post

from server_app import CORE, Answer, Served, serving
from turnlog.errors import ConfigError
from turnlog.server.security.guard import FailureLimit, find_peer_uid, is_other_user, list_own_uids
from turnlog.server.security.tokens import COOKIE_SECONDS, KEY_SECONDS, TokenKeeper


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@get("/api/secret")
async def get_secret() -> str:
    return "a secret"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, handlers=[get_secret], routes=CORE) as running:
        yield running


def open_page(served: Served, key: str, **headers: str) -> Answer:
    return served.ask("GET", f"/open?key={key}", headers)


@pytest.mark.parametrize("path", ["/api/secret", "/metrics", "/api/schema/openapi.json"])
def test_nobody_is_let_in_without_a_secret(guarded: Served, path: str) -> None:
    answer = guarded.ask("GET", path)
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert b"a secret" not in answer.body


def test_every_route_but_a_few_needs_a_secret(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        routes = {
            (method, re.sub(r"\{\w+:int\}", "1", re.sub(r"\{\w+:(?!int)\w+\}", "x", route.path)))
            for route in served.app.api.routes
            for method in getattr(route, "methods", ())
            if method != "OPTIONS"
        }
        assert {(method, path) for method, path in routes if served.ask(method, path).status != 401} == {
            ("GET", "/api/health"),
            ("GET", "/api/ready"),
            ("GET", "/api/login"),
            ("POST", "/api/login"),
            ("GET", "/api/login/oidc"),
            ("GET", "/api/login/callback"),
        }
        assert ("GET", "/open") in routes, "it answers 401 without a key"


def test_the_token_lets_programs_in(guarded: Served) -> None:
    assert guarded.get("/api/secret").body == b"a secret"
    assert guarded.ask("GET", "/api/secret", {"Authorization": f"bearer {guarded.keeper.token}"}).status == 200


@pytest.mark.parametrize(
    "given",
    ["Bearer ", "Bearer x", "Basic {token}", "{token}", "Bearer {token}x", "Bearer \xe9", "Bearer {half}"],
)
def test_a_wrong_token_does_not(guarded: Served, given: str) -> None:
    token = guarded.keeper.token
    answer = guarded.ask("GET", "/api/secret", {"Authorization": given.format(token=token, half=token[:20])})
    assert (answer.status, answer.code) == (401, "unauthorized")


def test_a_wrong_token_is_not_made_up_for_by_a_cookie(guarded: Served) -> None:
    assert guarded.ask("GET", "/api/secret", {"Authorization": "Bearer x", **guarded.cookie}).status == 401


def test_a_key_is_exchanged_for_a_cookie_that_scripts_cannot_read(guarded: Served) -> None:
    answer = open_page(guarded, guarded.keeper.create_key())
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert answer.headers["cache-control"] == "no-store"
    value, *flags = answer.headers["set-cookie"].split("; ")
    assert value.startswith(f"{guarded.keeper.cookie}=")
    lowered = {flag.lower() for flag in flags}
    assert {"httponly", "samesite=strict", "path=/"} <= lowered
    assert not [flag for flag in lowered if flag.startswith("domain")]
    assert guarded.ask("GET", "/api/secret", {"Cookie": f"a=b; {value}; c=d"}).body == b"a secret"


def test_a_key_is_good_once(guarded: Served) -> None:
    key = guarded.keeper.create_key()
    assert open_page(guarded, key).status == 303
    again = open_page(guarded, key)
    assert (again.status, again.code) == (401, "unauthorized")
    assert "set-cookie" not in again.headers


def test_people_are_told_in_a_page_that_a_key_was_used(guarded: Served) -> None:
    answer = open_page(guarded, "used", Accept="text/html,*/*")
    assert (answer.status, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert b"already been used, or has expired" in answer.body


def test_whoever_is_in_gets_on_and_the_key_is_used_up(guarded: Served) -> None:
    key = guarded.keeper.create_key()
    answer = guarded.ask("GET", f"/open?key={key}", guarded.cookie)
    assert (answer.status, "set-cookie" in answer.headers) == (303, False)
    assert open_page(guarded, key).status == 401
    assert guarded.ask("GET", "/open?key=wrong", guarded.cookie).status == 303


@pytest.mark.parametrize(
    "cookie", ["{name}=wrong", "{name}=", "other={value}", '{name}="', 'a"b=;{name}', "{name}"]
)
def test_a_wrong_cookie_lets_nobody_in(guarded: Served, cookie: str) -> None:
    value = guarded.keeper.open_session()
    given = cookie.format(name=guarded.keeper.cookie, value=value)
    assert guarded.ask("GET", "/api/secret", {"Cookie": given}).status == 401


def test_cookies_of_other_programs_are_no_obstacle(guarded: Served) -> None:
    [(_, own)] = guarded.cookie.items()
    for given in (f'a={{"b": "c"}}; {own}', f"=; ;,;{own};", f"{guarded.keeper.cookie}=old; {own}"):
        assert guarded.ask("GET", "/api/secret", {"Cookie": given}).status == 200


def test_changes_by_cookie_need_the_page_s_origin(tmp_path: Path) -> None:
    @post("/api/change", status_code=200)
    async def change() -> str:
        return "changed"

    with serving(tmp_path, handlers=[change], routes=CORE) as served:
        cookie = served.cookie
        assert served.ask("POST", "/api/change", {"Origin": served.origin, **cookie}).status == 200
        assert served.ask("POST", "/api/change", {"Sec-Fetch-Site": "same-origin", **cookie}).status == 200
        assert served.ask("POST", "/api/change", cookie).status == 401
        assert served.ask("POST", "/api/change", {"Origin": "http://evil.example", **cookie}).status == 403


def test_only_the_token_makes_new_keys(guarded: Served) -> None:
    assert guarded.ask("POST", "/api/keys", {"Origin": guarded.origin, **guarded.cookie}).status == 401
    made = guarded.ask("POST", "/api/keys", guarded.bearer)
    assert made.status == 201
    assert guarded.ask("GET", made.json["path"]).status == 303


def test_keys_and_cookies_end(tmp_path: Path) -> None:
    clock = Clock()
    keeper = TokenKeeper(tmp_path / "token", clock)
    key, session = keeper.create_key(), keeper.open_session()
    clock.now += KEY_SECONDS - 1
    other = keeper.create_key()
    clock.now += 1
    assert not keeper.redeem_key(key)
    assert keeper.redeem_key(other)
    assert keeper.is_session(session)
    clock.now += COOKIE_SECONDS
    assert not keeper.is_session(session)


def test_only_so_many_keys_are_good_at_a_time(tmp_path: Path) -> None:
    keeper = TokenKeeper(tmp_path / "token")
    keys = [keeper.create_key() for _ in range(300)]
    assert [keeper.redeem_key(key) for key in (keys[0], keys[-1])] == [False, True]


def test_keys_and_cookies_are_not_taken_for_each_other(tmp_path: Path) -> None:
    keeper = TokenKeeper(tmp_path / "token")
    assert not keeper.is_session(keeper.create_key())
    assert not keeper.redeem_key(keeper.open_session())
    assert not keeper.redeem_key(keeper.token)
    assert not keeper.is_token("")


def test_the_token_s_file_is_the_owner_s_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        keeper = TokenKeeper(tmp_path / "token")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert (tmp_path / "token").read_text() == f"{keeper.token}\n"
    assert os.listdir(tmp_path) == ["token"]
    assert len(keeper.token) == 43, "256 bits"


def test_the_token_stays_until_it_is_made_anew(tmp_path: Path) -> None:
    keeper = TokenKeeper(tmp_path / "token")
    assert TokenKeeper(tmp_path / "token").token == keeper.token
    old, key, session = keeper.token, keeper.create_key(), keeper.open_session()
    keeper.rotate()
    assert not keeper.is_token(old)
    assert keeper.is_token((tmp_path / "token").read_text().strip())
    assert not keeper.redeem_key(key)
    assert not keeper.is_session(session)
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_a_token_that_others_could_read_is_made_anew(tmp_path: Path, mode: int) -> None:
    old = TokenKeeper(tmp_path / "token").token
    (tmp_path / "token").chmod(mode)
    keeper = TokenKeeper(tmp_path / "token")
    assert keeper.token != old
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "short", "x" * 44, "\xff" * 43])
def test_what_is_no_token_is_replaced(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(0o600)
    assert len(TokenKeeper(path).token) == 43


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("x" * 43)
    (tmp_path / "token").symlink_to(tmp_path / "other")
    with pytest.raises(ConfigError, match="token"):
        TokenKeeper(tmp_path / "token")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
def test_another_user_s_file_is_refused(tmp_path: Path) -> None:
    TokenKeeper(tmp_path / "token")
    os.chown(tmp_path / "token", 12345, 12345)
    with pytest.raises(ConfigError, match="belongs to another user"):
        TokenKeeper(tmp_path / "token")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_of_this_machine_reads_nothing(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o005 == 0o005:  # up to where everybody may go anyway
            break
        folder.chmod(0o755)
    (tmp_path / "everybody's").write_text("")

    def can_read(path: Path) -> bool:
        ran = subprocess.run(
            ["cat", path], user=12345, group=12345, extra_groups=[], capture_output=True, check=False
        )
        return ran.returncode == 0

    assert can_read(tmp_path / "everybody's")
    with serving(tmp_path / "home", routes=CORE):
        files = list((tmp_path / "home").iterdir())
        assert len(files) >= 2
        assert [path.name for path in files if can_read(path)] == []


def ask_as_another_user(served: Served, path: str, *args: str) -> int:
    """Ask with a program that runs as somebody else, and return the status."""
    url = f"http://127.0.0.1:{served.port}{path}"
    ran = subprocess.run(
        ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *args, url],
        user=12345,
        group=12345,
        extra_groups=[],
        capture_output=True,
        check=False,
    )
    return int(ran.stdout)


@pytest.mark.skipif(not shutil.which("curl") or sys.platform != "linux", reason="needs Linux and curl")
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else")
def test_what_another_user_of_this_machine_got_hold_of_is_of_no_use(tmp_path: Path) -> None:
    with serving(tmp_path, handlers=[get_secret], failures=FailureLimit(2), routes=CORE) as served:
        [(name, cookie)] = served.cookie.items()
        key = served.keeper.create_key()
        assert ask_as_another_user(served, "/api/health") == 200
        assert ask_as_another_user(served, "/api/secret", "-H", f"{name}: {cookie}") == 401
        assert ask_as_another_user(served, f"/open?key={key}") == 403
        assert open_page(served, key).status == 303, "the key is still good"
        # The token may be given to programs of others, such as Prometheus.
        token = f"Authorization: Bearer {served.keeper.token}"
        assert ask_as_another_user(served, "/api/secret", "-H", token) == 200
        wrong = [ask_as_another_user(served, "/api/secret", "-H", "Authorization: Bearer x") for _ in range(3)]
        assert wrong == [401, 401, 429]
        assert served.get("/api/secret").status == 200, "others do not use up our attempts"


TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2276 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 123 1 0
   1: 0100007F:2276 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 124 1 0
   2: 0100007F:C350 0100007F:2276 01 00000000:00000000 00:00000000 00000000  1001        0 125 1 0
"""


@pytest.mark.skipif(sys.byteorder != "little", reason="the table is as a little-endian machine writes it")
def test_the_system_tells_who_is_at_the_other_end(tmp_path: Path) -> None:
    (tmp_path / "tcp").write_text(TABLE)
    server = ("127.0.0.1", 0x2276)
    assert find_peer_uid(("127.0.0.1", 0xC350), server, tmp_path) == 1001
    assert find_peer_uid(("127.0.0.1", 0xC351), server, tmp_path) is None
    assert find_peer_uid(("192.0.2.1", 0xC350), server, tmp_path) is None
    assert find_peer_uid(("::1", 0xC350), ("::1", 0x2276), tmp_path) is None, "there is no such table"
    assert find_peer_uid(None, server, tmp_path) is None
    assert find_peer_uid(("testclient", 1), server, tmp_path) is None
    assert not is_other_user({}, frozenset({1}))
    assert is_other_user({"peer": 2}, frozenset({1}))
    assert list_own_uids({}) == {0, os.geteuid()}
    assert (1234 in list_own_uids({"SUDO_UID": "1234"})) is (os.geteuid() == 0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not tell")
def test_it_tells_so_over_ipv6_too() -> None:
    try:
        listening = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    with listening, socket.create_connection(listening.getsockname()[:2]) as made:
        client, server = made.getsockname()[:2], made.getpeername()[:2]
        assert find_peer_uid(client, server) == os.geteuid()


def test_too_many_failures_are_not_answered_any_more(tmp_path: Path) -> None:
    clock = Clock()
    with serving(tmp_path, handlers=[get_secret], failures=FailureLimit(3, 60.0, clock), routes=CORE) as served:
        wrong = {"Authorization": "Bearer wrong"}
        cookie = served.cookie
        assert [served.ask("GET", "/api/secret", wrong).status for _ in range(4)] == [401, 401, 401, 429]
        refused = served.ask("GET", "/api/secret", wrong)
        assert (refused.code, refused.headers["retry-after"]) == ("too_many_failures", "60")
        # Not even a right one, or guessing would go on; but whoever is in already stays.
        assert served.get("/api/secret").status == 429
        assert open_page(served, served.keeper.create_key()).status == 429
        assert served.ask("GET", "/api/secret", cookie).status == 200
        assert served.ask("GET", "/api/health").status == 200
        clock.now += 60
        assert served.get("/api/secret").status == 200


def test_to_have_no_secret_is_no_failure(tmp_path: Path) -> None:
    with serving(tmp_path, failures=FailureLimit(2), routes=CORE) as served:
        assert {served.ask("GET", "/metrics").status for _ in range(5)} == {401}
        assert {
            served.ask("GET", "/metrics", {"Cookie": f"{served.keeper.cookie}=old"}).status for _ in range(5)
        } == {401}
        assert served.get("/metrics").status == 200


def test_wrong_keys_are_failures(tmp_path: Path) -> None:
    with serving(tmp_path, failures=FailureLimit(2), routes=CORE) as served:
        assert [open_page(served, "x").status for _ in range(3)] == [401, 401, 429]


def test_other_pages_cannot_use_up_the_failures(tmp_path: Path) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with serving(tmp_path, failures=FailureLimit(2), routes=CORE) as served:
        assert {served.ask("GET", "/open?key=x", link).status for _ in range(5)} == {401}
        assert open_page(served, served.keeper.create_key()).status == 303


def test_clients_are_told_apart_by_their_networks() -> None:
    clock = Clock()
    limit = FailureLimit(1, 60.0, clock)
    limit.note("2001:db8::1")
    assert limit.find_delay("2001:db8::ffff") == 60.0
    assert limit.find_delay("2001:db8:0:1::1") == 0.0
    assert limit.find_delay("192.0.2.1") == 0.0
    limit.note("192.0.2.1")
    assert limit.find_delay("192.0.2.1") == 60.0
    assert limit.find_delay("192.0.2.2") == 0.0


def test_only_so_many_clients_are_remembered() -> None:
    limit = FailureLimit(1)
    for number in range(2000):
        limit.note(f"client {number}")
    assert limit.find_delay("client 0") == 0.0
    assert limit.find_delay("client 1999") > 0.0
