"""The lines that all contestants get.

A line that one of them cannot parse as JSON is left out for all: how a parser fails is no measure of how fast
it reads. Files are read and split here, so that no contestant is timed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Session:
    """The lines of one file."""

    lines: tuple[bytes, ...]
    text: str
    """The same as one string, for readers that take whole files."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """All lines of all files, and how many were left out."""

    sessions: tuple[Session, ...]
    left_out: int

    @property
    def line_count(self) -> int:
        """The number of lines."""
        return sum(len(session.lines) for session in self.sessions)

    @property
    def byte_count(self) -> int:
        """The bytes of all lines, without their line ends."""
        return sum(len(line) for session in self.sessions for line in session.lines)


def read_corpus(folder: Path, parsers: Iterable[Callable[[bytes], object]]) -> Corpus:
    """Read every session file below `folder`; keep the lines that all `parsers` take."""
    parsers = tuple(parsers)
    sessions = []
    left_out = 0
    for path in sorted(folder.rglob("*.jsonl")):
        written = [line for line in map(bytes.strip, path.read_bytes().split(b"\n")) if line]
        lines = tuple(line for line in written if _is_taken(line, parsers))
        left_out += len(written) - len(lines)
        sessions.append(Session(lines, b"\n".join(lines).decode()))
    return Corpus(tuple(sessions), left_out)


def _is_taken(line: bytes, parsers: tuple[Callable[[bytes], object], ...]) -> bool:
    try:
        for parse in parsers:
            parse(line)
    except (ValueError, RecursionError):
        return False
    return True
