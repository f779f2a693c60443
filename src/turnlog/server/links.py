"""`/s/{secret}/…`: the page and the API for strangers, who see one session.

The secret is taken out of the address before anything else sees it, so it reaches no log, no metric and no
handler. The request then goes through the same guard and the same handlers as every other, with the link as the
caller. Answers leave as JSON that was redacted, or not at all: no route can get around it, and bytes that
cannot be redacted are not sent.

Every string goes through the redactor, whatever route it comes from. Before that, all bytes of the session are
read for secrets and names, as for an export, and each time what was added since: a password that one line gives
away is removed from all others. The API cuts long texts, so half a secret may stand at the end of one; that is
removed, too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, MutableMapping, Sequence
from threading import Lock
from typing import Any

import msgspec
from msgspec.structs import replace

from turnlog.export.redaction import RedactionRules, Redactor, list_strings, redact_value
from turnlog.server.asgi import App, Headers, Message, Receive, Scope, Send
from turnlog.server.audit import Auditor, ViewedSession
from turnlog.server.errors import NotFoundError, RequestError, encode_failure
from turnlog.server.security.callers import LINK, Caller, CallerKind
from turnlog.server.sessions import name_session
from turnlog.server.values import LruDict
from turnlog.store.account_model import Action, Link
from turnlog.store.accounts import Accounts
from turnlog.store.interface import KnownSource, MaintainedStore, find_known, find_sessions, read_all
from turnlog.store.model import LOCAL, Place, Viewer, find_access
from turnlog.store.model import Scope as StoreScope
from turnlog.transcripts.hooks import DeliveryFilter

_MOST_KEPT = 32
_AT_ONCE = 500
_OVERLAP = 200
"""Hook deliveries may come late: so many of those that were read are read again."""
_BEGINNING = 6
"""How much of a secret at the end of a text is one."""
_TAIL = 2048
_CUT = "[redacted]"


class LinkRedactor:
    """Redacts the responses of a link; thread-safe."""

    def __init__(self, store: MaintainedStore, key: str, words: Sequence[str]) -> None:
        self._store = store
        self._key = key
        self._scope = StoreScope(LOCAL.owner, Viewer(session=key))
        self._redactor = Redactor(RedactionRules(words=tuple(words)))
        self._lock = Lock()
        self._change: int | None = None
        self._read: dict[str, tuple[int, int]] = {}
        """How far files were read: their generation, and how many bytes."""
        self._deliveries = 0
        self._own: frozenset[str] = frozenset({key})
        """Names that the store itself gave: they tell nothing, and addresses are made of them."""
        self._beginnings: dict[str, list[str]] = {}

    def redact(self, body: bytes) -> bytes:
        """Return JSON without what is to be taken out."""
        with self._lock:
            self._learn()
            value = redact_value(msgspec.json.decode(body), self.redact_text, self.redact_field)
        try:
            return msgspec.json.encode(value)
        except (UnicodeEncodeError, RecursionError):
            return json.dumps(value).encode()

    def redact_text(self, text: str) -> str:
        """Return one string of an answer without what is to be taken out."""
        if text in self._own:
            return text
        return self._cut_tail(self._redactor.redact(text))

    def redact_field(self, name: str, text: str) -> str:
        """Return the value of a field, all of which goes if the name says so."""
        if text in self._own:
            return text
        return self._cut_tail(self._redactor.redact_field(name, text))

    def _cut_tail(self, text: str) -> str:
        """Return a text that does not end with how a secret begins."""
        if not self._beginnings or len(text) < _BEGINNING:
            return text
        first = max(0, len(text) - _TAIL)
        for at in range(first, len(text) - _BEGINNING + 1):
            known = self._beginnings.get(text[at : at + _BEGINNING])
            if known is not None and any(secret.startswith(text[at:]) for secret in known):
                return text[:at] + _CUT
        return text

    def _learn(self) -> None:
        """Read what is new of the session."""
        change = self._store.read_feed(self._scope).last
        if change == self._change:
            return
        known = find_known(self._store, self._scope, self._key)
        sources = () if known is None else known.sources
        for source in sources:
            self._redactor.learn_lines(self._read_on(source), list_strings)
        self._learn_deliveries()
        self._own = frozenset({self._key, *(source.source for source in sources)})
        self._beginnings = {}
        for secret in self._redactor.secrets:
            self._beginnings.setdefault(secret[:_BEGINNING], []).append(secret)
        self._change = change

    def _read_on(self, source: KnownSource) -> Iterator[bytes]:
        """Yield the lines of a file that were not read yet; files that have no lines are one."""
        generation, done = self._read.get(source.source, (source.generation, 0))
        in_lines = source.kind.has_lines and not source.in_array
        if generation != source.generation or not in_lines:
            if (generation, done) == (source.generation, source.length):
                return
            done = 0
        if done >= source.length:
            return
        data = self._read_bytes(source, done)
        end = data.rfind(b"\n") + 1 if in_lines else len(data)
        if in_lines:
            yield from data[:end].split(b"\n")
            if end < len(data):  # torn off: it is read again when there is more of it
                yield data[end:]
        else:
            yield data
        self._read[source.source] = source.generation, done + end

    def _read_bytes(self, source: KnownSource, done: int) -> bytes:
        archive = self._store.archive
        if done:
            place = Place(source.source, source.generation, done)
            return archive.read(self._scope, place, source.length - done)
        return b"".join(read_all(archive, self._scope, source.source, source.generation))[: source.length]

    def _learn_deliveries(self) -> None:
        sessions = [
            each for each in find_sessions(self._store, self._scope, self._key) if each.key == self._key
        ]
        for session_id in {sessions[0].row.session_id or "", name_session(sessions[0])} if sessions else ():
            first = max(0, self._deliveries - _OVERLAP)
            which = DeliveryFilter(session_id=session_id, count=_AT_ONCE, longest_context=0)
            while found := self._store.list_deliveries(self._scope, replace(which, first=first)):
                self._redactor.learn_lines((each.payload for each in found), list_strings)
                first += len(found)
            self._deliveries = max(self._deliveries, first)


_JSON = b"application/json"
_EVENTS = b"text/event-stream"
_DATA = b"data: "
_END = b"\n\n"
_NO_STORE = (b"cache-control", b"no-store")
_DROPPED = frozenset({b"content-length", b"etag", b"cache-control"})


class RedactedResponse:
    """Buffers, redacts and sends one response."""

    def __init__(self, redactor: LinkRedactor, send: Send, state: MutableMapping[str, Any]) -> None:
        self._redactor = redactor
        self._send = send
        self._state = state
        self._start: Message | None = None
        self._kind = b""
        self._held = bytearray()

    async def send(self, message: Message) -> None:
        """Handle an ASGI message of the response."""
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
        """Answer 404 in place of content that cannot be redacted."""
        body = encode_failure(NotFoundError("There is nothing at this address"))
        if self._start is not None:
            headers = [(b"content-type", _JSON), _NO_STORE]
            self._start = {"type": "http.response.start", "status": 404, "headers": headers}
        await self._finish(body)

    async def _begin(self) -> None:
        start, self._start = self._start, None
        if start is not None:
            await self._send(start)


PREFIX = "/s/"
_NOT_INDEXED = ("x-robots-tag", "noindex, nofollow, noarchive")
_HIDDEN = frozenset({b"authorization", b"cookie", b"if-none-match"})
"""Headers that are removed from requests by a link: whoever else they may be, here they are strangers."""
_API = "api"
_CLOSED = frozenset({"metrics", "open"})


class LinkMiddleware:
    """An ASGI application around the page and the API."""

    def __init__(
        self, app: App, store: MaintainedStore, accounts: Accounts, audit: Auditor, words: tuple[str, ...]
    ) -> None:
        self._app = app
        self._store = store
        self._accounts = accounts
        self._audit = audit
        self._words = words
        self._redactors: LruDict[str, LinkRedactor] = LruDict(_MOST_KEPT)
        self._lock = Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer requests under `/s/`; pass on all others."""
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        secret, _, rest = scope["path"][len(PREFIX) :].partition("/")
        asked = _strip(scope, len(PREFIX) + len(secret), f"/{rest}")
        scope["path_template"] = f"{PREFIX}{{link}}"
        part = rest.partition("/")[0]
        if scope["method"] not in ("GET", "HEAD") or part in _CLOSED:
            raise _refuse()
        try:
            if part == _API:
                await self._answer(asked, receive, send, secret)
            else:
                await self._app(asked, receive, _add_headers(send))
        finally:
            scope["path_template"] = f"{PREFIX}{{link}}{asked.get('path_template', '')}"

    async def _answer(self, scope: Scope, receive: Receive, send: Send, secret: str) -> None:
        client = scope.get("client")
        link = await asyncio.to_thread(self._open, secret, "" if client is None else str(client[0]))
        scope["state"][LINK] = link
        answers = RedactedResponse(self._find_redactor(link), _add_headers(send), scope["state"])
        await self._app(scope, receive, answers.send)

    def _find_redactor(self, link: Link) -> LinkRedactor:
        with self._lock:
            redactor = self._redactors.get(link.id)
            if redactor is None:
                redactor = LinkRedactor(self._store, link.session, (*self._words, *link.words))
            self._redactors.put(link.id, redactor)
            return redactor

    def _open(self, secret: str, client: str) -> Link:
        """Return a valid link, and record its use; raises `RequestError`."""
        link = self._accounts.find_link(secret)
        access = None if link is None else find_access(self._store, LOCAL, link.session)
        if link is None or access is None:
            raise _refuse()
        caller = Caller(kind=CallerKind.LINK, link=link)
        self._audit.record_views(
            caller, [ViewedSession(link.session, access.person)], Action.LINK_OPENED, client
        )
        return link


def _refuse() -> RequestError:
    # The same for what never was, what has ended, and what a link does not show.
    return RequestError(404, "not_found", "There is nothing at this address", headers=dict([_NOT_INDEXED]))


def _strip(scope: Scope, length: int, path: str) -> Scope:
    raw = scope.get("raw_path") or b""
    headers: Headers = [(name, value) for name, value in scope["headers"] if name not in _HIDDEN]
    return {**scope, "path": path, "raw_path": raw[length:] or b"/", "headers": headers}


def _add_headers(send: Send) -> Send:
    async def send_on(message: Message) -> None:
        if message["type"] == "http.response.start":
            name, value = _NOT_INDEXED
            message = {**message, "headers": [*message.get("headers", ()), (name.encode(), value.encode())]}
        await send(message)

    return send_on
