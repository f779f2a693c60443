"""The figures as text: a table, what became of the lines, and whether the goals are reached."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap

from contest.contestants import BLOCKS, Contestant
from contest.sessions import Corpus
from contest.timing import MODES, Seconds

GOALS = {"orjson": 4.0, "json": 12.0}
"""How many times as fast as each of these the messages and blocks shall be decoded."""

_HEADS = (
    "contestant",
    "MB/s dropped",
    "MB/s kept",
    "x orjson",
    "x json",
    "what it does",
    "what it does not do",
)
_WIDTHS = (26, 7, 6, 13, 13, 36, 36)
_NONE = "-"


def speed(seconds: Seconds, corpus: Corpus, name: str, mode: str) -> float | None:
    """Return bytes per second; None if it was not measured."""
    taken = seconds.get((name, mode))
    return corpus.byte_count / taken if taken else None


def ratio(seconds: Seconds, name: str, other: str, mode: str) -> float | None:
    """Return how many times as fast as `other` it is; None if one was not measured."""
    taken, others = seconds.get((name, mode)), seconds.get((other, mode))
    return others / taken if taken and others else None


def draw_table(contestants: Iterable[Contestant], seconds: Seconds, corpus: Corpus) -> Iterator[str]:
    """Yield the table line by line; ratios are given as dropped / kept."""
    yield from _draw_row(_HEADS)
    yield "  ".join("-" * width for width in _WIDTHS)
    for contestant in contestants:
        yield from _draw_row(_cells(contestant, seconds, corpus))


def _cells(contestant: Contestant, seconds: Seconds, corpus: Corpus) -> Sequence[str]:
    name = contestant.name
    if contestant.kept is None:
        return name, _NONE, _NONE, _NONE, _NONE, f"missing: {contestant.missing}", ""
    speeds = (speed(seconds, corpus, name, mode) for mode in MODES)
    ratios = (" / ".join(_figure(ratio(seconds, name, other, mode)) for mode in MODES) for other in GOALS)
    megabytes = (_NONE if found is None else f"{found / 1e6:.0f}" for found in speeds)
    return name, *megabytes, *ratios, contestant.does, contestant.lacks


def _figure(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"


def _draw_row(cells: Sequence[str]) -> Iterator[str]:
    columns = [wrap(cell, width) for cell, width in zip(cells, _WIDTHS, strict=True)]
    for parts in zip_longest(*columns, fillvalue=""):
        padded = (part.ljust(width) for part, width in zip(parts, _WIDTHS, strict=True))
        yield "  ".join(padded).rstrip()


def describe_setup(contestants: Iterable[Contestant], corpus: Corpus) -> Iterator[str]:
    """Yield the machine, the versions and the amount of data."""
    versions = {one.package: one.version for one in contestants if one.package != "python"}
    yield f"machine:  {_cpu()}"
    yield f"python:   {platform.python_implementation()} {platform.python_version()}"
    yield "versions: " + ", ".join(f"{package} {version}" for package, version in versions.items())
    yield (
        f"data:     {corpus.byte_count / 1e6:.1f} MB in {corpus.line_count:,} lines of"
        f" {len(corpus.sessions)} files; {corpus.left_out} lines left out that are not JSON to all"
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def describe_counts(counts: dict[str, dict[str, int]]) -> Iterator[str]:
    """Yield for each contestant what became of the lines."""
    for name, found in counts.items():
        yield f"{name}: " + ", ".join(f"{what} {number:,}" for what, number in found.items())


def describe_goals(seconds: Seconds) -> Iterator[str]:
    """Yield for each mode and each goal whether it is reached."""
    for mode in MODES:
        for other, goal in GOALS.items():
            found = ratio(seconds, BLOCKS, other, mode)
            if found is None:
                yield f"{mode}: at least {goal:g} times {other}: not measured"
                continue
            verdict = (
                "reached" if found >= goal else f"missed by {goal - found:.2f} times ({1 - found / goal:.0%})"
            )
            yield f"{mode}: at least {goal:g} times {other}: {verdict}, at {found:.2f} times"
