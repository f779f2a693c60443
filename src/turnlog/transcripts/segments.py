"""The records of one file in segments: of so many lines each, packed, and read one section at a time.

A segment has the records of its lines, and of the messages, calls, events and sightings of usage that
begin there. A
file that grows replaces its last segment, and an earlier one only where a new line changes it. Sections are
unpacked when they are looked at: whoever lists calls never makes a message, and an id is looked for in the
packed bytes before anything is unpacked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import DecodeError, Raw, Struct, msgpack
from zstandard import (
    DICT_TYPE_RAWCONTENT,
    ZstdCompressionDict,
    ZstdCompressor,
    ZstdDecompressor,
    ZstdError,
    frame_content_size,
)

from turnlog.transcripts.records import (
    AgentRecord,
    CallRecord,
    EventRecord,
    LineRecord,
    MessageRecord,
    SightingRecord,
    TurnRecord,
)

SEGMENT = 256
"""How many lines a segment has; the last may have fewer."""
PART = 128
"""How many turns or agents a part of a session's outline has."""
_LEVEL = 3

T = TypeVar("T")


class SegmentHead(Struct, frozen=True, gc=False, array_like=True):
    """What of a segment is looked at to find the right one."""

    number: int
    lines: int
    """How many it has; its first is `number * SEGMENT`."""
    message: int
    """The first of its messages, or the one that would be."""
    messages: int
    call: int
    calls: int
    events: int
    hooks: int
    """How many of the events tell of hook events."""
    sightings: int
    offset: int
    """Of its first line."""
    reached: int
    """The latest time that its first line or a line above it has; 0 if none has any."""
    problems: int
    """How many of its lines have any."""

    @property
    def line(self) -> int:
        """The number of its first line."""
        return self.number * SEGMENT


class PackedSegment(Struct, frozen=True, gc=False, array_like=True):
    """A segment as it is kept."""

    head: SegmentHead
    data: bytes


class BranchPart(Struct, frozen=True, gc=False, array_like=True):
    """What a segment has of a branch."""

    index: int
    first: int
    """The first of its messages, and the last."""
    last: int
    parent: int | None
    """The message that the first one follows."""
    messages: int
    active: bool


class _Packed(Struct, frozen=True, gc=False, array_like=True):
    """The sections, as they are kept."""

    lines: Raw
    messages: Raw
    calls: Raw
    events: Raw
    sightings: Raw
    branches: Raw
    escaped: bool = False
    """Whether strings are spelled in UTF-8 that are none: names of files, lone surrogates."""


_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(_Packed).decode
_MARK = "\x00"
_LARGEST = 256 << 20
"""Bytes of a segment; what says that it has more is damaged."""


class _Codecs(threading.local):
    """Contexts are costly to make and must not be used by two threads at once."""

    def __init__(self) -> None:
        self._compress = ZstdCompressor(level=_LEVEL).compress
        self.decompress = ZstdDecompressor().decompress

    def compress(self, data: bytes) -> bytes:
        """Return bytes compressed, as a copy: what the compressor returns has room for as many as it took."""
        return bytes(memoryview(self._compress(data)))


_codecs = _Codecs()


class _Section(Generic[T]):
    """How records of one type are unpacked."""

    def __init__(self, kind: type[T]) -> None:
        self._type = list[kind]  # type: ignore[valid-type]

    @cached_property
    def _plain(self) -> Callable[[Raw], list[T]]:
        return msgpack.Decoder(self._type).decode

    def unpack(self, data: Raw, escaped: bool) -> list[T]:
        if not escaped:
            return self._plain(data)
        found: list[T] = msgspec.convert(_restore(msgpack.decode(data)), self._type)
        return found


_LINES = _Section(LineRecord)
_decode_line, _split = msgpack.Decoder(LineRecord).decode, msgpack.Decoder(list[Raw]).decode
_MESSAGES = _Section(MessageRecord)
_CALLS = _Section(CallRecord)
_EVENTS = _Section(EventRecord)
_SIGHTINGS = _Section(SightingRecord)
_BRANCHES = _Section(BranchPart)


SegmentRecords = tuple[
    list[LineRecord], list[MessageRecord], list[CallRecord], list[EventRecord], list[SightingRecord]
]
"""All records of a segment."""


class Segment:
    """The records of some hundred lines; each section is unpacked when it is first asked for."""

    def __init__(self, data: bytes) -> None:
        """Take what `unpack_segment` has decompressed."""
        self._data = data
        self._packed: _Packed = _decode(data)

    @classmethod
    def hold(cls, records: SegmentRecords) -> Segment:
        """Return a segment of records that were never packed."""
        held = cls.__new__(cls)
        held.lines, held.messages, held.calls, held.events, held.sightings = records
        held.branches = _list_branches(held.messages)
        return held

    def __eq__(self, other: object) -> bool:
        return self._data == other._data if isinstance(other, Segment) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def lines(self) -> list[LineRecord]:
        """All lines, in order."""
        return _LINES.unpack(self._packed.lines, self._packed.escaped)

    def peek_line(self, at: int) -> LineRecord:
        """Return one line, and leave the others packed."""
        if "lines" in self.__dict__ or self._packed.escaped:
            return self.lines[at]
        return _decode_line(self._line_parts[at])

    @cached_property
    def _line_parts(self) -> list[Raw]:
        return _split(self._packed.lines)

    @cached_property
    def messages(self) -> list[MessageRecord]:
        """The messages that begin here."""
        return _MESSAGES.unpack(self._packed.messages, self._packed.escaped)

    @cached_property
    def calls(self) -> list[CallRecord]:
        """The calls that stand here."""
        return _CALLS.unpack(self._packed.calls, self._packed.escaped)

    @cached_property
    def events(self) -> list[EventRecord]:
        """What happened by lines that are no calls."""
        return _EVENTS.unpack(self._packed.events, self._packed.escaped)

    @cached_property
    def sightings(self) -> list[SightingRecord]:
        """What the lines say about usage."""
        return _SIGHTINGS.unpack(self._packed.sightings, self._packed.escaped)

    @cached_property
    def branches(self) -> list[BranchPart]:
        """What there is of branches, by their numbers."""
        return _BRANCHES.unpack(self._packed.branches, self._packed.escaped)

    def may_have_message(self, id: str) -> bool:
        """Tell whether a message with an id may be here; mostly without unpacking anything."""
        return self._may_have("messages", id)

    def may_have_call(self, id: str) -> bool:
        """Tell whether a call with an id may be here."""
        return self._may_have("calls", id)

    def may_have_sighting(self, message_id: str) -> bool:
        """Tell whether anything may be said here about the usage of an answer."""
        return self._may_have("sightings", message_id)

    def _may_have(self, section: str, id: str) -> bool:
        if "_packed" not in self.__dict__ or self._packed.escaped:
            return True  # it was never packed, or does not spell ids as they are
        return id.encode("utf-8", "surrogatepass") in bytes(getattr(self._packed, section))


