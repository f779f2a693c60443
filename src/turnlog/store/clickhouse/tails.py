"""What a write adds to the bytes of a session: the new frames of all its files, in one blob.

    added = NewBytes(write, blobs, staged)          # once for each session of a write
    ending = added.append(source, generation, before, batch.frames, batch.sealed)
    …                                               # `ending` goes into the row of `generations`
    rows += added.finish()                          # the blob is kept; the rows are to be staged in `frames`

`before` is what the row of the generation says (`Ending.read`), or `Ending()` for a new one. What `append`
returned is the `before` of the next one, also within a write. A file that moves from another session takes its
bytes along by `carry`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from turnlog.store import tails
from turnlog.store.batch import Frame
from turnlog.store.blobs.interface import Blobs
from turnlog.store.clickhouse.publication import Staged
from turnlog.store.clickhouse.stored_frames import StoredFrame, build_frames, fetch_frames
from turnlog.store.clickhouse.transaction import Write, name_blob
from turnlog.store.packing import Cells

__all__ = ["Ending", "FrameRow", "NewBytes"]

FrameRow = tuple[Any, ...]
"""A row of `frames`."""


class Ending(Struct, frozen=True, gc=False):
    """How the bytes of a generation end."""

    sealed: int = 0
    """Up to where there are rows in `frames`."""
    tail: tuple[StoredFrame, ...] = ()
    """The frames behind that."""

    @classmethod
    def read(cls, sealed: int, tail: Iterable[Cells]) -> Ending:
        """Return what a row of `generations` says by its cells."""
        return cls(sealed, tuple(build_frames(tail)))

    @property
    def cells(self) -> list[Any]:
        """The tail, as it stands in the row of the generation."""
        return [frame.cells for frame in self.tail]


class NewBytes:
    """Gathers frames for one session; nothing is kept before `finish`."""

    def __init__(self, write: Write, blobs: Blobs, staged: Staged) -> None:
        self._write = write
        self._blobs = blobs
        self._staged = staged
        self._kept: dict[int, Frame] = {}
        self._size = 0
        self._rows: list[FrameRow] = []

    def append(
        self, source: int, generation: int, before: Ending, frames: Sequence[Frame], sealed: int
    ) -> Ending:
        """Add frames behind those of a generation, of which those before `sealed` are of full size."""
        if not frames:
            return before
        writer = _TailWriter(self, before)
        writer.append(frames, sealed)
        self._rows += self.make_rows(source, generation, writer.full)
        return Ending(writer.sealed, tuple(writer.tail))

    def carry(self, source: int, generation: int, frames: Iterable[StoredFrame], before: Ending) -> Ending:
        """Copy the bytes of a generation that another session has: its rows of `frames`, and how it ends.

        Bytes that are damaged stay so, and those that are gone stay missed.
        """
        self._rows += self.make_rows(source, generation, map(self.copy, frames))
        return Ending(before.sealed, tuple(map(self.copy, before.tail)))

    def finish(self) -> list[FrameRow]:
        """Keep the bytes, if there are any; return the rows that `frames` is to have."""
        if self._kept:
            self._write.put(self._staged, b"".join(frame.data for frame in self._kept.values()))
        return self._rows

    def keep(self, frame: Frame) -> StoredFrame:
        """Add one frame, and return where it is going to be."""
        at = self._size
        self._kept[at] = frame
        self._size += len(frame.data)
        blob = name_blob(self._staged, self._write.number)
        return StoredFrame(frame.start, frame.length, frame.digest, blob, at, len(frame.data))

    def fetch(self, frame: StoredFrame) -> Frame:
        """Return a frame with its bytes: none if they are gone, which is as good as damaged."""
        if frame.blob == name_blob(self._staged, self._write.number):
            return self._kept[frame.at]
        try:
            [(_, found)] = fetch_frames(self._blobs, [frame])
        except KeyError:
            return Frame(frame.start, frame.length, b"", frame.digest)
        return found

    def copy(self, frame: StoredFrame) -> StoredFrame:
        """Add a frame that is in another blob, as it is; if it is not there, it stays missed."""
        found = self.fetch(frame)
        return self.keep(found) if found.data else frame

    def make_rows(self, source: int, generation: int, frames: Iterable[StoredFrame]) -> list[FrameRow]:
        """Return rows of `frames` by this write."""
        session, born = self._staged.session, self._staged.born
        rows = []
        for frame in frames:
            start, *rest = frame.cells
            rows.append((session, source, generation, start, self._write.number, born, *rest))
        return rows


class _TailWriter(tails.TailWriter):
    """Adds to the bytes of one generation."""

    def __init__(self, added: NewBytes, before: Ending) -> None:
        super().__init__(before.sealed)
        self.full: list[StoredFrame] = []
        self.tail = [*before.tail]
        self._added = added
        self._taken: dict[tuple[int, int, bytes], StoredFrame] = {}

    def _measure_tail(self) -> Iterable[tuple[int, int]]:
        return [(frame.start, frame.length) for frame in reversed(self.tail)]

    def _take_tail(self, start: int) -> list[Frame]:
        taken = [frame for frame in self.tail if frame.start >= start]
        self.tail = [frame for frame in self.tail if frame.start < start]
        self._taken |= {(frame.start, frame.length, frame.digest): frame for frame in taken}
        return [self._added.fetch(frame) for frame in taken]

    def _insert(self, table: str, frames: Iterable[Frame]) -> None:
        into = self.full if table == tails.FRAMES else self.tail
        for frame in frames:
            # What was taken and is put back as it was, as a damaged one, stays where it is.
            former = self._taken.get((frame.start, frame.length, frame.digest))
            into.append(former or self._added.keep(frame))
