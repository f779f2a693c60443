"""What is made of the bytes of one file: frames, and lines, or the text of a small file.

All bytes of the newest generation pass through here, those that the archive has already first: what follows
from a session follows from all of its lines. Lines behind what was consumed before are counted as new. A
`ScannedFile` says what is in a file after a scan, and what of that is new.

The lines of a session stay decoded as long as there is room for all of them, as for nearly every one. If there
is not, each knows where it stands, and is decoded again when it is asked for, from the frames or from the
archive. Nearly all readers go through lines in order, so that a few that were read last are enough.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from turnlog.messages import AnyEntry, Dialect, Line, Position, Problem, decode
from turnlog.messages.base import Value
from turnlog.messages.codec import END, LONGEST, decode_long
from turnlog.store.batch import Frame, Generated, SourceBatch, TextFact
from turnlog.store.frames import cut_frames, open_frame
from turnlog.store.interface import KnownSource
from turnlog.store.model import SourceKind
from turnlog.store.search.texts import build_text
from turnlog.transcripts.line_reader import META_LIMIT, RECORD_LIMIT, LineSplitter
from turnlog.transcripts.lines.passage_readers import list_passages
from turnlog.transcripts.segment_builder import time_of
from turnlog.transcripts.session_files import Change, Checkpoint

ReadArchive = Callable[[int, int], bytes]
"""Returns bytes of a file that the archive has, by offset and length."""

_LIMITS = {SourceKind.AGENT_META: META_LIMIT, SourceKind.WORKFLOW: RECORD_LIMIT}
DERIVED_FROM = frozenset(kind for kind in SourceKind if kind.has_lines) - {SourceKind.CAPTURE} | _LIMITS.keys()
"""The kinds of files that rows are derived from; others are only kept."""
CHAPTERS = frozenset({SourceKind.TRANSCRIPT, SourceKind.AGENT})
"""The kinds of files whose lines are a conversation."""
RECORDED = CHAPTERS | {SourceKind.JOURNAL}
"""The kinds of files whose lines have records."""

ROOM = 64 << 20
"""How much memory the lines of a session may take that stay decoded."""
_PER_BYTE, _PER_LINE = 2, 1_500
"""How much one takes, as was measured."""
_DERIVED = 3_500
"""What messages and records weigh that are made of it."""
_PACK, _PACK_BYTES = 256, 256 << 10
"""How many lines are decoded again together, if they are not too long."""
_FEW = 8
"""So few stay as they are: a file that grows has them at its end."""
_OPEN_BYTES = 1 << 20
"""How many bytes of packs are decoded at a time."""
_STRETCH = 4 << 20
"""How many bytes are cut into frames at once. Only the last frame of each stretch is short."""
_TODAY = Dialect.CLAUDE_CODE
_offset = attrgetter("at.offset")


class Frames:
    """The new bytes of one file, cut into frames while it is read."""

    def __init__(self, start: int) -> None:
        """Begin at an offset of the file."""
        self._frames: list[Frame] = []
        self._open: dict[int, bytes] = {}
        self._start = start
        self._held: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Take the next bytes."""
        self._held.append(piece)
        self._size += len(piece)
        if self._size >= _STRETCH:
            data = b"".join(self._held)
            end = data.rfind(b"\n") + 1 or len(data)  # most lines are to be in one frame
            self._cut(data[:end])
            self._held, self._size = [data[end:]], len(data) - end

    def finish(self) -> tuple[Frame, ...]:
        """Return all frames."""
        self._cut(b"".join(self._held))
        self._held, self._size = [], 0
        return tuple(self._frames)

    def read(self, start: int, length: int) -> bytes:
        """Return bytes that were taken."""
        pieces = []
        while length > 0:
            if start >= self._start:
                first, data = self._start, b"".join(self._held)
            else:
                number = bisect_right(self._frames, start, key=lambda frame: frame.start) - 1
                first, data = self._frames[number].start, self._unpack(number)
            pieces.append(data[start - first : start - first + length])
            start, length = start + len(pieces[-1]), length - len(pieces[-1])
        return b"".join(pieces)

    def _unpack(self, number: int) -> bytes:
        if number not in self._open:
            if len(self._open) > 1:
                del self._open[next(iter(self._open))]
            self._open[number] = open_frame(self._frames[number])
        return self._open[number]

    def _cut(self, data: bytes) -> None:
        for frame in cut_frames(data, self._start):
            # The compressor shrinks a buffer of full size in place. What it gives back would lie between
            # frames, too small for the next buffer; a copy keeps memory in one piece.
            self._frames.append(replace(frame, data=bytes(memoryview(frame.data))))
        self._start += len(data)


