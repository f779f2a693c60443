"""What do turnlog's hooks cost the agent, and how many can the server take?

The command that `turnlog hooks install` puts into Claude Code's settings is run as Claude Code runs it, with a
payload on standard input, until it has ended and its pipes are closed: while a server runs, while none does,
and while somebody listens in its place who never answers. A shell that only reads its input shows what any
hook costs on this machine. Then clients post deliveries without a pause; each is on the disk when answered.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

GOAL = 30.0
"""Milliseconds: what a hook may take, in each case."""
TURNLOG = (sys.executable, "-m", "turnlog")
PAYLOAD = json.dumps(
    {
        "session_id": "11111111-1111-4111-8111-111111111111",
        "transcript_path": "/home/somebody/.claude/projects/-tea/11111111-1111-4111-8111-111111111111.jsonl",
        "cwd": "/home/somebody/tea",
        "permission_mode": "default",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make tea", "description": "Make tea"},
        "tool_response": {"stdout": "steam\n" * 200, "stderr": "", "interrupted": False},
        "tool_use_id": "toolu_01",
    }
).encode()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure turnlog's hooks.")
    parser.add_argument("--hooks", type=int, default=100, help="how many hooks are run in each case")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each number of clients posts")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name))
        bench.measure_hooks(options.hooks)
        bench.measure_posts(options.seconds)
    return 0


class Bench:
    """Settings with hooks, and an archive."""

    def __init__(self, work: Path) -> None:
        self._home = work / "turnlog"
        self._env = {
            **os.environ,
            "TURNLOG_HOME": os.fspath(self._home),
            "CLAUDE_CONFIG_DIR": os.fspath(work / "claude"),
        }
        (work / "claude").mkdir()
        subprocess.run([*TURNLOG, "hooks", "install"], env=self._env, check=True, stdout=subprocess.DEVNULL)
        settings = json.loads((work / "claude" / "settings.json").read_text())
        self._command = settings["hooks"]["PostToolUse"][0]["hooks"][0]["command"]

    def measure_hooks(self, count: int) -> None:
        """Print what a hook takes in each case."""
        print(f"A hook takes, in milliseconds, of {count} (goal: under {GOAL:.0f})")
        print(f"  {'':32}{'median':>9}{'p95':>9}{'slowest':>9}{'of a core':>11}")
        self._show("a shell that reads its input", [run_hook("cat >/dev/null") for _ in range(count)])
        with self._serving() as server:
            self._show("with a server", self._run(count))
            await_archived(server, count)
        self._show("without a server", self._run(count))
        with self._hanging():
            self._show("with one that never answers", self._run(count))
        waiting = len(list((self._home / "spool").glob("*.json")))
        begun = time.perf_counter()
        with self._serving() as server:
            await_archived(server, 3 * count)
            seconds = time.perf_counter() - begun
        print(f"  all {3 * count} are in the archive; {waiting} of them {seconds:.1f} s after the start")

    def measure_posts(self, seconds: float) -> None:
        """Print how many deliveries a server takes, and how soon it answers."""
        print("Deliveries that are on the disk when they are answered")
        print(f"  {'clients':>9}{'a second':>10}{'median ms':>11}{'p99 ms':>9}")
        with self._serving() as server:
            for clients in (1, 4, 16, 64):
                times = post_for(server, clients, seconds)
                ordered = sorted(times)
                median, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
                print(f"  {clients:9}{len(times) / seconds:10,.0f}{1e3 * median:11.2f}{1e3 * p99:9.2f}")

    def _run(self, count: int) -> list[Taken]:
        return [run_hook(self._command) for _ in range(count)]

    @staticmethod
    def _show(name: str, taken: list[Taken]) -> None:
        ordered = sorted(1e3 * seconds for seconds, _ in taken)
        figures = (statistics.median(ordered), ordered[int(len(ordered) * 0.95)], ordered[-1])
        busy = 1e3 * statistics.median(seconds for _, seconds in taken)
        print(f"  {name:32}" + "".join(f"{each:9.1f}" for each in figures) + f"{busy:11.1f}")

    @contextmanager
    def _serving(self) -> Iterator[dict[str, Any]]:
        process = subprocess.Popen(
            [*TURNLOG, "serve", "--no-browser", "--json", "--port", "0", "--no-sync"],
            env=self._env,
            stdout=subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.communicate()

    @contextmanager
    def _hanging(self) -> Iterator[None]:
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen(4096)
            note = self._home / "server.json"
            port = listening.getsockname()[1]
            note.write_text(f'{{"pid":{os.getpid()},"url":"http://127.0.0.1:{port}"}}')
            try:
                yield
            finally:
                note.unlink()


def run_hook(command: str) -> Taken:
    """Run a command as Claude Code runs a hook's, and return what it took."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran = subprocess.run([SHELL, "-c", command], input=PAYLOAD, capture_output=True, check=True)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert not ran.stdout + ran.stderr
    return seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


Taken = tuple[float, float]
"""Seconds: on the clock, and of a core."""
SHELL = shutil.which("bash") or "/bin/sh"


def connect(server: dict[str, Any]) -> http.client.HTTPConnection:
    """Return a connection to a server."""
    url = urlsplit(server["url"])
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    connection.connect()
    assert connection.sock is not None
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def read_token(server: dict[str, Any]) -> str:
    """Return what lets a program in."""
    return Path(server["token_file"]).read_text().strip()


def await_archived(server: dict[str, Any], count: int) -> None:
    """Wait until an archive has so many deliveries."""
    connection, headers = connect(server), {"Authorization": f"Bearer {read_token(server)}"}
    path = f"/api/sessions/{json.loads(PAYLOAD)['session_id']}/hook-events"
    while True:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status == 200 and len(json.loads(body)) >= count:
            break
        time.sleep(0.05)
    connection.close()


def post_for(server: dict[str, Any], clients: int, seconds: float) -> list[float]:
    """Have clients post for some seconds, and return what each answer took."""
    times: list[float] = []
    token, end = read_token(server), time.perf_counter() + seconds

    def post(client: int) -> None:
        connection, number = connect(server), 0
        while time.perf_counter() < end:
            name = f"{time.time_ns()}-{client}x{number}"
            headers = {"Authorization": f"Bearer {token}", "X-Turnlog-Delivery": name}
            begun = time.perf_counter()
            connection.request("POST", "/api/hooks", PAYLOAD, headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            times.append(time.perf_counter() - begun)
            number += 1
        connection.close()

    threads = [threading.Thread(target=post, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


if __name__ == "__main__":
    sys.exit(main())
