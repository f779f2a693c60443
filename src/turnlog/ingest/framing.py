"""Frames, cut while a file is read: memory holds one stretch of it, not the file."""

from __future__ import annotations

from msgspec.structs import replace

from turnlog.ingest.spill import KeptItems, Spill
from turnlog.store.batch import Frame, Several
from turnlog.store.frames import cut_frames

__all__ = ["Framer"]

_STRETCH = 4 << 20
"""How many bytes are cut at once. Only the last frame of each stretch is short."""


class Framer:
    """Makes frames of the bytes of one file, fed in pieces of any size."""

    def __init__(self, start: int, spill: Spill | None = None) -> None:
        """Begin at an offset of the file; with a `spill`, frames are put aside there."""
        self.frames: list[Frame] = []
        """Without their bytes, if those were put aside."""
        self._data = None if spill is None else KeptItems(spill, self._restore)
        self._start = start
        self._held: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Take the next bytes."""
        self._held.append(piece)
        self._size += len(piece)
        if self._size >= _STRETCH:
            data = b"".join(self._held)
            end = data.rfind(b"\n") + 1 or len(data)  # most lines are to be in one frame
            self._cut(data[:end])
            self._held, self._size = [data[end:]], len(data) - end

    def finish(self) -> Several[Frame]:
        """Return all frames."""
        self._cut(b"".join(self._held))
        self._held, self._size = [], 0
        return tuple(self.frames) if self._data is None else self._data

    def _cut(self, data: bytes) -> None:
        for frame in cut_frames(data, self._start):
            if self._data is None:
                # The compressor shrinks a buffer of full size in place. What it gives back would lie between
                # frames, too small for the next buffer; a copy keeps memory in one piece.
                self.frames.append(replace(frame, data=bytes(memoryview(frame.data))))
            else:
                self.frames.append(replace(frame, data=b""))
                self._data.append(frame.data)
        self._start += len(data)

    def _restore(self, number: int, data: bytes) -> Frame:
        return replace(self.frames[number], data=data)
