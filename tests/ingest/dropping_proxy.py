"""A network that fails: a proxy that swallows what passes, cuts it off, or lets it through."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Iterator
from enum import Enum


class Line(Enum):
    """How the network is."""

    OPEN = "open"
    SILENT = "silent"
    """Nothing comes through, and nobody is told."""
    CUT = "cut"
    """Connections are reset, also new ones."""


class DroppingProxy:
    """Passes connections on to a port of this machine, as long as the line is open."""

    def __init__(self) -> None:
        self.target = 0
        """The port of the server."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.line = Line.OPEN
        self.passed = 0
        """How many bytes went to the server."""
        self.cut_after: int | None = None
        """Cut the line when so many bytes more went to the server."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def running(self) -> Iterator[DroppingProxy]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stopping.set()
            self._thread.join()
            self._listener.close()

    def _accept(self) -> None:
        passing: list[threading.Thread] = []
        while not self._stopping.is_set():
            if select.select([self._listener], [], [], 0.02)[0]:
                client = self._listener.accept()[0]
                passing.append(threading.Thread(target=self._pass, args=(client,), daemon=True))
                passing[-1].start()
        for each in passing:
            each.join()

    def _pass(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            if self.line is Line.CUT:
                return
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                self._shuttle(client, server)

    def _shuttle(self, client: socket.socket, server: socket.socket) -> None:
        lost = False
        while not self._stopping.is_set() and self.line is not Line.CUT:
            for ready in select.select([client, server], [], [], 0.02)[0]:
                data = ready.recv(1 << 14)
                if not data:
                    return
                lost = lost or self.line is Line.SILENT  # what was lost once is missing for ever
                if lost:
                    continue
                if ready is client and not self._count(data):
                    return
                (server if ready is client else client).sendall(data)

    def _count(self, data: bytes) -> bool:
        self.passed += len(data)
        if self.cut_after is not None:
            self.cut_after -= len(data)
            if self.cut_after <= 0:
                self.cut_after, self.line = None, Line.CUT
                return False
        return True
