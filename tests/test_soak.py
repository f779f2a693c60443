"""Long runs: memory stays where it is, and size is no reason to fail."""

from __future__ import annotations

import gc
import resource

import pytest

import turnlog
from fuzzing import fuzz, load_seeds

pytestmark = pytest.mark.soak

MEGABYTE = 1 << 20


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_decoding_over_and_over_takes_no_more_memory() -> None:
    lines = load_seeds()

    def decode_all(times: int) -> None:
        for _ in range(times):
            for line in lines:
                turnlog.decode(line)
        gc.collect()

    decode_all(50)
    before = peak()
    decode_all(2_000)
    assert peak() - before < 8 * MEGABYTE


@pytest.mark.parametrize("size", [64 * MEGABYTE, 512 * MEGABYTE])
def test_a_line_may_be_of_any_size(size: int) -> None:
    raw = b'{"type":"user","message":{"content":"hi"},"toolUseResult":"%s"}' % (b"x" * size)
    line = turnlog.decode(raw)
    assert not line.problems
    assert len(line.replace(cwd="/p").raw) == len(raw) + len(b',"cwd":"/p"')


@pytest.mark.parametrize("seed", range(1_000, 1_100))
def test_damage_does_no_harm_for_long(seed: int) -> None:
    fuzz(seed, rounds=20_000)
