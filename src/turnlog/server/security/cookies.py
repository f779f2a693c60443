"""The cookies of persons who logged in.

They are kept with the accounts, so that every server of a team knows them, and have the same name on all of
them. `SameSite=Strict` is enough even after a login at a provider, whose redirect comes from another site: what
it leads to is the page, which everybody may load, and only what the page itself asks for needs the cookie.
Where the server is reached by https, browsers are told to send them by nothing else, and take them from no
neighbouring host (`__Host-`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie

from turnlog.server.security.hosts import Authority, parse_authority

LOGIN_SECONDS = 30 * 24 * 3600.0
"""How long a browser stays let in."""
_NAME = "turnlog_login"
_SECURE = "__Host-"
_PORTS = {"http": 80, "https": 443}

_Connection = ASGIConnection[Any, Any, Any, Any]


def is_secure(connection: _Connection, public_url: str | None) -> bool:
    """Tell whether a browser came by https: under the name that is said to be reached that way."""
    parts = urlsplit(public_url or "")
    if parts.scheme != "https":
        return False
    asked = parse_authority(connection.headers.get("host", ""))
    public = parse_authority(parts.netloc)
    return None not in (asked, public) and _fill_in(asked) == _fill_in(public)


def name_cookie(secure: bool) -> str:
    """Return what the cookie is called."""
    return f"{_SECURE}{_NAME}" if secure else _NAME


def list_cookies(connection: _Connection, name: str) -> Iterator[str]:
    """Yield the values of all cookies with a name.

    Other programs on this host set cookies, too, of any form: one that cannot be read must not hide ours.
    """
    headers = connection.scope["headers"]
    given = b";".join(value for header, value in headers if header == b"cookie").decode("latin-1")
    for pair in given.split(";"):
        found, _, value = pair.strip().partition("=")
        if found == name:
            yield value


def build_cookie(value: str, *, secure: bool, seconds: float = LOGIN_SECONDS) -> Cookie:
    """Return a cookie that lets a person in."""
    return Cookie(
        key=name_cookie(secure),
        value=value,
        max_age=int(seconds),
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def end_cookie(name: str, *, secure: bool) -> Cookie:
    """Return what makes a browser forget a cookie."""
    return Cookie(key=name, value="", max_age=0, path="/", secure=secure, httponly=True, samesite="strict")


def _fill_in(authority: Authority | None) -> Authority | None:
    # Behind a proxy, the name comes without a port, or with the usual one of either scheme.
    if authority is None or authority.port in (None, *_PORTS.values()):
        return None if authority is None else Authority(authority.host, None)
    return authority
