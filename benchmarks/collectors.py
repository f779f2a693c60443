"""How many machines can one server take?

Simulated machines, all in one process, push to a server on this computer: each has a session that grows, and
sends what is new as soon as the last of it was acknowledged, or after a pause. Meanwhile somebody delivers
hooks and looks at pages. All figures are of the same run; the machines take their share of the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from turnlog.ingest.upload_protocol import PROTOCOL, FileChunk, SessionUpload, Upload, digest_of, encode_upload
from turnlog.store.model import SourceKind
from turnlog.testing.builders import make_line
from turnlog.transcripts.session_files import Change

SERVE = (sys.executable, "-m", "turnlog", "serve", "--no-browser", "--no-sync", "--json", "--port", "0")
HOOK = json.dumps({"session_id": "bench", "hook_event_name": "PreToolUse", "tool_name": "Bash"}).encode()
SEED = 13
LENGTH = 2500
"""Bytes of text in a line: what lines of real sessions have on average."""
WORDS = [f"{word}{number}" for word in ("stone", "river", "cloud", "paper") for number in range(500)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure what collectors can push.")
    parser.add_argument("--machines", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two uploads of a machine")
    parser.add_argument("--kilobytes", type=float, default=16.0, help="how much each upload has, about")
    measure(parser.parse_args(arguments))
    return 0


def measure(options: argparse.Namespace) -> None:
    """Run a server, and have all machines push to it."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        env = {**os.environ, "TURNLOG_HOME": name, "CLAUDE_CONFIG_DIR": os.fspath(home / "nothing")}
        with subprocess.Popen(SERVE, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                assert process.stdout is not None
                told = json.loads(process.stdout.readline())
                token = Path(told["token_file"]).read_text().strip()
                port = urlsplit(told["url"]).port or 0
                processes = Processes(process.pid)
                bench = Bench(processes, port, token, options.kilobytes, options.pause)
                asyncio.run(bench.run(options.machines, options.seconds))
            finally:
                process.terminate()


def write_lines(count: int, first: int, session_id: str) -> bytes:
    """Return lines of a conversation, as long as real ones are on average."""
    chance = random.Random(first)
    lines = []
    for number in range(first, first + count):
        text = " ".join(chance.choices(WORDS, k=LENGTH // 7))
        kind = "assistant" if number % 2 else "user"
        lines.append(make_line(number, type=kind, text=text, session_id=session_id))
    return b"".join(lines)


class Client:
    """A connection that is kept open, with no more of HTTP than it takes."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"", headers: str = "") -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 22)
        reader, writer = self._streams
        writer.write(
            f"{method} {path} HTTP/1.1\r\n{self._head}{headers}Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        answer = await reader.readexactly(length)
        if "connection: close" in head:
            await self.close()
        return int(head.split(" ", 2)[1]), answer

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Machine:
    """One session that grows."""

    def __init__(self, number: int, client: Client, count: int) -> None:
        self._origin = f"{number:032x}"
        self._path = f"/home/u{number}/.claude/projects/-p/{number:08x}-0000-4000-8000-000000000000.jsonl"
        self._client = client
        self._count = count
        self._written = 0
        self._lines = b""
        self._state: dict[str, object] | None = None

    async def push(self) -> tuple[str, int]:
        """Send what is new; return what became of it, and how many bytes that were."""
        upload = Upload(protocol=PROTOCOL, origin=self._origin, sessions=(self._build(),))
        status, answer = await self._client.ask(
            "POST", f"/api/ingest?origin={self._origin}", encode_upload(upload)
        )
        if status != 200:
            return str(status), 0
        [result] = msgspec.json.decode(answer)["sessions"]
        if result["outcome"] in ("taken", "mismatch"):
            self._state = result["session"]
            self._written += self._count
        return result["outcome"], len(self._lines) if result["outcome"] == "taken" else 0

    def _build(self) -> SessionUpload:
        state = self._state or {}
        source: dict[str, object] = (state.get("sources") or [{}])[0]  # type: ignore[index]
        self._lines = write_lines(self._count, self._written, Path(self._path).stem)
        start = int(str(source.get("length", 0)))
        stretch = FileChunk(
            path=self._path.encode(),
            kind=SourceKind.TRANSCRIPT,
            change=Change.APPENDED if source else Change.NEW,
            generation=0,
            start=start,
            data=self._lines,
            digest=digest_of(self._lines),
            size=start + len(self._lines),
            modified_ns=time.time_ns(),
            inode=1,
            device=1,
            source=str(source.get("source", "")),
            follows=str(source.get("fingerprint", "")),
        )
        return SessionUpload(
            revision=int(str(state.get("revision", 0))),
            key=str(state.get("key", "")),
            transcript=self._path.encode(),
            session_id=Path(self._path).stem.encode(),
            project_folder=b"-p",
            sources=(stretch,),
        )


class Bench:
    """A server, and those who want something of it."""

    def __init__(self, processes: Processes, port: int, token: str, kilobytes: float, pause: float) -> None:
        self._processes = processes
        self._port = port
        self._token = token
        self._count = max(int(kilobytes * 1000 / len(write_lines(1, 0, "x" * 36))), 1)
        self._pause = pause
        self._outcomes: Counter[str] = Counter()
        self._bytes = 0
        self._times: list[float] = []

    async def run(self, machines: int, seconds: float) -> None:
        """Have all of them at it for a time, and print what came of it."""
        before, started = self._processes.read_cpu(), time.perf_counter()
        busy = time.process_time()
        end = time.monotonic() + seconds
        hooks, pages = Client(self._port, self._token), Client(self._port, self._token)
        delivered = asyncio.create_task(self._probe(end, 0.05, lambda: hooks.ask("POST", "/api/hooks", HOOK)))
        looked = asyncio.create_task(self._probe(end, 0.1, lambda: pages.ask("GET", "/api/sessions?limit=50")))
        chance = random.Random(SEED)
        starts = [chance.uniform(0.0, min(self._pause or 0.5, seconds / 4)) for _ in range(machines)]
        await asyncio.gather(*(self._push(number, after, end) for number, after in enumerate(starts)))
        took = time.perf_counter() - started
        hook_times, page_times = await delivered, await looked
        shares = self._processes.read_cpu()
        rows = {name: (shares[name] - before.get(name, 0.0)) / took for name in shares}
        rows["these machines"] = (time.process_time() - busy) / took
        self._print(machines, took, hook_times, page_times, rows)

    async def _push(self, number: int, after: float, end: float) -> None:
        await asyncio.sleep(after)
        client = Client(self._port, self._token)
        machine = Machine(number, client, self._count)
        while time.monotonic() < end:
            began = time.perf_counter()
            outcome, size = await machine.push()
            self._outcomes[outcome] += 1
            self._bytes += size
            if outcome == "taken":
                self._times.append(time.perf_counter() - began)
            else:
                await asyncio.sleep(1.0)
            if self._pause:
                await asyncio.sleep(self._pause)
        await client.close()

    async def _probe(
        self, end: float, pause: float, ask: Callable[[], Awaitable[tuple[int, bytes]]]
    ) -> list[float]:
        times = []
        while time.monotonic() < end:
            began = time.perf_counter()
            status, _ = await ask()
            assert status == 200, status
            times.append(time.perf_counter() - began)
            await asyncio.sleep(pause)
        return times

    def _print(
        self, machines: int, took: float, hooks: list[float], pages: list[float], rows: dict[str, float]
    ) -> None:
        told = ", ".join(f"{count} {name}" for name, count in self._outcomes.most_common())
        each = self._bytes / max(self._outcomes["taken"], 1)
        print(f"{machines:,} machines, {took:.0f} s, {each / 1e3:.0f} kB an upload: {told}")
        print(f"  {self._bytes / 1e6 / took:.2f} MB/s, {self._outcomes['taken'] / took:.0f} uploads/s")
        print(f"  {'milliseconds':28}{'median':>9}{'p99':>9}")
        for name, times in (
            ("an upload, acknowledged", self._times),
            ("a hook", hooks),
            ("a page of the list", pages),
        ):
            print(f"  {name:28}{statistics.median(times) * 1e3:9.1f}{percentile(times, 0.99) * 1e3:9.1f}")
        print(f"  {'process':28}{'of a core':>10}{'memory, MB':>12}")
        memory = self._processes.read_memory()
        for name, share in sorted(rows.items(), key=lambda each: -each[1]):
            held = f"{memory[name] / 1e6:12.0f}" if name in memory else f"{'':12}"
            print(f"  {name:28}{share:10.2f}{held}")
        busiest = max(rows, key=rows.__getitem__)
        cores, load = os.cpu_count() or 1, os.getloadavg()[0]
        idle = 1 - sum(rows.values()) / cores
        print(f"  Busiest: {busiest}; of {cores} cores, {max(idle, 0):.0%} left to others, load {load:.1f}")


def percentile(times: list[float], share: float) -> float:
    """Return what so many of some times are below."""
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]


class Processes:
    """A server, and what runs beside it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def read_cpu(self) -> dict[str, float]:
        """Return how many seconds of a core each has used."""
        spent: dict[str, float] = {}
        for name, number in self._list():
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
            spent[name] = spent.get(name, 0.0) + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return spent

    def read_memory(self) -> dict[str, int]:
        """Return the most memory that each had, in bytes."""
        found: dict[str, int] = {}
        for name, number in self._list():
            lines = Path(f"/proc/{number}/status").read_text().splitlines()
            size = int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
            found[name] = found.get(name, 0) + size
        return found

    def _list(self) -> list[tuple[str, int]]:
        """Return all processes, by what they are for."""
        beside = ((name, number) for number, name in _list_children(self._pid))
        return [("the server", self._pid), *beside]


def _list_children(pid: int) -> list[tuple[int, str]]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_text().split("\0")
        except (OSError, ValueError):
            continue
        if parent == pid:
            name = next((part for part in command if part.startswith("turnlog.")), "another")
            found.append((int(entry.name), name))
    return found


if __name__ == "__main__":
    sys.exit(main())
