"""How fast are sessions written as HTML, against claude-code-log on the same files?

Each program is started once and writes a page for each file, as a person would have it do. They take turns, so
that a slow spell of the machine meets all, and the processor's time counts, so that others at work do not. A
missed goal is a finding, not a failure: the exit status is 0 whenever something was measured.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

GOAL = 10
"""How many times as fast it should be."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure how fast sessions are written as HTML.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--files", type=int, default=200, help="how many of the largest are written")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    paths = sorted(options.folder.rglob("*.jsonl"), key=lambda path: -path.stat().st_size)[: options.files]
    if not paths:
        print(f"no session files (*.jsonl) below {options.folder}", file=sys.stderr)
        return 2
    programs = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "sessions")
        given.mkdir()
        for number, path in enumerate(paths):
            shutil.copy(path, given / f"{number}.jsonl")
        ours: list[str | Path] = [
            programs / "turnlog",
            "export",
            *sorted(given.iterdir()),
            "--format",
            "html",
            "--force",
        ]
        ours += ["--output", f"{folder}/pages/"]
        contestants: dict[str, list[str | Path]] = {
            "turnlog": ours,
            "turnlog, nothing taken out": [*ours, "--no-redact"],
            "claude-code-log": [
                programs / "claude-code-log",
                given,
                "--no-cache",
                "--output",
                f"{folder}/peer",
            ],
        }
        rounds = [
            {name: _time(command, folder) for name, command in contestants.items()}
            for _ in range(options.rounds)
        ]
    _print(paths, {name: min(each[name] for each in rounds) for name in contestants})
    return 0


def _time(command: list[str | Path], folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        check=True,
        capture_output=True,
        cwd=folder,
        env={"HOME": folder, "TURNLOG_HOME": f"{folder}/turnlog", "PATH": "/usr/bin:/bin"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _print(paths: Sequence[Path], times: dict[str, float]) -> None:
    megabytes = sum(path.stat().st_size for path in paths) / 1e6
    print(
        f"\nHTML of the {len(paths)} largest files, {megabytes:.1f} MB, a process for all of them; CPU time\n"
    )
    peer = times["claude-code-log"]
    for name, seconds in times.items():
        ratio = "" if name == "claude-code-log" else f"  {peer / seconds:5.1f} times as fast"
        missed = "  goal missed" if ratio and peer / seconds < GOAL else ""
        print(f"  {name:<28}{seconds:8.1f} s  {megabytes / seconds:6.2f} MB/s{ratio}{missed}")


if __name__ == "__main__":
    sys.exit(main())
