"""Where the bytes of generations are: the frames that some stretches of them need."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from msgspec import Struct

from turnlog.errors import ArchiveError
from turnlog.store.clickhouse.connection import Values
from turnlog.store.clickhouse.stored_frames import COLUMNS, StoredFrame, build_frames
from turnlog.store.frames import FRAME_SIZE
from turnlog.store.identity import Place
from turnlog.store.packing import Cells

__all__ = ["Layout", "Span", "lay_out"]

_Name = tuple[int, int]
_Ask = Callable[[str, Values], list[Cells]]
_GENERATIONS = """
SELECT source, generation, length, sealed, tail FROM generations FINAL
WHERE session IN {sessions:Array(UInt128)} AND source IN {sources:Array(UInt128)}
AND generation IN {generations:Array(Int64)}
"""
# Frames that nobody has published yet are behind `sealed`, and no stretch here goes further than that.
_FRAMES = f"""
SELECT source, generation, {COLUMNS} FROM frames FINAL
WHERE session IN {{sessions:Array(UInt128)}} AND source IN {{sources:Array(UInt128)}}
AND generation IN {{generations:Array(Int64)}} AND arrayExists(
    (one, which, first, behind) ->
        one = source AND which = generation AND start < behind AND start + length > first,
    {{each:Array(UInt128)}}, {{whiches:Array(Int64)}}, {{firsts:Array(Int64)}}, {{ends:Array(Int64)}}
)
"""


class Span(Struct, frozen=True, gc=False):
    """Bytes of a generation that are asked for."""

    source: int
    generation: int
    first: int
    behind: int


class Layout(Struct, gc=False):
    """How long a generation is, and the frames that were asked for, in order."""

    length: int
    frames: list[StoredFrame]

    def find(self, position: int) -> StoredFrame | None:
        """Return the frame that holds a byte."""
        place = bisect_right(self.frames, position, key=lambda frame: frame.start)
        frame = self.frames[place - 1] if place else None
        return None if frame is None or frame.end <= position else frame

    def read(self, at: Place, length: int, load: Callable[[StoredFrame], bytes]) -> Iterator[bytes]:
        """Yield bytes from a place on, a frame's at a time; `load` opens one. Raises `ArchiveError`."""
        position, end = at.offset, at.offset + length
        while position < end:
            frame = self.find(position)
            if frame is None:
                raise ArchiveError("A frame is missing", at.source, at.generation, position)
            yield load(frame)[position - frame.start : end - frame.start]
            position = frame.end


class _Asked:
    """The spans of one generation."""

    def __init__(self, spans: Iterable[Span]) -> None:
        ordered = sorted((span.first, span.behind) for span in spans)
        self._firsts = [first for first, _ in ordered]
        self._behinds = list(accumulate((behind for _, behind in ordered), max))

    def needs(self, frame: StoredFrame) -> bool:
        """Tell whether a frame has bytes of any of them."""
        place = bisect_left(self._firsts, frame.end)
        return place > 0 and self._behinds[place - 1] > frame.start

    def merge(self, end: int) -> Iterator[tuple[int, int]]:
        """Yield stretches up to an end that hold all of them: few, as frames are much longer than lines."""
        start, behind = None, 0
        for first, last in zip(self._firsts, self._behinds, strict=True):
            if start is not None and first > behind + FRAME_SIZE:
                yield start, behind
                start = None
            if first >= end:
                break
            start, behind = first if start is None else start, min(last, end)
        if start is not None:
            yield start, behind


def lay_out(ask: _Ask, sessions: Collection[int], spans: Iterable[Span]) -> dict[_Name, Layout]:
    """Return where spans are, by source and generation, as far as there are such generations.

    `ask` is given statements about rows of these sessions.
    """
    by_name: dict[_Name, list[Span]] = {}
    for span in spans:
        by_name.setdefault((span.source, span.generation), []).append(span)
    if not by_name:
        return {}
    asked = {name: _Asked(several) for name, several in by_name.items()}
    values: dict[str, Any] = {
        "sessions": list(sessions),
        "sources": sorted({source for source, _ in asked}),
        "generations": sorted({generation for _, generation in asked}),
    }
    found: dict[_Name, Layout] = {}
    stretches: list[Span] = []
    for source, generation, length, sealed, tail in ask(_GENERATIONS, values):
        spot = asked.get((source, generation))
        if spot is not None:
            found[source, generation] = Layout(length, list(filter(spot.needs, build_frames(tail))))
            stretches += (Span(source, generation, *stretch) for stretch in spot.merge(sealed))
    if stretches:
        for source, generation, *cells in ask(_FRAMES, {**values, **_bind(stretches)}):
            frames = build_frames([tuple(cells)])
            found[source, generation].frames += filter(asked[source, generation].needs, frames)
    for layout in found.values():
        layout.frames.sort(key=lambda frame: frame.start)
    return found


def _bind(stretches: Sequence[Span]) -> Values:
    return {
        "each": [span.source for span in stretches],
        "whiches": [span.generation for span in stretches],
        "firsts": [span.first for span in stretches],
        "ends": [span.behind for span in stretches],
    }