def pack_segment(
    lines: Sequence[LineRecord],
    messages: Sequence[MessageRecord],
    calls: Sequence[CallRecord],
    events: Sequence[EventRecord],
    sightings: Sequence[SightingRecord],
) -> bytes:
    """Return the records of a segment as bytes; the same records give the same bytes."""
    sections = (lines, messages, calls, events, sightings, _list_branches(messages))
    try:
        return _codecs.compress(_encode((*sections, False)))
    except UnicodeEncodeError:
        return _codecs.compress(_encode((*map(_escape, map(msgspec.to_builtins, sections)), True)))


def pack_patch(data: bytes, base: bytes) -> bytes:
    """Return a packed segment as what it adds to an earlier state of it: lines that were there take no room."""
    dictionary = ZstdCompressionDict(_decompress(base), dict_type=DICT_TYPE_RAWCONTENT)
    return ZstdCompressor(level=_LEVEL, dict_data=dictionary).compress(_decompress(data))


def unpack_segment(data: bytes, patch: bytes | None = None) -> Segment:
    """Return a segment, or what a patch makes of it.

    Raises `msgspec.DecodeError` for bytes that are none, and so do its sections.
    """
    found = _decompress(data)
    if patch is not None:
        dictionary = ZstdCompressionDict(found, dict_type=DICT_TYPE_RAWCONTENT)
        found = _decompress(patch, ZstdDecompressor(dict_data=dictionary).decompress)
    return Segment(found)


class OutlineKind(Generic[T]):
    """One sort of records of a whole session, in parts."""

    def __init__(self, name: str, kind: type[T]) -> None:
        self.name = name
        self._section = _Section(kind)

    def pack(self, records: Sequence[T]) -> bytes:
        """Return a part as bytes."""
        try:
            return _codecs.compress(_encode((records, False)))
        except UnicodeEncodeError:
            return _codecs.compress(_encode((_escape(msgspec.to_builtins(records)), True)))

    def unpack(self, data: bytes) -> list[T]:
        """Return what `pack` was given; raises `ValueError` for bytes that are none of it."""
        section, escaped = _decode_part(_decompress(data))
        return self._section.unpack(section, escaped)

    def cut(self, records: Sequence[T], changed: Iterable[int] | None = None) -> tuple[tuple[int, bytes], ...]:
        """Return parts by their numbers: all of them, or those with records that have changed."""
        if changed is None:
            return self.cut_all(records)
        numbers = sorted({at // PART for at in changed if at < len(records)})
        return tuple((number, self.pack(records[number * PART : (number + 1) * PART])) for number in numbers)

    def cut_all(self, records: Iterable[T]) -> tuple[tuple[int, bytes], ...]:
        """Return all parts of records that come one after the other."""
        left = iter(records)
        return tuple(enumerate(map(self.pack, iter(lambda: list(islice(left, PART)), []))))


_decode_part = msgpack.Decoder(tuple[Raw, bool]).decode
TURNS = OutlineKind("turns", TurnRecord)
AGENTS = OutlineKind("agents", AgentRecord)


def _decompress(data: bytes, decompress: Callable[[bytes], bytes] | None = None) -> bytes:
    try:
        # The decompressor believes the header and allocates what it says, so it is checked first.
        if not 0 < frame_content_size(data) <= _LARGEST:
            raise DecodeError("Expected the records of a segment, got other bytes")
        return (decompress or _codecs.decompress)(data)
    except ZstdError as error:
        raise DecodeError(f"The records of a segment cannot be decompressed ({error})") from None


def _list_branches(messages: Iterable[MessageRecord]) -> list[BranchPart]:
    found: dict[int, list[MessageRecord]] = {}
    for each in messages:
        found.setdefault(each.branch, []).append(each)
    return [
        BranchPart(
            index, own[0].index, own[-1].index, own[0].parent, len(own), any(each.active for each in own)
        )
        for index, own in sorted(found.items())
    ]


def _escape(value: Any) -> Any:
    """Return plain values with all strings in UTF-8."""
    if isinstance(value, str):
        if value.startswith(_MARK) or not _is_utf8(value):
            return _MARK + value.encode("utf-8", "surrogatepass").hex()
        return value
    return [_escape(each) for each in value] if isinstance(value, list | tuple) else value


def _restore(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return (
                bytes.fromhex(value[1:]).decode("utf-8", "surrogatepass") if value.startswith(_MARK) else value
            )
        except ValueError as error:
            raise DecodeError(f"A text of a segment is damaged ({error})") from None
    return [_restore(each) for each in value] if isinstance(value, list) else value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
