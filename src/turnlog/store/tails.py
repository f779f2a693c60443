"""The bytes of a file: sealed frames, and the open tail behind them.

A live file grows by a line or two at a time. Its newest bytes are the tail: small frames, which are merged like
the digits of a binary counter, so that there are few of them and no byte is compressed more than a few times.
When the tail is larger than a frame, all of it but the rest is sealed. Damaged frames are kept as they are, and
do not keep a file from growing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from turnlog.store.batch import Frame
from turnlog.store.frames import FRAME_SIZE, cut_frames, make_frame, open_frame

__all__ = ["FRAMES", "TAIL", "TailWriter"]

FRAMES, TAIL = "frames", "tail_frames"
"""What the tables of sealed frames and of the tail are called."""
_RATIO = 3
"""How many times larger a frame may be than what it is merged with: the more, the better frames are compressed,
and the more often."""


class TailWriter(ABC):
    """Writes the bytes of one generation behind those that it has; an engine says how frames are kept."""

    def __init__(self, sealed: int) -> None:
        self.sealed = sealed
        """Up to where the frames are of full size."""

    @abstractmethod
    def _measure_tail(self) -> Iterable[tuple[int, int]]:
        """Return start and length of the tail's frames, the last first."""

    @abstractmethod
    def _take_tail(self, start: int) -> list[Frame]:
        """Remove the frames of the tail from `start` on, and return them."""

    @abstractmethod
    def _insert(self, table: str, frames: Iterable[Frame]) -> None:
        """Add frames."""

    def append(self, frames: Sequence[Frame], sealed: int) -> None:
        """Add frames, of which those before `sealed` are of full size."""
        full = [frame for frame in frames if frame.start + frame.length <= sealed]
        if full:
            self._seal_tail(full[0].start)
            self._insert(FRAMES, full)
            self.sealed = _end(full)
        rest = frames[len(full) :]
        if rest and _end(rest) - self.sealed > FRAME_SIZE:
            self._seal_all(rest)
        elif rest:
            self._extend_tail(rest)

    def _seal_tail(self, end: int) -> None:
        if self.sealed < end:
            tail = self._take_tail(self.sealed)
            data = _open(tail)
            self._insert(FRAMES, tail if data is None else cut_frames(data, self.sealed))

    def _seal_all(self, rest: Sequence[Frame]) -> None:
        tail = self._take_tail(self.sealed)
        data = _open((*tail, *rest))
        if data is None:
            full, last = tail, list(rest)
        else:
            *full, final = cut_frames(data, self.sealed)
            last = [final]
        self._insert(FRAMES, full)
        self._insert(TAIL, last)
        self.sealed = last[0].start

    def _extend_tail(self, rest: Sequence[Frame]) -> None:
        start = self._find_merge(rest)
        if start < rest[0].start:
            tail = self._take_tail(start)
            data = _open((*tail, *rest))
            rest = (*tail, *rest) if data is None else (make_frame(data, start),)
        self._insert(TAIL, rest)

    def _find_merge(self, rest: Sequence[Frame]) -> int:
        """Return from where on frames of the tail are hardly larger than what follows them."""
        start, size = rest[0].start, sum(frame.length for frame in rest)
        for before, length in self._measure_tail():
            if length > _RATIO * size:
                break
            start, size = before, size + length
        return start


def _end(frames: Sequence[Frame]) -> int:
    return frames[-1].start + frames[-1].length


def _open(frames: Iterable[Frame]) -> bytes | None:
    """Return the bytes of frames; None if any is damaged."""
    try:
        return b"".join(map(open_frame, frames))
    except ValueError:
        return None
