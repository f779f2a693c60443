"""Who is let in: everything but what says that it is public needs the token, a person's, or a cookie.

Who the caller is, is found out once, before a handler runs, and stands in the request's state from then on;
each route declares who may use it (`callers`).

Wrong secrets are counted for each client, and too many of them refused. Guessing 256 bits is hopeless anyway;
the limit keeps attempts from costing anything, and from going unnoticed. A client is an address, a network of
IPv6, or, on the machine itself, a user: Linux tells which user is at the other end of a connection, and that
also makes a key that was seen in the list of processes, or a cookie that a browser sent to another server on
this machine, worthless for other users.

The cookies of persons are kept with the accounts, so that every server of a team knows them. `SameSite=Strict`
is enough even after a login at a provider, whose redirect comes from another site: it leads to the page, which
everybody may load, and only the page's own requests need the cookie. Where the server is reached by https,
browsers are told to send cookies by nothing else, and take them from no neighbouring host (`__Host-`).

A machine's token is good only for the first machine that used it. The guard binds it to the machine that the
request names, and a handler checks that (`check_machine`) with the name that it was given.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import os
import re
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard
from msgspec import Struct

from turnlog.errors import UploadError
from turnlog.ingest.machine import KnownMachines
from turnlog.ingest.upload_protocol import Machine
from turnlog.server.errors import ErrorDetail, InvalidRequestError, RequestError
from turnlog.server.security.callers import CALLER, LINK, OPERATOR, Caller, CallerKind, check_policy
from turnlog.server.security.gate import Authority, is_cross_site, is_loopback, may_use_cookies, parse_authority
from turnlog.server.security.tokens import TokenKeeper
from turnlog.server.values import LruDict
from turnlog.store.account_model import TokenKind, User
from turnlog.store.accounts import Accounts

_CLIENTS = 1024
"""How many are remembered; the least recent are forgotten."""


class FailureLimit:
    """Counts wrong secrets by client, and limits them."""

    def __init__(
        self,
        most: int = 10,
        seconds: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        *,
        proxies: Iterable[str] = (),
    ) -> None:
        """Take how many failures are too many, and the addresses or networks of trusted `proxies`."""
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._proxies = tuple(map(ipaddress.ip_network, proxies))
        self._failures: LruDict[str, deque[float]] = LruDict(_CLIENTS)

    def find_client(self, peer: str, forwarded: Sequence[str]) -> str | None:
        """Return for whom a trusted proxy asks, by its `X-Forwarded-For`; None if it is none, or does not say.

        Proxies add to the end; what stands before the first that is not trusted may be anybody's invention.
        """
        hops = [hop.strip() for value in forwarded for hop in value.split(",")]
        while self._is_proxy(peer) and hops:
            peer = hops.pop()
            if not self._is_proxy(peer):
                return peer
        return None

    def _is_proxy(self, client: str) -> bool:
        try:
            address = ipaddress.ip_address(client)
        except ValueError:
            return False
        return any(address.version == each.version and address in each for each in self._proxies)

    def note(self, client: str) -> None:
        """Remember a failure."""
        name = _group(client)
        failures = self._failures.get(name) or deque(maxlen=self._most)
        failures.append(self._clock())
        self._failures.put(name, failures)

    def find_delay(self, client: str) -> float:
        """Return how many seconds a client has to wait before its next attempt."""
        failures = self._failures.get(_group(client))
        if failures is None or len(failures) < self._most:
            return 0.0
        return max(0.0, failures[0] + self._seconds - self._clock())


def _group(client: str) -> str:
    """Return whom an address belongs to: with IPv6, everybody has a whole network of them."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv6Address) and not address.is_loopback:
        return str(ipaddress.IPv6Network((address, 64), strict=False))
    return str(address)


PEER = "peer"
"""The key of the connection's owner in a request's state."""
_TABLES = Path("/proc/net")
_UID = 6
"""Which column behind the number of a connection has its user."""

_Address = tuple[str, int | None]


def find_peer_uid(client: _Address | None, server: _Address | None, tables: Path = _TABLES) -> int | None:
    """Return the uid of the process at the other end of a local connection; None if unknown."""
    if client is None or server is None or not is_loopback(client[0]):
        return None
    wanted = f" {_encode(client)} {_encode(server)} "
    try:
        text = (tables / ("tcp6" if ":" in client[0] else "tcp")).read_text("ascii")
    except OSError:
        return None
    # With thousands of connections the table is long, and each new one is looked up: no line is made of it.
    found = text.find(wanted)
    return None if found < 0 else int(text[found : text.find("\n", found)].split()[_UID])


