"""Under which names the server answers.

A web page can make its own name lead to this machine (DNS rebinding), and then counts as one of ours for the
browser. What it cannot change is the name that the browser sends along, so any other than the known ones is
refused. Addresses cannot be rebound: a server that listens everywhere answers to any of them.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from turnlog.server.errors import RequestError

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
    """Return what `host[:port]` says, None if it is not that."""
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
