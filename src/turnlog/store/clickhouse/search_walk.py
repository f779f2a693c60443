"""Proposing texts, newest first, as far as they are needed.

Rows lie in the order in which they are proposed, and the index of words is asked row by row without reading the
words. So a statement ends as soon as it has found what it was asked for, however common a word is, and reads
hardly anything else, however rare it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from turnlog.store.clickhouse.ids import NOWHERE
from turnlog.store.clickhouse.reading import Reading
from turnlog.store.clickhouse.search_conditions import Conditions, Leaf, build_counts
from turnlog.store.clickhouse.texts import find_place
from turnlog.store.packing import Cells
from turnlog.store.search.asking import Counts
from turnlog.store.search.hits import TextKey
from turnlog.store.search.language import Term
from turnlog.store.search.text_rows import HOOKS, Text

__all__ = ["Proposal", "Walk", "name_generation"]

_FIRST = 16
"""How many texts more than are wanted are asked for first; four times as many each time."""
_LARGEST = 16_000
_DAY = 86_400_000_000
_WINDOWS = (8 * _DAY, 64 * _DAY)
"""How far back it is looked first, in microseconds: parts of the table that are older are not even opened."""
_ORDER = "time DESC, file DESC, at DESC, generation DESC, write DESC"
_WALK = f"""
SELECT time, file, at, generation, write, session, block, state, cells, {{counts}} FROM texts
WHERE owner = {{{{owner:String}}}} AND time <= {{{{time:Int64}}}} AND time >= {{{{from:Int64}}}}
AND (time, file, at) < ({{{{time:Int64}}}}, {{{{file:Int64}}}}, {{{{at:Int64}}}}) AND {{where}}
ORDER BY {_ORDER} LIMIT {{{{size:Int64}}}}
"""
_SPAN = "SELECT max(last_time), min(first_time) FROM summaries WHERE owner = {owner:String}"
_MOST = (1 << 63) - 1
_NEWEST: TextKey = (_MOST, _MOST, _MOST)
_GENERATIONS = 32
"""How many bits the number of a generation has."""


class Proposal(Struct, frozen=True, gc=False):
    """A text that may match."""

    key: TextKey
    generation: int
    """As `name_generation` names it."""
    text: Text
    cells: int
    session: int
    write: int
    counts: Counts = ()
    """In how many of its cells each term may be; known only where texts are ranked."""


def name_generation(file: int, generation: int) -> int:
    """Return the number of a file as it was read, given what texts have of its own number; never `HOOKS`."""
    return (file << _GENERATIONS | generation) + 1


class Walk:
    """One query's way through the texts of one owner."""

    def __init__(
        self,
        reading: Reading,
        conditions: Conditions,
        wanted: int,
        keep: Callable[[list[Proposal]], list[Proposal]],
        ranked: Mapping[Term, Leaf] | None = None,
    ) -> None:
        """Begin with nothing looked at; about so many texts are `wanted`.

        `keep` leaves out those that do not count.
        """
        self._reading = reading
        self._first = min(wanted + _FIRST, _LARGEST)
        self._keep = keep
        self._values = dict(conditions.values)
        counts = "[]"
        if ranked is not None:
            counts, more = build_counts(ranked)
            self._values |= more
        self._statement = _WALK.format(counts=counts, where=conditions.where)

    def propose(self, before: TextKey | None, is_included: bool = False) -> Iterator[Proposal]:
        """Yield texts that may match and come behind `before`, in order; that one, too, if it is included."""
        key = _NEWEST if before is None else before
        if is_included and before is not None:
            key = (*before[:2], before[2] + 1)
        size = self._first
        newest, first = self._find_span() if before is None else (_clip(key[0]), -_MOST)
        starts = iter([newest - width for width in _WINDOWS if newest - width > first])
        oldest = next(starts, -_MOST)
        while True:
            found = [_unpack(row) for row in self._reading.query(*self.explain(key, size, oldest))]
            is_all = len(found) < size
            if not is_all:
                # There may be more rows of the last text: all of them come next time.
                last = found[-1].key
                found = [each for each in found if each.key != last] or found
                key = (*last[:2], last[2] + (found[-1].key != last))
            yield from self._keep(found)
            if is_all and oldest == -_MOST:
                return
            if is_all:
                key, oldest = min(key, (oldest, -_MOST, -_MOST)), next(starts, -_MOST)
            else:
                size = min(4 * size, _LARGEST)

    def _find_span(self) -> tuple[int, int]:
        """Return when the newest texts of sessions may be, and the oldest; of some it is not known."""
        [(newest, oldest)] = self._reading.query(_SPAN)
        return min(newest or 0, self._values.get("until", _MOST)), oldest or 0

    def explain(self, before: TextKey, size: int, oldest: int = -_MOST) -> tuple[str, dict[str, Any]]:
        """Return the statement for texts behind one, and its values."""
        newest, file, at = map(_clip, before)
        bounds = {"time": newest, "file": file, "at": at, "from": oldest, "size": size}
        return self._statement, {**self._values, **bounds}


def _clip(number: int) -> int:
    """Return a number that the engine takes: a cursor may have any."""
    return max(-_MOST, min(number, _MOST))


def _unpack(row: Cells) -> Proposal:
    at_us, file, at, generation, write, session, block, state, cells, counts = row
    if session == NOWHERE:
        line, ordinal, generation = file, at, HOOKS
    else:
        (line, ordinal), generation = find_place(at), name_generation(file, generation)
    text = Text(line, ordinal, block, state >> 1, bool(state & 1), at_us)
    return Proposal((at_us, file, at), generation, text, cells, session, write, tuple(counts))
