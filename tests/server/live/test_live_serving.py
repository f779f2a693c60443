"""`turnlog serve` with clients that listen: what they are told of files that grow, and how it ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from command_line import TIMEOUT, TURNLOG, environment
from live_client import LiveClient


class Running:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], told: Any) -> None:
        self.process = process
        self.port = urlsplit(told["url"]).port or 0
        self.token = Path(told["token_file"]).read_text().strip()

    def await_watching(self) -> None:
        """Wait until the first sync is done."""
        end = time.monotonic() + TIMEOUT
        while self._get("/api/status")["sync"]["phase"] != "watching":
            assert time.monotonic() < end
            time.sleep(0.1)

    def _get(self, path: str) -> Any:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            return json.loads(connection.getresponse().read())

    @contextmanager
    def listening(self, last: str | None = None) -> Iterator[LiveClient]:
        lines = [
            "GET /api/live HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            f"Authorization: Bearer {self.token}",
        ]
        lines += [f"Last-Event-ID: {last}"] if last else []
        with socket.create_connection(("127.0.0.1", self.port), TIMEOUT) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            client = LiveClient(connection)
            yield client
            client.close()


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"TURNLOG_HOME": os.fspath(tmp_path / "home"), "CLAUDE_CONFIG_DIR": os.fspath(tmp_path / ".claude")}


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / ".claude" / "projects" / "-p" / "11111111-1111-4111-8111-111111111111.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"type":"user"}\n')
    return path


@contextmanager
def start(env: dict[str, str], *more: str) -> Iterator[Running]:
    command = [*TURNLOG, "serve", "--no-browser", "--json", "--port", "0", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(env))
    timer = threading.Timer(2 * TIMEOUT, process.kill)
    timer.start()
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1].decode()
            yield Running(process, json.loads(line))
        finally:
            process.terminate()
            process.communicate(timeout=TIMEOUT)
            timer.cancel()


def test_a_file_that_grows_is_told(env: dict[str, str], session: Path) -> None:
    with start(env) as server, server.listening() as client:
        client.read("hello")
        server.await_watching()
        with session.open("a") as file:
            file.write('{"type":"user","message":{"role":"user","content":"more"}}\n')
        told = client.await_change(session.stem, "session-changed")
        assert told.data["session_id"] == session.stem


def test_a_client_goes_on_where_it_was_after_a_restart(env: dict[str, str], session: Path) -> None:
    with start(env) as server, server.listening() as client:
        seen = client.await_change(session.stem)
    session.with_name("22222222-2222-4222-8222-222222222222.jsonl").write_text('{"type":"user"}\n')
    with start(env) as server, server.listening(seen.id) as client:
        hello = client.read()
        assert (hello.name, hello.id) == ("hello", seen.id)
        assert client.await_change("22222222-2222-4222-8222-222222222222").seq > seen.seq


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_it_ends_in_order_with_streams_open(env: dict[str, str], session: Path) -> None:
    with start(env) as server, ExitStack() as stack:
        clients = [stack.enter_context(server.listening()) for _ in range(30)]
        for client in clients:
            client.read("hello")
        server.process.send_signal(signal.SIGTERM)
        for client in clients:
            events = [
                event.name for event in client
            ]  # to an end that the server makes, not a broken connection
            assert "reset" not in events
        _, errors = server.process.communicate(timeout=TIMEOUT)
        assert (server.process.returncode, errors) == (0, b"")
