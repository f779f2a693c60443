"""Answers on their way to a stranger: redacted JSON, redacted events, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from turnlog.server.asgi import Message, Send
from turnlog.server.errors import NotFoundError, encode_failure
from turnlog.server.links.redaction import LinkRedactor

_JSON = b"application/json"
_EVENTS = b"text/event-stream"
_DATA = b"data: "
_END = b"\n\n"
_NO_STORE = (b"cache-control", b"no-store")
_DROPPED = frozenset({b"content-length", b"etag", b"cache-control"})


class Answers:
    """What sends one answer."""

    def __init__(self, redactor: LinkRedactor, send: Send, state: MutableMapping[str, Any]) -> None:
        self._redactor = redactor
        self._send = send
        self._state = state
        self._start: Message | None = None
        self._kind = b""
        self._held = bytearray()

    async def send(self, message: Message) -> None:
        """Send on what may leave."""
        if message["type"] == "http.response.start":
            self._state.pop("etag", None)  # nothing is kept anywhere: the link may end at any time
            headers = {name.lower(): value for name, value in message.get("headers", ())}
            self._kind = headers.get(b"content-type", b"").split(b";")[0].strip()
            kept = [each for each in message.get("headers", ()) if each[0].lower() not in _DROPPED]
            self._start = {**message, "headers": [*kept, _NO_STORE]}
        elif message["type"] == "http.response.body":
            await self._pass(message.get("body", b""), bool(message.get("more_body")))

    async def _pass(self, body: bytes, more: bool) -> None:
        if self._kind == _EVENTS:
            await self._pass_events(body, more)
            return
        self._held += body
        if more:
            return
        if self._kind == _JSON and self._held:
            await self._finish(await asyncio.to_thread(self._redactor.redact, bytes(self._held)))
        elif not self._held:
            await self._finish(b"")
        else:
            await self._refuse()

    async def _pass_events(self, body: bytes, more: bool) -> None:
        await self._begin()
        self._held += body
        whole, end, rest = bytes(self._held).rpartition(_END)
        self._held = bytearray(rest)
        data = b""
        if end:
            data = await asyncio.to_thread(self._redact_events, whole + end)
        if data or not more:
            await self._send({"type": "http.response.body", "body": data, "more_body": more})

    def _redact_events(self, events: bytes) -> bytes:
        lines = events.split(b"\n")
        return b"\n".join(
            _DATA + self._redactor.redact(line[len(_DATA) :]) if line.startswith(_DATA) else line
            for line in lines
        )

    async def _finish(self, body: bytes) -> None:
        if self._start is not None and body:
            self._start["headers"].append((b"content-length", str(len(body)).encode()))
        await self._begin()
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _refuse(self) -> None:
        """Answer that there is nothing, where there is something that cannot be redacted."""
        body = encode_failure(NotFoundError("There is nothing at this address"))
        if self._start is not None:
            headers = [(b"content-type", _JSON), _NO_STORE]
            self._start = {"type": "http.response.start", "status": 404, "headers": headers}
        await self._finish(body)

    async def _begin(self) -> None:
        start, self._start = self._start, None
        if start is not None:
            await self._send(start)
