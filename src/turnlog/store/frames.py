"""Bytes of a file in frames: compressed stretches, each of which can be read alone.

Frames of 512 KiB are a fifth of the text they hold and open in half a millisecond; smaller ones compress
worse, larger ones make every read dearer. They end behind a newline where one is near, so that most lines are
in one frame. No engine is involved: any process can cut frames, and any archive can keep them.

Where an archive keeps compressed bytes elsewhere (`turnlog.store.blobs`), the name of the blob stands in their
place; compressed bytes begin with other ones.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable
from hashlib import blake2b

import zstandard

from turnlog.store.batch import Frame

FRAME_SIZE = 512 << 10
"""How many bytes a frame has before it is compressed."""
_REACH = FRAME_SIZE // 4
"""How far before its full size a frame may end for the sake of a newline."""
_LEVEL = 3
"""With frames of this size as small as 7 with half of it, in a third of the time."""


SHORTEST = 64
"""Fewer bytes are not worth a blob; all names are shorter."""
_BLOB = re.compile(rb"((?:frames|segments)/[0-9a-f]{32})[0-9a-f]{8}")


class _Codecs(threading.local):
    """Contexts are costly to make and must not be used by two threads at once."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()


def cut_frames(data: bytes, start: int) -> list[Frame]:
    """Return bytes that begin at `start` of their file as frames; all but the last are of full size."""
    view = memoryview(data)
    frames: list[Frame] = []
    position = 0
    while position < len(data):
        end = _find_end(data, position)
        frames.append(make_frame(view[position:end], start + position))
        position = end
    return frames


def _find_end(data: bytes, position: int) -> int:
    end = position + FRAME_SIZE
    if end >= len(data):
        return len(data)
    newline = data.rfind(b"\n", end - _REACH, end)
    return end if newline < 0 else newline + 1


def make_frame(data: bytes | memoryview, start: int) -> Frame:
    """Return bytes as one frame, whatever their size."""
    digest = blake2b(data, digest_size=16).digest()
    return Frame(start, len(data), _codecs.compressor.compress(data), digest)


def open_frame(frame: Frame) -> bytes:
    """Return the bytes of a frame; raises `ValueError` with the reason if they are not what they were."""
    data = decompress(frame.data, frame.length)
    if blake2b(data, digest_size=16).digest() != frame.digest:
        raise ValueError("The bytes do not match their digest")
    return data


def compress(data: bytes) -> bytes:
    """Return bytes compressed, with their length in front."""
    return _codecs.compressor.compress(data)


def open_compressed(data: bytes) -> bytes:
    """Return what `compress` was given; raises `ValueError` for bytes that are none of it."""
    try:
        return decompress(data, zstandard.frame_content_size(data))
    except zstandard.ZstdError as error:
        raise ValueError(f"The bytes cannot be decompressed ({error})") from None


def compress_pieces(pieces: Iterable[bytes]) -> tuple[int, bytes]:
    """Return bytes that come in pieces compressed, and how many they are, which is not in front then."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL).compressobj()
    length = 0
    parts = []
    for piece in pieces:
        length += len(piece)
        parts.append(compressor.compress(piece))
    return length, b"".join((*parts, compressor.flush()))


def decompress_first(data: bytes, length: int, size: int) -> bytes:
    """Return the first bytes of what `decompress` gives; raises as it does, as far as it gets."""
    if size * 4 > length * 3:  # one by one the last pieces take as long
        return decompress(data, length)[:size]
    try:
        with _codecs.decompressor.stream_reader(data) as stream:
            found = stream.read(size)
    except zstandard.ZstdError as error:
        raise ValueError(f"The bytes cannot be decompressed ({error})") from None
    if len(found) < size:
        raise ValueError(f"Expected {size} bytes, got {len(found)}")
    return found


def decompress(data: bytes, length: int) -> bytes:
    """Return compressed bytes as they were; raises `ValueError` unless they are exactly `length` long."""
    try:
        # The decompressor believes the header and allocates what it says, so it is checked first; -1 is none.
        found = zstandard.frame_content_size(data)
        if found not in (length, -1):
            raise ValueError(f"Expected {length} bytes, but the header says {found}")
        opened = _codecs.decompressor.decompress(data, max_output_size=length, allow_extra_data=False)
        if len(opened) != length:
            raise ValueError(f"Expected {length} bytes, but there are {len(opened)}")
        return opened
    except zstandard.ZstdError as error:
        raise ValueError(f"The bytes cannot be decompressed ({error})") from None


def is_name(cell: bytes) -> bool:
    """Tell whether what stands in the place of bytes is the name of a blob."""
    return len(cell) < SHORTEST and _BLOB.fullmatch(cell) is not None


def stem_of(kind: str, data: bytes) -> bytes:
    """Return how the names begin of all blobs that have these bytes."""
    return f"{kind}/{blake2b(data, digest_size=16).hexdigest()}".encode()


def make_name(stem: bytes) -> bytes:
    """Return a name that no blob ever had."""
    return stem + os.urandom(4).hex().encode()


def have_same(cell: bytes, other: bytes) -> bool:
    """Tell whether two cells are of the same bytes, which either may have in a blob."""
    stems = [_BLOB.fullmatch(each) if is_name(each) else None for each in (cell, other)]
    if cell == other or stems == [None, None]:
        return cell == other
    [one, two] = [
        blake2b(data, digest_size=16).hexdigest().encode() if found is None else found[1].partition(b"/")[2]
        for data, found in zip((cell, other), stems, strict=True)
    ]
    return one == two
