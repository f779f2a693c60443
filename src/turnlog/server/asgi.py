"""ASGI without a framework: its types, as plain dictionaries, and two applications around another.

`Compression` makes whole bodies of text smaller, by zstd where the browser knows it (a fifth of gzip's time),
otherwise by gzip; streams go out as they come. `Heads` answers HEAD wherever there is GET.
"""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import zstandard

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


SMALLEST = 1024
"""Below that, it is not worth it."""
_TEXTS = ("application/json", "application/javascript", "application/x-ndjson", "image/svg+xml", "text/")
_NOT = "text/event-stream"
_ZSTD_LEVEL, _GZIP_LEVEL = 3, 4


def build_response(status: int, headers: Headers, body: bytes) -> tuple[Message, Message]:
    """Return the messages of a whole answer."""
    return (
        {"type": "http.response.start", "status": status, "headers": headers},
        {"type": "http.response.body", "body": body, "more_body": False},
    )


class Compression:
    """An ASGI application around another."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Compress what is worth it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        accepted = b",".join(value for name, value in scope["headers"] if name == b"accept-encoding")
        encoding = choose_encoding(accepted.decode("latin-1"))
        start: Message | None = None

        async def send_on(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_text(message):
                start = message  # what follows decides
                return
            if start is not None and message["type"] == "http.response.body":
                first, start = start, None
                if not message.get("more_body") and len(message.get("body", b"")) >= SMALLEST:
                    _encode(first, message, encoding)
                await send(first)
            await send(message)

        await self._app(scope, receive, send_on)


def choose_encoding(accepted: str) -> str | None:
    """Return the best encoding that `Accept-Encoding` allows."""
    names: dict[str, bool] = {}
    for part in accepted.lower().split(","):
        name, _, quality = part.partition(";")
        names[name.strip()] = quality.replace(" ", "").rstrip("0.") != "q="
    return next((name for name in ("zstd", "gzip") if names.get(name, names.get("*", False))), None)


def compress(body: bytes, encoding: str) -> bytes:
    """Return a body in an encoding."""
    if encoding == "zstd":
        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(body)
    return gzip.compress(body, _GZIP_LEVEL, mtime=0)


def _is_text(start: Message) -> bool:
    headers = {name.lower(): value for name, value in start["headers"]}
    kind = headers.get(b"content-type", b"").decode("latin-1")
    return b"content-encoding" not in headers and kind.startswith(_TEXTS) and not kind.startswith(_NOT)


def _encode(start: Message, body: Message, encoding: str | None) -> None:
    headers = [*start["headers"], (b"vary", b"accept-encoding")]
    if encoding is not None:
        body["body"] = compress(body["body"], encoding)
        size = str(len(body["body"])).encode()
        headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
        headers += [(b"content-encoding", encoding.encode()), (b"content-length", size)]
    start["headers"] = headers


class Heads:
    """An ASGI application around one that knows only GET."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        # A copy: by the scope's own method, uvicorn knows that nothing of the body goes out.
        asked = {**scope, "method": "GET"}
        ended = False

        async def send_first(message: Message) -> None:
            nonlocal ended
            if ended:
                return
            if message["type"] == "http.response.body":
                if message.get("more_body"):  # of a stream, nothing more is needed
                    message = {**message, "body": b"", "more_body": False}
                ended = True
            await send(message)

        try:
            await self._app(asked, receive, send_first)
        finally:
            if "path_template" in asked:
                scope["path_template"] = asked["path_template"]
