"""Files that are there whole or not at all, and that outlast a loss of power once they are."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

HIDDEN = "."
"""How the name of a file begins that is not whole yet."""


def write_safely(folder: Path, name: str, content: bytes) -> None:
    """Write a file, and return when it is on the disk under its name; raises `OSError`."""
    make_folder(folder)
    hidden = folder / f"{HIDDEN}{name}.{os.urandom(4).hex()}.tmp"
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
    """Make a folder that only its owner may look into, within others that are made as well."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        _flush_folder(folder.parent)


def _flush_folder(folder: Path) -> None:
    """Return when it is on the disk which files a folder has."""
    if os.name == "nt":  # folders cannot be flushed there
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
