"""What every request passes: its host, its origin, its address, its size; and what every answer carries."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from server_app import Served
from turnlog.server.errors import RequestError
from turnlog.server.security.gate import POLICY, Hosts, Limits, parse_authority

LIMITS = Limits()


@pytest.mark.parametrize(
    "name", ["127.0.0.1", "localhost", "LOCALHOST", "localhost.", "[::1]", "[0:0:0:0:0:0:0:1]"]
)
def test_its_own_names_are_answered(served: Served, name: str) -> None:
    assert served.ask("GET", "/api/health", {"Host": f"{name}:{served.port}"}).status == 200


@pytest.mark.parametrize(
    "name",
    [
        "evil.example:{port}",  # a name that was made to lead here
        "127.0.0.1.evil.example:{port}",
        "localhost.evil.example:{port}",
        "127.0.0.2:{port}",
        "0.0.0.0:{port}",
        "[::2]:{port}",
        "localhost:1",
        "localhost",
        "2130706433:{port}",
    ],
)
@pytest.mark.parametrize("path", ["/api/health", "/", "/open?key=x", "/api/sessions"])
def test_no_other_name_is_answered(served: Served, name: str, path: str) -> None:
    answer = served.ask("GET", path, {"Host": name.format(port=served.port), **served.bearer})
    assert (answer.status, answer.code) == (421, "unknown_host")


@pytest.mark.parametrize(
    "name",
    ["", "localhost:", "localhost:x", "localhost:99999", "user@localhost:{port}", "a b", "[::1", "[::x]:1"],
)
def test_what_is_no_name_is_refused(served: Served, name: str) -> None:
    answer = served.ask("GET", "/api/health", {"Host": name.format(port=served.port)})
    assert (answer.status, answer.code) == (400, "bad_host")


@pytest.mark.parametrize("lines", [b"", b"Host: localhost:%d\r\nHost: evil.example\r\n"])
def test_a_request_has_one_host(served: Served, lines: bytes) -> None:
    host = lines.replace(b"%d", str(served.port).encode())
    answer = served.send(b"GET /api/health HTTP/1.1\r\nConnection: close\r\n" + host + b"\r\n")
    assert b" 400 " in answer.partition(b"\r\n")[0]


def test_a_whole_address_in_the_request_line_gains_nothing(served: Served) -> None:
    line = b"GET http://evil.example/api/health HTTP/1.1\r\nConnection: close\r\nHost: evil.example\r\n\r\n"
    assert b" 421 " in served.send(line).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    ("bound", "extra", "asked", "known"),
    [
        ("0.0.0.0", (), "192.168.1.5:80", True),
        ("0.0.0.0", (), "192.168.1.5:81", False),
        ("0.0.0.0", (), "[fe80::1]:80", True),
        ("::", (), "box.lan:80", False),
        ("::", ("box.lan",), "BOX.lan:80", True),
        ("box.lan", (), "box.lan", True),
        ("box.lan", (), "localhost", False),
        ("127.0.0.1", ("proxy.example:8443",), "proxy.example:8443", True),
        ("127.0.0.1", ("proxy.example:8443",), "proxy.example", False),
        ("::1", (), "[::1]", True),
    ],
)
def test_a_server_answers_to_what_it_is_bound_to(
    bound: str, extra: tuple[str, ...], asked: str, known: bool
) -> None:
    hosts = Hosts(bound, 80, extra)
    with nullcontext() if known else pytest.raises(RequestError, match="421"):
        hosts.check([(b"host", asked.encode())])


def test_what_is_no_name_cannot_be_allowed() -> None:
    with pytest.raises(ValueError, match="not a host name"):
        Hosts("127.0.0.1", 80, ["http://x/"])
    with pytest.raises(ValueError, match="not a host name"):
        Hosts("::x", 80)
    assert parse_authority("[::1]:080") == parse_authority("[0::1]:80")


ORIGINS = [
    "http://evil.example",
    "http://localhost:1",
    "http://127.0.0.1",
    "https://127.0.0.1",
    "null",
    "",
    "file://",
    "http://{host}.evil.example",
    "http://{host}/",
    "http://user@{host}",
    "http://[",
    "{host}",
]


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE", "OPTIONS"])
def test_other_pages_are_refused_whatever_they_ask(served: Served, origin: str, method: str) -> None:
    headers = {"Origin": origin.format(host=served.host), **served.cookie, **served.bearer}
    answer = served.ask(method, "/api/keys", headers)
    assert (answer.status, answer.code) == (403, "foreign_origin")
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_own_page_is_not(served: Served) -> None:
    assert served.ask("POST", "/api/keys", {"Origin": served.origin, **served.bearer}).status == 201


LINK = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
ELSEWHERE = ["cross-site", "same-site", "nonsense", "same-origin, none"]
"""Another server on this machine is the same site: cookies know no ports."""


@pytest.mark.parametrize("site", ELSEWHERE)
def test_cookies_count_for_nothing_where_the_browser_says_it_is_another_page(served: Served, site: str) -> None:
    assert served.ask("GET", "/metrics", {"Sec-Fetch-Site": site, **LINK, **served.cookie}).status == 401


@pytest.mark.parametrize("site", ELSEWHERE)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
    ],
)
def test_nothing_becomes_a_part_of_another_page(served: Served, site: str, how: dict[str, str]) -> None:
    for path in ("/", "/api/health", "/assets/x.js", "/open?key=x"):
        answer = served.ask("GET", path, {"Sec-Fetch-Site": site, **how, **served.bearer})
        assert (answer.status, answer.code) == (403, "foreign_origin")


def test_links_may_lead_here_but_not_change_anything(served: Served) -> None:
    elsewhere = {"Sec-Fetch-Site": "cross-site", **LINK}
    assert served.ask("GET", "/api/health", elsewhere).status == 200
    assert served.ask("GET", f"/open?key={served.keeper.create_key()}", elsewhere).status == 303
    assert served.ask("POST", "/api/keys", {**elsewhere, **served.bearer}).status == 403


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {}])
def test_cookies_count_on_the_own_page(served: Served, headers: dict[str, str]) -> None:
    assert served.ask("GET", "/metrics", {**headers, **served.cookie}).status == 200


TRAVERSALS = [
    "/../../../etc/passwd",
    "/assets/../../../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2f..%2fetc%2fpasswd",
    "/assets/..%5c..%5cetc%5cpasswd",
    "/assets/%2e%2e%2fapp.py",
    "//etc/passwd",
    "/assets//../app.py",
    "/api/sessions/../../../etc/passwd",
    "/api/sessions/..%2f..%2f/messages",
    "/api//health",
    "//api/keys",
    "/./api/health",
    "/api/sessions/%00",
    "/api/sessions/a%0d%0aSet-Cookie:%20x=1",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_addresses_lead_nowhere_else(served: Served, path: str) -> None:
    answer = served.get(path)
    assert (answer.status, answer.code) == (400, "bad_address")
    assert b"root:" not in answer.body
    assert "set-cookie" not in answer.headers


def test_an_address_has_a_longest(served: Served) -> None:
    assert served.get("/api/health?" + "&" * (LIMITS.url - len("/api/health"))).status == 200
    answer = served.get("/api/health?" + "&" * LIMITS.url)
    assert (answer.status, answer.code) == (414, "url_too_long")


def test_headers_have_a_largest_number_and_size(served: Served) -> None:
    many = {f"X-{number}": "1" for number in range(LIMITS.headers)}
    assert (answer := served.get("/api/health", **many)).status == 431
    assert answer.code == "headers_too_large"
    assert served.get("/api/health", X="x" * LIMITS.head).status == 431


@pytest.mark.parametrize("size", [str(LIMITS.body + 1), "9" * 30])
@pytest.mark.parametrize("method", ["POST", "PATCH", "GET"])
def test_a_body_that_is_announced_as_too_large_is_not_read(served: Served, method: str, size: str) -> None:
    answer = served.ask(method, "/api/keys", {"Content-Length": size, **served.bearer})
    assert answer.status in (400, 413)
    assert answer.code in ("bad_request", "too_large")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/health", 200),
        ("GET", "/metrics", 200),
        ("GET", "/", 503),
        ("GET", "/sessions/abc", 503),
        ("GET", "/assets/nothing.js", 404),
        ("GET", "/open?key=wrong", 401),
        ("GET", "/api/nothing", 404),
        ("DELETE", "/api/health", 405),
        ("POST", "/", 405),
        ("OPTIONS", "/api/health", 204),
        ("GET", "/api/../x", 400),
        ("GET", "/api/schema/openapi.json", 200),
    ],
)
def test_every_answer_says_what_the_browser_must_refuse(
    served: Served, method: str, path: str, status: int
) -> None:
    answer = served.ask(method, path, {} if path.startswith("/open") else served.bearer)
    assert answer.status == status
    kept = {
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "x-frame-options": "DENY",
    }
    assert {name: answer.headers.get(name) for name in kept} == kept
    assert answer.headers["cache-control"]
    assert "server" not in answer.headers
    assert "unsafe" not in POLICY


def test_there_are_no_websockets(served: Served) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x", **served.bearer}
    assert served.ask("GET", "/api/health", upgrade).status == 200
