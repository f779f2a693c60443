"""What every request passes before any part of the application sees it, and every answer on its way out.

Limits: how much of anything a client may send, and how long it may take.

Hosts: a web page can make its own name lead to this machine (DNS rebinding), and then counts as one of ours for
the browser. What it cannot change is the name that the browser sends along, so any other than the known ones is
refused. Addresses cannot be rebound: a server that listens everywhere answers to any of them.

Origins: requests may come from our own pages, and from none at all. Programs that are no browsers send neither
`Origin` nor `Sec-Fetch-Site`, and need the token. There is no CORS: a browser that sends `Origin` with another
name than ours is refused, and so is one that says that another page wants this as a part of itself. Only links
may lead here. A cookie counts only where the browser says that the request is our own page's, or that a person
typed it: other servers on this machine are the "same site", since ports do not matter for that.

Headers: transcripts are untrusted, and contain whatever a model read on the web. If a part of one ever reached
the page as markup, the policy of every answer still keeps it from running, loading or sending anything.

Failures: every exception becomes one shape. Of those that are nobody's business the client learns only an id,
under which the log has the rest.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from msgspec import Struct

from turnlog import errors
from turnlog.server.asgi import App, Headers, Message, Receive, Scope, Send, build_response
from turnlog.server.errors import ErrorDetail, InvalidRequestError, RequestError, encode_failure

logger = logging.getLogger("turnlog.server")

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
)

UNTRUSTED_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
"""For bytes that come out of a transcript: whatever they are, they are no page of ours."""

SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
"""Each is put on every answer that does not say otherwise itself."""

API_CACHING = b"no-store"
_REVALIDATED = b"private, no-cache"
"""May be kept by this browser, and must be asked for again: for answers with an ETag."""


_FORM = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?", re.IGNORECASE)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_EVERYWHERE = frozenset({"0.0.0.0", "[::]"})
_USUAL_PORT = 80
_USUAL_PORTS = (_USUAL_PORT, 443)


class Authority(Struct, frozen=True, gc=False):
    """A host and a port."""

    host: str
    """In lower case; IPv6 in brackets and in its one short form."""
    port: int | None

    def __str__(self) -> str:
        return self.host if self.port is None else f"{self.host}:{self.port}"


def parse_authority(text: str) -> Authority | None:
    """Parse `host[:port]`; return None if it is not that."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    port = None if found["port"] is None else int(found["port"])
    host = _normalise(found["host"])
    return None if host is None or (port is not None and port > 65535) else Authority(host, port)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach a host to which a server is bound."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Hosts:
    """The names under which a server answers, each with its port."""

    def __init__(
        self, bound: str, port: int, extra: Iterable[str] = (), *, public_url: str | None = None
    ) -> None:
        """Take what the server is bound to, and other names as `host[:port]`; raises `ValueError`.

        With `public_url`, it answers to the name in there, too: a proxy hands that on.
        """
        host = _normalise(f"[{bound}]" if ":" in bound and not bound.startswith("[") else bound)
        if host is None:
            raise ValueError(f"{bound} is not a host name")
        self._everywhere = host in _EVERYWHERE
        self._port = port
        own = {host} if not self._everywhere else set()
        if self._everywhere or is_loopback(host):
            own.update(_LOOPBACK)
        self._known = {Authority(name, port) for name in own}
        for text in extra:
            given = parse_authority(text)
            if given is None:
                raise ValueError(f"{text} is not a host name")
            # Without a port, it is this server's, or that of a proxy before it.
            wanted = (port, *_USUAL_PORTS) if given.port is None else (given.port,)
            self._known.update(Authority(given.host, each) for each in wanted)
        public = parse_authority(urlsplit(public_url or "").netloc)
        if public is not None:
            ports = _USUAL_PORTS if public.port is None else (public.port,)
            self._known.update(Authority(public.host, each) for each in ports)

    def check(self, headers: Sequence[tuple[bytes, bytes]]) -> Authority:
        """Return the name by which the server was asked; raises `RequestError` for any but its own."""
        given = [value for name, value in headers if name == b"host"]
        found = parse_authority(given[0].decode("latin-1")) if len(given) == 1 else None
        if found is None:
            raise RequestError(400, "bad_host", "The request does not say which host it is for")
        asked = Authority(found.host, _USUAL_PORT) if found.port is None else found
        if asked in self._known or (self._everywhere and asked.port == self._port and _is_address(asked.host)):
            return asked
        raise RequestError(421, "unknown_host", "This server does not accept that host name")


