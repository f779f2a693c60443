"""Frames whose bytes are in blobs: where each is, and how its bytes are fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from turnlog.store.batch import Frame
from turnlog.store.blobs.interface import Blobs
from turnlog.store.packing import Cells

__all__ = ["COLUMNS", "StoredFrame", "build_frames", "fetch_frames"]

COLUMNS = "start, length, digest, blob, at, size"
"""What makes a `StoredFrame` of a row of `frames`; a tail has the same."""
_GAP = 64 << 10
"""How many bytes are read in vain rather than asking once more."""
_AT_ONCE = 8 << 20
"""How many bytes are asked for at once."""


class StoredFrame(Struct, frozen=True, gc=False):
    """A frame that is kept."""

    start: int
    length: int
    digest: bytes
    blob: str
    at: int
    """Where it begins in the blob."""
    size: int
    """How many bytes it has there."""

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.start + self.length

    @property
    def cells(self) -> tuple[Any, ...]:
        """As it stands in a row."""
        return self.start, self.length, self.digest, self.blob.encode(), self.at, self.size


def build_frames(rows: Iterable[Cells]) -> list[StoredFrame]:
    """Return the frames that rows or the cells of a tail tell of."""
    return [
        StoredFrame(start, length, digest, blob.decode(), at, size)
        for start, length, digest, blob, at, size in rows
    ]


def fetch_frames(blobs: Blobs, frames: Iterable[StoredFrame]) -> Iterator[tuple[StoredFrame, Frame]]:
    """Yield frames with their bytes, which may be damaged, by blob; those near each other come at once.

    Raises `KeyError` if a blob is not there.
    """
    groups = list(_gather(sorted(frames, key=lambda frame: (frame.blob, frame.at))))
    wanted = [(near[0].blob, near[0].at, near[-1].at + near[-1].size - near[0].at) for near in groups]
    for near, found in zip(groups, blobs.get_many(wanted), strict=True):
        data = memoryview(found)
        for frame in near:
            at = frame.at - near[0].at
            yield frame, Frame(frame.start, frame.length, bytes(data[at : at + frame.size]), frame.digest)


def _gather(frames: Sequence[StoredFrame]) -> Iterator[list[StoredFrame]]:
    """Yield what is asked for at once."""
    near: list[StoredFrame] = []
    for frame in frames:
        if near and not (
            frame.blob == near[0].blob
            and frame.at - (near[-1].at + near[-1].size) <= _GAP
            and frame.at + frame.size - near[0].at <= _AT_ONCE
        ):
            yield near
            near = []
        near.append(frame)
    if near:
        yield near
