"""Reading the files that Claude Code writes, once or again and again while they grow.

A `Checkpoint` says how far a file was read and what stood before that place; `fingerprints` tells by it what
became of the file, so that an appended line costs its own bytes and not the file's. When the bytes that were
read are no longer there, the file is read from its start as a new generation.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from msgspec import Struct

from turnlog.messages import Line
from turnlog.transcripts.files.fingerprints import Change, Checkpoint, compare, read_windows
from turnlog.transcripts.files.records import LineSplitter, Tail

_CHUNK = 1 << 18


class Reading(Struct, frozen=True, gc=False):
    """What one look at a file gave."""

    change: Change
    lines: tuple[Line, ...] = ()
    checkpoint: Checkpoint | None = None
    """Where to go on; None when the file was never read."""
    tail: Tail | None = None
    """What waits at the end for the rest of its line."""
    more: bool = False
    """Whether reading stopped at the limit."""
    bytes_read: int = 0
    reason: str = ""
    """Why the file is unreadable."""


class LineReader:
    """The lines of one file, read when asked for: memory holds one chunk, or one line if it is larger."""

    def __init__(self, path: str, start: int, source: str, in_array: bool, chunk_size: int) -> None:
        self._path = path
        self._start = start
        self._chunk_size = chunk_size
        self._splitter = LineSplitter(source, start, in_array)
        self._lines = self._read()
        self.bytes_read = 0

    def __iter__(self) -> Iterator[Line]:
        return self._lines

    def __next__(self) -> Line:
        return next(self._lines)

    @property
    def tail(self) -> Tail | None:
        """What waits at the end of the file, once all lines were read."""
        return self._splitter.tail

    def _read(self) -> Iterator[Line]:
        with FileIO(self._path) as file:
            file.seek(self._start)
            while chunk := file.read(self._chunk_size):
                self.bytes_read += len(chunk)
                yield from self._splitter.feed(chunk)
            yield from self._splitter.finish()


def read_lines(
    path: str | Path,
    start: int = 0,
    *,
    source: str | None = None,
    in_array: bool = False,
    chunk_size: int = _CHUNK,
) -> LineReader:
    """Read the lines of a file from the offset `start` on, which must be where a line begins.

    Blank lines are skipped, broken ones are lines with a problem. Raises `OSError` if the file cannot be read.
    """
    name = os.fspath(path)
    return LineReader(name, start, source or name, in_array, chunk_size)


def read_new(
    path: str | Path,
    checkpoint: Checkpoint | None = None,
    *,
    source: str | None = None,
    limit: int | None = None,
    chunk_size: int = _CHUNK,
) -> Reading:
    """Read what came since `checkpoint`, or all of it. A file that cannot be read is a `Change`, not an error.

    With `limit`, reading stops after about so many bytes, but not before it has a line; then `more` is true.
    """
    name = source or (checkpoint.source if checkpoint else os.fspath(path))
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return Reading(Change.UNREADABLE, checkpoint=checkpoint, reason="not a regular file")
        with FileIO(os.fspath(path)) as file:
            return _Visit(file, checkpoint, name).read(limit, chunk_size)
    except (FileNotFoundError, NotADirectoryError):
        return Reading(Change.VANISHED, checkpoint=checkpoint)
    except OSError as error:
        reason = error.strerror or str(error)
        return Reading(Change.UNREADABLE, checkpoint=checkpoint, reason=reason)


class _Visit:
    """One open file, compared with what is known of it, and read on."""

    def __init__(self, file: FileIO, checkpoint: Checkpoint | None, source: str) -> None:
        self._file = file
        self._known = checkpoint
        self._source = source
        self._status = os.fstat(file.fileno())
        self._bytes_read = 0

    def read(self, limit: int | None, chunk_size: int) -> Reading:
        change = Change.NEW
        if self._known is not None:
            change, _ = compare(self._known, self._status, self._window)
        known = self._known if change in (Change.APPENDED, Change.UNCHANGED) else None
        start, in_array = (known.offset, known.in_array) if known else (0, False)
        splitter = LineSplitter(self._source, start, in_array)
        lines, more = self._lines(splitter, limit, chunk_size)
        if known is not None:
            change = Change.APPENDED if splitter.consumed > known.offset else Change.UNCHANGED
        checkpoint = self._checkpoint(splitter, self._generation(known))
        return Reading(change, tuple(lines), checkpoint, splitter.tail, more, self._bytes_read)

    def _generation(self, known: Checkpoint | None) -> int:
        if self._known is None:
            return 0
        return self._known.generation + (known is None)

    def _lines(self, splitter: LineSplitter, limit: int | None, chunk_size: int) -> tuple[list[Line], bool]:
        lines: list[Line] = []
        left = limit
        self._file.seek(splitter.consumed)
        while chunk := self._read(chunk_size if limit is None else max(1, min(chunk_size, limit))):
            lines += splitter.feed(chunk)
            if left is not None:
                left -= len(chunk)
                if left <= 0 and lines:
                    return lines, True
        lines += splitter.finish()
        return lines, False

    def _checkpoint(self, splitter: LineSplitter, generation: int) -> Checkpoint:
        status = self._status
        return Checkpoint(
            source=self._source,
            offset=splitter.consumed,
            size=status.st_size,
            fingerprint=read_windows(splitter.consumed, self._window).fingerprint,
            inode=status.st_ino,
            device=status.st_dev,
            modified_ns=status.st_mtime_ns,
            generation=generation,
            in_array=splitter.in_array,
        )

    def _window(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._bytes_read += len(data)
        return data