def _normalise(host: str) -> str | None:
    if host.startswith("["):
        try:
            return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]"
        except ValueError:
            return None
    # A name may end in the root's dot.
    return host.lower().removesuffix(".") or None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


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


def _check_size(raw_path: bytes, query: bytes, headers: _Headers, limits: Limits) -> None:
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


def _check_path(path: str) -> None:
    """Raise `RequestError` for an address that is written as nobody does who means well.

    What remains has one spelling, so that no two parts of the program can read it differently.
    """
    parts = path.split("/")
    odd = any(part in (".", "..") for part in parts) or "" in parts[1:-1]
    if not path.startswith("/") or odd or "\\" in path or not path.isprintable():
        raise RequestError(400, "bad_address", "The address is not valid")


_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": 80, "https": 443}
_OWN = frozenset({b"same-origin", b"none"})


def _check_origin(method: str, headers: _Headers, asked: Authority) -> None:
    """Raise `RequestError` for a request that another page makes, unless somebody followed a link."""
    given = _list(headers, b"origin")
    is_foreign = bool(given) and (len(given) > 1 or not _is_own(given[0].decode("latin-1"), asked))
    if is_foreign or (is_cross_site(headers) and not _is_link(method, headers)):
        raise RequestError(403, "foreign_origin", "Other pages may not use this server")


def is_cross_site(headers: _Headers) -> bool:
    """Tell whether the browser marks a request as sent by another site's page."""
    site = _list(headers, b"sec-fetch-site")
    return bool(site) and (len(site) > 1 or site[0] not in _OWN)


def may_use_cookies(method: str, headers: _Headers) -> bool:
    """Tell whether a request is our own page's, as far as the browser says; its origin has been checked."""
    if _list(headers, b"sec-fetch-site"):
        return not is_cross_site(headers)
    # Browsers leave it out only where they know no secure context; with a change they send the origin always.
    return method in _SAFE or bool(_list(headers, b"origin"))


def _is_link(method: str, headers: _Headers) -> bool:
    """Tell whether the whole window goes here, and not a part of another page."""
    mode, destination = _list(headers, b"sec-fetch-mode"), _list(headers, b"sec-fetch-dest")
    return method in ("GET", "HEAD") and mode == [b"navigate"] and destination == [b"document"]


def _list(headers: _Headers, wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _is_own(origin: str, asked: Authority) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    found = parse_authority(parts.netloc)
    if parts.scheme not in _PORTS or found is None or parts.path or parts.query or parts.fragment:
        return False
    # Behind a proxy that speaks TLS, the name that was asked for comes without a port.
    ports = (found.port,) if found.port is not None else tuple(_PORTS.values())
    return asked.host == found.host and asked.port in ports


class AnsweredRequest(Struct, frozen=True, gc=False):
    """A request that was answered, without anything that could be a secret."""

    method: str
    route: str
    """The route's own address, with names for what varies."""
    status: int
    seconds: float


class Gate:
    """An ASGI application around another."""

    def __init__(
        self, app: App, hosts: Hosts, limits: Limits, on_seen: Callable[[AnsweredRequest], None]
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._limits = limits
        self._on_seen = on_seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on or refuse it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "WebSockets are not supported"})
        elif scope["type"] == "http":
            await self._pass(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        state = scope.setdefault("state", {})
        request_id = state["request_id"] = secrets.token_hex(8)
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), *state.get("renamed", ())]
                message["headers"] = _add_missing_headers(headers, state.get("etag"), status)
            await send(message)

        try:
            self._check(scope)
            state["renamed"] = _rename(scope)
            await self._app(scope, receive, send_on)
        except Exception as error:
            failure = build_failure(error, request_id)
            if status:
                raise  # half an answer is out; all that is left is to close the connection
            for message in _build_answer(failure):
                await send_on(message)
        finally:
            route = scope.get("path_template") or "(none)"
            self._on_seen(AnsweredRequest(scope["method"], str(route), status, time.perf_counter() - started))

    def _check(self, scope: Scope) -> None:
        headers = list(scope["headers"])
        _check_size(scope.get("raw_path") or b"", scope["query_string"], headers, self._limits)
        asked = self._hosts.check(headers)
        _check_path(scope["path"])
        _check_origin(scope["method"], headers, asked)


