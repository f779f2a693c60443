"""A client of `/api/live` over a real connection, which reads no more than it is asked to."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from server_app import PATIENCE, Served


class Event(Struct, frozen=True):
    """What one event says."""

    name: str
    data: Any
    id: str | None = None

    @property
    def seq(self) -> int:
        """Its place in the feed."""
        assert self.id is not None
        return int(self.id.partition(":")[2])


class LiveClient:
    """One stream."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rb")
        self.head = b"".join(iter(self._file.readline, b"\r\n"))
        self.heartbeats = 0
        self._rest = b""

    @property
    def status(self) -> int:
        return int(self.head.split(b" ", 2)[1])

    def close(self) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Event]:
        """Yield events until the server ends the stream."""
        while (part := self._read_part()) is not None:
            if part.startswith(b":"):
                self.heartbeats += 1
            else:
                yield parse(part.decode())

    def read(self, name: str | None = None) -> Event:
        """Return the next event, of a kind."""
        return next(event for event in self if name is None or event.name == name)

    def await_change(self, session: str, kind: str | None = None) -> Event:
        """Read until something is told of a session, by its key or its id, and return that."""
        return next(
            event
            for event in self
            if event.name == "change"
            and session in (event.data["session"], event.data["session_id"])
            and kind in (None, event.data["kind"])
        )

    def await_seq(self, seq: int) -> None:
        """Read until the client is as far in the feed."""
        next(event for event in self if event.id is not None and event.seq >= seq)

    def wait_for_heartbeat(self) -> None:
        """Read until the server says that it is there."""
        part = self._read_part()
        assert part is not None
        assert part.startswith(b":"), part
        self.heartbeats += 1

    def read_bytes(self, size: int) -> str:
        """Read until so much came, however many events that is."""
        while len(self._rest) < size and self._read_chunk():
            pass
        return self._rest[:size].decode()

    def _read_part(self) -> bytes | None:
        while b"\n\n" not in self._rest:
            if not self._read_chunk():
                return None
        part, _, self._rest = self._rest.partition(b"\n\n")
        return part

    def _read_chunk(self) -> bool:
        size = int(self._file.readline() or b"0", 16)
        chunk = self._file.read(size)
        self._file.readline()
        self._rest += chunk
        return bool(chunk)


def parse(text: str) -> Event:
    fields = dict(line.split(": ", 1) for line in text.split("\n"))
    assert set(fields) <= {"id", "event", "data"}
    return Event(fields["event"], json.loads(fields["data"]), fields.get("id"))


@contextmanager
def listening(
    served: Served,
    last: str | None = None,
    *,
    path: str = "/api/live",
    headers: Mapping[str, str] | None = None,
) -> Iterator[LiveClient]:
    """Open a stream, from the last event on that the client has."""
    sent = {"Host": served.host, **(served.bearer if headers is None else headers)}
    if last is not None:
        sent["Last-Event-ID"] = last
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
    with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as connection:
        connection.sendall("\r\n".join(lines).encode())
        client = LiveClient(connection)
        try:
            yield client
        finally:
            client.close()
