"""Answers of the API: not sent twice, made smaller, counted, and logged without what is secret."""

from __future__ import annotations

import gzip
import io
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from litestar import Request, Response, get
from litestar.params import FromPath, FromQuery
from litestar.response import ServerSentEvent

from server_app import CORE, Served, serving
from turnlog.server.asgi import choose_encoding
from turnlog.server.errors import NotFoundError
from turnlog.server.http_server import redact, write_logs
from turnlog.server.requests import build_etag, check_unchanged
from turnlog.server.sessions import find_session
from turnlog.server.sync import FollowerReport, SyncPhase
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store

READERS: dict[str | None, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "zstd": zstandard.decompress,
    None: bytes,
}
made: list[str] = []
"""What was really answered."""


@get("/api/versioned/{key:str}/{revision:int}", sync_to_thread=True)
def answer_versioned(
    request: Request[Any, Any, Any], key: FromPath[str], revision: FromPath[int], x: FromQuery[int] = 0
) -> list[str]:
    check_unchanged(request, key, revision)
    made.append(key)
    return [key] * 1000


@get("/api/small")
async def answer_little() -> str:
    return "x" * 1023


@get("/api/image")
async def answer_image() -> Response[bytes]:
    return Response(b"x" * 5000, media_type="image/png")


@get("/api/stream")
async def stream() -> ServerSentEvent:
    async def tell() -> AsyncIterator[str]:
        yield "x" * 5000
        yield "y" * 5000

    return ServerSentEvent(tell())


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    handlers = [answer_versioned, answer_little, answer_image, stream]
    with serving(tmp_path_factory.mktemp("home"), handlers=handlers, routes=CORE) as running:
        yield running


def test_what_did_not_change_is_neither_made_nor_sent(answering: Served) -> None:
    made.clear()
    first = answering.get("/api/versioned/a/1?x=1")
    assert first.headers["cache-control"] == "private, no-cache"
    again = answering.get("/api/versioned/a/1?x=1", If_None_Match=first.headers["etag"])
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert "content-type" not in again.headers
    assert made == ["a"]


@pytest.mark.parametrize("path", ["/api/versioned/a/2?x=1", "/api/versioned/a/1?x=2", "/api/versioned/b/1?x=1"])
def test_anything_else_is_another_version(answering: Served, path: str) -> None:
    etag = answering.get("/api/versioned/a/1?x=1").headers["etag"]
    assert answering.get(path, If_None_Match=etag).status == 200


@pytest.mark.parametrize("path", ["/api/versioned/a/1", "/api/small", "/api/image", "/api/health", "/metrics"])
@pytest.mark.parametrize("accepted", ["zstd", "identity"])
def test_head_is_get_without_its_body(answering: Served, path: str, accepted: str) -> None:
    whole = answering.get(path, Accept_Encoding=accepted)
    head = answering.ask("HEAD", path, {**answering.bearer, "Accept-Encoding": accepted})
    assert (head.status, head.body) == (200, b"")
    varies = ("date",) if path != "/metrics" else ("date", "content-length")
    for headers in (whole.headers, head.headers):
        for name in varies:
            del headers[name]
    assert head.headers == whole.headers


def test_head_of_a_stream_ends(answering: Served) -> None:
    head = answering.ask("HEAD", "/api/stream", answering.bearer)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")


def test_head_needs_a_secret_and_tells_what_did_not_change(answering: Served) -> None:
    assert answering.ask("HEAD", "/api/versioned/a/1").status == 401
    etag = answering.get("/api/versioned/a/1").headers["etag"]
    again = answering.ask("HEAD", "/api/versioned/a/1", {**answering.bearer, "If-None-Match": etag})
    assert again.status == 304
    assert answering.ask("HEAD", "/api/keys", answering.bearer).status == 405
    refused = answering.ask("DELETE", "/api/small", answering.bearer)
    assert refused.headers["allow"] == "GET, HEAD, OPTIONS"


def test_a_304_is_only_for_who_is_let_in(answering: Served) -> None:
    etag = answering.get("/api/versioned/a/1").headers["etag"]
    assert answering.ask("GET", "/api/versioned/a/1", {"If-None-Match": etag}).status == 401


def test_etags_tell_all_parts_apart() -> None:
    parts: list[tuple[str | int | None, ...]] = [
        ("ab", "c"),
        ("a", "bc"),
        ("abc",),
        ("abc", None),
        ("abc", ""),
        (),
    ]
    assert len({build_etag(*each) for each in parts}) == len(parts)
    assert build_etag("a", 1) == build_etag("a", 1)


@pytest.mark.parametrize(
    ("accepted", "encoding"), [("gzip, zstd", "zstd"), ("gzip", "gzip"), ("identity", None)]
)
def test_long_answers_are_compressed(answering: Served, accepted: str, encoding: str | None) -> None:
    answer = answering.get("/api/versioned/abc/1", Accept_Encoding=accepted)
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["vary"] == "accept-encoding"
    assert int(answer.headers["content-length"]) == len(answer.body)
    read = READERS[encoding]
    assert read(answer.body) == b'["' + b'","'.join([b"abc"] * 1000) + b'"]'


