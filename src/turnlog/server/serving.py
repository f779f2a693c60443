"""Running the server, from the claim on the archive to a clean end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import uvicorn
from msgspec import Struct

from turnlog.config import Settings
from turnlog.errors import ServerError
from turnlog.server.app import build_app
from turnlog.server.connections import build_protocol
from turnlog.server.following import Following
from turnlog.server.logs import LogFormat, write_logs
from turnlog.server.pages import PAGE
from turnlog.server.presence import Presence, claim
from turnlog.server.readiness import Readiness
from turnlog.server.security.hosts import Hosts
from turnlog.server.security.limits import Limits
from turnlog.server.security.tokens import TOKEN_FILE, TokenKeeper
from turnlog.server.sockets import allow_files, build_url, listen
from turnlog.server.surroundings import Surroundings
from turnlog.server.sync_state import SyncState
from turnlog.store.accounts.opening import open_accounts
from turnlog.store.opening import open_store
from turnlog.store.places import StorePlace, home_of

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
    allow_files(options.limits.connections + _OTHER_FILES)
    with ExitStack() as stack:
        claimed = stack.enter_context(claim(home))
        keeper = TokenKeeper(home / TOKEN_FILE)
        if options.new_token:
            keeper.rotate()
        made = stack.enter_context(closing(listen(options.host, options.port)))
        store = stack.enter_context(closing(open_store(place)))
        accounts = stack.enter_context(closing(open_accounts(place, create=False)))
        around = _look_around(place, options, env)
        write_logs(
            sys.stderr,
            requests=options.log_requests,
            secrets=tuple(secret for secret in (keeper.token, around.oidc_secret) if secret),
            form=options.log_format,
        )
        port, syncing, readiness = int(made.getsockname()[1]), SyncState(), Readiness()
        hosts = Hosts(options.host, port, options.allowed, public_url=around.public_url)
        app = build_app(
            store,
            keeper,
            hosts,
            accounts,
            limits=options.limits,
            syncing=syncing,
            around=around,
            readiness=readiness,
            page=options.page,
        )
        url = build_url(options.host, port)

        def start() -> None:
            claimed.announce(
                Presence(pid=os.getpid(), url=url, host=options.host, port=port, started_at=time.time())
            )
            if options.follows:
                stack.enter_context(Following(place, syncing, env))
            path = f"/open?key={keeper.create_key()}"
            on_ready(Ready(url=url, open_path=path, token_file=os.fspath(home / TOKEN_FILE), port=port))

        server = _Server(_configure(app, options.limits), start, app.live.close)
        server.drain(readiness, options.drain_seconds)
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


def _look_around(place: StorePlace, options: ServeOptions, env: Mapping[str, str]) -> Surroundings:
    settings = Settings.from_env(env)
    return Surroundings(
        place=place,
        config_dirs=settings.config_dirs,
        captured_dir=settings.captured_dir,
        exclude=settings.exclude,
        notifications=settings.notifications,
        public_url=settings.public_url,
        trusted_proxies=settings.trusted_proxies,
        oidc=settings.oidc,
        oidc_secret=settings.oidc_secret,
        redact_words=settings.redact_words,
        demo=options.demo,
        env=env,
    )


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
        self._readiness = Readiness()
        self._drain_seconds = 0.0
        self._ends_at: float | None = None

    def drain(self, readiness: Readiness, seconds: float) -> None:
        """Say that the end is near for so long before it comes."""
        self._readiness, self._drain_seconds = readiness, seconds

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
            self._readiness.is_ending = True
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
