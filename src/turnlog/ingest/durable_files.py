"""Files that outlast a loss of power: written whole or not at all, or appended to by whole lines.

What turnlog captures is appended, and on the disk before the writer goes on. Such files lie in
`captured/projects/<project folder>/` of turnlog's own directory, for their owner alone, and are archived as
Claude Code's own files are. Several processes may append to one: each holds a lock while it does.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
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


if sys.platform != "win32":
    import fcntl

_FORM = re.compile(r"(?!\.)[^/\\\0]+")
_LONGEST_NAME = 220
"""In bytes; what is added to it still fits."""


def is_file_name(name: str) -> bool:
    """Tell whether something can be a file's name, and nothing but that."""
    return _FORM.fullmatch(name) is not None and len(os.fsencode(name)) <= _LONGEST_NAME


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines, which end with newlines, and return when they are on the disk; raises `OSError`.

    What a process left unfinished that died while it wrote stays a line of its own.
    """
    with lock_file(path) as file:
        write_lines(file, lines)


@contextmanager
def lock_file(path: Path) -> Iterator[int]:
    """Open a file to be appended to, made if it is not there, and keep others from appending meanwhile."""
    for folder in reversed([each for each in path.parents if not each.is_dir()]):
        make_folder(folder)  # each for the owner alone, and each on the disk
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags, 0o600)
    try:
        _lock(file)
        yield file
    finally:
        os.close(file)  # which lets go of the lock


def write_lines(file: int, lines: Sequence[bytes]) -> None:
    """Write lines behind what is there, and see them on the disk."""
    torn = os.fstat(file).st_size > 0 and os.lseek(file, -1, os.SEEK_END) >= 0 and os.read(file, 1) != b"\n"
    rest = memoryview(b"".join([b"\n" if torn else b"", *lines]))
    while rest:
        rest = rest[os.write(file, rest) :]
    os.fsync(file)


def _lock(file: int) -> None:
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX)
