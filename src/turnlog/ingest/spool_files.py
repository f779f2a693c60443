"""Files of a spool: written whole or not at all, and read without trusting what they are called or are."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["HIDDEN", "count_files", "make_folder", "read_regular", "scan", "write_safely"]

HIDDEN = "."
"""How the name of a file begins that is not whole yet."""


def write_safely(folder: Path, name: str, content: bytes) -> None:
    """Write a file, and return when it is on the disk under its name; raises `OSError`."""
    make_folder(folder)
    hidden = folder / f"{HIDDEN}{name}.{secrets.token_hex(4)}.tmp"
    try:
        file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(hidden, folder / name)
    except BaseException:
        with suppress(OSError):
            hidden.unlink()
        raise
    _flush_folder(folder)


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner may look into."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _flush_folder(folder.parent)


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be flushed there
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


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