def list_own_uids(env: Mapping[str, str] = os.environ) -> frozenset[int]:
    """Return the uids that count as the owner: our own, root's, and that of a user who ran this with sudo."""
    if not hasattr(os, "geteuid"):
        return frozenset()
    became = env.get("SUDO_UID", "")
    return frozenset({os.geteuid(), 0, *([int(became)] if became.isdecimal() and os.geteuid() == 0 else [])})


def is_other_user(state: Mapping[str, object], trusted: frozenset[int]) -> bool:
    """Tell whether a request comes from another user of this machine."""
    owner = state.get(PEER)
    return isinstance(owner, int) and owner not in trusted


def _encode(address: _Address) -> str:
    """Return an address as the system writes it: words of its own byte order, in hexadecimal."""
    packed = ipaddress.ip_address(address[0]).packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{word:08X}' for word in words)}:{address[1] or 0:04X}"


LOGIN_SECONDS = 30 * 24 * 3600.0
"""How long a browser stays let in."""
_NAME = "turnlog_login"
_SECURE = "__Host-"
_PORTS = {"http": 80, "https": 443}

_Connection = ASGIConnection[Any, Any, Any, Any]


def is_secure(connection: _Connection, public_url: str | None) -> bool:
    """Return whether a browser came by https: under the name of the public URL."""
    parts = urlsplit(public_url or "")
    if parts.scheme != "https":
        return False
    asked = parse_authority(connection.headers.get("host", ""))
    public = parse_authority(parts.netloc)
    return None not in (asked, public) and _fill_in(asked) == _fill_in(public)


def cookie_name(secure: bool) -> str:
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


def build_cookie(
    name: str,
    value: str,
    seconds: float,
    *,
    secure: bool,
    path: str = "/",
    samesite: Literal["strict", "lax"] = "strict",
) -> Cookie:
    """Return a cookie that only we read; with 0 seconds, what makes a browser forget it."""
    return Cookie(
        key=name,
        value=value,
        max_age=int(seconds),
        path=path,
        secure=secure,
        httponly=True,
        samesite=samesite,
    )


def _fill_in(authority: Authority | None) -> Authority | None:
    # Behind a proxy, the name comes without a port, or with the usual one of either scheme.
    if authority is None or authority.port in (None, *_PORTS.values()):
        return None if authority is None else Authority(authority.host, None)
    return authority


_NAMELESS = Machine()
_FORM = re.compile(r"[0-9a-f]{32}")
_BOUND_ORIGIN = "pushed_origin"
"""The key, in a request's state, of the machine that its token is bound to."""


def _find_origin(connection: _Connection) -> str | None:
    """Return the machine that a request names as its origin; None if it names none, or more than one."""
    given = connection.query_params.getall("origin", [])
    return given[0] if len(given) == 1 and _FORM.fullmatch(given[0]) else None


def check_machine(connection: _Connection, caller: Caller, origin: str) -> None:
    """Raise `RequestError` unless the caller may push for a machine, and read what is stored of it.

    The operator may, for every machine. The machine's owner is checked when something is
    taken from it.
    """
    if not _FORM.fullmatch(origin):
        problem = ErrorDetail(where="origin", message="Expected 32 hexadecimal digits")
        raise InvalidRequestError("The request is not valid", problem)
    if caller.kind is CallerKind.MACHINE and connection.scope["state"].get(_BOUND_ORIGIN) != origin:
        raise RequestError(403, "another_machine", "This token belongs to another machine")


async def register_machine(
    machines: KnownMachines, caller: Caller, origin: str, told: Machine = _NAMELESS
) -> None:
    """Note that something comes from a machine of the caller's; raises `RequestError` if it is not theirs."""
    try:
        await asyncio.to_thread(machines.register, origin, caller.name, told.host, told.user)
    except UploadError as error:
        raise RequestError(403, error.code, error.reason) from None


_TRUSTED = list_own_uids()
_PREFIXES = ("tlp_", "tlm_")


class AuthContext(Struct, frozen=True):
    """What callers are authenticated with."""

    keeper: TokenKeeper
    failures: FailureLimit
    accounts: Accounts
    public_url: str | None = None


def build_guard(auth: AuthContext) -> Guard:
    """Return the guard that Litestar calls before each route handler."""

    async def guard(connection: _Connection, handler: BaseRouteHandler) -> None:
        opt = handler.opt
        if opt.get("public") and connection.scope["state"].get(LINK) is None:
            return
        caller = await _find_caller(connection, auth, token_only=bool(opt.get("token_only")))
        connection.scope["state"][CALLER] = caller
        check_policy(caller, opt, str(connection.scope.get("method")))

    return guard


