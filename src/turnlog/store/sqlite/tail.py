"""Writing the bytes of a file: sealed frames, and the open tail behind them.

A live file grows by a line or two at a time. Its newest bytes are the tail: small frames, which are merged like
the digits of a binary counter, so that there are few of them and no byte is compressed more than a few times.
When the tail is larger than a frame, all of it but the rest is sealed. Damaged frames are kept as they are, and
do not keep a file from growing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw

from turnlog.store.batch import Frame
from turnlog.store.frames import FRAME_SIZE, cut_frames, make_frame, open_frame

__all__ = ["TailWriter"]

_RATIO = 3
"""How many times larger a frame may be than what it is merged with: the more, the better frames are compressed,
and the more often."""


class TailWriter:
    """Writes the bytes of one generation behind those that it has."""

    def __init__(self, connection: apsw.Connection, generation: int, sealed: int) -> None:
        self._connection = connection
        self._generation = generation
        self.sealed = sealed
        """Up to where the frames are of full size."""

    def append(self, frames: Sequence[Frame], sealed: int) -> None:
        """Add frames, of which those before `sealed` are of full size."""
        full = [frame for frame in frames if frame.start + frame.length <= sealed]
        if full:
            self._seal_tail(full[0].start)
            self._insert("frames", full)
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
            self._insert("frames", tail if data is None else cut_frames(data, self.sealed))

    def _seal_all(self, rest: Sequence[Frame]) -> None:
        tail = self._take_tail(self.sealed)
        data = _open((*tail, *rest))
        if data is None:
            full, last = tail, list(rest)
        else:
            *full, final = cut_frames(data, self.sealed)
            last = [final]
        self._insert("frames", full)
        self._insert("tail_frames", last)
        self.sealed = last[0].start

    def _extend_tail(self, rest: Sequence[Frame]) -> None:
        start = self._find_merge(rest)
        if start < rest[0].start:
            tail = self._take_tail(start)
            data = _open((*tail, *rest))
            rest = (*tail, *rest) if data is None else (make_frame(data, start),)
        self._insert("tail_frames", rest)

    def _find_merge(self, rest: Sequence[Frame]) -> int:
        """Return from where on frames of the tail are hardly larger than what follows them."""
        start, size = rest[0].start, sum(frame.length for frame in rest)
        query = "SELECT start, length FROM tail_frames WHERE generation = ? ORDER BY start DESC"
        for before, length in self._connection.execute(query, (self._generation,)):
            if length > _RATIO * size:
                break
            start, size = before, size + length
        return start

    def _take_tail(self, start: int) -> list[Frame]:
        """Remove the frames of the tail from `start` on, and return them."""
        where = "FROM tail_frames WHERE generation = ? AND start >= ?"
        query = f"SELECT start, length, data, digest {where} ORDER BY start"
        frames = [Frame(*row) for row in self._connection.execute(query, (self._generation, start))]
        self._connection.execute(f"DELETE {where}", (self._generation, start))
        return frames

    def _insert(self, table: str, frames: Iterable[Frame]) -> None:
        self._connection.executemany(
            f"INSERT INTO {table} (generation, start, length, digest, data) VALUES (?, ?, ?, ?, ?)",
            ((self._generation, frame.start, frame.length, frame.digest, frame.data) for frame in frames),
        )


def _end(frames: Sequence[Frame]) -> int:
    return frames[-1].start + frames[-1].length


def _open(frames: Iterable[Frame]) -> bytes | None:
    """Return the bytes of frames; None if any is damaged."""
    try:
        return b"".join(map(open_frame, frames))
    except ValueError:
        return None
