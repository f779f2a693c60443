"""Running the server: the claim on the archive, socket, connections, log, event loop, and a clean end.

Without a port, the usual one is taken, or the next that is free. Requests are logged by their routes, never by
their addresses, and should a secret get into a message some other way, it is removed before it is written.

Connections cannot be held open for nothing. uvicorn waits for ever for the rest of a request. Here, the headers
and the body each have their time and size, a client that leaves its answer unread is cut off, and there are
only so many connections at a time. What cannot be read as a request gets the same shape of failure as any
other.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

import uvicorn
from msgspec import Struct, json
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from turnlog.config import Settings
from turnlog.errors import ServerError
from turnlog.server.app import build_app
from turnlog.server.asgi import PAGE
from turnlog.server.errors import RequestError, encode_failure
from turnlog.server.filler import FillerProcess
from turnlog.server.processes import RunningServer, hold_server_lock
from turnlog.server.requests import ServerContext
from turnlog.server.security.gate import API_CACHING, SECURITY_HEADERS, Hosts, Limits
from turnlog.server.security.guard import PEER, find_peer_uid
from turnlog.server.security.tokens import TOKEN_FILE, TokenKeeper
from turnlog.server.sync import FollowerProcess, SyncState
from turnlog.shapes import fill
from turnlog.store.accounts import open_accounts
from turnlog.store.model import StorePlace, find_index_place, home_of
from turnlog.store.opening import open_store


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
        self._peer = find_peer_uid(self.client, self.server)
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
            self.cycle.disconnected = True  # nothing more of the body will come
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


try:
    import resource
except ImportError:  # where there is no such limit
    resource = None  # type: ignore[assignment]

DEFAULT_PORT = 8822
_ATTEMPTS = 20
_WAITING = 512
"""How many connections may wait to be taken: when the server comes again, all pages do at once."""
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def listen(host: str, port: int | None) -> socket.socket:
    """Return a socket on a port; without one, on the usual port or the next that is free.

    Raises `ServerError` if the port is taken, or the host is not this machine's.
    """
    if port is not None:
        return _bind(host, port)
    for attempt in range(DEFAULT_PORT, DEFAULT_PORT + _ATTEMPTS):
        try:
            return _bind(host, attempt)
        except _PortInUseError:
            continue
    raise ServerError(
        f"ports {DEFAULT_PORT} to {DEFAULT_PORT + _ATTEMPTS - 1} are all in use; choose one with --port"
    )


def build_url(host: str, port: int) -> str:
    """Return the address under which a browser on this machine finds the server."""
    name = _EVERYWHERE.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _raise_file_limit(count: int) -> None:
    """Raise the limit of open files and connections to a count, as far as the system allows."""
    if resource is None:
        return
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if most == resource.RLIM_INFINITY else min(count, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


class _PortInUseError(ServerError):
    """The port is in use."""


def _bind(host: str, port: int) -> socket.socket:
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise ServerError(f"{host} is not an address of this machine ({error.strerror or error})") from error
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two programs listen on one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_WAITING)  # only now is it certain that nobody else does
    except OSError as error:
        made.close()
        raise _explain(error, host, port) from error
    return made


def _explain(error: OSError, host: str, port: int) -> ServerError:
    if error.errno == errno.EADDRINUSE:
        return _PortInUseError(
            f"port {port} of {host} is in use by another program; choose another with --port"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return ServerError(f"port {port} of {host} is not allowed; choose one above 1023 with --port")
    return ServerError(f"cannot listen on port {port} of {host}: {error.strerror or error}")


_SECRETS = re.compile(
    r"""(\bkey=|\bauthorization['":\s]+(?:bearer\s+)?|\bbearer\s+|\bturnlog_[0-9a-f]{12}=)[^\s&;,'"]+""",
    re.IGNORECASE,
)
_KNOWN = ("Exception in ASGI application", "Cancel %s running task(s)")
_SERVER = "turnlog.server"
_REQUESTS = "turnlog.server.requests"


class LogFormat(StrEnum):
    """How the log is written."""

    TEXT = "text"
    JSON = "json"


class _Formatter(logging.Formatter):
    def __init__(self, secrets: tuple[str, ...]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record), self._secrets)


