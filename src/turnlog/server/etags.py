"""Not sending what the client has already.

    check_unchanged(request, session.key, session.revision)

at the top of a handler ends the request with 304 if the client's `If-None-Match` names this state, and else
puts the ETag on the answer. Besides what is given it covers the address, the query, turnlog's version and who
asks, so a handler only names what the answer is made from, and nobody's answer counts as another's. ETags are
weak: an answer may be compressed in several ways.
"""

from __future__ import annotations

from hashlib import blake2b
from importlib.metadata import version
from typing import Any

from litestar import Request

from turnlog.server.errors import NotModifiedError
from turnlog.server.security.callers import CALLER, Caller

_VERSION = version("turnlog")


def check_unchanged(request: Request[Any, Any, Any], *parts: str | int | None) -> None:
    """Raise `NotModifiedError` if the client has this state of what it asks for."""
    scope = request.scope
    asked = scope["path"], scope["query_string"].decode("latin-1")
    etag = build_etag(*asked, *_name(scope["state"].get(CALLER)), *parts)
    if is_named(etag, request.headers.get("if-none-match", "")):
        raise NotModifiedError(etag)
    scope["state"]["etag"] = etag


def _name(caller: Caller | None) -> tuple[str | None, ...]:
    if caller is None:
        return ()
    role = None if caller.user is None else caller.user.role
    return caller.kind, caller.name, role, None if caller.link is None else caller.link.id


def build_etag(*parts: str | int | None) -> str:
    """Return a weak ETag for a state."""
    digest = blake2b(_VERSION.encode(), digest_size=12)
    for part in parts:
        text = b"" if part is None else str(part).encode("utf-8", "surrogateescape")
        # With its kind and length, no two lists of parts look the same.
        digest.update(b"%c%d:%s" % (b"n" if part is None else b"v", len(text), text))
    return f'W/"{digest.hexdigest()}"'


def is_named(etag: str, given: str) -> bool:
    """Tell whether an `If-None-Match` names an ETag; weak and strong ones are the same here."""
    names = {name.strip().removeprefix("W/") for name in given.split(",")}
    return "*" in names or etag.removeprefix("W/") in names
