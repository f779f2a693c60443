"""How much of anything a client may send, and how long it may take."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from turnlog.server.errors import RequestError

_HOOKS = b"/api/hooks"
_INGEST = (b"/api/ingest", b"/api/ingest/hooks")
_Headers = Sequence[tuple[bytes, bytes]]


class Limits(Struct, frozen=True, gc=False, kw_only=True):
    """Sizes in bytes, times in seconds."""

    body: int = 1 << 20
    hook_body: int = 64 << 20
    """Of `POST /api/hooks`."""
    upload_body: int = 8 << 20
    """Of `POST /api/ingest`."""
    url: int = 8 << 10
    headers: int = 100
    """How many."""
    head: int = 64 << 10
    """The request line and all headers."""
    connections: int = 2048
    """A stream of `/api/live` is one, for as long as somebody looks."""
    head_seconds: float = 10.0
    """From the first byte of a request, or the connection's start, to the end of its headers."""
    body_seconds: float = 30.0
    idle_seconds: float = 75.0
    """How long a connection is kept between two requests."""
    stalled_seconds: float = 60.0
    """How long a client may leave what it was sent unread."""


def check_size(raw_path: bytes, query: bytes, headers: _Headers, limits: Limits) -> None:
    """Raise `RequestError` for a request that is too large, before any of it is read."""
    if len(raw_path) + len(query) > limits.url:
        raise RequestError(414, "url_too_long", f"The address is longer than {limits.url:,} bytes")
    if len(headers) > limits.headers or sum(len(name) + len(value) for name, value in headers) > limits.head:
        raise RequestError(431, "headers_too_large", "The request has too many headers, or they are too long")
    largest = limits.hook_body if raw_path == _HOOKS else limits.body
    if raw_path in _INGEST:
        largest = limits.upload_body
    for name, value in headers:
        if name == b"content-length" and (not value.isdigit() or int(value[:20]) > largest):
            raise RequestError(413, "too_large", f"The request is larger than {largest:,} bytes")


def check_path(path: str) -> None:
    """Raise `RequestError` for an address that is written as nobody does who means well.

    What remains has one spelling, so that no two parts of the program can read it differently.
    """
    parts = path.split("/")
    odd = any(part in (".", "..") for part in parts) or "" in parts[1:-1]
    if not path.startswith("/") or odd or "\\" in path or not path.isprintable():
        raise RequestError(400, "bad_address", "The address is not valid")