class _JsonFormatter(_Formatter):
    """Writes an object a line, for programs."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "at": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage(), self._secrets),
        }
        if (seen := getattr(record, "request", None)) is not None:
            said["request"] = seen
        if record.exc_info:
            said["error"] = redact(self.formatException(record.exc_info), self._secrets)
        return json.encode(said).decode()


class _LogFilter(logging.Filter):
    """Drops records that the gate has logged already, and those about streams that end with the server."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(_KNOWN)


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return a text without keys, tokens and cookies."""
    for secret in secrets:
        text = text.replace(secret, "…")
    return _SECRETS.sub(r"\1…", text)


def write_logs(
    stream: TextIO, *, requests: bool, secrets: tuple[str, ...], form: LogFormat = LogFormat.TEXT
) -> None:
    """Write the server's log to a stream: what fails and, if asked for, each request."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter((_JsonFormatter if form is LogFormat.JSON else _Formatter)(secrets))
    handler.addFilter(_LogFilter())
    for name, level in (
        (_SERVER, logging.WARNING),
        (_REQUESTS, logging.INFO if requests else logging.WARNING),
        ("uvicorn.error", logging.ERROR),
    ):
        logger = logging.getLogger(name)
        logger.setLevel(level)
    for name in (_SERVER, "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False


_GRACE = 2
"""How many seconds open requests have when the server ends."""
_OTHER_FILES = 512
"""How many files may be open besides connections."""
_THREADS = 8
"""How many requests ask the store at a time; each has a connection and a cache of its own."""


class ServeOptions(Struct, frozen=True, kw_only=True):
    """How a server is run."""

    host: str = "127.0.0.1"
    port: int | None = None
    """None for the usual one, or the next that is free."""
    allowed: tuple[str, ...] = ()
    """Other names under which it answers."""
    follows: bool = True
    """Whether it keeps the archive up to date."""
    new_token: bool = False
    demo: bool = False
    """Whether these are the sample sessions."""
    log_requests: bool = False
    log_format: LogFormat = LogFormat.TEXT
    drain_seconds: float = 0.0
    """How long to answer on after being told to end, while `/api/ready` says that it is about to."""
    limits: Limits = Limits()
    page: Path = PAGE


class Ready(Struct, frozen=True, gc=False, kw_only=True):
    """A server that answers from now on."""

    url: str
    open_path: str
    """What lets one browser in, once."""
    token_file: str
    port: int


def serve(
    place: StorePlace,
    options: ServeOptions,
    on_ready: Callable[[Ready], None],
    env: Mapping[str, str] = os.environ,
) -> int | None:
    """Serve the store at a place until a signal comes, and return that signal.

    `env` is what the follower finds its settings in. Raises `ServerError` if another server has the archive, or
    the port is taken, or nothing can be kept in the folder; `ConfigError` and `StoreError` if a file is wrong.
    """
    home = home_of(place)
    _require_home(home)
    _raise_file_limit(options.limits.connections + _OTHER_FILES)
    with ExitStack() as stack:
        announce = stack.enter_context(hold_server_lock(home))
        keeper = TokenKeeper(home / TOKEN_FILE)
        if options.new_token:
            keeper.rotate()
        made = stack.enter_context(closing(listen(options.host, options.port)))
        store = stack.enter_context(closing(open_store(place)))
        accounts = stack.enter_context(closing(open_accounts(place, create=False)))
        context = fill(ServerContext, Settings.from_env(env), place=place, demo=options.demo, env=env)
        write_logs(
            sys.stderr,
            requests=options.log_requests,
            secrets=tuple(secret for secret in (keeper.token, context.oidc_secret) if secret),
            form=options.log_format,
        )
        port, syncing, ending = int(made.getsockname()[1]), SyncState(), threading.Event()
        hosts = Hosts(options.host, port, options.allowed, public_url=context.public_url)
        app = build_app(
            store,
            keeper,
            hosts,
            accounts,
            limits=options.limits,
            syncing=syncing,
            context=context,
            ending=ending,
            page=options.page,
        )
        url = build_url(options.host, port)

        def start() -> None:
            announce(
                RunningServer(pid=os.getpid(), url=url, host=options.host, port=port, started_at=time.time())
            )
            if options.follows:
                stack.enter_context(FollowerProcess(place, syncing, env))
            if find_index_place(place) is not None:
                stack.enter_context(FillerProcess(place, env))
            path = f"/open?key={keeper.create_key()}"
            on_ready(Ready(url=url, open_path=path, token_file=os.fspath(home / TOKEN_FILE), port=port))

        server = _Server(_configure(app, options.limits), start, app.live.close)
        server.drain(ending, options.drain_seconds)
        _run(server, made)
        return server.received


def _require_home(home: Path) -> None:
    reason = ""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
    if not reason and not os.access(home, os.W_OK | os.X_OK):
        reason = "it is not writable"
    if reason:
        raise ServerError(f"{home}: nothing can be stored here ({reason}); TURNLOG_HOME names another place")


def _configure(app: object, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=build_protocol(limits),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=round(limits.idle_seconds),
        timeout_graceful_shutdown=_GRACE,
    )


class _Server(uvicorn.Server):
    """Says when it is ready, and ends without being killed by the signal that ended it."""

    def __init__(
        self, config: uvicorn.Config, on_started: Callable[[], None], on_ending: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_started = on_started
        self._on_ending = on_ending
        self.received: int | None = None
        self._ending = threading.Event()
        self._drain_seconds = 0.0
        self._ends_at: float | None = None

    def drain(self, ending: threading.Event, seconds: float) -> None:
        """Say that the end is near for so long before it comes."""
        self._ending, self._drain_seconds = ending, seconds

    async def on_tick(self, counter: int) -> bool:
        is_over = self._ends_at is not None and time.monotonic() >= self._ends_at
        return await super().on_tick(counter) or is_over

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_ending()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = [(number, signal.signal(number, self._handle)) for number in (signal.SIGINT, signal.SIGTERM)]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        self.force_exit = self.should_exit  # at the second time, at once
        self.received = self.received or number
        if self._ends_at is None and self._drain_seconds:
            self._ending.set()
            self._ends_at = time.monotonic() + self._drain_seconds
        else:
            self.should_exit = True


def _run(server: _Server, made: socket.socket) -> None:
    """Run the event loop; unlike `asyncio.run`, do not wait for what threads are still at."""
    loop = asyncio.new_event_loop()
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="request")
    loop.set_default_executor(threads)
    try:
        loop.run_until_complete(server.serve([made]))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        loop.close()
