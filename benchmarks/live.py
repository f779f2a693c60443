"""How soon is a client told, how many can listen, and what does an hour of events leave behind?

`turnlog serve` runs as a process of its own over a few sessions. A line is appended to a session's file, and
the time is taken until a client of `/api/live` is told. Hooks are posted by some senders at once. Then an
hour's worth of both is pressed into a minute, and at last a thousand clients listen while sessions change.
Whoever measures shares the machine's cores with the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GOAL_MS = 250.0
"""p95, from a line that is appended to a client that is told."""
CLIENTS, SENDERS, PATIENCE = 1000, 8, 120.0
SESSIONS = 20
HOUR = 3600
"""Events: one a second for an hour."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure live updates.")
    parser.add_argument("--lines", type=int, default=200, help="how many lines are appended, one by one")
    parser.add_argument("--seconds", type=float, default=60.0, help="into how long the hour is pressed")
    parser.add_argument("--clients", type=int, default=CLIENTS, help="how many listen at once")
    options = parser.parse_args(arguments)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))
    with tempfile.TemporaryDirectory() as name:
        Bench(Path(name)).run(options.lines, options.seconds, options.clients)
    return 0


class Bench:
    """A server, the sessions that it follows, and those who listen."""

    def __init__(self, work: Path) -> None:
        self._home = work / "turnlog"
        self._config = work / "claude"
        self._folder = self._config / "projects" / "-bench"
        self._folder.mkdir(parents=True)
        self._paths = [
            self._folder / f"{number:08d}-0000-4000-8000-000000000000.jsonl" for number in range(SESSIONS)
        ]
        self._written = 0
        self._port = _find_port()
        self._token = ""
        for path in self._paths:
            for _ in range(50):
                self._append(path)

    def run(self, lines: int, seconds: float, clients: int) -> None:
        env = {**os.environ, "TURNLOG_HOME": str(self._home), "CLAUDE_CONFIG_DIR": str(self._config)}
        command = [sys.executable, "-m", "turnlog", "serve", "--no-browser", "--port", str(self._port)]
        server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            asyncio.run(self._measure(server.pid, lines, seconds, clients))
        finally:
            server.send_signal(signal.SIGTERM)
            started = time.monotonic()
            server.wait(60)
            print(f"  ended within {time.monotonic() - started:.1f} s of SIGTERM\n")

    async def _measure(self, pid: int, lines: int, seconds: float, clients: int) -> None:
        await self._wait()
        print(f"\n{SESSIONS} sessions; load of the machine at first: {os.getloadavg()[0]:.1f}\n")
        taken = [await self._clock_line(number) for number in range(lines)]
        verdict = "met" if _percentile(taken, 95) <= GOAL_MS else "MISSED"
        print(
            f"  a line until a client is told: p50 {_percentile(taken, 50):.0f} ms, "
            f"p95 {_percentile(taken, 95):.0f} ms (goal {GOAL_MS:.0f}): {verdict}; at most {max(taken):.0f} ms"
        )
        await self._press_hooks(2000)
        await self._press_hour(pid, seconds)
        await self._crowd(pid, clients)

    async def _clock_line(self, number: int) -> float:
        async with Stream(self._port, self._token) as stream:
            path = self._paths[number % SESSIONS]
            await asyncio.sleep(0.15)
            started = time.perf_counter()
            self._append(path)
            await stream.wait_for(path.stem)
            return (time.perf_counter() - started) * 1000

    async def _press_hooks(self, count: int) -> None:
        taken: list[float] = []
        started = time.perf_counter()
        numbers = iter(range(count))

        async def send() -> None:
            client = Client(self._port, self._token)
            for number in numbers:
                before = time.perf_counter()
                await client.post("/api/hooks", _build_hook(number))
                taken.append((time.perf_counter() - before) * 1000)
            client.close()

        await asyncio.gather(*(send() for _ in range(SENDERS)))
        rate = count / (time.perf_counter() - started)
        print(f"  hooks: {rate:.0f} a second by {SENDERS} senders, p99 {_percentile(taken, 99):.0f} ms")

    async def _press_hour(self, pid: int, seconds: float) -> None:
        before, spent = _read(pid, "VmRSS"), _read_cpu(pid)
        client = Client(self._port, self._token)
        started = time.monotonic()
        events = 0
        async with Stream(self._port, self._token) as stream:
            counting = asyncio.create_task(stream.count())
            for number in range(HOUR):
                if number % 4 == 0:
                    self._append(self._paths[number % SESSIONS])
                await client.post("/api/hooks", _build_hook(10_000 + number))
                await asyncio.sleep(max(started + seconds * number / HOUR - time.monotonic(), 0))
            await asyncio.sleep(2.0)
            counting.cancel()
            events = stream.events
        client.close()
        cpu, took = _read_cpu(pid) - spent, time.monotonic() - started
        print(
            f"  an hour's events in {took:.0f} s: {HOUR} hooks and {HOUR // 4} lines, told in {events} events; "
            f"memory {before:.0f} to {_read(pid, 'VmRSS'):.0f} MB, {cpu:.1f} s of CPU"
        )

    async def _crowd(self, pid: int, count: int) -> None:
        before, spent, started = _read(pid, "VmRSS"), _read_cpu(pid), time.monotonic()
        streams = [Stream(self._port, self._token) for _ in range(count)]
        for first in range(0, count, 50):
            await asyncio.gather(*(stream.open() for stream in streams[first : first + 50]))
        opened = time.monotonic() - started
        held = _read(pid, "VmRSS")
        quiet = _read_cpu(pid)
        await asyncio.sleep(5.0)
        quiet = (_read_cpu(pid) - quiet) / 5.0 * 100
        taken = []
        for number in range(10):
            path = self._paths[number % SESSIONS]
            begun = time.perf_counter()
            self._append(path)
            await asyncio.gather(*(stream.wait_for(path.stem) for stream in streams))
            taken.append((time.perf_counter() - begun) * 1000)
            await asyncio.sleep(0.5)
        for stream in streams:
            stream.close()
        print(
            f"  {count} clients: connected in {opened:.1f} s, memory {before:.0f} to {held:.0f} MB "
            f"({(held - before) * 1024 / count:.0f} KB each), {quiet:.1f} % of a core while nothing happens;\n"
            f"    all of them told of a line within p50 {_percentile(taken, 50):.0f} ms, "
            f"at most {max(taken):.0f} ms; {_read_cpu(pid) - spent:.1f} s of CPU in all"
        )

    def _append(self, path: Path) -> None:
        self._written += 1
        number = self._written
        kind = "assistant" if number % 2 else "user"
        content: Any = [{"type": "text", "text": f"line {number}"}] if number % 2 else f"prompt {number}"
        message: dict[str, Any] = {"role": kind, "content": content}
        if number % 2:
            message |= {"id": f"msg_{number}", "model": "claude-sonnet-4-5", "stop_reason": "end_turn"}
            message["usage"] = {"input_tokens": 10, "output_tokens": 10}
        at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        line = {"type": kind, "sessionId": path.stem, "uuid": f"u{number}", "parentUuid": None, "timestamp": at}
        with path.open("a") as file:
            file.write(json.dumps(line | {"cwd": "/bench", "message": message}) + "\n")

    async def _wait(self) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                self._token = (self._home / "server-token").read_text().strip()
                client = Client(self._port, self._token)
                status = await client.get("/api/status")
                client.close()
                if status["sync"]["phase"] == "watching":
                    return
            except (OSError, ValueError):
                pass
            await asyncio.sleep(0.2)
        raise SystemExit("the server did not begin to watch")


