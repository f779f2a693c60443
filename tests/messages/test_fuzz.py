from __future__ import annotations

import pytest

from fuzzing import check, fuzz, load_seeds


@pytest.mark.parametrize("seed", range(16))
def test_damaged_golden_lines_do_no_harm(seed: int) -> None:
    fuzz(seed, rounds=500)


def test_golden_lines_keep_every_promise() -> None:
    for line in load_seeds():
        check(line)
