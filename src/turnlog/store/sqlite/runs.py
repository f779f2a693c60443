"""Runs of texts as they stand in the database: columns of numbers, each as what it adds to the one before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from operator import add

from msgspec import Struct, msgpack

__all__ = ["RUN_SIZE", "RunTexts", "Text", "pack_run", "unpack_run"]

RUN_SIZE = 128
"""How many texts a run has at most."""

_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(
    tuple[list[int], list[int], list[int], list[int], list[int], list[int], list[int]]
).decode


class Text(Struct, frozen=True, gc=False):
    """A text as the index knows it."""

    number: int
    """Of its line; of a hook delivery, its id."""
    ordinal: int
    block: int
    kind: int
    is_error: bool
    time: int
    first_cell: int
    cells: int


class RunTexts:
    """The texts of a run, as columns: a search looks at few of them."""

    def __init__(self, data: bytes) -> None:
        numbers, self._ordinals, self._blocks, self.states, times, steps, self.sizes = _decode(data)
        """`states` are kinds, times two, and one for an error; `sizes` say how many cells each text has."""
        self._number_steps, self._time_steps = numbers, times
        self.firsts = list(accumulate(map(add, steps, (0, *self.sizes[:-1]))))
        """The first cell of each text."""

    @cached_property
    def _numbers(self) -> list[int]:
        return list(accumulate(self._number_steps))

    @cached_property
    def _times(self) -> list[int]:
        return list(accumulate(self._time_steps))

    def __len__(self) -> int:
        return len(self.sizes)

    def time(self, position: int) -> int:
        """Return the time of a text."""
        return self._times[position]

    def get(self, position: int) -> Text:
        """Return a text."""
        state = self.states[position]
        return Text(
            self._numbers[position], self._ordinals[position], self._blocks[position], state >> 1,
            bool(state & 1), self._times[position], self.firsts[position], self.sizes[position],
        )  # fmt: skip


def pack_run(texts: Sequence[Text]) -> bytes:
    """Return the texts of a run as bytes."""
    firsts, after = [], 0
    for text in texts:
        firsts.append(text.first_cell - after)
        after = text.first_cell + text.cells
    return _encode(
        (
            _steps(text.number for text in texts),
            [text.ordinal for text in texts],
            [text.block for text in texts],
            [text.kind * 2 + text.is_error for text in texts],
            _steps(text.time for text in texts),
            firsts,
            [text.cells for text in texts],
        )
    )


def unpack_run(data: bytes) -> list[Text]:
    """Return what `pack_run` was given."""
    run = RunTexts(data)
    return [run.get(position) for position in range(len(run))]


def _steps(numbers: Iterable[int]) -> list[int]:
    found = list(numbers)
    return found[:1] + [second - first for first, second in pairwise(found)]
