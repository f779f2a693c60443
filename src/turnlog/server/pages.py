"""The page: files that `make setup` builds into the package.

All of them are read when the server starts, and are known by their addresses: no address is ever made into a
path. Every other address that is not the API's shows the page, which knows what it means.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from turnlog.server.asgi import (
    SMALLEST,
    App,
    Message,
    Receive,
    Scope,
    Send,
    build_response,
    choose_encoding,
    compress,
)
from turnlog.server.errors import NotFoundError, RequestError
from turnlog.server.requests import is_named

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


class Pages:
    """An ASGI application around the API's."""

    def __init__(self, app: App, folder: Path = PAGE) -> None:
        self._app = app
        self._assets = _read(folder)
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


def _read(folder: Path) -> dict[str, _Asset]:
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    return {f"/{path.relative_to(folder).as_posix()}": _load(path, folder) for path in files}


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
    if asset.etag and known and is_named(asset.etag, known):
        return build_response(304, headers, b"")
    body, encoding = asset.encode(choose_encoding(accepted))
    headers += [(b"content-type", asset.kind.encode()), (b"content-length", str(len(body)).encode())]
    if encoding is not None:
        headers.append((b"content-encoding", encoding.encode()))
    return build_response(asset.status, headers, body)
