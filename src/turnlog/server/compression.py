"""Making answers smaller: zstd where the browser knows it, else gzip.

Only whole bodies of text are compressed; what is streamed goes out as it comes. zstd takes a fifth of gzip's
time.
"""

from __future__ import annotations

import gzip

import zstandard

from turnlog.server.asgi import App, Message, Receive, Scope, Send

SMALLEST = 1024
"""Below that, it is not worth it."""
_TEXTS = ("application/json", "application/javascript", "application/x-ndjson", "image/svg+xml", "text/")
_NOT = "text/event-stream"
_ZSTD_LEVEL, _GZIP_LEVEL = 3, 4


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
