"""How fast are sessions archived, how large does the archive get, and how soon can it be asked?

A machine is made up from the corpus: each session file under a name of its own, as Claude Code would keep it.
The same files are then synced by turnlog and by agentsview, each as a process of its own, from nothing, without
a network. A missed goal is a finding, not a failure: the exit status is 0 whenever something was measured.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from build import make_up
from shapes import SHAPES, grow_machine, measure_peak
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import Store
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts import locate_sessions

GOAL_FASTER, GOAL_SIZE, GOAL_APPEND, GOAL_WINDOW, GOAL_GROWTH = 8.0, 0.4, 200.0, 10.0, 12.0
GOAL_MEMORY = 300
"""MB, of all processes of a sync together."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure the archive.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--peer", type=Path, help="the program agentsview")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--growth", action="store_true", help="measure 1 GB against 100 MB, which takes minutes"
    )
    options = parser.parse_args(arguments)
    paths = sorted(options.folder.rglob("*.jsonl"))
    if not paths:
        print(f"no session files (*.jsonl) below {options.folder}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        raw = _make_machine(paths, work / "home", 1)
        print(f"\n{len(paths)} files, {raw / 1e6:.1f} MB; best of {options.rounds}; wall time\n")
        _print_cold(work, raw, options.peer, options.rounds)
        _print_append(work, 2_600, 100)
        _print_append(work, 25_000, 40)
        _print_window(work)
        _print_growth(paths, work)
        _print_memory(paths, work)
        if options.growth:
            _print_long_growth(paths, work)
    return 0


def _make_machine(paths: list[Path], home: Path, copies: int) -> int:
    """Lay out copies of session files as Claude Code would, and return how many bytes they are."""
    size = 0
    for copy in range(copies):
        for number, path in enumerate(paths):
            folder = home / ".claude" / "projects" / f"-home-ada-p{number % 20}"
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{copy:04x}{number:04x}-0000-4000-8000-{number:012x}"
            shutil.copyfile(path, folder / f"{name}.jsonl")
            size += path.stat().st_size
    return size


def _print_cold(work: Path, raw: int, peer: Path | None, rounds: int) -> None:
    home, ours = work / "home", work / "turnlog"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "TURNLOG_HOME": str(ours)}
    command = [sys.executable, "-m", "turnlog", "sync"]
    own = min(_run(command, env, ours) for _ in range(rounds))
    size = (ours / "turnlog.db").stat().st_size / raw
    print(f"  turnlog: cold sync {own:.2f} s ({raw / 1e6 / own:.0f} MB/s), start of the program included")
    print(f"  database: {size:.2f} of the raw bytes (goal {GOAL_SIZE}): {_verdict(size <= GOAL_SIZE)}")
    if peer is None or not peer.exists():
        print("  agentsview: not installed")
        return
    theirs = {**env, "AGENTSVIEW_NO_DAEMON": "1"}
    other = min(_run(_offline([str(peer), "sync"]), theirs, home / ".agentsview") for _ in range(rounds))
    faster = other / own
    reached = _verdict(faster >= GOAL_FASTER)
    print(f"  agentsview: cold sync {other:.2f} s; turnlog is {faster:.1f} times as fast", end="")
    print(f" (goal {GOAL_FASTER:.0f}): {reached}")


def _offline(command: list[str]) -> list[str]:
    return ["unshare", "--net", *command] if shutil.which("unshare") and os.geteuid() == 0 else command


def _run(command: list[str], env: dict[str, str], made: Path) -> float:
    shutil.rmtree(made, ignore_errors=True)
    start = time.perf_counter()
    subprocess.run(command, env=env, check=True, capture_output=True)
    return time.perf_counter() - start


def _print_append(work: Path, turns: int, count: int) -> None:
    """Append lines to a long session that is followed, and measure until another process can ask for them."""
    home, ours = work / f"append{turns}", work / f"turnlog{turns}"
    path = home / ".claude" / "projects" / "p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    made = list(make_up(turns))
    lines, appended = made[:-count], made[-count:]
    path.write_bytes(b"".join(lines))
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "TURNLOG_HOME": str(ours)}
    command = [sys.executable, "-m", "turnlog", "sync"]
    subprocess.run(command, env=env, check=True, capture_output=True)
    store = open_store(ours / "turnlog.db", read_only=True)
    with subprocess.Popen([*command, "--watch"], env=env, stdout=subprocess.DEVNULL) as follower:
        try:
            # At first all of the session is read, and after that there is a rest.
            taken = [_append(path, store, line) * 1000 for line in appended][3:]
        finally:
            follower.send_signal(signal.SIGINT)
    store.close()
    p95 = statistics.quantiles(taken, n=20)[-1]
    print(
        f"  append to queryable, followed, {len(lines):,} lines, {path.stat().st_size / 1e6:.0f} MB: "
        f"p50 {statistics.median(taken):.0f} ms, p95 {p95:.0f} ms (goal {GOAL_APPEND:.0f}): "
        f"{_verdict(p95 < GOAL_APPEND)}"
    )


