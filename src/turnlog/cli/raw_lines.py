"""A file as it stands: its bytes for programs, and for a terminal the same with what acts made visible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from turnlog.cli.terminal import clean

__all__ = ["escape_lines", "read_bytes"]

_CHUNK = 1 << 18


def read_bytes(path: Path) -> Iterator[bytes]:
    """Yield all bytes of a file."""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def escape_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file as text that is safe to print; bytes that are no UTF-8 are escaped as well."""
    with path.open("rb") as file:
        for line in file:
            yield clean(line.removesuffix(b"\n").decode("utf-8", "backslashreplace"))
