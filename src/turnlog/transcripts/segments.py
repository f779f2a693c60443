"""What is kept of one file of lines besides its bytes: records, in the order of the file, packed in segments.

A record follows from the lines of its session and is replaced when a new line changes it. Bodies are not kept
twice: records say which lines they are made of, and the bytes are elsewhere. Whatever a record refers to is of
the same file: lines, messages and calls by their numbers, from 0. Turns and agents are of the whole session.

A segment has the records of its lines, and of the messages, calls, events and sightings of usage that begin
there. A file that grows replaces its last segment, and an earlier one only where a new line changes it.
Sections are unpacked when they are looked at: whoever lists calls never makes a message, and an id is looked
for in the packed bytes before anything is unpacked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
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

from turnlog.instants import from_microseconds
from turnlog.transcripts.hooks import HookMention
from turnlog.transcripts.usage.tokens import Attribution, PricingTerms, Sighting, Tokens


class LineRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A line: where it stands, what it says about itself, and where it went."""

    number: int
    offset: int
    length: int
    """Of the line's own bytes, without the newline."""
    type: str
    """As `Counts.types` spells it: with the subtype of system lines behind a slash."""
    time: int | None = None
    """Microseconds since 1970, UTC."""
    message: int | None = None
    """The message that it was made into or is folded into; None if it is not shown."""
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    is_sidechain: bool = False
    problems: int = 0


class MessageRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A message as people read it (`transcripts.Message`)."""

    index: int
    id: str
    lines: tuple[int, ...]
    """What it is made of, then what is folded into it."""
    own_lines: int
    """How many of `lines` it is made of."""
    rule: str
    role: str
    types: tuple[str, ...]
    author: str
    lane: str
    is_sidechain: bool
    parent: int | None = None
    """The message that it follows."""
    turn: int | None = None
    time: int | None = None
    reached: int | None = None
    """The latest time that its first line or a line above it has: by it, what other sources tell is put between
    messages. It never falls from one message to the next, as times in files do."""
    branch: int = 0
    active: bool = True
    """Whether it is on the way to the newest message."""
    calls: int = 0
    model: str | None = None
    category: str | None = None
    agent_id: str | None = None
    aborted: bool = False


class CallRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A tool call with what came of it."""

    index: int
    id: str | None
    name: str
    category: str
    state: str
    line: int
    block: int
    """Which block of its line it is."""
    message: int | None = None
    """The message that made it."""
    result_line: int | None = None
    result_block: int | None = None
    """Which block of that line the result is."""
    started: int | None = None
    ended: int | None = None
    reached: int | None = None
    """The latest time that its line or one above it has."""
    answer: str | None = None
    """The answer of the model that made it, as usage knows it."""
    path: str | None = None
    """The file that it works on, where it works on one."""
    changes_file: bool = False
    agent_id: str | None = None


class EventRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """What happened by a line that is no call."""

    line: int
    category: str
    name: str
    state: str
    message: int | None = None
    """The message that the line went into."""
    time: int | None = None
    """When it began, in microseconds since 1970; None if that is not known."""
    reached: int | None = None
    """The latest time that its line or one above it has."""
    duration_ms: int | None = None
    hook: str | None = None
    """The hook event that it tells of."""
    tool_use_id: str | None = None
    """The call that this was about, or an id of its own."""

    @property
    def told(self) -> HookMention:
        """If it tells of a hook event, what decides which delivery tells of the same."""
        return HookMention(self.hook or "", self.tool_use_id, self.time)


class SightingRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """What the file says about the usage of one answer (`transcripts.Sighting`)."""

    message_id: str
    session_id: str
    offset: int
    time: int | None
    model: str | None
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    ended: bool
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    agent: str | None = None
    agent_id: str | None = None
    skill: str | None = None
    plugin: str | None = None
    mcp_server: str | None = None
    mcp_tool: str | None = None

    def unpack(self, source: str) -> Sighting:
        """Return what a file says, as `transcripts` has it."""
        return Sighting(
            message=self.message_id,
            session=self.session_id,
            source=source,
            offset=self.offset,
            time=None if self.time is None else from_microseconds(self.time),
            model=self.model,
            tokens=Tokens(
                self.input,
                self.output,
                self.cache_read,
                self.cache_write_5m,
                self.cache_write_1h,
                self.web_searches,
            ),
            terms=PricingTerms(self.service_tier, self.speed, self.inference_geo),
            attribution=Attribution(
                self.agent, self.agent_id, self.skill, self.plugin, self.mcp_server, self.mcp_tool
            ),
            ended=self.ended,
        )


class TurnRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A prompt and all that answers it."""

    index: int
    prompt: int
    """Its first message, among those of the transcript."""
    last: int
    """Its last one; others between them may be of other turns."""
    messages: int
    calls: int
    agents: int
    files_changed: int
    started: int | None = None
    ended: int | None = None
    duration_ms: int | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: str | None = None
    """In dollars, digit for digit."""


class AgentRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A sub-agent and the call that started it."""

    index: int
    id: str
    state: str
    depth: int
    inline: bool
    background: bool
    file: str | None = None
    """The source of its own lines, where it has a file."""
    parent_id: str | None = None
    run_id: str | None = None
    type: str | None = None
    description: str | None = None
    call: int | None = None
    """The call that started it, among those of `call_source`."""
    call_source: str | None = None
    linked_by: str | None = None
    inherited: int = 0
    """How many lines of its file are copies of its parent's, if it was forked."""
    lines: tuple[int, ...] = ()
    """Those of its lines that stand in the transcript: all of an inline one's."""


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
    """Records of one type; as an attribute of a segment, unpacked when somebody asks for them first."""

    def __init__(self, kind: type[T]) -> None:
        self._type = list[kind]  # type: ignore[valid-type]

    def __set_name__(self, owner: type[Segment], name: str) -> None:
        self._name = name

    def __get__(self, segment: Segment, owner: type[Segment]) -> list[T]:
        name, held = self._name, segment._held
        if held is not None:
            found: list[T] = held[name]()
        else:
            found = self.unpack(getattr(segment._packed, name), segment._packed.escaped)
        segment.__dict__[name] = found
        return found

    @cached_property
    def _plain(self) -> Callable[[Raw], list[T]]:
        return msgpack.Decoder(self._type).decode

    def unpack(self, data: Raw, escaped: bool) -> list[T]:
        if not escaped:
            return self._plain(data)
        found: list[T] = msgspec.convert(_restore(msgpack.decode(data)), self._type)
        return found


_decode_line, _split = msgpack.Decoder(LineRecord).decode, msgpack.Decoder(list[Raw]).decode
SegmentRecords = tuple[
    list[LineRecord], list[MessageRecord], list[CallRecord], list[EventRecord], list[SightingRecord]
]
"""All records of a segment."""
SectionBuilders = Mapping[str, Callable[[], list[Any]]]
"""What builds its records, by the names of its sections."""


class Segment:
    """The records of some hundred lines; each section is unpacked when it is first asked for."""

    lines = _Section(LineRecord)
    """All lines, in order."""
    messages = _Section(MessageRecord)
    """The messages that begin here."""
    calls = _Section(CallRecord)
    """The calls that stand here."""
    events = _Section(EventRecord)
    """What happened by lines that are no calls."""
    sightings = _Section(SightingRecord)
    """What the lines say about usage."""
    branches = _Section(BranchPart)
    """What there is of branches, by their numbers."""
    _held: SectionBuilders | None = None

    def __init__(self, data: bytes) -> None:
        """Take what `unpack_segment` has decompressed."""
        self._data = data
        self._packed: _Packed = _decode(data)

    @classmethod
    def hold(cls, build: SectionBuilders) -> Segment:
        """Return a segment that was never packed; each section is built when it is first asked for."""
        held = cls.__new__(cls)
        held._held = {**build, "branches": lambda: _list_branches(held.messages)}
        return held

    def __eq__(self, other: object) -> bool:
        return self._data == other._data if isinstance(other, Segment) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def peek_line(self, at: int) -> LineRecord:
        """Return one line, and leave the others packed."""
        if "lines" in self.__dict__ or self._packed.escaped:
            return self.lines[at]
        return _decode_line(self._line_parts[at])

    @cached_property
    def _line_parts(self) -> list[Raw]:
        return _split(self._packed.lines)

    def may_have_message(self, id: str) -> bool:
        """Tell whether a message with an id may be here; mostly without unpacking anything."""
        return self._may_have("messages", id)

    def may_have_call(self, id: str) -> bool:
        """Tell whether a call with an id may be here."""
        return self._may_have("calls", id)

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
    return _pack(lines, messages, calls, events, sightings, _list_branches(messages))


def _pack(*sections: Sequence[Any]) -> bytes:
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
        return _pack(records)

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