def _append(path: Path, store: Store, line: bytes) -> float:
    time.sleep(0.2)
    before, start = store.read_feed(LOCAL).last, time.perf_counter()
    with path.open("ab") as file:
        file.write(line)
    _wait(lambda: store.read_feed(LOCAL).last > before)
    return time.perf_counter() - start


def _wait(is_so: Callable[[], bool]) -> None:
    limit = time.monotonic() + 120
    while not is_so():
        if time.monotonic() > limit:
            raise TimeoutError("turnlog does not follow")
        time.sleep(0.002)


def _print_window(work: Path) -> None:
    """Read 100 messages with their lines from random places of a session of 100,000."""
    config = work / "window"
    path = config / "projects" / "p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(make_up(33_400)))
    place = work / "window.db"
    store = open_store(place)
    _sync(store, place, config)
    [session] = store.list_known(LOCAL)
    choice = random.Random(1)
    taken = []
    for _ in range(200):
        start = time.perf_counter()
        _read_window(store, session.key, choice.randrange(100_000 - 100))
        taken.append((time.perf_counter() - start) * 1000)
    store.close()
    p95 = statistics.quantiles(taken, n=20)[-1]
    print(
        f"  100 messages of 100,000, with their bytes: p50 {statistics.median(taken):.1f} ms, p95 {p95:.1f} ms "
        f"(goal {GOAL_WINDOW:.0f}): {_verdict(p95 < GOAL_WINDOW)}"
    )


def _read_window(store: Store, key: str, start: int) -> None:
    with store.open_session(LOCAL, key) as session:
        chapter = session.main
        assert chapter is not None
        chapter.read_raw(line for message in chapter.list_messages(start, 100) for line in message.lines)


def _print_growth(paths: list[Path], work: Path) -> None:
    seconds = [_clock_copies(paths, work, copies) for copies in (1, 10)]
    growth = seconds[1] / seconds[0]
    reached = _verdict(growth <= GOAL_GROWTH)
    print(f"  10 times the files: {growth:.1f} times the time (goal {GOAL_GROWTH:.0f}): {reached}")


def _clock_copies(paths: list[Path], work: Path, copies: int) -> float:
    home, place = work / f"x{copies}", work / f"x{copies}.db"
    _make_machine(paths, home, copies)
    store = open_store(place)
    try:
        return _clock(lambda: _sync(store, place, home / ".claude"))
    finally:
        store.close()


def _print_long_growth(paths: list[Path], work: Path) -> None:
    """Sync 100 MB and 1 GB of real files, each copy under ids of its own."""
    seconds = []
    for size in (100, 1000):
        home = work / f"long{size}"
        raw = grow_machine(paths, home, size * 1_000_000)
        seconds.append(_run([sys.executable, "-m", "turnlog", "sync"], _name_home(home), home / "turnlog"))
        database = (home / "turnlog" / "turnlog.db").stat().st_size / raw
        print(f"  {raw / 1e6:,.0f} MB: {seconds[-1]:.1f} s, the database is {database:.2f} of it")
        shutil.rmtree(home)
    growth = seconds[1] / seconds[0]
    print(f"  from 100 MB to 1 GB: {growth:.1f} times the time (goal {GOAL_GROWTH:.0f})", end="")
    print(f": {_verdict(growth <= GOAL_GROWTH)}")


def _print_memory(paths: list[Path], work: Path) -> None:
    """Sync what takes most memory, each in a process of its own, and print what all processes had at most."""
    if not Path("/proc/self/status").exists():
        print("  memory: nobody tells how much a process takes")
        return
    for name, make in SHAPES.items():
        home = work / "memory"
        make(paths, home)
        peak = measure_peak([sys.executable, "-m", "turnlog", "sync"], _name_home(home))
        shutil.rmtree(home)
        print(f"  memory, {name}: {peak:.0f} MB (goal {GOAL_MEMORY}): {_verdict(peak < GOAL_MEMORY)}")


def _name_home(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TURNLOG_HOME": str(home / "turnlog")}


def _sync(store: Store, place: Path, config: Path) -> None:
    sync(store, place, locate_sessions([config]).sessions, origin="bench")


def _clock(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _verdict(reached: bool) -> str:
    return "reached" if reached else "missed"


if __name__ == "__main__":
    raise SystemExit(main())
