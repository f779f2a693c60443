"""ASGI without a framework: its types, as plain dictionaries, and three applications around another.

`Compression` makes whole bodies of text smaller, by zstd where the browser knows it (a fifth of gzip's time),
otherwise by gzip; streams go out as they come. `HeadSupport` answers HEAD wherever there is GET. `StaticFiles`
serves the page: files that `make setup` builds into the package. All of them are read when the server starts,
and are found by their addresses: no address is ever made into a path. Any other address outside the API shows
the page, which does its own routing.
"""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable, MutableMapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import zstandard
from msgspec import Struct

from turnlog.server.errors import NotFoundError, RequestError

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


class HeadSupport:
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


def matches_etag(etag: str, given: str) -> bool:
    """Tell whether an `If-None-Match` matches an ETag; weak and strong ones are the same here."""
    names = {name.strip().removeprefix("W/") for name in given.split(",")}
    return "*" in names or etag.removeprefix("W/") in names


PAGE = Path(__file__).parent / "page"
"""Where the built page is."""
_API = ("api", "metrics", "open")
_BUILT = "assets"
"""The folder whose files have their content's digest in their names."""
_FOREVER = b"public, max-age=31536000, immutable"
_ASK_AGAIN = b"no-cache"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
_BINARY = ("image/png", "image/webp", "image/x-icon", "font/", "application/octet-stream")
_MISSING = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>turnlog</title>
<h1>The page is not built</h1>
<p>This turnlog was installed without its page. In a checkout, <code>make setup</code> builds it; then start
<code>turnlog serve</code> again. The API under <code>/api</code> works as it is.</p></html>
"""


class _Asset(Struct, frozen=True):
    body: bytes
    kind: str
    etag: str
    caching: bytes
    status: int = 200
    encoded: dict[str, bytes] = {}

    def encode(self, encoding: str | None) -> tuple[bytes, str | None]:
        """Return the body in an encoding, which is made once."""
        if encoding is None or len(self.body) < SMALLEST or self.kind.startswith(_BINARY):
            return self.body, None
        if encoding not in self.encoded:
            self.encoded[encoding] = compress(self.body, encoding)
        return self.encoded[encoding], encoding


class StaticFiles:
    """An ASGI application around the API's."""

    def __init__(self, app: App, folder: Path = PAGE) -> None:
        self._app = app
        files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
        self._assets = {f"/{path.relative_to(folder).as_posix()}": _load(path, folder) for path in files}
        self._index = self._assets.get("/index.html") or _Asset(
            _MISSING, _TYPES[".html"], "", b"no-store", status=503
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Show the page, or let the API answer."""
        if scope["type"] != "http" or scope["path"].split("/", 2)[1] in _API:
            await self._app(scope, receive, send)
            return
        scope["path_template"] = "(page)"
        if scope["method"] not in ("GET", "HEAD"):
            raise RequestError(
                405, "method_not_allowed", "This method is not allowed here", headers={"allow": "GET, HEAD"}
            )
        asset = self._find(scope["path"])
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        for message in _build(asset, headers.get(b"if-none-match", ""), headers.get(b"accept-encoding", "")):
            await send(message)

    def _find(self, path: str) -> _Asset:
        asset = self._assets.get(path)
        if asset is None and path.startswith(f"/{_BUILT}/"):
            raise NotFoundError("There is nothing at this address")
        return asset or self._index


def _load(path: Path, folder: Path) -> _Asset:
    body = path.read_bytes()
    is_built = path.relative_to(folder).parts[0] == _BUILT
    return _Asset(
        body,
        _TYPES.get(path.suffix, "application/octet-stream"),
        f'W/"{blake2b(body, digest_size=12).hexdigest()}"',
        _FOREVER if is_built else _ASK_AGAIN,
        encoded={},
    )


def _build(asset: _Asset, known: str, accepted: str) -> tuple[Message, Message]:
    headers = [(b"cache-control", asset.caching), (b"vary", b"accept-encoding")]
    if asset.etag:
        headers.append((b"etag", asset.etag.encode()))
    if asset.etag and known and matches_etag(asset.etag, known):
        return build_response(304, headers, b"")
    body, encoding = asset.encode(choose_encoding(accepted))
    headers += [(b"content-type", asset.kind.encode()), (b"content-length", str(len(body)).encode())]
    if encoding is not None:
        headers.append((b"content-encoding", encoding.encode()))
    return build_response(asset.status, headers, body)
