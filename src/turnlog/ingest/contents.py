"""What is made of the bytes of one file: lines, facts about the new ones, or the text of a small file.

All bytes of the newest generation pass through here, those that the archive has already first: what follows
from a session follows from all of its lines. Facts are made of lines behind what was consumed before.
"""

from __future__ import annotations

from turnlog.ingest.facts import build_fact
from turnlog.ingest.slim import slim
from turnlog.messages import Line
from turnlog.store.identity import SourceKind
from turnlog.store.interface import KnownSource
from turnlog.store.rows import LineFact
from turnlog.transcripts.files.records import LineSplitter
from turnlog.transcripts.files.sidecar_files import META_LIMIT, RECORD_LIMIT

__all__ = ["Content", "DERIVED_FROM"]

_LIMITS = {SourceKind.AGENT_META: META_LIMIT, SourceKind.WORKFLOW: RECORD_LIMIT}
DERIVED_FROM = frozenset(kind for kind in SourceKind if kind.has_lines) | _LIMITS.keys()
"""The kinds of files that rows are derived from; others are only kept."""


class Content:
    """What the bytes of one file amount to, fed in pieces of any size."""

    def __init__(
        self, source: str, kind: SourceKind, known: KnownSource | None = None, *, is_large: bool = False
    ) -> None:
        """Begin with nothing; `known` is of the same generation, and lines that it has get no facts again.

        Of a session that `is_large`, lines are kept without their long texts.
        """
        self.source = source
        self.lines: list[Line] = []
        self.facts: list[LineFact] = []
        """Of the lines that are not known yet."""
        self._splitter = LineSplitter(source) if kind.has_lines else None
        self._consumed, self._number = (0, 0) if known is None else (known.consumed, known.lines)
        self._limit = _LIMITS.get(kind, -1) + 1
        self._text = bytearray()
        self._is_large = is_large

    @property
    def text(self) -> bytes:
        """All of a small file; of one that is too large, a byte more than it may have."""
        return bytes(self._text)

    @property
    def consumed(self) -> int:
        """Up to where lines were made."""
        return 0 if self._splitter is None else self._splitter.consumed

    @property
    def in_array(self) -> bool:
        """Whether `consumed` is between the items of an array."""
        return self._splitter is not None and self._splitter.in_array

    def add(self, piece: bytes) -> None:
        """Take the next bytes."""
        if self._splitter is not None:
            self._take(self._splitter.feed(piece))
        elif len(self._text) < self._limit:
            self._text += piece[: self._limit - len(self._text)]

    def finish(self) -> None:
        """Note that all bytes are there."""
        if self._splitter is not None:
            self._take(self._splitter.finish())

    def _take(self, lines: list[Line]) -> None:
        self.lines += map(slim, lines) if self._is_large else lines
        for line in lines:
            if line.at is not None and line.at.offset >= self._consumed:
                self.facts.append(build_fact(line, self._number))
                self._number += 1
