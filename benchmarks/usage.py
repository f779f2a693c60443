"""How fast is usage counted: from the files as they are, from the archive, and by ccusage?

A machine is made up from the corpus, and a larger one of copies whose answers are told apart. Each command is a
process of its own, its start included; ccusage runs as npm installs it, without a network. A missed goal is a
finding, not a failure: the exit status is 0 whenever something was measured.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

GOAL_COLD, GOAL_WARM, GOAL_HELP = 2.0, 8.0, 150.0
_TURNLOG = [sys.executable, "-m", "turnlog"]
_MARK = b'"id":"msg_'


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure reports of usage.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--peer", type=Path, help="the program ccusage")
    parser.add_argument(
        "--copies", type=int, default=10, help="how many times the files the larger machine has"
    )
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)
    paths = sorted(options.folder.rglob("*.jsonl"))
    if not paths:
        print(f"no session files (*.jsonl) below {options.folder}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        for copies in (1, options.copies):
            work = Path(name) / str(copies)
            raw = _make_machine(paths, work, copies)
            print(f"\n{copies * len(paths):,} files, {raw / 1e6:.1f} MB; best of {options.rounds}; wall time\n")
            _print_usage(work, options.peer, options.rounds)
            shutil.rmtree(work)
        _print_help(Path(name), options.rounds)
    return 0


def _make_machine(paths: list[Path], home: Path, copies: int) -> int:
    """Lay out copies of session files as Claude Code would, and return how many bytes they are."""
    size = 0
    for copy in range(copies):
        for number, path in enumerate(paths):
            folder = home / ".claude" / "projects" / f"-home-ada-p{number % 20}"
            folder.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes().replace(_MARK, _MARK + b"%d" % copy) if copy else path.read_bytes()
            (folder / f"{copy:04x}{number:04x}-0000-4000-8000-{number:012x}.jsonl").write_bytes(data)
            size += len(data)
    return size


def _print_usage(home: Path, peer: Path | None, rounds: int) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "TURNLOG_HOME": str(home / "turnlog")}
    usage = [*_TURNLOG, "usage", "--json"]
    first = _run(usage, env)
    cold = min(_run(usage, env) for _ in range(rounds))
    print(f"  turnlog, no archive: {cold * 1000:.0f} ms ({first * 1000:.0f} ms before prices are remembered)")
    other = None
    if peer is None or not peer.exists():
        print("  ccusage: not installed")
    else:
        theirs = _offline([str(peer), "daily", "--offline", "--json"])
        _run(theirs, env)
        other = min(_run(theirs, env) for _ in range(rounds))
        print(f"  ccusage: {other * 1000:.0f} ms; ", end="")
        print(_compare(other / cold, GOAL_COLD))
    _run([*_TURNLOG, "sync"], env)
    warm = min(_run(usage, env) for _ in range(rounds))
    print(f"  turnlog, archive up to date: {warm * 1000:.0f} ms", end="")
    print("" if other is None else f"; {_compare(other / warm, GOAL_WARM)}")
    for by in ("session", "tool", "blocks"):
        taken = min(_run([*_TURNLOG, "usage", by, "--json"], env) for _ in range(rounds))
        print(f"  turnlog, archive, by {by}: {taken * 1000:.0f} ms")


def _print_help(home: Path, rounds: int) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    taken = min(_run([*_TURNLOG, "--help"], env) for _ in range(rounds)) * 1000
    print(f"\n  turnlog --help: {taken:.0f} ms (goal {GOAL_HELP:.0f}): {_verdict(taken < GOAL_HELP)}")


def _compare(times: float, goal: float) -> str:
    return f"turnlog is {times:.1f} times as fast (goal {goal:.0f}): {_verdict(times >= goal)}"


def _offline(command: list[str]) -> list[str]:
    return ["unshare", "--net", *command] if shutil.which("unshare") and os.geteuid() == 0 else command


def _run(command: list[str], env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=env, check=True, capture_output=True)
    return time.perf_counter() - start


def _verdict(reached: bool) -> str:
    return "reached" if reached else "missed"


if __name__ == "__main__":
    raise SystemExit(main())
