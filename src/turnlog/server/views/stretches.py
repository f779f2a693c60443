"""How much is read at once. Lines may be long, with images in them, so a page ends before they are too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from turnlog.store.identity import Place, Scope
from turnlog.store.interface import Store

__all__ = ["MOST_BYTES", "choose_stretch", "fit"]

T = TypeVar("T")

MOST_BYTES = 32 << 20
"""Of the lines that one answer is made from; one thing is told however long its lines are."""


def fit(
    store: Store, scope: Scope, things: Sequence[T], places_of: Callable[[T], Iterable[Place]], anchor: int = 0
) -> Sequence[T]:
    """Return things next to each other, the one at `anchor` among them, whose lines are not too long."""
    if not things:
        return things
    places = [list(places_of(thing)) for thing in things]
    lengths = iter(store.measure_lines(scope, [place for some in places for place in some]))
    start, end = choose_stretch([sum(next(lengths) for _ in some) for some in places], anchor, MOST_BYTES)
    return things[start:end]


def choose_stretch(sizes: Sequence[int], anchor: int, most: int) -> tuple[int, int]:
    """Return where a stretch around `anchor` begins and ends: as long as `most` allows, even on both sides."""
    start, end, left = anchor, anchor + 1, most - sizes[anchor]
    goes_down, goes_up = True, True
    while goes_down or goes_up:
        goes_down = goes_down and end < len(sizes) and sizes[end] <= left
        if goes_down:
            left -= sizes[end]
            end += 1
        goes_up = goes_up and start > 0 and sizes[start - 1] <= left
        if goes_up:
            start -= 1
            left -= sizes[start]
    return start, end
