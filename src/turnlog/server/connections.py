"""Connections that cannot be held open for nothing.

uvicorn waits for ever for the rest of a request. Here, the headers and the body each have their time and
size, a client that leaves its answer unread is cut off, and there are only so many connections at a time.
What cannot be read as a request gets the same shape of failure as any other.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from turnlog.server.errors import RequestError, encode_failure
from turnlog.server.security.gate import API_CACHING, SECURITY_HEADERS, Limits
from turnlog.server.security.guard import PEER, find_owner


class GuardedProtocol(HttpToolsProtocol):
    """One connection."""

    limits = Limits()

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._peer: int | None = None
        self._in_head = False
        self._head_size = 0
        """Bytes of a request whose headers are not complete."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, if there is room."""
        super().connection_made(transport)
        self._peer = find_owner(self.client, self.server)
        if len(self.connections) > self.limits.connections:
            self._refuse(RequestError(503, "too_many_connections", "There are too many connections"))
        else:
            self._start("head", self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        for name in list(self._timers):
            self._stop(name)
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head or self.cycle is None or self.cycle.response_complete:
            # Also for line ends between two requests, which end uvicorn's own waiting.
            self._start("head", self.limits.head_seconds)
        if self._in_head:
            self._head_size += len(data)
            if self._head_size > self.limits.head:
                self._refuse(RequestError(431, "headers_too_large", "The request's headers are too large"))

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._in_head = True
        super().on_message_begin()
        self.scope["state"][PEER] = self._peer

    def on_headers_complete(self) -> None:
        """Note that the headers are there, and that the body is to follow."""
        self._in_head = False
        self._head_size = 0
        self._stop("head")
        self._start("body", self.limits.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that all of a request is there."""
        self._stop("body")
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Wait until the client reads, but not for ever."""
        super().pause_writing()
        self._start("stalled", self.limits.stalled_seconds)

    def resume_writing(self) -> None:
        """Go on."""
        self._stop("stalled")
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Say in our shape that this is no request."""
        self._refuse(RequestError(400, "bad_request", "The request cannot be read"))

    def _start(self, name: str, seconds: float) -> None:
        """Begin to count; what is counted already goes on, so that a byte now and then gains nothing."""
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(seconds, self._end, name)

    def _stop(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _end(self, name: str) -> None:
        """Cut off a client that took too long."""
        del self._timers[name]
        answered = self.cycle is not None and self.cycle.response_started
        if name == "stalled":
            self._abort()
        elif answered and not self.cycle.response_complete:
            return  # pipelined after a request that is still being answered
        elif (name == "head" and not self._head_size) or (name == "body" and answered):
            self.transport.close()
        else:
            self._refuse(RequestError(408, "too_slow", "The request took too long to arrive"))

    def _abort(self) -> None:
        """Close without waiting: else the system would keep what is unread, for as long as the client likes."""
        given = self.transport.get_extra_info("socket")
        if given is not None:
            given.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _refuse(self, failure: RequestError) -> None:
        """Answer without the application, and close."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # whoever waits for the rest of the body need not
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
                return
        body = encode_failure(failure)
        lines = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        lines += [(b"cache-control", API_CACHING), (b"connection", b"close"), *SECURITY_HEADERS]
        head = b"".join(b"%s: %s\r\n" % line for line in lines)
        self.transport.write(STATUS_LINE[failure.status] + head + b"\r\n" + body)
        self.transport.close()


def build_protocol(limits: Limits) -> type[GuardedProtocol]:
    """Return a protocol with limits; uvicorn makes one for each connection."""
    return type("LimitedProtocol", (GuardedProtocol,), {"limits": limits})
