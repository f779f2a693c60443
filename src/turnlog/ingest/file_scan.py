"""One file, compared with what is known of it, and read on.

All bytes are taken, a torn last line included, so that the archive has an exact prefix of the file. No more is
read than the file had when it was opened: what comes later is for the next scan. The fingerprint is of the
bytes that were read and not of what stands in the file by then, and the checkpoint has the size and the time
from before. So a file that shrinks or changes meanwhile never passes for what was read of it: the next scan
finds other bytes, and starts a new generation.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from hashlib import blake2b
from io import FileIO

from msgspec.structs import replace

from turnlog.store.interface import KnownSource
from turnlog.transcripts.dumps import read_part
from turnlog.transcripts.session_files import Change, Checkpoint, Windows, compare, is_untouched

CHUNK = 1 << 20
"""How many bytes are read at once."""


class FileScan:
    """What a file is compared with what was known of it. Iterating reads what is new, piece by piece, once."""

    def __init__(
        self,
        change: Change,
        known: KnownSource | None = None,
        *,
        reason: str = "",
        end: int | None = None,
        about: Checkpoint | None = None,
    ) -> None:
        """Begin with a file of which what there is up to an `end` is to be read, and nothing without one.

        `about` is the checkpoint except for what depends on the bytes that are read.
        """
        is_anew = end is not None and change not in (Change.APPENDED, Change.UNCHANGED)
        self.change = change
        self.reason = reason
        """Why the file is unreadable, or why reading it stopped."""
        self.generation = 0 if known is None else known.generation + is_anew
        self.start = 0 if known is None or is_anew else known.length
        """Where the new bytes begin."""
        self.length = self.start
        """How many bytes were read in all, in this visit and before."""
        self._end = self.start if end is None else end
        self._about = about
        self.checkpoint = None if known is None else known.checkpoint
        """By which the next visit tells what changed; up to date when all pieces were read."""
        if about is not None:
            self.checkpoint = self._take_checkpoint(about)

    @property
    def has_more(self) -> bool:
        """Whether there is something to read."""
        return self.length < self._end

    def __iter__(self) -> Iterator[bytes]:
        try:
            while self.has_more and (piece := self._read()):
                self.length += len(piece)
                yield piece
        finally:
            self.close()
        if self._about is not None:
            self.checkpoint = self._take_checkpoint(self._about)

    def close(self) -> None:
        """Close the file, if it is not read to its end."""

    def _read(self) -> bytes:
        """Return the next piece."""
        return b""

    def _find_fingerprint(self) -> str:
        """Return the fingerprint of what was read so far."""
        return ""

    def _take_checkpoint(self, about: Checkpoint) -> Checkpoint:
        fingerprint = self._find_fingerprint()
        return replace(about, offset=self.length, fingerprint=fingerprint, generation=self.generation)


class _OpenFileScan(FileScan):
    """A file with new bytes."""

    def __init__(
        self,
        file: FileIO,
        status: os.stat_result,
        change: Change,
        known: KnownSource | None,
        windows: Windows,
        source: str,
        chunk: int,
    ) -> None:
        self._file = file
        self._windows = windows
        self._chunk = chunk
        super().__init__(change, known, end=status.st_size, about=_describe(source, status, status.st_size))
        file.seek(self.start)

    def close(self) -> None:
        self._file.close()

    def _read(self) -> bytes:
        try:
            piece = self._file.read(min(self._chunk, self._end - self.length))
        except OSError as error:  # what was read is there all the same
            self.reason = error.strerror or str(error)
            return b""
        self._windows.add(piece)
        return piece

    def _find_fingerprint(self) -> str:
        return self._windows.fingerprint


def _describe(source: str, status: os.stat_result, size: int) -> Checkpoint:
    return Checkpoint(source, 0, size, "", status.st_ino, status.st_dev, status.st_mtime_ns)


def scan_file(
    path: str | os.PathLike[str], source: str, known: KnownSource | None, *, chunk: int = CHUNK
) -> FileScan:
    """Compare a file with what is known of it. A file that cannot be read is a `Change`, not an error.

    A file that has the size, the time and the inode that it had is not opened.
    """
    checkpoint = None if known is None else known.checkpoint
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return FileScan(Change.UNREADABLE, known, reason="not a regular file")
        if checkpoint is not None and is_untouched(checkpoint, status):
            return FileScan(Change.UNCHANGED, known)
        file = FileIO(os.fspath(path))
    except NotADirectoryError:  # a session of a dump lies in what is no folder
        return _scan_part(path, source, known, chunk)
    except FileNotFoundError:
        return FileScan(Change.VANISHED, known)
    except (OSError, ValueError) as error:
        return FileScan(Change.UNREADABLE, known, reason=getattr(error, "strerror", None) or str(error))
    try:
        return _open(file, source, known, chunk)
    except OSError as error:
        file.close()
        return FileScan(Change.UNREADABLE, known, reason=error.strerror or str(error))


class _PartScan(FileScan):
    """A session of a dump, all of which is at hand. It is compared whole: a dump is written anew each time."""

    def __init__(
        self, data: bytes, status: os.stat_result, source: str, known: KnownSource | None, chunk: int
    ) -> None:
        last = None if known is None else known.checkpoint
        change = Change.NEW if known is None else Change.REWRITTEN
        if known is not None and last is not None and _digest(data[: known.length]) == last.fingerprint:
            change = Change.APPENDED if len(data) > known.length else Change.UNCHANGED
        self._data = data
        self._chunk = chunk
        super().__init__(change, known, end=len(data), about=_describe(source, status, len(data)))

    def _read(self) -> bytes:
        return self._data[self.length : self.length + self._chunk]

    def _find_fingerprint(self) -> str:
        return _digest(self._data[: self.length])


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _scan_part(path: str | os.PathLike[str], source: str, known: KnownSource | None, chunk: int) -> FileScan:
    """Compare a session of a dump with what is known of it."""
    try:
        status, data = os.stat(os.path.dirname(path)), read_part(path)
    except OSError as error:
        return FileScan(Change.UNREADABLE, known, reason=error.strerror or str(error))
    return FileScan(Change.VANISHED, known) if data is None else _PartScan(data, status, source, known, chunk)


def _open(file: FileIO, source: str, known: KnownSource | None, chunk: int) -> FileScan:
    def read_at(start: int, size: int) -> bytes:
        file.seek(start)
        return file.read(size)

    status = os.fstat(file.fileno())
    change, windows = Change.NEW if known is None else Change.REPLACED, Windows()
    if known is not None and known.checkpoint is not None:
        # A file that was gone and is there again may well have another inode; its bytes tell what it is.
        last = known.checkpoint if known.present else replace(known.checkpoint, inode=0)
        change, windows = compare(last, status, read_at)
    found = _OpenFileScan(file, status, change, known, windows, source, chunk)
    if change is Change.APPENDED and not found.has_more:
        found.close()
        found.change = Change.UNCHANGED
    return found