@pytest.mark.parametrize("path", ["/api/small", "/api/image", "/api/stream"])
def test_short_answers_images_and_streams_are_not(answering: Served, path: str) -> None:
    answer = answering.get(path, Accept_Encoding="gzip, zstd")
    assert answer.status == 200
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [
        ("", None),
        ("gzip, deflate, br, zstd", "zstd"),
        ("GZIP", "gzip"),
        ("*", "zstd"),
        ("*;q=0, gzip", "gzip"),
        ("zstd; q=0.0, gzip; q=0.001", "gzip"),
        ("zstd;q=0", None),
        ("gzipx", None),
        (";;,=,", None),
    ],
)
def test_the_best_encoding_that_is_allowed_is_chosen(accepted: str, chosen: str | None) -> None:
    assert choose_encoding(accepted) == chosen


def test_requests_are_counted_by_their_routes(answering: Served) -> None:
    answering.get("/api/versioned/secret-name/1")
    answering.ask("GET", "/api/unknown-secret")
    text = answering.get("/metrics").body.decode()
    assert 'turnlog_requests_total{method="GET",route="/api/versioned/{key}/{revision}",status="200"}' in text
    assert 'route="(none)",status="404"' in text
    assert "secret" not in text
    assert 'turnlog_request_seconds_bucket{le="0.05",route="(none)"}' in text
    for name in ("turnlog_sessions 0.0", "turnlog_database_bytes ", "process_resident_memory_bytes "):
        assert f"\n{name}" in text


def test_what_the_follower_does_is_counted(tmp_path: Path) -> None:
    with serving(tmp_path, routes=CORE) as served:
        served.syncing.note(FollowerReport(phase=SyncPhase.SYNCING, done=1, total=3))
        served.syncing.note(
            FollowerReport(phase=SyncPhase.WATCHING, looked=True, lines=7, bytes=70, seconds=0.5)
        )
        served.syncing.note(FollowerReport(phase=SyncPhase.WATCHING, looked=True, reason="no room"))
        answer = served.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.body.decode().splitlines()
    for line in (
        'turnlog_sync_phase{phase="watching"} 1.0',
        'turnlog_sync_phase{phase="syncing"} 0.0',
        "turnlog_sync_looks_total 2.0",
        "turnlog_sync_failures_total 1.0",
        "turnlog_sync_lines_total 7.0",
        "turnlog_sync_bytes_total 70.0",
    ):
        assert line in lines


def test_health_tells_everybody_no_more_than_that(answering: Served) -> None:
    assert set(answering.ask("GET", "/api/health").json) == {"status", "version"}


def test_no_secret_gets_into_the_log(tmp_path: Path) -> None:
    log = io.StringIO()
    loggers = [
        logging.getLogger(name) for name in ("turnlog.server", "turnlog.server.requests", "uvicorn.error")
    ]
    before = [(logger, logger.level, logger.propagate, logger.handlers[:]) for logger in loggers]

    @get("/api/bug", sync_to_thread=True)
    def fail() -> None:
        raise ValueError(f"Authorization: Bearer {served.keeper.token}, {served.keeper.token} and key={key}")

    try:
        with serving(tmp_path, handlers=[fail], routes=CORE) as served:
            write_logs(log, requests=True, secrets=(served.keeper.token,))
            key = served.keeper.create_key()
            cookie = served.ask("GET", f"/open?key={key}").headers["set-cookie"].split(";")[0]
            served.ask("GET", "/metrics?q=what-was-searched", {"Cookie": cookie})
            served.ask("GET", "/open?key=wrong-secret")
            served.ask("GET", "/api/nothing/what-was-searched", {"Authorization": "Bearer wrong-secret"})
            assert served.get("/api/bug").status == 500
            served.send(b"GET /open?key=broken-secret HTTP/1.1\r\nHo st\r\n\r\n")
            token = served.keeper.token
    finally:
        for logger, level, propagate, handlers in before:
            logger.setLevel(level)
            logger.propagate = propagate
            logger.handlers[:] = handlers
    text = log.getvalue()
    assert "GET /open 303" in text
    assert "ValueError" in text, "what failed is there, with its traceback"
    for secret in (token, key, cookie.partition("=")[2], "what-was-searched", "wrong-secret", "broken-secret"):
        assert secret not in text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("GET /open?key=abc&x=1", "GET /open?key=…&x=1"),
        ("authorization: Bearer abc", "authorization: Bearer …"),
        ("{'authorization': 'abc'}", "{'authorization': '…'}"),
        ("Cookie: turnlog_0123456789ab=abc; a=b", "Cookie: turnlog_0123456789ab=…; a=b"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_secrets_are_taken_out_of_messages(text: str, left: str) -> None:
    assert redact(text) == left


def test_a_session_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    store = open_store(tmp_path / "turnlog.db")
    for name in ("abc", "abcdef", "%", "\udcff" * 5):
        with pytest.raises(NotFoundError):
            find_session(store, LOCAL, name)
    store.close()
