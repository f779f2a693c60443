"""How soon does the server answer, when fifty clients ask at once and sessions are being synced?

`turnlog serve` runs as a process of its own over a machine that is made up from the corpus. Half of the session
files are there from the beginning; the others come while it is measured, so that the follower always has
something to sync. First one client asks alone, then fifty ask without a pause: their figures are those of a
server that has more to do than it can. The clients share the machine's cores with it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import zstandard

GOAL_ALONE = 50.0
"""Milliseconds: p99 of every endpoint, asked alone."""
CLIENTS, ALONE_EACH, PATIENCE = 50, 15, 300.0
WIDTHS = (9, 9, 11, 11)
WORDS = ("error", "test", "the", "import", "file", "function")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure the server.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the clients ask")
    options = parser.parse_args(arguments)
    paths = sorted(options.folder.rglob("*.jsonl"))
    if not paths:
        print(f"no session files (*.jsonl) below {options.folder}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        Bench(Path(name), paths).run(options.seconds)
    return 0


class Bench:
    """A server, and those who ask it."""

    def __init__(self, work: Path, paths: list[Path]) -> None:
        self._config = work / "claude"
        self._home = work / "turnlog"
        self._port = _find_port()
        self._token = ""
        self._there, self._coming = paths[::2], paths[1::2]
        for number, path in enumerate(self._there):
            self._lay(number, path)

    def run(self, seconds: float) -> None:
        env = {**os.environ, "TURNLOG_HOME": str(self._home), "CLAUDE_CONFIG_DIR": str(self._config)}
        command = [sys.executable, "-m", "turnlog", "serve", "--no-browser", "--port", str(self._port)]
        server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            asyncio.run(self._measure(server.pid, seconds))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)

    async def _measure(self, pid: int, seconds: float) -> None:
        await self._wait()
        endpoints = await self._list_endpoints()
        sessions = (await self._ask_once("/api/status"))["sessions"]
        print(
            f"\n{sessions} sessions at first, as many come meanwhile; {CLIENTS} clients for {seconds:.0f} s\n"
        )
        alone = await self._ask_alone(endpoints)
        together, synced = await self._ask_together(endpoints, seconds)
        print(f"  {'':<16}{'alone':>18}{f'{CLIENTS} clients':>22}")
        print(f"  {'ms':<16}{'p50':>9}{'p99':>9}{'p50':>11}{'p99':>11}{'answers':>10}")
        for name in endpoints:
            figures = (*_percentiles(alone[name]), *_percentiles(together[name]))
            shown = "".join(f"{figure:>{width}.1f}" for figure, width in zip(figures, WIDTHS, strict=True))
            print(f"  {name:<16}{shown}{len(together[name]):>10}")
        worst = max(_percentiles(taken)[1] for taken in alone.values())
        answers = sum(map(len, together.values()))
        print(f"\n  {answers / seconds:.0f} answers a second, while {synced} sessions were synced")
        print(f"  slowest p99 alone: {worst:.0f} ms (goal {GOAL_ALONE:.0f}): {_verdict(worst <= GOAL_ALONE)}")
        for process, title in ((pid, "server"), *((child, "follower") for child in _list_children(pid))):
            now, most = _read(process, "VmRSS"), _read(process, "VmHWM")
            print(f"  memory of the {title}: {now:.0f} MB, at most {most:.0f} MB")

    async def _wait(self) -> None:
        """Wait until what is there is synced."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                self._token = (self._home / "server-token").read_text().strip()
                if (await self._ask_once("/api/status"))["sync"]["phase"] == "watching":
                    return
            except (OSError, ValueError):
                pass
            await asyncio.sleep(0.2)
        raise SystemExit("the server did not begin to watch")

    async def _list_endpoints(self) -> dict[str, list[str]]:
        """Return addresses by what they are of, for sessions of all sizes."""
        sessions = (await self._ask_once("/api/sessions?sort=messages&limit=500"))["items"]
        chosen = [*sessions[:5], *sessions[:: max(len(sessions) // 15, 1)]]
        each = [f"/api/sessions/{session['key']}" for session in chosen]
        parts = ("turns", "tree", "sidechains", "agents", "calls", "calls?bodies=true", "problems")
        return {
            "status": ["/api/status"],
            "projects": ["/api/projects"],
            "sessions": ["/api/sessions", "/api/sessions?sort=cost", "/api/sessions?text=test"],
            "session": each,
            "messages": [f"{one}/messages{end}" for one in each for end in ("", "?around=end", "?around=100")],
            "raw": [f"{one}/messages/0/raw" for one in each],
            **{part.replace("?bodies=true", " (bodies)"): [f"{one}/{part}" for one in each] for part in parts},
            "search": [f"/api/search?q={quote(word)}" for word in WORDS],
            "usage": ["/api/usage", "/api/usage?by=session", "/api/usage?by=model&timezone=Europe/Berlin"],
        }

    async def _ask_alone(self, endpoints: dict[str, list[str]]) -> dict[str, list[float]]:
        client = Client(self._port, self._token)
        found = {
            name: [(await client.clock(paths[n % len(paths)])) for n in range(max(ALONE_EACH, len(paths)))]
            for name, paths in endpoints.items()
        }
        client.close()
        return found

    async def _ask_together(
        self, endpoints: dict[str, list[str]], seconds: float
    ) -> tuple[dict[str, list[float]], int]:
        found: dict[str, list[float]] = {name: [] for name in endpoints}
        end = time.monotonic() + seconds

        async def ask(seed: int) -> None:
            choice, client = random.Random(seed), Client(self._port, self._token)
            while time.monotonic() < end:
                name = choice.choice(list(endpoints))
                found[name].append(await client.clock(choice.choice(endpoints[name])))
            client.close()

        before = (await self._ask_once("/api/status"))["last_change"]
        await asyncio.gather(self._bring(seconds), *(ask(seed) for seed in range(CLIENTS)))
        return found, (await self._ask_once("/api/status"))["last_change"] - before

    async def _bring(self, seconds: float) -> None:
        """Let the other files come one after the other."""
        for number, path in enumerate(self._coming, len(self._there)):
            self._lay(number, path)
            await asyncio.sleep(0.9 * seconds / len(self._coming))

    async def _ask_once(self, path: str) -> Any:
        client = Client(self._port, self._token)
        try:
            return json.loads(await client.ask(path))
        finally:
            client.close()

    def _lay(self, number: int, path: Path) -> None:
        folder = self._config / "projects" / f"-home-ada-p{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / f"{number:08x}-0000-4000-8000-{number:012x}.jsonl")


class Client:
    """One connection, which is kept."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nAccept-Encoding: zstd\r\n\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def clock(self, path: str) -> float:
        """Return how many milliseconds an answer takes."""
        start = time.perf_counter()
        await self.ask(path)
        return (time.perf_counter() - start) * 1000

    async def ask(self, path: str) -> bytes:
        """Return the body of an answer, which must be there."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        reader, writer = self._streams
        writer.write(f"GET {path} HTTP/1.1\r\n{self._head}".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        size = next(int(line[15:]) for line in head.splitlines() if line.startswith("content-length:"))
        body = await reader.readexactly(size)
        if not head.startswith("http/1.1 200"):
            raise ValueError(f"{path}: {head.splitlines()[0]} {body[:200]!r}")
        return body if "content-encoding: zstd" not in head else zstandard.decompress(body)

    def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            self._streams[1].close()


def _percentiles(taken: list[float]) -> tuple[float, float]:
    return (
        (statistics.median(taken), statistics.quantiles(taken, n=100, method="inclusive")[-1])
        if len(taken) > 1
        else (0.0, 0.0)
    )


def _find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _list_children(pid: int) -> list[int]:
    """Return the processes that any thread of a process started."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


def _read(pid: int, name: str) -> float:
    """Return a figure of a process's memory, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(name))


def _verdict(reached: bool) -> str:
    return "reached" if reached else "missed"


if __name__ == "__main__":
    raise SystemExit(main())
