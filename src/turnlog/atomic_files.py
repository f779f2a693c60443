"""Writing files as a whole or not at all, for their owner alone, and on the disk when that is done.

A file is written under a hidden name beside its target, flushed, and renamed: nobody ever reads half of it, and
after a crash there is either the old file or the new one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

HIDDEN = "."
"""How the names of files begin that are not complete yet."""


@contextmanager
def replacing(target: Path, mode: int = 0o600, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Give a file to write that takes the place of `target` at the end of the block, with these permissions.

    If the block raises, or writing fails, the file is gone and `target` is as it was. A `target` that is a link
    is replaced itself, not what it points to. Raises `FileExistsError` for one that must not be overwritten.
    """
    # `tempfile` would load several modules, and commands that write nothing import this one.
    name = os.fspath(target.with_name(f"{HIDDEN}{target.name}.{os.urandom(4).hex()}.tmp"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(name, flags, 0o600)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(target)) from error  # whose name people know
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode != 0o600:
            os.chmod(name, mode)
        if overwrite or not _link(name, target):
            os.replace(name, target)
    finally:
        with suppress(OSError):
            os.unlink(name)
    _sync_folder(target.parent)


def write_file(path: Path, data: bytes, mode: int = 0o600, *, overwrite: bool = True) -> None:
    """Write a file as `replacing` does; its folder, which must be there, stays as it is."""
    with replacing(path, mode, overwrite=overwrite) as file:
        file.write(data)


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner can read, and those above it that are missing."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(folder.parent)


def _link(name: str, target: Path) -> bool:
    """Give a file its name, unless another one has it; False on a file system without links."""
    try:
        os.link(name, target)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Return when the entries of a folder are on the disk."""
    if os.name == "nt":  # folders cannot be flushed there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
