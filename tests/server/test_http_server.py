"""Connections that cannot be held open for nothing, and what cannot be read as a request."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar import Request, Router, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import SkipValidation
from litestar.response import ServerSentEvent

from server_app import CORE, Served, read_all, serving
from turnlog.server.security.callers import PUBLIC
from turnlog.server.security.gate import Limits

SHORT = Limits(
    head_seconds=0.4,
    body_seconds=0.4,
    idle_seconds=1.0,
    stalled_seconds=0.4,
    body=1000,
    head=8192,
    connections=5,
)


@post("/api/echo", opt=PUBLIC, status_code=200)
async def echo(request: Request[Any, Any, Any]) -> bytes:
    return await request.body()


@get("/api/slow", opt=PUBLIC)
async def answer_late() -> str:
    await asyncio.sleep(1.0)
    return "late"


@get("/api/large", opt=PUBLIC)
async def answer_much() -> bytes:
    return b"x" * (64 << 20)


@get("/api/stream", opt=PUBLIC)
async def stream() -> ServerSentEvent:
    async def tell() -> AsyncIterator[str]:
        for number in range(4):
            yield str(number)
            await asyncio.sleep(0.3)

    return ServerSentEvent(tell())


@get("/api/waiting", opt=PUBLIC)
async def stream_later(wanted: NamedDependency[SkipValidation[threading.Event]]) -> ServerSentEvent:
    async def tell() -> AsyncIterator[str]:
        while not wanted.is_set():
            await asyncio.sleep(0.01)
        yield "now"

    return ServerSentEvent(tell())


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Served]:
    with serving(
        tmp_path, handlers=[echo, answer_late, answer_much, stream], limits=SHORT, routes=CORE
    ) as running:
        yield running


def head(served: Served, line: str, *headers: str) -> bytes:
    return "\r\n".join((f"{line} HTTP/1.1", f"Host: {served.host}", *headers, "", "")).encode()


def read_answer(connection: socket.socket) -> bytes:
    """Return one answer, to the end of its body."""
    data = b""
    while b"\r\n\r\n" not in data or len(data.partition(b"\r\n\r\n")[2]) < find_length(data):
        part = connection.recv(65536)
        if not part:
            break
        data += part
    return data


def find_length(answer: bytes) -> int:
    [length] = re.findall(rb"content-length: ([0-9]+)", answer)
    return int(length)


def dribble(connection: socket.socket, data: bytes) -> None:
    """Send a byte at a time, until the other side has enough of it."""
    for byte in data * 1000:
        try:
            connection.sendall(bytes([byte]))
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError("nobody minds")


def test_headers_that_come_byte_by_byte_are_cut_off(strict: Served) -> None:
    with strict.connect() as connection:
        connection.sendall(f"GET /api/health HTTP/1.1\r\nHost: {strict.host}\r\nX: ".encode())
        dribble(connection, b"x")
        answer = read_all(connection)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")


def test_a_client_that_falls_silent_is_told_so(strict: Served) -> None:
    answer = strict.send(b"GET /api/health HTTP/1.1\r\nHo")
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b'{"error":{"code":"too_slow"' in answer
    assert b"content-security-policy: default-src 'none'" in answer


def test_a_connection_without_any_request_is_closed(strict: Served) -> None:
    assert strict.send(b"") == b""


def test_line_ends_do_not_keep_a_connection(strict: Served) -> None:
    with strict.connect() as connection:
        connection.sendall(head(strict, "GET /api/health"))
        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        dribble(connection, b"\r\n")


def test_a_body_that_comes_byte_by_byte_is_cut_off(strict: Served) -> None:
    with strict.connect() as connection:
        connection.sendall(head(strict, "POST /api/echo", "Content-Length: 900"))
        dribble(connection, b"x")


def test_a_body_that_does_not_come_is_told_so(strict: Served) -> None:
    answer = strict.send(head(strict, "POST /api/echo", "Content-Length: 900") + b"half")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"too_slow"' in answer


def test_chunks_without_end_are_too_large(strict: Served) -> None:
    with strict.connect() as connection:
        connection.sendall(head(strict, "POST /api/echo", "Transfer-Encoding: chunked"))
        connection.sendall(b"200\r\n" + b"x" * 512 + b"\r\n" + b"200\r\n" + b"x" * 512 + b"\r\n")
        answer = read_answer(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"too_large"' in answer


def test_a_body_of_the_largest_size_is_read(strict: Served) -> None:
    assert strict.ask("POST", "/api/echo", body=b"x" * 1000).body == b"x" * 1000
    answer = strict.ask("POST", "/api/echo", body=b"x" * 1001)
    assert (answer.status, answer.code) == (413, "too_large")


def test_an_answer_may_take_longer_than_a_request(strict: Served) -> None:
    assert strict.ask("GET", "/api/slow").body == b"late"
    assert strict.ask("GET", "/api/stream").body.count(b"data: ") == 4


def test_a_stream_begins_before_there_is_anything_to_tell(tmp_path: Path) -> None:
    wanted = threading.Event()
    given = {"wanted": Provide(lambda: wanted, sync_to_thread=False)}
    router = Router("/", route_handlers=[stream_later], dependencies=given)
    with serving(tmp_path, handlers=[router], routes=CORE) as served, served.connect() as connection:
        connection.sendall(head(served, "GET /api/waiting", "Accept-Encoding: gzip", "Connection: close"))
        first = connection.recv(65536)
        assert first.startswith(b"HTTP/1.1 200 ")
        assert b"content-type: text/event-stream" in first
        wanted.set()
        assert b"data: now" in first + read_all(connection)


def test_requests_one_after_another_share_a_connection(strict: Served) -> None:
    with strict.connect() as connection:
        for _ in range(4):
            connection.sendall(head(strict, "GET /api/health"))
            assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
            time.sleep(0.3)  # together longer than the headers of one may take
        connection.sendall(head(strict, "GET /api/health", "Connection: close") * 2)
        assert read_all(connection).count(b"HTTP/1.1 200 ") >= 1


def test_a_client_that_does_not_read_is_cut_off(strict: Served) -> None:
    with strict.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(head(strict, "GET /api/large"))
        time.sleep(1.0)
        assert len(read_all(connection)) < 64 << 20


def test_a_header_without_end_is_cut_off(strict: Served) -> None:
    answer = strict.send(f"GET / HTTP/1.1\r\nHost: {strict.host}\r\nX: ".encode() + b"x" * 20_000)
    assert answer.startswith(b"HTTP/1.1 431 ") or answer == b""


def test_there_are_only_so_many_connections(strict: Served) -> None:
    held = [strict.connect() for _ in range(SHORT.connections)]
    time.sleep(0.1)
    answer = strict.send(b"")
    for connection in held:
        connection.close()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b'"too_many_connections"' in answer
    time.sleep(0.1)
    assert strict.ask("GET", "/api/health").status == 200


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET ?x HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
    ],
)
def test_what_is_no_request_gets_the_same_shape(strict: Served, data: bytes) -> None:
    answer = strict.send(data)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert answer.endswith(b'{"error":{"code":"bad_request","message":"The request cannot be read"}}')
    assert b"content-security-policy: default-src 'none'" in answer
    assert answer.count(b"HTTP/1.1") == 1
