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
    is_repeat: bool
    """Whether its cells are those of an equal text."""


class RunTexts:
    """The texts of a run, as columns: a search looks at few of them."""

    def __init__(self, data: bytes) -> None:
        numbers, self._ordinals, self._blocks, self.states, times, steps, self._sizes = _decode(data)
        """`states` are kinds, times two, and one for an error."""
        self._number_steps, self._time_steps = numbers, times
        self.own: Sequence[int] = range(len(steps))
        """Which texts have cells of their own."""
        self.firsts: list[int]
        """The first cell of each of those, in order."""
        self.repeats: dict[int, tuple[int, int]] = {}
        """The first cell and the number of cells of the others."""
        if min(self._sizes, default=1) > 0:
            self.firsts = list(accumulate(map(add, steps, (0, *self._sizes[:-1]))))
        else:
            self._tell_apart(steps)

    def _tell_apart(self, steps: list[int]) -> None:
        self.own, self.firsts, after = [], [], 0
        for position, (step, size) in enumerate(zip(steps, self._sizes, strict=True)):
            first = after + step
            if size > 0:
                self.own.append(position)
                self.firsts.append(first)
                after = first + size
            else:
                self.repeats[position] = first, -size

    @cached_property
    def _numbers(self) -> list[int]:
        return list(accumulate(self._number_steps))

    @cached_property
    def _times(self) -> list[int]:
        return list(accumulate(self._time_steps))

    def __len__(self) -> int:
        return len(self._sizes)

    def time(self, position: int) -> int:
        """Return the time of a text."""
        return self._times[position]

    def size(self, position: int) -> int:
        """Return how many cells a text has."""
        return abs(self._sizes[position])

    def get(self, position: int, first: int) -> Text:
        """Return a text whose first cell is known."""
        size, state = self._sizes[position], self.states[position]
        return Text(
            self._numbers[position], self._ordinals[position], self._blocks[position], state >> 1,
            bool(state & 1), self._times[position], first, abs(size), size < 0,
        )  # fmt: skip


def pack_run(texts: Sequence[Text]) -> bytes:
    """Return the texts of a run as bytes."""
    firsts, after = [], 0
    for text in texts:
        firsts.append(text.first_cell - after)
        if not text.is_repeat:
            after = text.first_cell + text.cells
    return _encode(
        (
            _steps(text.number for text in texts),
            [text.ordinal for text in texts],
            [text.block for text in texts],
            [text.kind * 2 + text.is_error for text in texts],
            _steps(text.time for text in texts),
            firsts,
            [-text.cells if text.is_repeat else text.cells for text in texts],
        )
    )


def unpack_run(data: bytes) -> list[Text]:
    """Return what `pack_run` was given."""
    run = RunTexts(data)
    firsts = dict(zip(run.own, run.firsts, strict=True))
    firsts.update((position, first) for position, (first, _) in run.repeats.items())
    return [run.get(position, firsts[position]) for position in range(len(run))]


def _steps(numbers: Iterable[int]) -> list[int]:
    found = list(numbers)
    return found[:1] + [second - first for first, second in pairwise(found)]
