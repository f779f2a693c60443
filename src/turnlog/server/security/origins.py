"""From which pages requests may come: from our own, and from none at all.

Programs that are no browsers send neither `Origin` nor `Sec-Fetch-Site`, and need the token. For pages of
others there is no CORS: a browser that sends `Origin` with another name than ours is refused, whatever it asks,
and so is one that says that another page wants this as a part of itself. Only links may lead here. A cookie
counts only where the browser says that the request is our own page's, or that a person typed it: other servers
on this machine are the "same site", since ports do not matter for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from turnlog.server.errors import RequestError
from turnlog.server.security.hosts import Authority, parse_authority

_Headers = Sequence[tuple[bytes, bytes]]
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": 80, "https": 443}
_OWN = frozenset({b"same-origin", b"none"})


def check_origin(method: str, headers: _Headers, asked: Authority) -> None:
    """Raise `RequestError` for a request that another page makes, unless somebody followed a link."""
    given = _list(headers, b"origin")
    is_foreign = bool(given) and (len(given) > 1 or not _is_own(given[0].decode("latin-1"), asked))
    if is_foreign or (comes_from_elsewhere(headers) and not _is_link(method, headers)):
        raise RequestError(403, "foreign_origin", "Other pages may not use this server")


def comes_from_elsewhere(headers: _Headers) -> bool:
    """Tell whether the browser says that another page is behind a request."""
    site = _list(headers, b"sec-fetch-site")
    return bool(site) and (len(site) > 1 or site[0] not in _OWN)


def may_use_cookies(method: str, headers: _Headers) -> bool:
    """Tell whether a request is our own page's, as far as the browser says; its origin has been checked."""
    if _list(headers, b"sec-fetch-site"):
        return not comes_from_elsewhere(headers)
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
