"""`/s/{secret}/…`: the page and the API for strangers, who see one session.

The secret is taken out of the address before anything else sees it, so it reaches no log, no figure and no
handler. What is asked for then goes through the same guard and the same handlers as everything else, with the
link as who asks. What they answer leaves as JSON that was redacted, or not at all: there is no way around it
for a route, and bytes that cannot be redacted stay here.
"""

from __future__ import annotations

import asyncio

from turnlog.server.asgi import App, Headers, Message, Receive, Scope, Send
from turnlog.server.auditing import Auditor, Look
from turnlog.server.errors import RequestError
from turnlog.server.links.answers import Answers
from turnlog.server.links.redaction import LinkRedactors
from turnlog.server.security.callers import LINK, Caller, CallerKind
from turnlog.store.accounts.interface import Accounts, Action, Link
from turnlog.store.interface import CaredStore
from turnlog.store.model import LOCAL, find_access

PREFIX = "/s/"
_NOT_INDEXED = ("x-robots-tag", "noindex, nofollow, noarchive")
_HIDDEN = frozenset({b"authorization", b"cookie", b"if-none-match"})
"""What a request by a link is not asked for: whoever else they may be, here they are strangers."""
_API = "api"
_CLOSED = frozenset({"metrics", "open"})


class LinkLayer:
    """An ASGI application around the page and the API."""

    def __init__(
        self, app: App, store: CaredStore, accounts: Accounts, audit: Auditor, words: tuple[str, ...]
    ) -> None:
        self._app = app
        self._store = store
        self._accounts = accounts
        self._audit = audit
        self._redactors = LinkRedactors(store, words)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a stranger; all others are somebody else's business."""
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
        answers = Answers(self._redactors.find(link), _add_headers(send), scope["state"])
        await self._app(scope, receive, answers.send)

    def _open(self, secret: str, client: str) -> Link:
        """Return a link that is good, having recorded that it is used; raises `RequestError`."""
        link = self._accounts.find_link(secret)
        access = None if link is None else find_access(self._store, LOCAL, link.session)
        if link is None or access is None:
            raise _refuse()
        caller = Caller(kind=CallerKind.LINK, link=link)
        self._audit.note_looks(caller, [Look(link.session, access.person)], Action.LINK_OPENED, client)
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
