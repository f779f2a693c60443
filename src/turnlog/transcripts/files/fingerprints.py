"""Telling whether a file is still the one that was read.

Files are appended to, but they are also truncated, rewritten under the same inode, replaced and deleted. These
are told apart by size, inode and a fingerprint of two windows: the first bytes and the last ones of what was
read. A change of some bytes between the windows that leaves the length as it was goes unnoticed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from hashlib import blake2b

from msgspec import Struct

_SIZE = 4096

ReadAt = Callable[[int, int], bytes]
"""Takes where to read, and how many bytes."""


class Change(StrEnum):
    """What happened to a file since it was last read."""

    NEW = "new"
    """It was not read before."""
    UNCHANGED = "unchanged"
    """Nothing that is a line came, and nothing went."""
    APPENDED = "appended"
    TRUNCATED = "truncated"
    """It is shorter than what was read of it."""
    REWRITTEN = "rewritten"
    """Other bytes stand where lines were read."""
    REPLACED = "replaced"
    """It is another file under the same name."""
    VANISHED = "vanished"
    UNREADABLE = "unreadable"
    """It is there, but may not or cannot be read."""


class Checkpoint(Struct, frozen=True, gc=False):
    """How far a file was read."""

    source: str
    offset: int
    """Up to where it was read. Who reads lines goes on behind the last newline, or behind the last object where
    none follows it yet."""
    size: int
    fingerprint: str
    """Of the first and the last bytes before `offset`."""
    inode: int = 0
    """0 where the file system has none."""
    device: int = 0
    modified_ns: int = 0
    generation: int = 0
    """How many times the file had to be read anew."""
    in_array: bool = False
    """Whether `offset` is between the items of an array."""


class Windows:
    """The first and the last bytes of what was read so far, as they were then."""

    __slots__ = ("_first", "_last")

    def __init__(self, first: bytes = b"", last: bytes = b"") -> None:
        """Begin with the first bytes of a file, and the last ones behind those; each at most a window full."""
        self._first = first
        self._last = last

    def add(self, data: bytes) -> None:
        """Take what was read next."""
        missing = _SIZE - len(self._first)
        if missing:
            self._first += data[:missing]
            data = data[missing:]
        if data:
            self._last = data[-_SIZE:] if len(data) >= _SIZE else (self._last + data)[-_SIZE:]

    @property
    def fingerprint(self) -> str:
        """A digest of both; of all that was read if it is little."""
        return blake2b(self._first + self._last, digest_size=16).hexdigest()


def read_windows(offset: int, read_at: ReadAt) -> Windows:
    """Read the first and the last bytes before `offset`."""
    first = min(offset, _SIZE)
    last = min(offset - first, _SIZE)
    return Windows(read_at(0, first), read_at(offset - last, last) if last else b"")


def is_untouched(known: Checkpoint, status: os.stat_result) -> bool:
    """Tell whether a file was read to its end and has the size, the time and the inode that it had then.

    Such a file need not be opened.
    """
    then = known.offset, known.modified_ns, known.inode, known.device
    return then == (status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)


def compare(known: Checkpoint, status: os.stat_result, read_at: ReadAt) -> tuple[Change, Windows]:
    """Tell what became of a file: if nothing that was read has changed, it is `APPENDED`, if by nothing.

    With it come the windows before `known.offset`, to go on with; of a file that has to be read anew, none.
    """
    moved = bool(known.inode and status.st_ino and known.inode != status.st_ino)
    same_times = (known.size, known.modified_ns) == (status.st_size, status.st_mtime_ns)
    if moved and not same_times:
        return Change.REPLACED, Windows()
    if status.st_size < known.offset:
        return Change.TRUNCATED, Windows()
    windows = read_windows(known.offset, read_at)
    if windows.fingerprint != known.fingerprint:
        return Change.REPLACED if moved else Change.REWRITTEN, Windows()
    return Change.APPENDED, windows
