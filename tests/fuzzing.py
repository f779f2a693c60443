"""A fuzzer of our own: golden lines, damaged at random, must never do harm.

The suite runs a bounded number of rounds; `make fuzz` runs as long as it is told, from a new seed each time.
A failure names its seed and the line, and `python -m fuzzing --seed N --rounds 1` repeats it.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import turnlog
from all_views import view_all

DATA = Path(__file__).parent / "data"
_PIECES = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"0", b"-1", b"1e999", b"9" * 400]
_PIECES += [
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"\\ud83d",
    b"\\u0000",
    b"\n",
    b"\xe2\x80\xa8",
    b'"type":"x",',
    b"[" * 1200,
]
_PIECES += [
    b'"type":"user"',
    b'"message":"text"',
    b'"timestamp":1,',
    b'"_id":"x",',
    b'"content":[{}]',
    b"{}" * 3,
]


def load_seeds() -> list[bytes]:
    """Return every golden line there is."""
    files = sorted(DATA.rglob("*.jsonl"))
    return [line for file in files for line in file.read_bytes().split(b"\n") if line]


def mutate(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return a golden line with a few changes."""
    line = rng.choice(seeds)
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(line))
        end = min(len(line), start + rng.choice([0, 0, 1, 2, 8, 64, 1000]))
        other = rng.choice(seeds)
        cut = rng.randint(0, len(other))
        piece = rng.choice([b"", rng.choice(_PIECES), other[cut : cut + rng.randint(0, 80)], rng.randbytes(3)])
        line = line[:start] + piece + line[end:]
    return line


def check(raw: bytes) -> None:
    """Raise if a line breaks a promise."""
    line = turnlog.decode(raw)
    assert turnlog.encode(line) == raw
    assert turnlog.decode_envelope(raw) is not None
    for problem in line.problems:
        assert str(problem)
        assert problem.offset is None or 0 <= problem.offset <= len(raw)
    for view in view_all(line.entry, {}):
        assert view.raw is not None
    if line.dialect is not turnlog.Dialect.UNKNOWN:
        _check_change(line)


def _check_change(line: turnlog.Line) -> None:
    for name in ("cwd", "uuid", "request_id"):
        if all(name in value.__struct_fields__ for value in (line.entry, line.wire or line.entry)):
            assert getattr(line.replace(**{name: "changed"}).entry, name) == "changed"


def fuzz(seed: int, rounds: int) -> None:
    """Check `rounds` lines made from `seed`; raises AssertionError with the line that fails."""
    rng = random.Random(seed)
    seeds = load_seeds()
    for _ in range(rounds):
        raw = mutate(rng, seeds)
        try:
            check(raw)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {raw!r}") from error


def main() -> None:
    """Fuzz until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long to go on (default: 600)")
    parser.add_argument("--seed", type=int, help="where to begin (default: the time)")
    parser.add_argument("--rounds", type=int, default=1000, help="lines for each seed (default: 1000)")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else time.time_ns() % 10**9
    end, tried = time.monotonic() + options.seconds, 0
    while tried == 0 or time.monotonic() < end:
        fuzz(seed, options.rounds)
        tried += options.rounds
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{tried} lines, none broke a promise")
        seed += 1
    sys.stdout.write(f"{tried} lines, none broke a promise\n")


if __name__ == "__main__":
    main()
