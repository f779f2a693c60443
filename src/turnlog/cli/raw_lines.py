"""A file as it stands: its bytes for programs, and for a terminal the same with what acts made visible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from turnlog.cli.terminal import clean

_CHUNK = 1 << 18


def read_bytes(path: Path) -> Iterator[bytes]:
    """Yield all bytes of a file."""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def escape_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines in some bytes as text that is safe to print; what is no UTF-8 is escaped as well."""
    begun: list[bytes] = []
    for piece in pieces:
        first, *others = piece.split(b"\n")
        begun.append(first)
        for other in others:
            yield _escape(b"".join(begun))
            begun = [other]
    if any(begun):
        yield _escape(b"".join(begun))


def _escape(line: bytes) -> str:
    return clean(line.decode("utf-8", "backslashreplace"))
