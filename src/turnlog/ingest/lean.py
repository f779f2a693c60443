"""Lines of a large session, put aside: each is decoded again when somebody looks at it.

A lean line knows where it is and no more. Lines are put aside in packs; those that were looked at last are kept
decoded, and as nearly everybody goes through lines in order, a few are enough.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence
from typing import cast
from weakref import WeakKeyDictionary

from msgspec import Struct, msgpack

from turnlog.ingest.spill import Kept, Spill, pack, unpack
from turnlog.messages import Dialect, Line, Position, Problem, decode
from turnlog.messages.base import Value
from turnlog.messages.channels import AnyEntry

__all__ = ["LineShelf"]

_PACK = 64
_PACK_BYTES = 256 << 10
"""How many lines are put aside together, if they are not too long."""
_FEW = 8
"""So few are not worth a pack of their own."""
_OPEN = 48
"""How many packs are kept decoded, besides those that stay so."""
_ROOM = 24 << 20
"""So many bytes of lines stay decoded, if there is room: nobody decodes them again."""
_MEMORY, _PER_LINE, _DECODED = 150 << 20, 1350, 4
"""How much a session may take, what is kept of each line in any case, and how much decoding adds to bytes."""
_TODAY = Dialect.CLAUDE_CODE
_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(list[bytes]).decode


class _Pack:
    """Some lines that stand one behind the other."""

    __slots__ = ("_kept", "_offsets", "_shelf", "first", "is_plain", "lines", "size")

    def __init__(self, shelf: LineShelf, lines: Sequence[Line], first: int, spill: Spill) -> None:
        self.first = first
        """Which line of its file the first one is."""
        self.lines: Sequence[Line] | None = lines
        """Decoded; None if they have to be decoded again."""
        self.is_plain = all(map(_is_plain, lines))
        self._shelf = shelf
        self._offsets = array("q", [-1 if line.at is None else line.at.offset for line in lines])
        data = _encode([line.raw for line in lines])
        self.size = len(data)
        """How many bytes they have."""
        self._kept: Kept = spill.keep(pack(data))

    def open(self) -> Sequence[Line]:
        """Return the lines, decoded."""
        lines = self.lines
        if lines is None:
            raw = _decode(unpack(self._kept.read()))
            lines = [decode(data, at=self.place(number)) for number, data in enumerate(raw)]
            self.lines = lines
            self._shelf.desk.note_open(self)
        return lines

    def place(self, number: int) -> Position:
        """Return where a line stands."""
        return Position(self._shelf.source, self._offsets[number])


def _is_plain(line: Line) -> bool:
    """Tell whether a line is of today's dialect, and nothing is wrong with it."""
    return line.dialect is _TODAY and line.wire is None and not line.problems


class _LeanLine(Struct, frozen=True, gc=False):
    """A line that was put aside: it says what a `Line` says."""

    pack: _Pack
    number: int

    @property
    def entry(self) -> AnyEntry:
        return (self.pack.lines or self.pack.open())[self.number].entry

    @property
    def raw(self) -> bytes:
        return self.pack.open()[self.number].raw

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


class _Desk:
    """The packs of one session that are decoded: the first as long as there is room, and those used last."""

    def __init__(self) -> None:
        self._stay: list[_Pack] = []
        self._open: deque[_Pack] = deque()
        self._held = self._lines = 0

    def add(self, pack: _Pack, lines: int) -> None:
        """Take a pack that is new, and decoded."""
        self._lines += lines
        room = min(_ROOM, (_MEMORY - self._lines * _PER_LINE) // _DECODED)
        while self._stay and self._held > room:
            self._held -= self._stay[-1].size
            self._stay.pop().lines = None
        if self._held + pack.size <= room:
            self._held += pack.size
            self._stay.append(pack)
        else:
            self.note_open(pack)

    def note_open(self, pack: _Pack) -> None:
        """Note that a pack was decoded; of those that were so for longest, some are not any more."""
        self._open.append(pack)
        if len(self._open) > _OPEN:
            self._open.popleft().lines = None


_desks: WeakKeyDictionary[Spill, _Desk] = WeakKeyDictionary()


class LineShelf:
    """The lines of one file that were put aside."""

    def __init__(self, source: str, spill: Spill) -> None:
        self.source = source
        self._spill = spill
        self.desk = _desks.setdefault(spill, _Desk())

    def put(self, lines: Sequence[Line], first: int) -> list[Line]:
        """Put lines aside, from the `first` on, and return what stands for them; a few stay as they are."""
        if len(lines) < _FEW:
            return list(lines)
        found: list[Line] = []
        held: list[Line] = []
        size = 0
        for line in lines:
            if len(held) == _PACK or (held and size + len(line.raw) > _PACK_BYTES):
                found += self._pack(held, first + len(found))
                held, size = [], 0
            held.append(line)
            size += len(line.raw)
        return found + self._pack(held, first + len(found))

    def _pack(self, lines: Sequence[Line], first: int) -> list[Line]:
        packed = _Pack(self, lines, first, self._spill)
        self.desk.add(packed, len(lines))
        return [cast(Line, _LeanLine(packed, number)) for number in range(len(lines))]