_FORMER_ADDRESSES = (
    (re.compile(r"POST /api/rules/weigh"), "POST /api/rules/preview"),
    (re.compile(r"(\w+ /api/sessions/[^/]+)/weight"), r"\1/deletion-preview"),
    (re.compile(r"POST (/api/archive/tombstones/[^/]+)/lift"), r"DELETE \1"),
)
"""Addresses that had other names: those still work, and the answer says what they are called now."""
_FORMER_ACTION = re.compile(rb"(?<![^&])action=(looked|found)(?![^&])")
_ACTIONS = {b"looked": b"action=viewed", b"found": b"action=searched"}


def _rename(scope: Scope) -> Headers:
    """Let a request by an old name be one by the new name, and return the headers that say so."""
    method, path, query = scope["method"], scope["path"], scope["query_string"]
    if path == "/api/audit" and _FORMER_ACTION.search(query):
        query = _FORMER_ACTION.sub(lambda found: _ACTIONS[found[1]], query)
        scope["query_string"] = query
        return _build_rename_headers("", f"{path}?{quote(query, safe='=&%+')}")
    for former, today in _FORMER_ADDRESSES:
        found = former.fullmatch(f"{method} {path}")
        if found is not None:
            scope["method"], _, scope["path"] = found.expand(today).partition(" ")
            address = quote(scope["path"])
            scope["raw_path"] = address.encode()
            return _build_rename_headers("" if scope["method"] == method else f"{scope['method']} ", address)
    return []


def _build_rename_headers(method: str, address: str) -> Headers:
    return [
        (b"warning", f'299 - "this address is now {method}{address}"'.encode()),
        (b"link", f'<{address}>; rel="successor-version"'.encode()),
    ]


