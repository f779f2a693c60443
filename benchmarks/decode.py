"""How fast are lines of real sessions decoded, by turnlog and by others?

One process on one core gives the same lines to each contestant. The table says beside each speed what it buys,
since a parser that skips half of a line has less to do. A missed goal is a finding, not a failure: the exit
status is 0 whenever something was measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from contest.contestants import Contestant, base_contestants, list_parsers, turnlog_rows
from contest.peers import peers
from contest.sessions import Corpus, read_corpus
from contest.table import GOALS, describe_counts, describe_goals, describe_setup, draw_table, ratio, speed
from contest.timing import MODES, Seconds, measure, pin_to_one_core

_PROJECTS = Path("~/.claude/projects")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    options = _parse(arguments)
    folder = _find_folder(options.folder)
    if folder is None:
        print(f"no such folder: {options.folder}, nor {_PROJECTS}", file=sys.stderr)
        return 2
    corpus = read_corpus(folder, list_parsers())
    if not corpus.line_count:
        print(f"no lines of session files (*.jsonl) below {folder}", file=sys.stderr)
        return 2
    _run(corpus, options.rounds, options.json)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how fast session files are decoded.")
    parser.add_argument("folder", type=Path, help=f"where *.jsonl files are; {_PROJECTS} if there is none")
    parser.add_argument("--rounds", type=_positive, default=7, help="turns of each contestant (default: 7)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _find_folder(wanted: Path) -> Path | None:
    return next((folder for folder in (wanted, _PROJECTS.expanduser()) if folder.is_dir()), None)


def _run(corpus: Corpus, rounds: int, json_file: Path | None) -> None:
    pinned = pin_to_one_core()
    contestants = [*base_contestants(), *peers(), *turnlog_rows()]
    counts = {one.name: one.count(corpus) for one in contestants if one.count is not None}
    seconds = measure(contestants, corpus, rounds)
    print(*describe_setup(contestants, corpus), sep="\n")
    print(f"method:   best of {rounds} rounds by turns{_exceptions(contestants, rounds)}; CPU time;", end=" ")
    print("one core" if pinned else "not pinned to a core", end="; garbage collector on\n\n")
    print(*draw_table(contestants, seconds, corpus), sep="\n")
    print("\nRatios are dropped / kept. What became of the lines:", *describe_counts(counts), sep="\n  ")
    print("\nGoals for messages and blocks:", *describe_goals(seconds), sep="\n  ")
    if json_file is not None:
        json_file.write_text(json.dumps(_figures(contestants, seconds, corpus, counts), indent=2) + "\n")


def _exceptions(contestants: Sequence[Contestant], rounds: int) -> str:
    fewer = [one for one in contestants if one.max_rounds is not None and one.max_rounds < rounds and one.kept]
    return "".join(f" ({one.name}: {one.max_rounds})" for one in fewer)


def _figures(
    contestants: Sequence[Contestant], seconds: Seconds, corpus: Corpus, counts: dict[str, dict[str, int]]
) -> dict[str, object]:
    rows = [
        {
            "contestant": one.name,
            "version": one.version if one.package != "python" else sys.version.split()[0],
            "missing": one.missing,
            "bytes_per_second": {mode: speed(seconds, corpus, one.name, mode) for mode in MODES},
            "ratio": {
                other: {mode: ratio(seconds, one.name, other, mode) for mode in MODES} for other in GOALS
            },
            "counts": counts.get(one.name, {}),
        }
        for one in contestants
    ]
    data = {"bytes": corpus.byte_count, "lines": corpus.line_count, "left_out": corpus.left_out}
    return {"data": data, "contestants": rows}


if __name__ == "__main__":
    sys.exit(main())
