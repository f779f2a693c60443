"""The clock: contestants take turns, and the best turn of each counts.

On a shared machine a single timing says little. Turns that alternate meet the same disturbances, and
disturbances only ever add time, so the least time is the nearest to the truth. CPU time is taken, not the
wall's: each pass is one thread that computes.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Iterable

from contest.contestants import Contestant, Pass
from contest.sessions import Corpus

MODES = ("dropped", "kept")

Seconds = dict[tuple[str, str], float]
"""The least time for the whole corpus, by contestant and mode."""


def pin_to_one_core() -> bool:
    """Keep this process on one core, where the system can; tell whether it did."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return True


def measure(contestants: Iterable[Contestant], corpus: Corpus, rounds: int) -> Seconds:
    """Let all contestants go over the corpus by turns, `rounds` times in each mode."""
    best: Seconds = {}
    contestants = tuple(contestants)
    for turn in range(rounds):
        for contestant in contestants:
            if turn < (contestant.max_rounds or rounds):
                _note(f"round {turn + 1} of {rounds}: {contestant.name}")
                _take_turn(contestant, corpus, best)
    _note("")
    return best


def _take_turn(contestant: Contestant, corpus: Corpus, best: Seconds) -> None:
    for mode, one_pass in zip(MODES, (contestant.dropped, contestant.kept), strict=True):
        if one_pass is not None:
            key = contestant.name, mode
            best[key] = min(best.get(key, float("inf")), _time(one_pass, corpus))


def _time(one_pass: Pass, corpus: Corpus) -> float:
    gc.collect()
    begin = time.process_time()
    for session in corpus.sessions:
        one_pass(session)
    return time.process_time() - begin


def _note(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
