"""The processes of a server: one server for one archive, and processes beside it.

The server's file is locked for as long as the server lives, whatever ends it, so a leftover of one that was
killed is no obstacle. Its content tells others where the server is.

Beside the server runs what takes whole seconds of Python's time. A child reports on standard output, a line of
JSON each, and ends when its standard input does: when the server wants it to, and when the server is no more.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

import msgspec
from msgspec import Struct

from turnlog.errors import ServerError
from turnlog.store import model
from turnlog.store.model import ServerPlace, StorePlace, name_place


class OpeningKey(Struct, frozen=True, gc=False, kw_only=True):
    """An address that logs one browser in, once."""

    path: str
    """The path on this server; it is a secret until it is used."""
    seconds: int
    """How long it is valid."""


try:
    import fcntl
except ImportError:  # there, a server that answers is one that lives
    fcntl = None  # type: ignore[assignment]

_NAME = "server.json"
_PATIENCE = 2.0
"""How long to wait for a server that is just starting to say where it is."""
_PAUSE = 0.05
_LARGEST = 4096


class RunningServer(Struct, frozen=True, gc=False, kw_only=True):
    """A server that runs."""

    pid: int
    url: str
    host: str
    port: int
    started_at: float
    """In seconds since 1970."""


class AlreadyServingError(ServerError):
    """Another server serves the archive."""

    def __init__(self, presence: RunningServer | None) -> None:
        self.presence = presence
        super().__init__(presence)

    def __str__(self) -> str:
        if self.presence is None:
            return "another server for this archive is starting"
        return f"process {self.presence.pid} is already serving this archive, at {self.presence.url}"


@contextmanager
def hold_server_lock(home: Path) -> Iterator[Callable[[RunningServer], None]]:
    """Hold the lock of an archive's one server, in `home`, and give what announces where that is.

    Raises `AlreadyServingError` and `OSError`.
    """
    path = home / _NAME
    file = _open(path)
    try:
        os.ftruncate(file, 0)
        if hasattr(os, "fchmod"):
            os.fchmod(file, 0o600)

        def announce(server: RunningServer) -> None:
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, msgspec.json.encode(server))

        yield announce
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(file)


def find_server(home: Path) -> RunningServer | None:
    """Return the server of the archive in `home`, if one answers there."""
    try:
        file = os.open(home / _NAME, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        found = _read(file)
    finally:
        os.close(file)
    return found if found is not None and _responds(found) else None


def _open(path: Path) -> int:
    end = time.monotonic() + _PATIENCE
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        if _try_lock(file) and _is_at(file, path):
            return file
        found = _read(file)
        os.close(file)
        if found is not None or time.monotonic() >= end:
            raise AlreadyServingError(found)
        time.sleep(_PAUSE)


def _try_lock(file: int) -> bool:
    if fcntl is None:
        found = _read(file)
        return found is None or not _responds(found)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(file: int, path: Path) -> bool:
    """Tell whether the file is still the one of that name: the server before may just have removed it."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _read(file: int) -> RunningServer | None:
    os.lseek(file, 0, os.SEEK_SET)
    try:
        return msgspec.json.decode(os.read(file, _LARGEST), type=RunningServer)
    except msgspec.DecodeError:
        return None


def _responds(presence: RunningServer) -> bool:
    try:
        socket.create_connection((presence.host, presence.port), 1.0).close()
    except OSError:
        return False
    return True


logger = logging.getLogger("turnlog.server")
_Report = TypeVar("_Report", bound=Struct)
_POLITENESS = 10
"""Requests come first."""
_PROGRESS_SECONDS = 0.2


def start_child(module: str, place: StorePlace, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Run a module beside the server, for the store at a place."""
    where = place.home if isinstance(place, ServerPlace) else place
    # A session of its own: what a terminal sends goes to the server alone, and workers end with it. And without
    # the folder that we happen to be in, where somebody may have put modules of their own.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, os.fspath(where)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=name_place(env, place),
        start_new_session=True,
    )


def parse_place(argument: str) -> StorePlace:
    """Return, as a child, the place that it was started for."""
    return model.find_place(os.environ, Path(argument)) or Path(argument)


def end_child(process: subprocess.Popen[bytes], patience: float) -> None:
    """Ask a child to finish; after some seconds, kill it and its own children."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def read_reports(process: subprocess.Popen[bytes], kind: type[_Report]) -> Iterator[_Report]:
    """Yield what a child reports, until it ends."""
    for line in process.stdout or ():
        try:
            yield msgspec.json.decode(line, type=kind)
        except msgspec.DecodeError:
            logger.error("a process beside the server sent a message that cannot be read")
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # what was not sent is not sent
                pipe.close()


def prepare_child(on_end: Callable[[], None] | None = None) -> None:
    """Lower this child's priority, and leave Ctrl-C to the server.

    `on_end` is called in a thread when the server wants this process to end, or is no more.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells all
    if hasattr(os, "nice"):
        os.nice(_POLITENESS)
    if on_end is not None:
        threading.Thread(target=_await_end, args=(on_end,), daemon=True).start()


def _await_end(on_end: Callable[[], None]) -> None:
    open_input().read()
    on_end()


def open_input() -> IO[bytes]:
    """Return, as a child, what a thread may wait at for the server's word when this process ends.

    `sys.stdin` would not do: Python wants that for itself at the end, and dies if it cannot have it.
    """
    return open(sys.stdin.fileno(), "rb", closefd=False)


class ProgressReporter:
    """Sends reports of progress, as a child, a few times a second."""

    def __init__(self) -> None:
        self._next = 0.0

    def send(self, news: Struct, *, at_once: bool = False) -> None:
        """Send a report, unless the last one was sent a moment ago."""
        now = time.monotonic()
        if at_once or now >= self._next:
            self._next = now + _PROGRESS_SECONDS
            send_report(news)


def send_report(news: Struct) -> None:
    """Send a report to the server, as a child."""
    try:
        sys.stdout.buffer.write(msgspec.json.encode(news) + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # nobody listens: standard input ends in the same moment
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