class Client:
    """A connection that asks again and again."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> Any:
        return json.loads(await self._ask("GET", path, b""))

    async def post(self, path: str, body: bytes) -> None:
        await self._ask("POST", path, body)

    async def _ask(self, method: str, path: str, body: bytes) -> bytes:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(_build_head(method, path, self._port, self._token, len(body)) + body)
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise ValueError(head)
        [size] = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        return await reader.readexactly(int(size.split(b":")[1]))

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


class Stream:
    """A client of `/api/live`."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self.events = 0

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(_build_head("GET", "/api/live", self._port, self._token, 0))
        await self._read_until(b"event: hello")

    async def wait_for(self, session: str) -> None:
        await self._read_until(session.encode())

    async def count(self) -> None:
        while True:
            await self._read_until(b"event: ")
            self.events += 1

    async def _read_until(self, wanted: bytes) -> None:
        assert self._reader is not None
        while wanted not in await asyncio.wait_for(self._reader.readuntil(b"\n"), PATIENCE):
            pass

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    async def __aenter__(self) -> Stream:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def _build_head(method: str, path: str, port: int, token: str, size: int) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {token}"]
    lines += ["Content-Type: application/json", f"Content-Length: {size}"] if size else []
    return "\r\n".join([*lines, "", ""]).encode()


def _build_hook(number: int) -> bytes:
    name = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")[number % 4]
    payload = {"session_id": f"hooked-{number % SESSIONS}", "hook_event_name": name, "cwd": "/bench"}
    tool = {"tool_name": "Bash", "tool_use_id": f"t{number // 4}", "tool_input": {"command": "x" * 500}}
    return json.dumps(payload | (tool if number % 4 in (1, 2) else {})).encode()


def _percentile(taken: list[float], percent: int) -> float:
    return sorted(taken)[min(len(taken) * percent // 100, len(taken) - 1)]


def _find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _read(pid: int, name: str) -> float:
    """Return a figure of a process in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _read_cpu(pid: int) -> float:
    """Return how many seconds of CPU a process took."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
