"""Sessions that are hard to archive, made up from real ones, and how much memory a program takes for them."""

from __future__ import annotations

import json
import random
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

from build import make_up

_NAMES = re.compile(
    rb'"(uuid|parentUuid|messageId|requestId|sourceToolAssistantUUID|leafUuid|logicalParentUuid)":"([^"]{6,60})"'
)
_IDS = re.compile(rb'"(id|tool_use_id|toolUseID|parentToolUseID|sourceToolUseID|agentId)":"([^"]{6,60})"')
_OFTEN = 0.05


def vary(data: bytes, number: int) -> bytes:
    """Return lines of a session with ids of their own."""
    tag = b"%06x" % number
    data = _NAMES.sub(lambda found: b'"%b":"%b%b"' % (found[1], tag, found[2][6:]), data)
    return _IDS.sub(lambda found: b'"%b":"%b%b"' % (found[1], found[2][:-6], tag), data)


def grow_machine(paths: Sequence[Path], home: Path, size: int) -> int:
    """Lay out so many bytes of sessions as Claude Code would, and return how many they are."""
    written = 0
    for number, data in _list_varied(paths):
        written += _write(home, number, data)
        if written >= size:
            return written
    return written


def _list_varied(paths: Sequence[Path]) -> Iterator[tuple[int, bytes]]:
    for number in count():
        data = paths[number % len(paths)].read_bytes()
        yield number, vary(data if data.endswith(b"\n") else data + b"\n", number)


def _write(home: Path, number: int, data: bytes) -> int:
    folder = home / ".claude" / "projects" / f"-home-ada-p{number % 20}"
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / f"{number:08x}-0000-4000-8000-{number:012x}.jsonl").write_bytes(data)


def _make_dense(paths: Sequence[Path], home: Path) -> None:
    _write(home, 0, b"".join(make_up(25_000)))


def _make_long(paths: Sequence[Path], home: Path) -> None:
    _write(home, 0, b"")
    [path] = home.rglob("*.jsonl")
    with path.open("wb") as file:
        for _, data in _list_varied(paths):
            file.write(data)
            if file.tell() >= 300_000_000:
                return


def _make_line(paths: Sequence[Path], home: Path) -> None:
    choice = random.Random(1)
    words = [f"w{choice.randrange(1 << 20):x}" for _ in range(50_000)]
    text = " ".join(choice.choices(words, k=14_300_000))
    result = {"type": "tool_result", "tool_use_id": "t", "content": text}
    line = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": [result]}}
    _write(home, 0, json.dumps(line).encode() + b"\n")


def _make_many(paths: Sequence[Path], home: Path) -> None:
    for number in range(5_000):
        with paths[number % len(paths)].open("rb") as file:
            lines = file.readlines(16_000)
        _write(home, number, vary(b"".join(lines), number))


SHAPES: dict[str, Callable[[Sequence[Path], Path], None]] = {
    "100,000 dense lines": _make_dense,
    "a session of 300 MB": _make_long,
    "a line of 100 MB": _make_line,
    "5,000 sessions": _make_many,
}
"""What takes most memory, and how to make it in the home of somebody."""


def measure_peak(command: Sequence[str], env: dict[str, str]) -> float:
    """Run a program, and return the most memory in MB that it and those that it started had at any time.

    Each that lives counts with the most that it has had so far.
    """
    peaks: list[int] = []
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL) as process:
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(process.pid, peaks, done))
        watcher.start()
        process.wait()
        done.set()
        watcher.join()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return max(peaks) / 1024


def _watch(pid: int, peaks: list[int], done: threading.Event) -> None:
    while not done.wait(_OFTEN):
        peaks.append(sum(map(_read_peak, _list_family(pid))))


def _list_family(pid: int) -> list[int]:
    """Return a process and all that it started."""
    found = [pid]
    for each in found:
        try:
            for task in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def _read_peak(pid: int) -> int:
    """Return the most memory that a process has had so far, in KiB; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