async def _find_caller(connection: _Connection, auth: AuthContext, *, token_only: bool) -> Caller:
    link = connection.scope["state"].get(LINK)
    if link is not None:  # whoever else they are, here they see what the link shows
        return Caller(kind=CallerKind.LINK, link=link)
    given = connection.headers.get("authorization")
    if given is not None:
        return await _find_bearer(connection, auth, given)
    if not token_only:
        if has_owner_cookie(connection, auth.keeper):
            return OPERATOR
        user = await find_cookie_user(connection, auth)
        if user is not None:
            return Caller(kind=CallerKind.PERSON, user=user)
    raise await _refuse(auth)


async def _find_bearer(connection: _Connection, auth: AuthContext, given: str) -> Caller:
    check_rate_limit(connection, auth.failures)
    scheme, _, token = given.partition(" ")
    token = token.strip()
    if scheme.lower() == "bearer":
        if auth.keeper.is_token(token):
            return OPERATOR
        if token.startswith(_PREFIXES):
            caller = await asyncio.to_thread(_find_by_token, connection, auth.accounts, token)
            if caller is not None:
                return caller
    note_failure(connection, auth.failures)
    raise await _refuse(auth)


def _find_by_token(connection: _Connection, accounts: Accounts, token: str) -> Caller | None:
    origin = _find_origin(connection)
    found = accounts.find_by_token(token, origin=origin)
    if found is None:
        if origin is not None and accounts.find_by_token(token) is not None:
            message = "This token belongs to another machine; each machine needs its own token"
            raise RequestError(403, "another_machine", message)
        return None
    user, known = found
    if known.kind is TokenKind.PERSONAL:
        return Caller(kind=CallerKind.PERSON, user=user, token=known.id)
    connection.scope["state"][_BOUND_ORIGIN] = origin
    return Caller(kind=CallerKind.MACHINE, user=user, token=known.id)


async def find_cookie_user(connection: _Connection, auth: AuthContext) -> User | None:
    """Return the person whose cookie comes with a request of our own page's."""
    if not may_use_cookies(str(connection.scope.get("method")), list(connection.scope["headers"])):
        return None
    secure = is_secure(connection, auth.public_url)
    for value in list_cookies(connection, cookie_name(secure)):
        user = await asyncio.to_thread(auth.accounts.find_by_session, value)
        if user is not None:
            return user
    return None


def check_rate_limit(connection: _Connection, failures: FailureLimit) -> None:
    """Raise `RequestError` if this client was wrong too often to be asked again."""
    wait = failures.find_delay(_name_client(connection, failures))
    if wait:
        seconds = str(math.ceil(wait))
        message = f"Too many failures; try again in {seconds} seconds"
        raise RequestError(429, "too_many_failures", message, headers={"retry-after": seconds})


def note_failure(connection: _Connection, failures: FailureLimit) -> None:
    """Remember that a client was wrong about a secret."""
    # Any page can make a browser come here with a wrong key; that shall not shut out its user.
    if not is_cross_site(list(connection.scope["headers"])):
        failures.note(_name_client(connection, failures))


def check_attempt(connection: _Connection, failures: FailureLimit, correct: Callable[[], bool]) -> None:
    """Raise `RequestError` if a secret is wrong, or if this client was wrong too often to be asked again."""
    check_rate_limit(connection, failures)
    if not correct():
        note_failure(connection, failures)
        raise _refuse_alone()


def check_owner(connection: _Connection) -> None:
    """Raise `RequestError` for another user of this machine: keys and cookies are for nobody else."""
    if is_other_user(connection.scope["state"], _TRUSTED):
        raise RequestError(403, "another_user", "This server belongs to another user")


def has_owner_cookie(connection: _Connection, keeper: TokenKeeper) -> bool:
    """Tell whether a request comes from our page in a browser that its owner opened."""
    if is_other_user(connection.scope["state"], _TRUSTED):
        return False
    if not may_use_cookies(str(connection.scope.get("method")), list(connection.scope["headers"])):
        return False
    return any(keeper.is_session(value) for value in list_cookies(connection, keeper.cookie))


def _name_client(connection: _Connection, failures: FailureLimit) -> str:
    """Return the name that failures are counted under: users of a machine, or of a proxy, count separately."""
    peer = connection.client.host if connection.client else ""
    behind = failures.find_client(peer, connection.headers.getall("x-forwarded-for", []))
    if behind is not None:
        return behind
    owner = connection.scope["state"].get(PEER)
    return peer if owner is None else f"user {owner}"


async def _refuse(auth: AuthContext) -> RequestError:
    if not await asyncio.to_thread(auth.accounts.has_users):
        return _refuse_alone()
    message = "Log in, or send your token as `Authorization: Bearer`"
    return RequestError(401, "unauthorized", message, headers={"www-authenticate": "Bearer"})


def _refuse_alone() -> RequestError:
    message = "Open the address that `turnlog serve` shows, or send the token as `Authorization: Bearer`"
    return RequestError(401, "unauthorized", message, headers={"www-authenticate": "Bearer"})
