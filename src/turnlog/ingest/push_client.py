"""Talking to the server that is pushed to: one connection, kept open, and errors in words.

Certificates are always verified. Without TLS, only a server on this machine is used, unless the person says
that the connection is safe. All requests are idempotent, so a connection that the server has closed is opened
once more. `RateLimit` bounds how many bytes are sent per second, and failed attempts are repeated less and less
often (`Backoff`).
"""

from __future__ import annotations

import http.client
import random
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

import msgspec
from msgspec import Struct

from turnlog.errors import PushError
from turnlog.ingest.upload_protocol import (
    MEDIA_TYPE,
    PROTOCOL,
    HookReceipts,
    HookUpload,
    IngestState,
    ServerSession,
    Upload,
    encode_upload,
    from_server_session,
)
from turnlog.store.interface import KnownSession

_BURST = 64 << 10
"""How many bytes may go at once."""


class RateLimit:
    """Lets so many bytes go in a second: in any time t, no more than `rate * t`, and a burst."""

    def __init__(
        self,
        rate: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Take how many bytes may go in a second; None for any number."""
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._owed_until = 0.0
        self.sent = 0
        """How many bytes went."""

    def find_limit(self, most: int, seconds: float) -> int:
        """Return how much to send at once, so that it does not take longer than some seconds."""
        return most if self._rate is None else max(min(most, int(self._rate * seconds)), _BURST)

    def spend(self, size: int) -> None:
        """Wait until so many bytes more may go."""
        self.sent += size
        if self._rate is None:
            return
        now = self._clock()
        self._owed_until = max(self._owed_until, now - _BURST / self._rate) + size / self._rate
        if self._owed_until > now:
            self._sleep(self._owed_until - now)


class Backoff:
    """How long to wait before the next attempt: each time about twice as long, and never all at once."""

    def __init__(self, first: float = 1.0, longest: float = 300.0, chance: random.Random | None = None) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance or random.Random()
        self._failures = 0

    def fail(self, at_least: float = 0.0) -> float:
        """Note a failure, and return how many seconds to wait; no less than the server asks for."""
        pause = min(self._first * 2.0**self._failures, self._longest)
        self._failures = min(self._failures + 1, 30)
        return max(pause * self._chance.uniform(0.5, 1.0), at_least)

    def succeed(self) -> None:
        """Note that it went well."""
        self._failures = 0


_TIMEOUT = 60.0
_PIECE = 16 << 10
_LARGEST_ANSWER = 256 << 20
_PAGE = 500
_Shape = TypeVar("_Shape")


class ServerState(Struct, frozen=True):
    """What a server has of a machine."""

    sessions: tuple[KnownSession, ...]
    forgotten: frozenset[str]


class SessionResult(Struct, frozen=True):
    """The server's result for a session."""

    outcome: str
    """One of `upload_protocol.Outcome`, or what a newer server says."""
    reason: str = ""
    session: ServerSession | None = None


class _Receipt(Struct, frozen=True):
    sessions: tuple[SessionResult, ...]


class _Failure(Struct, frozen=True):
    code: str = ""
    message: str = ""


class _Failed(Struct, frozen=True):
    error: _Failure = _Failure()


class _Request(Struct, frozen=True):
    method: str
    target: str
    body: bytes | None
    headers: dict[str, str]


class _Answer(Struct, frozen=True):
    status: int
    headers: http.client.HTTPMessage
    data: bytes


def parse_server(url: str, *, insecure: bool = False) -> SplitResult:
    """Return the address of a server; raises `PushError` for one that nothing may be sent to."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.query or parts.fragment or parts.username is not None:
        raise PushError(f"Expected the address of a server such as https://turnlog.example.org, got {url!r}")
    if parts.scheme == "http" and not insecure and not _is_here(parts.hostname or ""):
        raise PushError(
            f"{url} does not use TLS, so anyone on the network could read the data; "
            "use https://, or --insecure if the connection is safe"
        )
    return parts


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class PushClient:
    """A server, for one machine."""

    def __init__(
        self,
        server: SplitResult,
        token: str,
        origin: str,
        rate_limit: RateLimit | None = None,
        timeout: float = _TIMEOUT,
        find_token: Callable[[], str] | None = None,
    ) -> None:
        """Take a server and a token; `find_token` is asked for a new one when that is not good any more."""
        self._server = server
        self._token = token
        self._origin = origin
        self.rate_limit = rate_limit or RateLimit(None)
        self._timeout = timeout
        self._find_token = find_token
        self._connection: http.client.HTTPConnection | None = None

    @property
    def name(self) -> str:
        """The server's address."""
        return self._server.geturl()

    def fetch_state(self) -> ServerState:
        """Return all that the server has of this machine; raises `PushError`."""
        sessions: list[KnownSession] = []
        forgotten: frozenset[str] = frozenset()
        after: str | None = None
        while True:
            page = self._fetch(limit=_PAGE, **({} if after is None else {"after": after}))
            sessions += (from_server_session(state, self._origin) for state in page.sessions)
            forgotten |= frozenset(page.forgotten)
            if page.next is None or (after is not None and page.next <= after):
                return ServerState(tuple(sessions), forgotten)
            after = page.next

    def send(self, upload: Upload) -> tuple[SessionResult, ...]:
        """Push what is new of some sessions, and return the result for each; raises `PushError`."""
        receipt = self._ask("POST", "/api/ingest", {}, _Receipt, encode_upload(upload))
        if len(receipt.sessions) != len(upload.sessions):
            raise PushError(f"{self.name} responded about other sessions than it was sent")
        return receipt.sessions

    def send_hooks(self, upload: HookUpload) -> frozenset[str]:
        """Push hook deliveries, and return which of those that were offered are missing; raises `PushError`."""
        receipts = self._ask("POST", "/api/ingest/hooks", {}, HookReceipts, encode_upload(upload))
        return frozenset(receipts.missing)

    def send_hook(self, delivery_id: str, payload: bytes) -> None:
        """Push one large hook delivery, as the hook itself would; raises `PushError`."""
        headers = {"Content-Type": "application/json", "X-Turnlog-Delivery": delivery_id}
        target = f"{self._server.path.rstrip('/')}/api/hooks?{urlencode({'origin': self._origin})}"
        answer = self._exchange(_Request("POST", target, payload, headers))
        if answer.status != 200:
            raise self._explain(answer)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fetch(self, **query: object) -> IngestState:
        state = self._ask("GET", "/api/ingest/state", query, IngestState)
        if state.protocol != PROTOCOL:
            raise PushError(
                f"{self.name} speaks version {state.protocol} of the protocol, this is version {PROTOCOL}: "
                f"update {'the server' if state.protocol < PROTOCOL else 'this turnlog'}",
                code="protocol",
            )
        return state

    def _ask(
        self, method: str, path: str, query: dict[str, object], shape: type[_Shape], body: bytes | None = None
    ) -> _Shape:
        target = f"{self._server.path.rstrip('/')}{path}?{urlencode({'origin': self._origin, **query})}"
        headers = {} if body is None else {"Content-Type": MEDIA_TYPE}
        answer = self._exchange(_Request(method, target, body, headers))
        if answer.status == 200:
            try:
                return msgspec.json.decode(answer.data, type=shape)
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise PushError(
                    f"{self.name} is not a turnlog server: it sent an unexpected response"
                ) from None
        raise self._explain(answer)

    def _exchange(self, request: _Request) -> _Answer:
        answer = self._exchange_once(request)
        if answer.status == 401 and self._find_token is not None:
            token = self._find_token()
            if token != self._token:
                self._token = token
                return self._exchange_once(request)
        return answer

    def _exchange_once(self, request: _Request) -> _Answer:
        was_open = self._connection is not None
        try:
            return self._try(request)
        except (http.client.HTTPException, OSError) as error:
            self.close()
            if not was_open or isinstance(error, TimeoutError):
                raise self._describe(error) from error
        try:
            return self._try(request)
        except (http.client.HTTPException, OSError) as error:
            self.close()
            raise self._describe(error) from error

    def _try(self, request: _Request) -> _Answer:
        connection = self._connect()
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": "turnlog-push", **request.headers}
        body, is_whole = request.body, True
        if body is not None:
            headers["Content-Length"] = str(len(body))
        try:
            given = None if body is None else self._send(body)
            connection.request(request.method, request.target, given, headers)
        except (BrokenPipeError, ConnectionResetError):
            # Refused before all of it was sent: what the server says about it may still be there.
            if body is None or connection.sock is None:
                raise
            is_whole = False
        answer = connection.getresponse()
        data = answer.read(_LARGEST_ANSWER)
        if answer.will_close or not is_whole:
            self.close()
        return _Answer(answer.status, answer.headers, data)

    def _send(self, body: bytes) -> Iterator[bytes]:
        for start in range(0, len(body), _PIECE):
            piece = body[start : start + _PIECE]
            self.rate_limit.spend(len(piece))
            yield piece

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port = self._server.hostname or "", self._server.port
            if self._server.scheme == "https":
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=self._timeout, context=ssl.create_default_context()
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        return self._connection

    def _describe(self, error: Exception) -> PushError:
        reason, code = f"it cannot be reached ({error or type(error).__name__})", "offline"
        if isinstance(error, ssl.SSLCertVerificationError):
            reason, code = f"its certificate cannot be trusted ({error.verify_message})", "tls"
        elif isinstance(error, ssl.SSLError):
            reason, code = f"it does not speak TLS, or uses another version ({error.reason or error})", "tls"
        elif isinstance(error, TimeoutError):
            reason = f"it did not respond within {self._timeout:.0f} seconds"
        elif isinstance(error, socket.gaierror):
            reason = f"no machine has that name ({error.strerror or error})"
        elif isinstance(error, http.client.BadStatusLine | http.client.LineTooLong):
            reason = "it does not speak HTTP, or closed the connection"
        return PushError(f"{self.name}: {reason}", code=code)

    def _explain(self, answer: _Answer) -> PushError:
        status, headers = answer.status, answer.headers
        try:
            failure = msgspec.json.decode(answer.data, type=_Failed).error
        except (msgspec.DecodeError, UnicodeDecodeError):
            failure = _Failure()
        refusals = {
            "another_machine": "this token belongs to another machine; create one for this machine",
            "machine_taken": "this machine belongs to another person there; an admin of the server can "
            "reassign it",
            "machine_unassigned": "the server has sessions of this machine without an owner; an admin of the "
            "server has to assign the machine",
        }
        reasons = {
            401: "the token is wrong, has expired or was revoked; get a new one from the server's page, or, "
            "on a server without accounts, from `server-token` in the server's TURNLOG_HOME",
            403: failure.message or "this token may not push for this machine",
            404: "there is no turnlog server at this address, or it is too old to accept pushes",
            405: "there is no turnlog server at this address",
            421: "it does not accept this name; allow it with `turnlog serve --allow-host`",
        }
        reason = (
            refusals.get(failure.code)
            or reasons.get(status)
            or failure.message
            or f"it responded with {status}"
        )
        if 300 <= status < 400:
            reason = f"it redirects elsewhere ({headers.get('location', 'nowhere')}); give that address"
        return PushError(
            f"{self.name}: {reason}",
            status=status,
            code=failure.code,
            retry_after=_seconds(headers.get("retry-after")),
        )


def _seconds(text: str | None) -> float:
    return float(min(int(text), 3600)) if text is not None and text.isdigit() else 0.0
