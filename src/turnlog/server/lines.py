"""Reading the lines that an answer is made from.

Lines may be long, with images in them, so a page ends before its lines are too long together. What is worked
out from many lines is remembered for each state of the archive (`Memo`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from turnlog.messages import Line
from turnlog.server.errors import NotFoundError
from turnlog.store.interface import Store
from turnlog.transcripts.queries.bodies import decode_lines
from turnlog.transcripts.queries.chapters import Chapter

T = TypeVar("T")

MOST_BYTES = 32 << 20
"""Of the lines that one answer is made from; one thing is told however long its lines are."""


def fit(things: Sequence[T], measure: Callable[[T], int], anchor: int = 0) -> Sequence[T]:
    """Return things next to each other, the one at `anchor` among them, whose lines are not too long."""
    if not things:
        return things
    start, end = choose_stretch([measure(thing) for thing in things], anchor, MOST_BYTES)
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


def read_lines(chapter: Chapter, numbers: Iterable[int]) -> dict[int, Line]:
    """Return lines of a file, by their numbers; raises `NotFoundError` if they were deleted meanwhile."""
    try:
        return decode_lines(chapter, numbers)
    except KeyError:
        raise NotFoundError("Those lines no longer exist") from None


def read_each(wanted: Iterable[tuple[Chapter, Iterable[int]]]) -> dict[Chapter, dict[int, Line]]:
    """Return lines of several files; raises as `read_lines`. A file may be named more than once."""
    numbers: dict[Chapter, set[int]] = {}
    for chapter, some in wanted:
        numbers.setdefault(chapter, set()).update(some)
    return {chapter: read_lines(chapter, some) for chapter, some in numbers.items()}


V = TypeVar("V")


class Memo(Generic[V]):
    """The last answers about each store; from any thread."""

    def __init__(self, most: int) -> None:
        """Take how many answers are remembered for a store."""
        self._most = most
        self._known: WeakKeyDictionary[Store, dict[Hashable, V]] = WeakKeyDictionary()
        self._lock = Lock()

    def recall(self, store: Store, key: Hashable, build: Callable[[], V]) -> V:
        """Return what was built for a key; that must name the state of the archive, too."""
        with self._lock:
            known = self._known.setdefault(store, {})
            if key in known:
                return known[key]
        built = build()
        with self._lock:
            known[key] = built
            while len(known) > self._most:
                del known[next(iter(known))]
        return built
