"""What is made of the bytes of one file: lines, or the text of a small file.

All bytes of the newest generation pass through here, those that the archive has already first: what follows
from a session follows from all of its lines. Lines behind what was consumed before are counted as new.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from msgspec.structs import replace

from turnlog.ingest.lean import LineShelf
from turnlog.ingest.long_lines import HUGE, LongLine, ReadLine
from turnlog.ingest.slim import slim_all
from turnlog.ingest.spill import KeptItems, Spill
from turnlog.messages import Line, Position
from turnlog.store.identity import SourceKind
from turnlog.store.interface import KnownSource
from turnlog.store.search.long_texts import LONG, cut_text
from turnlog.store.search.packing import TextPacker, build_text
from turnlog.transcripts.files.records import LineSplitter
from turnlog.transcripts.files.sidecar_files import META_LIMIT, RECORD_LIMIT
from turnlog.transcripts.lines.passages import list_passages
from turnlog.transcripts.segment_builder import time_of

__all__ = ["CHAPTERS", "DERIVED_FROM", "RECORDED", "Content"]

_LIMITS = {SourceKind.AGENT_META: META_LIMIT, SourceKind.WORKFLOW: RECORD_LIMIT}
DERIVED_FROM = frozenset(kind for kind in SourceKind if kind.has_lines) - {SourceKind.CAPTURE} | _LIMITS.keys()
"""The kinds of files that rows are derived from; others are only kept."""
_PER_LINE = 5_000
"""What lines, messages and rows weigh besides their texts, as was measured."""
CHAPTERS = frozenset({SourceKind.TRANSCRIPT, SourceKind.AGENT})
"""The kinds of files whose lines are a conversation."""
RECORDED = CHAPTERS | {SourceKind.JOURNAL}
"""The kinds of files whose lines have records."""


class Content:
    """What the bytes of one file amount to, fed in pieces of any size."""

    def __init__(
        self,
        source: str,
        kind: SourceKind,
        known: KnownSource | None = None,
        *,
        spill: Spill | None = None,
        retold: bool = False,
        is_new: bool = True,
    ) -> None:
        """Begin with nothing; `known` is of the same generation, and lines that it has are not new.

        Of a large session, lines are put aside in a `spill` without their long texts, and so is all else that
        comes of them. If it is `retold`, what is searched of known lines is gathered again. If nothing
        `is_new`, no line is. Lines of more than `HUGE` bytes are never whole in memory.
        """
        self.source = source
        self.lines: list[Line] = []
        self.lengths = array("q")
        """How long each line is: of long ones, not all bytes may be here."""
        self.new = 0
        """How many lines are not known yet."""
        self._splitter = LineSplitter(source) if kind.has_lines else None
        self._consumed, self._number = (0, 0) if known is None else (known.consumed, known.lines)
        self._limit = _LIMITS.get(kind, -1) + 1
        self._text = bytearray()
        self._spill = spill
        self._long: LongLine | None = None
        """The line whose end is to come, if it is a very long one."""
        self._shelf = None if spill is None else LineShelf(source, spill)
        self._is_new = is_new
        self._is_searched = kind in CHAPTERS
        self._chunks: KeptItems[bytes] | None = None
        self._packer = self._begin_texts() if kind in CHAPTERS and (is_new or retold) else None
        self.texts_from = None if self._packer is None else 0 if retold else self._number
        """The first line whose texts are gathered; None for files that are not searched."""
        self.first_new = 0
        """The first line that came since it was resumed."""
        self._time = 0
        """Of the last line that has one; 0 if none has."""
        self._size = 0

    @property
    def texts(self) -> Sequence[bytes]:
        """What is searched of lines, packed; none before all bytes are there."""
        if self._packer is None:
            return ()
        texts = self._packer.finish()
        return texts if self._chunks is None else self._chunks

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

    @property
    def weight(self) -> int:
        """How much memory it takes about, with all that is made of its lines."""
        return 2 * self._size + _PER_LINE * len(self.lines) + len(self._text)

    def is_at(self, known: KnownSource) -> bool:
        """Tell whether it has exactly the lines that are known; of a small file, whether it is as long."""
        if self._splitter is None:
            return known.length == len(self._text) or known.length >= self._limit
        return (self.consumed, self.in_array, len(self.lines)) == (known.consumed, known.in_array, known.lines)

    def resume(self, known: KnownSource) -> None:
        """Go on where lines end, which is where the store's do; the bytes behind them come next."""
        self.first_new = len(self.lines)
        self.new = 0
        self._is_new = True
        self._consumed, self._number = known.consumed, known.lines
        if self._splitter is not None:
            self._splitter = LineSplitter(self.source, known.consumed, known.in_array)
        if self._is_searched:
            self._packer, self.texts_from = self._begin_texts(), self._number

    def add(self, piece: bytes) -> None:
        """Take the next bytes."""
        if self._splitter is None:
            if len(self._text) < self._limit:
                self._text += piece[: self._limit - len(self._text)]
            return
        if self._long is not None:
            piece = self._go_on(self._long, piece, self._splitter)
        if piece:
            self._take(self._splitter.feed(piece))
            if self._splitter.held > HUGE:
                self._long = LongLine(self._spill or Spill())
                for held in self._splitter.take_held():
                    self._long.add(held)

    def finish(self) -> None:
        """Note that all bytes are there."""
        if self._splitter is not None:
            if self._long is not None:
                self._end_long(self._long, self._splitter, b"")
            self._take(self._splitter.finish())

    def _go_on(self, long: LongLine, piece: bytes, splitter: LineSplitter) -> bytes:
        """Add to a very long line, and return what is behind its end."""
        end = piece.find(b"\n")
        if end < 0:
            long.add(piece)
            return b""
        long.add(piece[:end])
        self._end_long(long, splitter, b"\n")
        return piece[end + 1 :]

    def _end_long(self, long: LongLine, splitter: LineSplitter, newline: bytes) -> None:
        self._long = None
        found = long.read(Position(self.source, splitter.next_at))
        if found is None:
            for piece in long.read_back():
                splitter.feed(piece)
            self._take(splitter.feed(newline))
            return
        self._take_long(found)
        splitter.skip(long.size + len(newline), long.size + 1 if newline else found.length)

    def _begin_texts(self) -> TextPacker:
        if self._spill is None:
            return TextPacker()
        self._chunks = KeptItems(self._spill, lambda _, data: data)
        return TextPacker(self._chunks.append)

    def _take(self, lines: list[Line]) -> None:
        for number, line in enumerate(lines, len(self.lines)):
            self._note(line, number)
            del line
        if self._shelf is None:
            self.lines += lines
            self._size += sum(len(line.raw) for line in lines)
        else:
            self.lines += self._shelf.put(slim_all(lines), len(self.lines))

    def _take_long(self, found: ReadLine) -> None:
        self._note(found.line, len(self.lines), found)
        self.lines.append(found.slim)
        self._size += len(found.slim.raw)

    def _note(self, line: Line, number: int, long: ReadLine | None = None) -> None:
        """Note what is kept of a line besides it."""
        self.lengths.append(len(line.raw) if long is None else long.length)
        if self._is_new and line.at is not None and line.at.offset >= self._consumed:
            self.new += 1
        if self._is_searched:
            self._time = self._tell_time(line)
        if self.texts_from is not None and number >= self.texts_from and self._packer is not None:
            self._pack(line, number, self._packer, long)

    def _tell_time(self, line: Line) -> int:
        time = time_of(line)
        return self._time if time is None else time

    def _pack(self, line: Line, number: int, packer: TextPacker, long: ReadLine | None) -> None:
        for ordinal, passage in enumerate(list_passages(line)):
            text = passage.text
            if long is not None and long.measure(text) > len(text):
                if long.measure(text) <= LONG:
                    whole = replace(passage, text="".join(long.expand(text)))
                    packer.add(build_text(number, ordinal, whole, self._time))
                else:
                    packer.add_long(number, ordinal, passage, self._time, long.expand(text))
            elif len(text) > LONG:
                packer.add_long(number, ordinal, passage, self._time, cut_text(text))
            else:
                packer.add(build_text(number, ordinal, passage, self._time))
