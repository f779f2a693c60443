"""Where `turnlog ingest` reads from: standard input, a file, or a socket that it listens at.

What is there is taken at once, so that each write to the disk keeps as many lines as there are. Who interrupts
a pipe interrupts the program at its other end, too: what that still says is taken, for a moment.
"""

from __future__ import annotations

import ipaddress
import os
import select
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from turnlog.cli.failures import MisuseError

_PIECE = 1 << 20
_LAST_WORDS = 2.0
"""How long what is still to come is waited for, once interrupted."""
_ATTENTION = 0.2

Read = Callable[[], bytes | None]


class Interrupts:
    """Counts how often the person pressed Ctrl-C, or the system asked to end; the third time ends at once."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def caught(self) -> Iterator[Interrupts]:
        """Count for as long as this lasts."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [(number, signal.signal(number, self._note)) for number in numbers]
        try:
            yield self
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 2:
            raise KeyboardInterrupt


def read_lines(source: int, interrupts: Interrupts) -> Iterator[list[bytes]]:
    """Yield lines of an open file as they come, and at last what is left without a newline."""
    rest = b""
    for piece in _read(source, interrupts):
        *lines, rest = (rest + piece).split(b"\n")
        if lines:
            yield [line + b"\n" for line in lines]
    if rest:
        yield [rest]


def _read(source: int, interrupts: Interrupts) -> Iterator[bytes]:
    waits = not stat.S_ISREG(os.fstat(source).st_mode)
    waited = 0.0
    while interrupts.count < 2:  # the second time, the person means it
        if waits and not select.select([source], [], [], _ATTENTION)[0]:
            waited = waited + _ATTENTION if interrupts.count else 0.0
            if waited >= _LAST_WORDS:
                return
            continue
        try:
            piece = os.read(source, _PIECE)
        except ConnectionError:
            return
        if not piece:
            return
        yield piece


@contextmanager
def listen(address: str, *, remote: bool) -> Iterator[socket.socket]:
    """Listen at `unix:PATH` or `tcp:HOST:PORT`, until this ends; raises `MisuseError` and `OSError`."""
    scheme, _, place = address.partition(":")
    if scheme == "unix":
        with _listen_at_path(Path(place)) as listening:
            yield listening
        return
    host, port = _split(place)
    if not remote and not _is_loopback(host):
        raise MisuseError(f"{host} can be reached by other machines; --remote allows that")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listening:
        yield listening


@contextmanager
def _listen_at_path(path: Path) -> Iterator[socket.socket]:
    if not hasattr(socket, "AF_UNIX"):
        raise MisuseError("this system has no sockets with paths; use tcp:HOST:PORT")
    if path.is_socket() and not _is_answered(path):
        path.unlink()  # of a process that died
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        before = os.umask(0o177)  # for the owner alone, from its first moment on
        try:
            listening.bind(os.fspath(path))
        finally:
            os.umask(before)
        listening.listen()
        try:
            yield listening
        finally:
            with suppress(FileNotFoundError):
                path.unlink()


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            return False
    return True


def _split(place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not port.isdecimal() or int(port) > 0xFFFF:
        raise MisuseError(f"Expected tcp:HOST:PORT or tcp:PORT, got tcp:{place}")
    return host.strip("[]") or "127.0.0.1", int(port)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
