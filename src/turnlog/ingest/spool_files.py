"""Files of a spool: read without trusting what they are called or are."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from turnlog.store.durable_files import HIDDEN

__all__ = ["count_files", "read_regular", "scan"]


def scan(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield what a folder holds, one after the other; nothing if there is none."""
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        yield from entries


def count_files(folder: Path, most: int) -> int:
    """Count the files that are whole, up to so many."""
    count = 0
    for entry in scan(folder):
        count += not entry.name.startswith(HIDDEN) and not entry.is_dir(follow_symlinks=False)
        if count >= most:
            break
    return count


def read_regular(path: Path, largest: int) -> tuple[bytes | None, int]:
    """Return a file's bytes, and when it was changed; None for what is no plain file, or too large."""
    # Neither a link that leads elsewhere nor a pipe that nobody writes to.
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        file = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError:
        if stat.S_ISREG(os.lstat(path).st_mode):
            raise
        return None, 0
    with os.fdopen(file, "rb") as opened:
        there = os.fstat(file)
        if not stat.S_ISREG(there.st_mode) or there.st_size > largest:
            return None, 0
        return opened.read(), there.st_mtime_ns
