"""Bytes of a large session, put aside until they are asked for: in a file without a name, seen by nobody else.

What is put aside takes no memory, and goes with whoever put it there. Where there is no room for such a file,
it stays in memory.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from io import SEEK_END
from typing import Any, Generic, TypeVar, overload

import zstandard
from msgspec import Struct

__all__ = ["Kept", "KeptItems", "Spill", "pack", "unpack"]

T = TypeVar("T")


class _Codecs(threading.local):
    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=1)
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()


def pack(data: bytes) -> bytes:
    """Return bytes compressed as fast as can be: nobody keeps them for long."""
    return _codecs.compressor.compress(data)


def unpack(data: bytes) -> bytes:
    """Return what was packed."""
    return _codecs.decompressor.decompress(data)


class Kept(Struct, frozen=True, gc=False):
    """Where some bytes are."""

    spill: Spill
    start: int
    length: int
    data: bytes | None = None
    """They themselves, if they had to stay."""

    def read(self) -> bytes:
        """Return the bytes."""
        return self.spill.read(self.start, self.length) if self.data is None else self.data


class Spill:
    """A place for bytes of any number."""

    def __init__(self) -> None:
        self._file: Any = None
        self._is_full = False

    def keep(self, data: bytes) -> Kept:
        """Put some bytes aside."""
        if not self._is_full:
            try:
                return Kept(self, self._write(data), len(data))
            except OSError:
                self._is_full = True
        return Kept(self, 0, len(data), data)

    def read(self, start: int, length: int) -> bytes:
        """Return bytes that were put aside."""
        self._file.seek(start)
        found: bytes = self._file.read(length)
        if len(found) != length:
            raise OSError("what was put aside is not there any more")
        return found

    def _write(self, data: bytes) -> int:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115, it is closed with this object
            weakref.finalize(self, self._file.close)
        start: int = self._file.seek(0, SEEK_END)
        written = 0
        while written < len(data):
            written += self._file.write(memoryview(data)[written:])
        return start


class KeptItems(Sequence[T], Generic[T]):
    """Things that are made of bytes when somebody asks for them; equal to any sequence of the same ones."""

    def __init__(self, spill: Spill, make: Callable[[int, bytes], T]) -> None:
        """Begin with none; `make` is given which one it is, and its bytes."""
        self._spill = spill
        self._make = make
        self._kept: list[Kept] = []

    def append(self, data: bytes) -> None:
        """Put the bytes of a further one aside."""
        self._kept.append(self._spill.keep(data))

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        if isinstance(at, slice):
            return tuple([self[each] for each in range(len(self))[at]])
        number = range(len(self))[at]
        return self._make(number, self._kept[number].read())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeptItems | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]