class LineCache:
    """Which lines of a session are decoded: all as long as there is room, and else those looked at last."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._read: list[Content] = []
        """Files that nobody looks at yet."""
        self._open: deque[_Pack] = deque()
        self._held = 0

    def register(self, content: Content) -> None:
        """Note a file that is being read."""
        self._read.append(content)

    def take(self, weight: int) -> bool:
        """Take further lines; tell whether they may stay decoded. If not, no lines do that nobody looks at."""
        self._room -= weight
        if self._room < 0:
            for content in self._read:
                content.pack_all(self)
            self._read.clear()
        return self._room >= 0

    def settle(self) -> None:
        """Note that all files were read, and what there is of them is looked at."""
        self._read.clear()

    def note(self, pack: _Pack) -> None:
        """Note that a pack was decoded; of those that were so for longest, some are not any more."""
        self._open.append(pack)
        self._held += pack.size
        while self._held > _OPEN_BYTES and len(self._open) > 1:
            former = self._open.popleft()
            former.lines = None
            self._held -= former.size


class _Pack:
    """Some lines that stand one behind the other, and are decoded when somebody looks at one."""

    __slots__ = ("_cache", "_lengths", "_offsets", "_read", "_source", "first", "is_plain", "lines")

    def __init__(
        self, cache: LineCache, source: str, read: ReadArchive, lines: Sequence[Line], first: int
    ) -> None:
        self.first = first
        """Which line of its file the first one is."""
        self.lines: Sequence[Line] | None = lines
        """Decoded; None if they have to be decoded again."""
        self.is_plain = all(
            line.dialect is _TODAY and line.wire is None and not line.problems for line in lines
        )
        self._cache, self._source, self._read = cache, source, read
        self._offsets = array("q", [0 if line.at is None else line.at.offset for line in lines])
        self._lengths = array("q", [line.length for line in lines])
        cache.note(self)

    @property
    def size(self) -> int:
        return self._offsets[-1] - self._offsets[0] + min(self._lengths[-1], LONGEST)

    def open(self) -> Sequence[Line]:
        lines = self.lines
        if lines is None:
            start = self._offsets[0]
            data = self._read(start, self.size)
            lines = self.lines = [self._decode(data, start, number) for number in range(len(self._offsets))]
            self._cache.note(self)
        return lines

    def _decode(self, data: bytes, start: int, number: int) -> Line:
        offset, length = self._offsets[number], self._lengths[number]
        if length <= LONGEST:
            return decode(data[offset - start : offset - start + length], at=self.place(number))
        # Such a line is in a pack of its own.
        return decode_long(data, self._read(offset + length - END, END), length, self.place(number))

    def place(self, number: int) -> Position:
        return Position(self._source, self._offsets[number])


class _LazyLine(Struct, frozen=True, gc=False):
    """A line in a pack: it says what a `Line` says."""

    pack: _Pack
    number: int

    @property
    def entry(self) -> AnyEntry:
        return (self.pack.lines or self.pack.open())[self.number].entry

    @property
    def raw(self) -> bytes:
        return self.pack.open()[self.number].raw

    @property
    def length(self) -> int:
        return self.pack._lengths[self.number]

    @property
    def unread(self) -> int:
        return self.pack.open()[self.number].unread

    @property
    def dialect(self) -> Dialect:
        return _TODAY if self.pack.is_plain else self.pack.open()[self.number].dialect

    @property
    def problems(self) -> tuple[Problem, ...]:
        return () if self.pack.is_plain else self.pack.open()[self.number].problems

    @property
    def wire(self) -> Value | None:
        return None if self.pack.is_plain else self.pack.open()[self.number].wire

    @property
    def position(self) -> int:
        """Which line of its file it is."""
        return self.pack.first + self.number

    @property
    def at(self) -> Position:
        return self.pack.place(self.number)


def _list_texts(lines: Sequence[Line], which: range, time: int) -> Iterator[TextFact]:
    """Yield what is searched of some lines; `time` is that of the last line before them that has one."""
    for number, line in zip(which, islice(lines, which.start, None), strict=False):
        told = time_of(line)
        time = time if told is None else told
        offset = 0 if line.at is None else line.at.offset
        for ordinal, passage in enumerate(list_passages(line)):
            yield build_text(number, ordinal, passage, time, offset, line.length)


class Content:
    """What the bytes of one file amount to, fed in pieces of any size."""

    def __init__(
        self,
        source: str,
        kind: SourceKind,
        known: KnownSource | None = None,
        *,
        cache: LineCache | None = None,
        read_archive: ReadArchive | None = None,
        rebuilds_texts: bool = False,
        is_new: bool = True,
    ) -> None:
        """Begin with nothing; `known` is of the same generation, and lines that it has are not new.

        Without a `cache` all lines stay decoded; with one, `read_archive` returns bytes that came from the
        archive. With `rebuilds_texts`, the search texts of known lines are built again. If nothing `is_new`, no
        line is.
        """
        self.source = source
        self.lines: list[Line] = []
        self.new = 0
        """How many lines are not known yet."""
        self._splitter = LineSplitter(source) if kind.has_lines else None
        self._consumed, self._number = (0, 0) if known is None else (known.consumed, known.lines)
        self._limit = _LIMITS.get(kind, -1) + 1
        self._text = bytearray()
        self._cache, self._read_archive = cache, read_archive
        self._frames: Frames | None = None
        self._frames_from = 0
        self._is_new = is_new
        self._is_searched = kind in CHAPTERS
        self.texts_from = (
            (0 if rebuilds_texts else self._number) if kind in CHAPTERS and (is_new or rebuilds_texts) else None
        )
        """The first line whose texts are gathered; None for files that are not searched."""
        self.first_new = 0
        """The first line that came since it was resumed."""
        self._weight = 0
        if cache is not None:
            cache.register(self)

    @property
    def texts(self) -> Collection[TextFact]:
        """What is searched of lines."""
        if self.texts_from is None:
            return ()
        which = range(self.texts_from, len(self.lines))
        times = (time_of(self.lines[number]) for number in range(which.start - 1, -1, -1))
        before = next((time for time in times if time is not None), 0)
        return Generated(partial(_list_texts, self.lines, which, before))

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
        return self._weight + _DERIVED * len(self.lines) + len(self._text)

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
        self._frames = None  # the archive has them by now
        self._consumed, self._number = known.consumed, known.lines
        if self._splitter is not None:
            self._splitter = LineSplitter(self.source, known.consumed, known.in_array)
        if self._is_searched:
            self.texts_from = self._number

    def begin(self, start: int) -> Frames:
        """Note that bytes from here on are new, and return what makes frames of them."""
        self._frames, self._frames_from = Frames(start), start
        return self._frames

    def add(self, piece: bytes) -> None:
        """Take the next bytes."""
        if self._splitter is None:
            if len(self._text) < self._limit:
                self._text += piece[: self._limit - len(self._text)]
        else:
            self._take(self._splitter.feed(piece))

    def finish(self) -> None:
        """Note that all bytes are there."""
        if self._splitter is not None:
            self._take(self._splitter.finish())

    def _take(self, lines: list[Line]) -> None:
        if self._is_new:
            known = bisect_left(lines, self._consumed, key=_offset) if self._consumed else 0
            self.new += len(lines) - known
        cache = self._cache
        if cache is not None:
            weight = sum([_PER_BYTE * len(line.raw) + _PER_LINE for line in lines])
            if not cache.take(weight) and len(lines) >= _FEW:
                self._pack(lines, cache)
                return
            self._weight += weight
        self.lines += lines

    def pack_all(self, cache: LineCache) -> None:
        """Stop keeping lines decoded: there is no room for them."""
        lines, self.lines[:] = [*self.lines], ()
        self._weight = 0
        self._pack(lines, cache)

    def _pack(self, lines: list[Line], cache: LineCache) -> None:
        some: list[Line] = []
        size = 0
        for line in lines:
            if len(some) == _PACK or (some and size + line.length > _PACK_BYTES):
                self._add_pack(some, cache)
                some, size = [], 0
            some.append(line)
            size += line.length
        if some:
            self._add_pack(some, cache)

    def _add_pack(self, lines: list[Line], cache: LineCache) -> None:
        pack = _Pack(cache, self.source, self._read, lines, len(self.lines))
        self.lines += [cast(Line, _LazyLine(pack, number)) for number in range(len(lines))]

    def _read(self, start: int, length: int) -> bytes:
        """Return bytes that were taken: new ones from their frames, others from the archive."""
        old = length if self._frames is None else max(0, min(length, self._frames_from - start))
        earlier = b"" if not old or self._read_archive is None else self._read_archive(start, old)
        later = b"" if self._frames is None else self._frames.read(start + old, length - old)
        return earlier + later


class ScannedFile(Struct, frozen=True):
    """One source as it is after this look."""

    source: str
    kind: SourceKind
    path: str
    generation: int
    run_id: str | None
    content: Content | None
    """What is in it; None if it was not read in this look."""
    batch: SourceBatch | None
    """What is new; None if nothing is."""


def choose_files(seen: Iterable[ScannedFile]) -> Iterator[ScannedFile]:
    """Yield what rows are derived from: of several transcripts the first, as that is the one that is there."""
    has_main = False
    for each in seen:
        if each.kind is SourceKind.TRANSCRIPT:
            if has_main:
                continue
            has_main = True
        if each.kind in DERIVED_FROM:
            yield each


def affects_records(batch: SourceBatch) -> bool:
    """Tell whether a change of a file can change records."""
    return batch.kind in DERIVED_FROM and batch.change is not Change.VANISHED


def keep_known(known: KnownSource, batch: SourceBatch | None, path: str | None = None) -> ScannedFile:
    """Return a source whose bytes are as they were."""
    return ScannedFile(
        known.source, known.kind, path or known.path, known.generation, known.run_id, None, batch
    )


def mark_missing(known: KnownSource) -> ScannedFile:
    """Return a source whose file is gone."""
    return keep_known(known, build_missing(known) if known.present else None)


def repeat_unchanged(known: KnownSource, path: str) -> SourceBatch:
    """Return a batch that says that a source is unchanged."""
    return repeat_source(known, Change.UNCHANGED if known.present else Change.VANISHED, path, known.checkpoint)


def build_missing(known: KnownSource) -> SourceBatch:
    """Return a batch that says that a file is gone."""
    return repeat_source(known, Change.VANISHED, known.path, known.checkpoint)


def repeat_source(known: KnownSource, change: Change, path: str, checkpoint: Checkpoint | None) -> SourceBatch:
    """Return a batch for a file with unchanged bytes: it is gone, back again, or moved."""
    return SourceBatch(
        source=known.source,
        kind=known.kind,
        path=path,
        generation=known.generation,
        change=change,
        start=known.length,
        length=known.length,
        consumed=known.consumed,
        in_array=known.in_array,
        checkpoint=checkpoint,
        agent_id=known.agent_id,
        run_id=known.run_id,
        copied_from=known.copied_from,
    )
