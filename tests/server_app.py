"""The server on a real port, asked through real connections."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from turnlog.server.app import HANDLERS, Application, build_app
from turnlog.server.http_server import build_protocol, listen
from turnlog.server.requests import ServerContext
from turnlog.server.routes import accounts as account_routes
from turnlog.server.routes import status
from turnlog.server.security.gate import Hosts, Limits
from turnlog.server.security.guard import FailureLimit
from turnlog.server.security.tokens import TokenKeeper
from turnlog.server.sync import SyncState
from turnlog.store.accounts import Accounts, open_accounts
from turnlog.store.interface import MaintainedStore
from turnlog.store.opening import open_store

PATIENCE = 30.0
CORE = (
    status.get_health,
    status.get_ready,
    status.get_metrics,
    account_routes.open_page,
    account_routes.create_key,
)
"""Routes that need no sessions."""


class Answer:
    """What the server said."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Of the failure."""
        assert self.headers["content-type"] == "application/json"
        assert set(self.json) == {"error"}
        code = self.json["error"]["code"]
        assert isinstance(code, str)
        return code


class Served:
    """A server that runs."""

    def __init__(self, port: int, keeper: TokenKeeper, app: Application, syncing: SyncState) -> None:
        self.port = port
        self.keeper = keeper
        self.app = app
        self.syncing = syncing
        self.host = f"127.0.0.1:{port}"
        self.origin = f"http://{self.host}"

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """Ask as anybody might; `path` goes out as it is."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            given = {name.lower() for name in headers or {}}
            connection.putrequest(method, path, skip_host="host" in given, skip_accept_encoding=True)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            if body is not None and not given & {"content-length", "transfer-encoding"}:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())

    def get(self, path: str, **headers: str) -> Answer:
        """Ask with the token."""
        return self.ask("GET", path, {**self.bearer, **{n.replace("_", "-"): v for n, v in headers.items()}})

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keeper.token}"}

    @property
    def cookie(self) -> dict[str, str]:
        """What a browser that was let in sends."""
        return {"Cookie": f"{self.keeper.cookie}={self.keeper.open_session()}"}

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def send(self, data: bytes) -> bytes:
        """Send bytes, and return all that comes until the server closes."""
        with self.connect() as connection:
            connection.sendall(data)
            return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    parts = []
    while True:
        try:
            part = connection.recv(65536)
        except ConnectionResetError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


@contextmanager
def serving(
    home: Path,
    *,
    store: MaintainedStore | None = None,
    accounts: Accounts | None = None,
    routes: Sequence[Any] = HANDLERS,
    handlers: Sequence[Any] = (),
    limits: Limits | None = None,
    failures: FailureLimit | None = None,
    page: Path | None = None,
    allowed: Sequence[str] = (),
    around: ServerContext | None = None,
) -> Iterator[Served]:
    """Run the server in a thread, with `handlers` besides its own; what is not given is made in `home`."""
    home.mkdir(parents=True, exist_ok=True)
    keeper, syncing, limits = TokenKeeper(home / "server-token"), SyncState(), limits or Limits()
    own = store is None
    kept = open_store(home / "turnlog.db") if store is None else store
    people = open_accounts(home / "turnlog.db", create=False) if accounts is None else accounts
    with closing(listen("127.0.0.1", 0)) as made:
        port = int(made.getsockname()[1])
        app = build_app(
            kept,
            keeper,
            Hosts("127.0.0.1", port, allowed, public_url=None if around is None else around.public_url),
            people,
            limits=limits,
            handlers=(*routes, *handlers),
            syncing=syncing,
            failures=failures,
            context=around or ServerContext(place=home / "turnlog.db" if own else None),
            page=page or home / "no page",
        )
        config = uvicorn.Config(
            app,
            http=build_protocol(limits),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([made])))
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield Served(port, keeper, app, syncing)
        finally:
            app.live.close()
            server.should_exit = True
            thread.join(PATIENCE)
            if accounts is None:
                people.close()
            if own:
                kept.close()
