"""All figures that turnlog promises, in one table, within ten minutes.

A machine is made up from the corpus (`scaled`), and each program is run on the same files, as a process of its
own, from nothing, without a network; peers and turnlog take turns, and the best round of each counts. The limit
is what the least that could do such work takes here: the libraries alone, without what turnlog does with them.
A missed goal is a finding, not a failure: the exit status is 0 whenever something was measured.

`--write` puts the table into docs/performance.md, with the machine and the date.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import zstandard

import search
import turnlog
from scaled import lay_out
from shapes import measure_peak
from turnlog.store.interface import Store
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store

TURNLOG = [str(Path(sys.executable).parent / "turnlog")]
DOCUMENT = Path(__file__).parent.parent / "docs" / "performance.md"
COMMANDS: Mapping[str, Sequence[str]] = {
    "search": ("search", "the"),
    "sessions": ("sessions",),
    "projects": ("projects",),
    "usage": ("usage",),
    "status": ("status",),
    "statusline": ("statusline",),
    "sync, nothing new": ("sync",),
}
"""What has to answer at once, start of the program included."""
GOAL_START, GOAL_READ, GOAL_SEARCH, GOAL_MEMORY, GOAL_SIZE = 120.0, 130.0, 100.0, 300.0, 31.2
GOAL_SYNC, GOAL_SCAN, GOAL_REPORT, GOAL_EXPORT = 3.0, 2.0, 6.0, 6.0
GOAL_APPEND, GOAL_BUSY = 30.0, 100.0
ROUNDS = 3
EXPORTED = 60
"""How many of the largest files are written as HTML."""
APPENDED = 40
_PATIENCE = 30.0


@dataclass(frozen=True)
class Row:
    """One figure."""

    work: str
    unit: str
    turnlog: float
    goal: str
    is_met: bool
    peer: float | None = None
    peer_name: str = ""
    limit: float | None = None

    @property
    def ratio(self) -> str:
        """How many times as fast as the peer it is."""
        return "" if self.peer is None else f"{self.peer / self.turnlog:.1f}"

    def list_cells(self) -> list[str]:
        """Return it as text, cell by cell."""
        peer = "" if self.peer is None else f"{_figure(self.peer, self.unit)} ({self.peer_name})"
        limit = "" if self.limit is None else _figure(self.limit, self.unit)
        own = _figure(self.turnlog, self.unit)
        return [self.work, limit, peer, own, self.ratio, self.goal, "met" if self.is_met else "**missed**"]


HEADS = ("work", "limit", "peer", "turnlog", "ratio", "goal", "")


@dataclass(frozen=True)
class Machine:
    """Somebody's sessions, and where programs keep what they make of them."""

    home: Path
    raw: int
    peers: Path

    @property
    def env(self) -> dict[str, str]:
        """What programs are run with."""
        home = str(self.home)
        return {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "TURNLOG_HOME": f"{home}/turnlog",
            "AGENTSVIEW_NO_DAEMON": "1",
        }

    @property
    def archive(self) -> Path:
        """Where turnlog's archive is."""
        return self.home / "turnlog" / "turnlog.db"

    def list_files(self) -> list[Path]:
        """Return all session files."""
        return sorted(self.home.glob(".claude/projects/*/*.jsonl"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure what turnlog promises.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--peers", type=Path, default=Path(".peers"), help="where agentsview and ccusage are")
    parser.add_argument("--size", type=int, default=500, help="MB of sessions")
    parser.add_argument("--messages", type=int, default=search.MESSAGES, help="messages to search")
    parser.add_argument("--only", default="", help="measure only rows whose group matches this pattern")
    parser.add_argument("--growth", action="store_true", help="measure 1 GB against 100 MB, too")
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}")
    options = parser.parse_args(arguments)
    paths = sorted(options.folder.rglob("*.jsonl"))
    if not paths:
        print(f"no session files (*.jsonl) below {options.folder}", file=sys.stderr)
        return 2
    started = time.monotonic()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        _tell("making sessions up")
        home = work / "machine"
        machine = Machine(home, lay_out(paths, home, options.size * 1_000_000), options.peers.absolute())
        groups: dict[str, Callable[[], Iterator[Row]]] = {
            "sync": lambda: _measure_sync(machine),
            "start": lambda: _measure_start(machine),
            "usage": lambda: _measure_usage(machine),
            "append": lambda: _measure_append(machine, paths, work),
            "read": lambda: _measure_reading(paths),
            "export": lambda: _measure_export(paths, work),
            "search": lambda: _measure_search(paths, work, options.messages),
        }
        if options.growth:
            groups["growth"] = lambda: _measure_growth(paths, work)
        for group, measure in groups.items():
            if re.search(options.only, group):
                _tell(f"measuring: {group}")
                rows += measure()
    table = list(_draw([HEADS, *(row.list_cells() for row in rows)]))
    size, seconds = machine.raw / 1e6, time.monotonic() - started
    setup = f"{_describe_machine()}, {datetime.now(UTC):%Y-%m-%d}; {size:.0f} MB of sessions; {seconds:.0f} s"
    _tell("")
    print("\n".join(("", setup, "", *table)))
    if options.write:
        DOCUMENT.write_text(_write_document(setup, table))
    return 0


def _measure_sync(machine: Machine) -> Iterator[Row]:
    """Sync all sessions from nothing; at last with a look at the memory of all processes."""
    peer = machine.peers / "bin" / "agentsview"
    own, other, after = [], [], []
    for number in range(ROUNDS):
        shutil.rmtree(machine.home / "turnlog", ignore_errors=True)
        own.append(_run([*TURNLOG, "sync"], machine.env))
        after.append(_wait_for_order(machine))
        if peer.exists() and number < ROUNDS - 1:
            shutil.rmtree(machine.home / ".agentsview", ignore_errors=True)
            other.append(_run([str(peer), "sync"], machine.env))
    size = machine.archive.stat().st_size / machine.raw * 100
    shutil.rmtree(machine.home / "turnlog")
    peak = measure_peak([*TURNLOG, "sync"], machine.env)
    _wait_for_order(machine)
    theirs = min(other, default=None)
    megabytes = f"{machine.raw / 1e6:.0f} MB"
    yield Row(
        f"cold sync, {megabytes}", "s", min(own), f"{GOAL_SYNC:g} times",
        theirs is not None and theirs / min(own) >= GOAL_SYNC, theirs, "agentsview", _clock_least_sync(machine),
    )  # fmt: skip
    yield Row("  until all is in order, in the background", "s", min(after), "", True)
    yield Row("  its database, of the raw bytes", "%", size, f"{GOAL_SIZE:g}", size <= GOAL_SIZE)
    yield Row("  memory of all its processes", "MB", peak, f"{GOAL_MEMORY:g}", peak <= GOAL_MEMORY)


def _wait_for_order(machine: Machine) -> float:
    """Return how long it takes until nothing is left of what a sync does in the background."""
    started = time.perf_counter()
    with closing(open_store(machine.archive)) as store:
        store.maintain()
    taken, log = time.perf_counter() - started, machine.archive.with_name(f"{machine.archive.name}-wal")
    while log.exists() and time.perf_counter() - started < _PATIENCE:  # whoever closes it last removes it
        time.sleep(0.01)
    return taken


def _clock_least_sync(machine: Machine) -> float:
    """Return what decoding and compressing alone would take, evenly on all cores."""
    compress, decode = zstandard.ZstdCompressor(level=3).compress, msgspec.json.Decoder(msgspec.Raw).decode
    started = time.process_time()
    for path in machine.list_files():
        data = path.read_bytes()
        for line in data.split(b"\n"):
            if line:
                with suppress(msgspec.DecodeError):
                    decode(line)
        for first in range(0, len(data), 512 << 10):
            compress(data[first : first + (512 << 10)])
    return (time.process_time() - started) / (os.cpu_count() or 1)


def _measure_start(machine: Machine) -> Iterator[Row]:
    libraries = [sys.executable, "-c", "import apsw, click, msgspec, zstandard"]
    least = min(_run(libraries, machine.env) for _ in range(10)) * 1000
    seen = next(iter(machine.list_files()))
    given = json.dumps(
        {"session_id": seen.stem, "transcript_path": str(seen), "model": {"display_name": "Opus"}}
    )
    for name, words in COMMANDS.items():
        _run([*TURNLOG, *words], machine.env, given)
        taken = min(_run([*TURNLOG, *words], machine.env, given) for _ in range(10)) * 1000
        yield Row(
            f"`{name}`, from start to end", "ms", taken, f"{GOAL_START:g}", taken <= GOAL_START, limit=least
        )


def _measure_usage(machine: Machine) -> Iterator[Row]:
    """Report usage from files alone, and from an archive that is up to date."""
    report, peer = [*TURNLOG, "usage", "daily", "--json"], machine.peers / "node_modules" / ".bin" / "ccusage"
    theirs = _offline([str(peer), "daily", "--offline", "--json"])
    scan = [*report, "--path", str(machine.home / ".claude")]
    if not machine.archive.exists():  # else files would be read for both
        _run([*TURNLOG, "sync"], machine.env)
    rounds = [
        (
            _run(scan, machine.env),
            _run(report, machine.env),
            _run(theirs, machine.env) if peer.exists() else None,
        )
        for _ in range(ROUNDS + 1)
    ][1:]
    scanned, reported = (min(each[at] or 0.0 for each in rounds) for at in (0, 1))
    other = min((each[2] for each in rounds if each[2] is not None), default=None)
    for work, own, goal in (("files", scanned, GOAL_SCAN), ("the archive", reported, GOAL_REPORT)):
        is_met = other is not None and other / own >= goal
        yield Row(f"usage, from {work}", "s", own, f"{goal:g} times", is_met, other, "ccusage")


def _measure_append(machine: Machine, paths: Sequence[Path], work: Path) -> Iterator[Row]:
    """Append lines to a session that is followed, alone and during a cold sync of another project."""
    home = work / "append"
    followed = (
        home / ".claude" / "projects" / "-home-ada-followed" / "f0000000-0000-4000-8000-000000000000.jsonl"
    )
    followed.parent.mkdir(parents=True)
    shutil.copyfile(max(paths, key=lambda path: path.stat().st_size), followed)
    env = {**machine.env, "HOME": str(home), "TURNLOG_HOME": str(home / "turnlog")}
    _run([*TURNLOG, "sync"], env)
    store = open_store(home / "turnlog" / "turnlog.db", read_only=True)
    with subprocess.Popen([*TURNLOG, "sync", "--watch"], env=env, stdout=subprocess.DEVNULL) as follower:
        try:
            time.sleep(2)
            alone = [_clock_append(followed, store, number) for number in range(APPENDED)][3:]
            sync = [*TURNLOG, "sync", str(machine.home / ".claude")]
            with subprocess.Popen(sync, env=env, stdout=subprocess.DEVNULL) as busy:
                during: list[float] = []
                while busy.poll() is None:
                    during.append(_clock_append(followed, store, APPENDED + len(during)))
        finally:
            follower.send_signal(signal.SIGINT)
    store.close()
    for name, taken, goal in (("alone", alone, GOAL_APPEND), ("during a cold sync", during, GOAL_BUSY)):
        p95 = _find_p95(taken)
        yield Row(f"append to visible, p95, {name}", "ms", p95, f"{goal:g}", p95 <= goal)


def _clock_append(path: Path, store: Store, number: int) -> float:
    time.sleep(0.1)
    [key] = {each.key for each in store.list_known(LOCAL) if each.session_id == path.stem}
    after, started = store.read_feed(LOCAL).last, time.perf_counter()
    line = {
        "type": "user", "uuid": f"{number:08d}-aaaa-4000-8000-000000000000", "sessionId": path.stem,
        "timestamp": datetime.now(UTC).isoformat(), "message": {"role": "user", "content": "Go on, please."},
    }  # fmt: skip
    with path.open("ab") as file:
        file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    while time.perf_counter() - started < _PATIENCE:
        feed = store.read_feed(LOCAL, after)
        if any(entry.session == key for entry in feed.entries):
            return (time.perf_counter() - started) * 1000
        after = feed.entries[-1].seq if feed.entries else after
        time.sleep(0.002)
    raise TimeoutError("turnlog does not follow")


def _measure_reading(paths: Sequence[Path]) -> Iterator[Row]:
    """Read and build one session after the other on one core, against decoding its lines to nothing."""
    megabytes = sum(path.stat().st_size for path in paths) / 1e6
    decode = msgspec.json.Decoder(msgspec.Raw).decode

    def skip() -> None:
        for path in paths:
            for line in path.read_bytes().split(b"\n"):
                with suppress(msgspec.DecodeError):
                    decode(line)

    def read() -> None:
        for path in paths:
            session = turnlog.read(path)
            _ = session.lines, session.calls, session.messages, session.tree

    least, taken = (megabytes / min(_clock(work) for _ in range(5)) for work in (skip, read))
    yield Row("read and build sessions", "MB/s", taken, f"{GOAL_READ:g}", taken >= GOAL_READ, limit=least)


def _measure_export(paths: Sequence[Path], work: Path) -> Iterator[Row]:
    """Write the largest sessions as HTML, with secrets taken out; the time of all processors counts.

    The first round looks prices up in the price list, and the others remember them, as on anybody's machine.
    """
    given, programs = work / "exported", Path(sys.executable).parent
    given.mkdir()
    for number, path in enumerate(sorted(paths, key=lambda path: -path.stat().st_size)[:EXPORTED]):
        shutil.copy(path, given / f"{number}.jsonl")
    files = [str(path) for path in sorted(given.iterdir())]
    ours = [*TURNLOG, "export", *files, "--format", "html", "--force", "--output", f"{work}/pages/"]
    theirs = [str(programs / "claude-code-log"), str(given), "--no-cache", "--output", f"{work}/peer"]
    env = {"HOME": str(work), "TURNLOG_HOME": f"{work}/none", "PATH": "/usr/bin:/bin"}
    own = min(_spend(ours, env) for _ in range(ROUNDS))
    other = _spend(theirs, env) if Path(theirs[0]).exists() else None
    is_met = other is not None and other / own >= GOAL_EXPORT
    work_done = f"HTML of {EXPORTED} sessions, CPU"
    yield Row(work_done, "s", own, f"{GOAL_EXPORT:g} times", is_met, other, "claude-code-log")


def _measure_search(paths: list[Path], work: Path, messages: int) -> Iterator[Row]:
    place = work / "search.db"
    questions = list(search.draw_questions(paths, work))
    found = search.build(paths, place, work, messages)
    with closing(open_store(place, read_only=True)) as store:
        taken = search.clock(store, questions)
    p95 = _find_p95(taken)
    for name, figure in (
        (f"search, p95, {found:,} messages", p95),
        ("  half of the questions within", statistics.median(taken)),
    ):
        yield Row(name, "ms", figure, f"{GOAL_SEARCH:g}", figure <= GOAL_SEARCH)


def _measure_growth(paths: Sequence[Path], work: Path) -> Iterator[Row]:
    taken = []
    for size in (100, 1000):
        home = work / f"growth{size}"
        machine = Machine(home, lay_out(paths, home, size * 1_000_000), Path())
        taken.append(_run([*TURNLOG, "sync"], machine.env))
        shutil.rmtree(home)
    growth = taken[1] / taken[0]
    yield Row("cold sync of 1 GB, against 100 MB", "times", growth, "11", growth <= 11)


def _run(command: Sequence[str], env: Mapping[str, str], given: str = "") -> float:
    started = time.perf_counter()
    subprocess.run(command, env=env, check=True, capture_output=True, input=given.encode())
    return time.perf_counter() - started


def _spend(command: Sequence[str], env: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(command, env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _clock(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def _offline(command: list[str]) -> list[str]:
    return ["unshare", "--net", *command] if shutil.which("unshare") and os.geteuid() == 0 else command


def _find_p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _figure(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()


def _draw(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table in Markdown."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADS))]
    for number, row in enumerate(rows):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        if not number:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def _describe_machine() -> str:
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        if models:
            return f"{len(models)} cores ({models[0]}), Python {platform.python_version()}"
    return f"{os.cpu_count()} cores, Python {platform.python_version()}"


def _write_document(setup: str, table: Sequence[str]) -> str:
    told = (
        "# Performance",
        "",
        "What `make bench` measured, from the start of a program to its end, the best of a few rounds that",
        "take turns. The limit is what the libraries alone would take here for the least that has to be done.",
        "Peers are the programs that people use for the same work, in the versions of `requirements/`.",
        "",
        setup,
        "",
        *table,
        "",
        "`make bench-all` takes longer, and measures more: decoding, windows, hooks, live updates, collectors,",
        "both engines, and the page in the browser.",
        "",
    )
    return "\n".join(told)


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