def _build_answer(failure: RequestError) -> tuple[Message, Message]:
    """Return the ASGI messages of a failure."""
    body = encode_failure(failure)
    headers = [(name.encode(), value.encode()) for name, value in failure.headers.items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    return build_response(failure.status, headers, body)


def _add_missing_headers(headers: Headers, etag: str | None, status: int) -> Headers:
    """Add the headers of every answer, unless it has its own."""
    given = {name.lower() for name, _ in headers}
    if etag is not None and status == 200 and b"etag" not in given:
        headers.append((b"etag", etag.encode()))
        given.add(b"etag")
    if b"cache-control" not in given:
        headers.append((b"cache-control", _REVALIDATED if b"etag" in given else API_CACHING))
    headers += [(name, value) for name, value in SECURITY_HEADERS if name not in given]
    return headers


def build_failure(error: Exception, request_id: str) -> RequestError:
    """Return what a client may know of an exception; the log gets what it may not."""
    match error:
        case RequestError():
            return error
        case ValidationException():
            return InvalidRequestError("The request is not valid", *_list_details(error))
        case HTTPException() if error.status_code < 500:
            return _translate(error)
        case RecursionError() if "deserializing" in str(error):  # a body of a hundred thousand brackets
            return RequestError(400, "bad_request", "The request cannot be read")
        case errors.BusyStoreError():
            return RequestError(
                503, "busy", "The archive is being written; try again", headers={"retry-after": "1"}
            )
        case errors.LostStoreError():
            logger.error("request %s: %s", request_id, error)
            return RequestError(
                503, "unavailable", "The archive cannot be reached; try again", headers={"retry-after": "2"}
            )
        case errors.TakenMachineError():
            return RequestError(403, "machine_taken", "This machine belongs to another person")
        case errors.RestoreError():
            where = ErrorDetail(where=error.path.encode("utf-8", "replace").decode(), message=error.reason)
            return RequestError(
                409, "in_the_way", "The file may not be restored to its place", details=(where,)
            )
        case errors.ArchiveError():
            logger.error("request %s: %s", request_id, error)
            return RequestError(500, "damaged", "The archive is damaged here", request_id=request_id)
        case errors.CursorError():
            return InvalidRequestError(
                "The cursor is not valid", ErrorDetail(where="cursor", message=str(error))
            )
        case errors.MarkError() | errors.AccountError():
            return InvalidRequestError(str(error))
        case errors.TurnlogError() if isinstance(at := getattr(error, "at", None), int):
            # A query of the search language, which says where it ceases to be one.
            return InvalidRequestError(
                "The query is not valid", ErrorDetail(where="q", message=str(error), at=at)
            )
    logger.error("request %s failed", request_id, exc_info=error)
    return RequestError(
        500, "internal", "Something went wrong on the server; its log has more", request_id=request_id
    )


def _translate(error: HTTPException) -> RequestError:
    status = HTTPStatus(error.status_code)
    if status is HTTPStatus.BAD_REQUEST:  # a body that is no JSON, a parameter that is no UTF-8
        return RequestError(400, "bad_request", "The request cannot be read")
    code, message = _KNOWN.get(status, (status.name.lower(), status.phrase))
    allowed = [value for name, value in (error.headers or {}).items() if name.lower() == "allow"]
    headers = {"allow": _add_head(allowed[0])} if allowed else {}
    return RequestError(status.value, code, message, headers=headers)


def _add_head(allowed: str) -> str:
    """Return the methods that are allowed: what can be asked for by GET can be by HEAD."""
    methods = [each.strip() for each in allowed.split(",")]
    return ", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods))


_KNOWN = {
    HTTPStatus.NOT_FOUND: ("not_found", "There is nothing at this address"),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method_not_allowed", "This method is not allowed here"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("too_large", "The request is too large"),
}


def _list_details(error: ValidationException) -> tuple[ErrorDetail, ...]:
    """Return what Litestar found wrong, without what was given: that may be a secret."""
    missing = _MISSING.match(error.detail)
    if missing is not None:
        return (ErrorDetail(where=_name(missing[1]), message="Expected a value, got none"),)
    found = error.extra if isinstance(error.extra, list) else []
    return tuple(
        ErrorDetail(
            where=_name(each.get("key", each.get("source", "body"))), message=str(each.get("message", ""))
        )
        for each in found
        if isinstance(each, dict)
    )


def _name(parameter: object) -> str:
    return _RENAMED.get(str(parameter), str(parameter))


_MISSING = re.compile(r"Missing required \w+ parameter '(\w+)'")


_RENAMED = {"call_state": "state"}
"""Parameters that cannot have their own names in a handler, where Litestar gives these another meaning."""


def _answer(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    failure = build_failure(error, str(request.scope["state"].get("request_id", "")))
    body = encode_failure(failure)
    return Response(
        body,
        status_code=failure.status,
        headers=dict(failure.headers),
        media_type="application/json" if body else None,
    )


EXCEPTION_HANDLERS: dict[int | type[Exception], Any] = {HTTPException: _answer, Exception: _answer}
"""For Litestar: whatever is raised, one shape."""
