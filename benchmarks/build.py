"""How fast are sessions read and built, how does that grow, and how much memory does it take?

One process on one core reads each file of the corpus and builds all of it: messages, calls, tree, turns,
agents, usage, summary. Growth is measured on a made-up session of a thousand turns against one ten times as
long. Memory is what a process of its own takes at its peak for the longest file. A missed goal is a finding,
not a failure: the exit status is 0 whenever something was measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import turnlog
from contest.timing import pin_to_one_core

GOAL_SPEED = 150
"""MB/s, over the corpus."""
GOAL_GROWTH = 12
"""Times as long for ten times as many messages."""
PARTS = ("lines", "calls", "messages", "tree", "agents", "usage", "turns", "summary")
"""What a session has to build, in the order in which one part needs another."""
_MEASURE_PEAK = "--measure-peak"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure how fast sessions are read and built.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(_MEASURE_PEAK, dest="peak", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.peak:
        _build_one_by_one([options.folder])
        print(_read_peak())
        return 0
    paths = sorted(options.folder.rglob("*.jsonl"))
    if not paths:
        print(f"no session files (*.jsonl) below {options.folder}", file=sys.stderr)
        return 2
    pinned = pin_to_one_core()
    megabytes = sum(path.stat().st_size for path in paths) / 1e6
    where = "one core" if pinned else "not pinned to a core"
    print(f"\n{len(paths)} files, {megabytes:.1f} MB; best of {options.rounds}; CPU time; {where}\n")
    _print_stages(paths, megabytes, options.rounds)
    _print_growth(options.rounds)
    _print_memory(paths)
    return 0


def _print_stages(paths: list[Path], megabytes: float, rounds: int) -> None:
    passes = [_build_one_by_one(paths) for _ in range(rounds)]
    best = {name: min(one[name] for one in passes) for name in passes[0]}
    for name, seconds in best.items():
        print(f"  {name:<24}{seconds * 1000:8.0f} ms {megabytes / seconds:8.0f} MB/s")
    parts = ("lines", "calls", "messages", "tree")
    built = megabytes / min(sum(one[name] for name in parts) for one in passes)
    whole = megabytes / min(sum(one.values()) for one in passes)
    print(f"\n  reading and building: {built:.0f} MB/s (goal {GOAL_SPEED}): {_verdict(built >= GOAL_SPEED)}")
    print(f"  with agents, which reads what lies beside, usage, turns and summary: {whole:.0f} MB/s")


def _build_one_by_one(paths: Iterable[Path]) -> dict[str, float]:
    """Build one session after the other, and return the seconds that each part took."""
    seconds = dict.fromkeys(PARTS, 0.0)
    for path in paths:
        start = time.process_time()
        session = turnlog.read(path)
        for part in PARTS:
            getattr(session, part)
            now = time.process_time()
            seconds[part] += now - start
            start = now
    return seconds


def _print_growth(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds = [_clock_session(Path(folder), turns, rounds) for turns in (1_000, 10_000)]
    growth = seconds[1] / seconds[0]
    reached = _verdict(growth <= GOAL_GROWTH)
    print(f"  10 times the messages: {growth:.1f} times the time (goal {GOAL_GROWTH}): {reached}")


def _clock_session(folder: Path, turns: int, rounds: int) -> float:
    path = folder / f"{turns}.jsonl"
    path.write_bytes(b"".join(make_up(turns)))
    return min(_clock(lambda: _build_one_by_one([path])) for _ in range(rounds))


def _print_memory(paths: list[Path]) -> None:
    longest = max(paths, key=lambda path: path.stat().st_size)
    command = [sys.executable, __file__, _MEASURE_PEAK]
    peak = int(subprocess.run([*command, longest], check=True, capture_output=True, text=True).stdout)
    size = longest.stat().st_size / 1e6
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as nothing:
        idle = int(subprocess.run([*command, nothing.name], check=True, capture_output=True, text=True).stdout)
    print(f"  peak memory for the longest file ({size:.1f} MB): {peak / 1024:.0f} MB", end="")
    print(f", of which {idle / 1024:.0f} MB for an empty one")


def _read_peak() -> int:
    """Return the most memory that this process has had, in KiB."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Unlike the peak of getrusage, this one does not begin with what the parent had.
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def make_up(turns: int) -> Iterator[bytes]:
    """Yield the lines of a session in which each turn makes one call."""
    last = None
    for turn in range(turns):
        call: dict[str, object] = {
            "type": "tool_use",
            "id": f"t{turn}",
            "name": "Bash",
            "input": {"command": "ls"},
        }
        result: dict[str, object] = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": "x" * 500}
        for name, kind, content in (
            ("p", "user", "Go on"),
            ("c", "assistant", [call]),
            ("r", "user", [result]),
            ("a", "assistant", [{"type": "text", "text": "Done. " * 20}]),
        ):
            uuid = f"{name}{turn}"
            message: dict[str, object] = {"role": kind, "content": content}
            if kind == "assistant":
                message |= {"id": f"m{uuid}", "model": "claude-sonnet-4-5", "usage": {"output_tokens": 7}}
            line = {
                "parentUuid": last,
                "isSidechain": False,
                "cwd": "/home/ada",
                "sessionId": "s",
                "type": kind,
                "uuid": uuid,
                "timestamp": "2026-05-01T10:00:00.000Z",
                "message": message,
            }
            last = uuid
            yield json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _clock(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _verdict(reached: bool) -> str:
    return "reached" if reached else "missed"


if __name__ == "__main__":
    raise SystemExit(main())
