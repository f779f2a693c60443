"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from turnlog.errors import ExportError


def write_file(path: Path, pieces: Iterable[bytes], *, overwrite: bool = False) -> int:
    """Write a file that only its owner may read, and return its size.

    Raises `ExportError` if it is there, unless it may be overwritten, and if it cannot be written.
    """
    if not overwrite:
        refuse_existing(path)
    _make_folder(path.parent)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    size = 0
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for piece in pieces:
                size += file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError as error:
        raise ExportError(error.strerror or str(error), os.fspath(path)) from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    return size


def refuse_existing(path: Path) -> None:
    """Raise `ExportError` if a file is there."""
    if path.exists():
        raise ExportError("it already exists; --force overwrites it", os.fspath(path))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"the folder cannot be created ({error.strerror})", os.fspath(folder)) from error
