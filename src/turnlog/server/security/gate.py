"""What every request passes before any part of the application sees it, and every answer on its way out."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable

from msgspec import Struct

from turnlog.server.asgi import App, Headers, Message, Receive, Scope, Send
from turnlog.server.errors import RequestError, build_failure, encode_failure
from turnlog.server.security.headers import API_CACHING, REVALIDATED, SECURITY_HEADERS
from turnlog.server.security.hosts import Hosts
from turnlog.server.security.limits import Limits, check_path, check_size
from turnlog.server.security.origins import check_origin

logger = logging.getLogger("turnlog.server")


class Seen(Struct, frozen=True, gc=False):
    """A request that was answered, without anything that could be a secret."""

    method: str
    route: str
    """The route's own address, with names for what varies."""
    status: int
    seconds: float


class Gate:
    """An ASGI application around another."""

    def __init__(self, app: App, hosts: Hosts, limits: Limits, on_seen: Callable[[Seen], None]) -> None:
        self._app = app
        self._hosts = hosts
        self._limits = limits
        self._on_seen = on_seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
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
                message["headers"] = _complete([*message.get("headers", ())], state.get("etag"), status)
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, receive, send_on)
        except Exception as error:
            failure = build_failure(error, request_id)
            if status:
                raise  # half an answer is out; all that is left is to close the connection
            for message in build_answer(failure):
                await send_on(message)
        finally:
            route = scope.get("path_template") or "(none)"
            self._on_seen(Seen(scope["method"], str(route), status, time.perf_counter() - started))

    def _check(self, scope: Scope) -> None:
        headers = list(scope["headers"])
        check_size(scope.get("raw_path") or b"", scope["query_string"], headers, self._limits)
        asked = self._hosts.check(headers)
        check_path(scope["path"])
        check_origin(scope["method"], headers, asked)


def build_answer(failure: RequestError) -> tuple[Message, Message]:
    """Return the messages that say a failure."""
    body = encode_failure(failure)
    headers = [(name.encode(), value.encode()) for name, value in failure.headers.items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    return (
        {"type": "http.response.start", "status": failure.status, "headers": headers},
        {"type": "http.response.body", "body": body, "more_body": False},
    )


def _complete(headers: Headers, etag: str | None, status: int) -> Headers:
    """Add what every answer says, unless it says something else itself."""
    given = {name.lower() for name, _ in headers}
    if etag is not None and status == 200 and b"etag" not in given:
        headers.append((b"etag", etag.encode()))
        given.add(b"etag")
    if b"cache-control" not in given:
        headers.append((b"cache-control", REVALIDATED if b"etag" in given else API_CACHING))
    headers += [(name, value) for name, value in SECURITY_HEADERS if name not in given]
    return headers
