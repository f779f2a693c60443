"""A server that is killed right after it answered has lost nothing."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from command_line import TURNLOG, environment
from turnlog.ingest.spool import SPOOL, Spool
from turnlog.server.http_server import Ready, ServeOptions, serve
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store

SERVE = (*TURNLOG, "serve", "--no-browser", "--no-sync", "--json", "--port", "0")
NOW = 1_790_000_000_000_000_001


Started = tuple[Callable[[], None], http.client.HTTPConnection, str]
"""A way to kill it, a connection to it, and its token."""


@contextmanager
def command(home: Path) -> Iterator[Started]:
    """Run a server as people do, and kill it at the end."""
    env = environment({"TURNLOG_HOME": os.fspath(home), "CLAUDE_CONFIG_DIR": os.fspath(home / "claude")})
    process = subprocess.Popen(SERVE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        told = json.loads(line)
        with connected(urlsplit(told["url"]).port or 0) as connection:
            yield process.kill, connection, Path(told["token_file"]).read_text().strip()
    finally:
        process.kill()
        process.communicate()


@contextmanager
def forked(home: Path) -> Iterator[Started]:
    """Run a server in a fork of a process that has read its modules once: it starts much sooner."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["turnlog.server.http_server"])
    ours, theirs = context.Pipe()
    process = context.Process(target=serve_here, args=(home, theirs))
    process.start()
    try:
        port, token_file = ours.recv()
        with connected(port) as connection:
            yield process.kill, connection, Path(token_file).read_text().strip()
    finally:
        process.kill()
        process.join()
        ours.close()
        theirs.close()


def serve_here(home: Path, told: Connection) -> None:
    env = {"TURNLOG_HOME": os.fspath(home), "CLAUDE_CONFIG_DIR": os.fspath(home / "claude")}

    def on_ready(ready: Ready) -> None:
        told.send((ready.port, ready.token_file))

    serve(home / "turnlog.db", ServeOptions(port=0, follows=False), on_ready, env)


@contextmanager
def connected(port: int) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        yield connection


Start = Callable[[Path], AbstractContextManager[Started]]


def deliver(connection: http.client.HTTPConnection, token: str, number: int) -> None:
    payload = {"session_id": f"s{number % 7}", "hook_event_name": "PreToolUse", "n": number, "x": "y" * 2000}
    headers = {"Authorization": f"Bearer {token}", "X-Turnlog-Delivery": f"{NOW + number}-k"}
    connection.request("POST", "/api/hooks", json.dumps(payload), headers)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["kept"]) == (200, "archive")


def kill_often(start: Start, home: Path, kills: int, each: int) -> float:
    """Deliver, kill, and go on; return how many seconds a kill took. All must be there after the last start."""
    number, begun = 0, time.monotonic()
    for _ in range(kills):
        with start(home) as (kill, connection, token):
            for _ in range(each):
                deliver(connection, token, number)
                number += 1
            kill()  # with nothing between this and the last answer
    seconds = (time.monotonic() - begun) / kills
    expected = {f"{NOW + at}-k" for at in range(number)}
    with start(home):
        store = open_store(home / "turnlog.db", read_only=True)
        while Spool(home / SPOOL).count().waiting:
            time.sleep(0.01)
        kept = store.list_deliveries(LOCAL)
        store.close()
    assert len(kept) == number
    assert {delivery.delivery_id for delivery in kept} == expected
    assert all(json.loads(delivery.payload)["n"] == delivery.received_ns - NOW for delivery in kept)
    return seconds


def test_what_was_answered_outlives_a_kill(tmp_path: Path, report: Callable[[str], None]) -> None:
    seconds = kill_often(forked, tmp_path / "home", kills=10, each=10)
    report(f"10 kills after 100 deliveries, nothing lost; {seconds:.2f} s for each")


@pytest.mark.soak
def test_what_was_answered_outlives_a_hundred_kills_of_the_command(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    seconds = kill_often(command, tmp_path / "home", kills=100, each=20)
    report(f"100 kills after 2,000 deliveries, nothing lost; {seconds:.2f} s for each")
