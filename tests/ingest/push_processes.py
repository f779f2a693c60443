"""Servers and collectors as processes that can be killed, each a fork of one that has read its modules once."""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from msgspec.structs import replace

from turnlog.ingest.machine import find_origin
from turnlog.server.http_server import Ready, ServeOptions, serve
from turnlog.store.interface import MaintainedStore, read_all
from turnlog.store.model import LOCAL, ServerPlace, StorePlace
from turnlog.store.opening import open_store

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["turnlog.server.http_server", "turnlog.cli.service"])
TOKEN = "server-token"


class ServerProcess:
    """A server that is started again on the port that it had."""

    def __init__(
        self,
        home: Path,
        host: str = "127.0.0.1",
        allowed: tuple[str, ...] = (),
        place: ServerPlace | None = None,
    ) -> None:
        """Take the server's folder, and where its archive is, if that is on a server."""
        self.home = home
        self.place: StorePlace = home / "turnlog.db" if place is None else replace(place, home=home)
        self.host = host
        self.allowed = allowed
        self.port = 0
        self.kills = 0
        self._process: multiprocessing.process.BaseProcess | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def token_file(self) -> Path:
        return self.home / TOKEN

    def start(self) -> None:
        ours, theirs = FORKS.Pipe()
        options = ServeOptions(host=self.host, port=self.port, allowed=self.allowed, follows=False)
        process = FORKS.Process(target=_serve, args=(self.home, self.place, options, theirs), daemon=True)
        process.start()
        theirs.close()
        self.port = ours.recv()
        ours.close()
        self._process = process

    def kill(self, *, with_children: bool = False) -> None:
        """Kill it; a process beside it ends what it is at, unless it is killed, too."""
        assert self._process is not None
        children = self._list_children() if with_children else []
        self._process.kill()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._process.join()
        self._process.close()
        self._process = None
        self.kills += 1

    def kill_children(self) -> int:
        """Kill only what runs beside it, and return how many processes that were."""
        children = self._list_children()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return len(children)

    def _list_children(self) -> list[int]:
        assert self._process is not None
        with contextlib.suppress(OSError):  # where there is no such folder, they end by themselves
            return [
                int(number)
                for task in Path(f"/proc/{self._process.pid}/task").iterdir()
                for number in (task / "children").read_text().split()
            ]
        return []

    @contextlib.contextmanager
    def running(self) -> Iterator[ServerProcess]:
        self.start()
        try:
            yield self
        finally:
            if self._process is not None:
                self.kill()


def _serve(home: Path, place: StorePlace, options: ServeOptions, told: Connection) -> None:
    env = {
        "TURNLOG_HOME": os.fspath(home),
        "CLAUDE_CONFIG_DIR": os.fspath(home / "nothing"),
        **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
    }

    def on_ready(ready: Ready) -> None:
        told.send(ready.port)

    while True:
        try:
            serve(place, options, on_ready, env)
            return
        except Exception as error:  # the last one's port may be taken for another moment
            if options.port == 0:
                raise
            sys.stderr.write(f"{error}\n")
            time.sleep(0.05)


class CollectorProcess:
    """A machine that pushes."""

    def __init__(self, home: Path, *args: str, skew: float = 0.0) -> None:
        """Take its folder, what else it is told, and by how many seconds its clock is fast."""
        self.home = home
        self.skew = skew
        self.claude = home / ".claude"
        self.project = self.claude / "projects" / "-p"
        self.project.mkdir(parents=True, exist_ok=True)
        self.turnlog = home / "turnlog"
        self.turnlog.mkdir(exist_ok=True)
        self.args = args
        self._process: multiprocessing.process.BaseProcess | None = None

    @property
    def origin(self) -> str:
        return find_origin(self.turnlog)

    def start(self, server: ServerProcess, *args: str) -> None:
        arguments = (
            "push",
            "--to",
            server.url,
            "--token-file",
            os.fspath(server.token_file),
            *self.args,
            *args,
        )
        self._process = FORKS.Process(
            target=_push, args=(self.turnlog, self.claude, arguments, self.skew), daemon=True
        )
        self._process.start()

    def join(self) -> int:
        """Wait until it ends by itself, and return its status."""
        assert self._process is not None
        self._process.join()
        status = self._process.exitcode
        self._process.close()
        self._process = None
        assert status is not None
        return status

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self.join()

    @contextlib.contextmanager
    def running(self, server: ServerProcess, *args: str) -> Iterator[CollectorProcess]:
        self.start(server, *args)
        try:
            yield self
        finally:
            if self._process is not None:
                self.kill()

    def list_files(self) -> list[Path]:
        return sorted(path for path in self.project.rglob("*") if path.is_file())


def _push(home: Path, claude: Path, args: tuple[str, ...], skew: float) -> None:
    from turnlog.cli.program import main

    if skew:
        _set_clock(skew)
    os.environ |= {"TURNLOG_HOME": os.fspath(home), "CLAUDE_CONFIG_DIR": os.fspath(claude)}
    sys.stdout = open(home / "out.txt", "a")  # noqa: SIM115
    sys.stderr = open(home / "err.txt", "a")  # noqa: SIM115
    main(args)


def _set_clock(skew: float) -> None:
    """Have this process believe in another time."""
    true_time, true_time_ns = time.time, time.time_ns
    time.time = lambda: true_time() + skew
    time.time_ns = lambda: true_time_ns() + int(skew * 1e9)


PATIENCE = 180.0
"""Seconds."""


def await_that(condition: Callable[[], bool]) -> None:
    """Wait for something that must come; a slow machine has time enough."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def has_all(store: MaintainedStore, origin: str, files: list[Path]) -> bool:
    """Tell whether a store has all bytes of some files."""
    known = {source.path: source for session in store.list_known(LOCAL, origin) for source in session.sources}
    for path in files:
        source = known.get(os.fspath(path))
        if source is None or source.length != path.stat().st_size or not source.present:
            return False
    return True


def check_bytes(store: MaintainedStore, origin: str, files: list[Path]) -> None:
    """A store has exactly the bytes of some files, each once."""
    known = {source.path: source for session in store.list_known(LOCAL, origin) for source in session.sources}
    for path in files:
        source = known[os.fspath(path)]
        kept = b"".join(read_all(store.archive, LOCAL, source.source, source.generation))
        assert hashlib.sha256(kept).digest() == hashlib.sha256(path.read_bytes()).digest(), path


@contextlib.contextmanager
def opened(server: ServerProcess) -> Iterator[MaintainedStore]:
    """Read a server's store."""
    store = open_store(server.place, read_only=True)
    try:
        yield store
    finally:
        store.close()
