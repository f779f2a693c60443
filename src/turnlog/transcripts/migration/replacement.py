"""Files that are whole or not there: written beside their place, and moved into it at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(target: Path, mode: int) -> Iterator[BinaryIO]:
    """Give a file to write that takes the place of `target` at the end of the block, with these permissions.

    If the block raises, or writing fails, the file is gone and `target` is as it was. A `target` that is a link
    is replaced itself, not what it points to.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=".turnlog-", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(target)) from error  # whose name people know
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name outlive a crash, where folders can be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
