"""Reading what a file says about usage, and nothing else, as fast as it can be read.

Of each line only what is counted is decoded. A line that may matter must be one that today's program writes: a
file with any other (an older dialect, the stream, broken lines) is left to the full reader, which is loaded
then. So the figures are the same, whichever way they were read. Looking for `"usage"` first takes longer than
decoding all lines: the decoder skips what nobody asks for as fast as bytes can be searched.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from io import FileIO

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from turnlog.transcripts.usage.tokens import Attribution, Sighting, Terms, Tokens

__all__ = ["ReportedSighting", "Scan", "scan_file"]

_CHUNK = 4 << 20
_START = b'{"'
_BLANK = b" \t\r"
_GOES_ON = b'"{}[],:-0123456789tfn\0\xef'
"""What a further line of an object or an array begins with, padding, or the mark at the beginning of a file."""
_COUNTING = frozenset({"result", "tool_use"})
"""Types of other dialects whose lines may count."""
_SYNTHETIC = "<synthetic>"
_TORN = "Input data was truncated"
_TIME_SIZE = len("2026-03-01T10:00:00.000Z")
_NO_TERMS, _NOBODY = Terms(), Attribution()
_Text = str | None | UnsetType
_Count = int | None | UnsetType
_Any = str | int | float | bool | None | UnsetType
_NOTHING = (UNSET,) * 6


class ReportedSighting(Struct, frozen=True, gc=False):
    """What the program itself says that a session cost, in one file."""

    session: str
    source: str
    kind: str
    """`cost-state` or `result`."""
    cost: Decimal


class Scan(Struct, frozen=True, gc=False):
    """What one file says."""

    sightings: list[Sighting]
    """One for each answer and session."""
    reported: list[ReportedSighting]
    """The last of each session."""
    cwds: list[str]
    """Where it was written, in order of appearance."""


class _CacheCreation(Struct, frozen=True, gc=False):
    ephemeral_5m_input_tokens: int | UnsetType = UNSET
    ephemeral_1h_input_tokens: int | UnsetType = UNSET


class _ServerToolUse(Struct, frozen=True, gc=False):
    web_search_requests: int | UnsetType = UNSET


class _Usage(Struct, frozen=True, gc=False):
    input_tokens: _Count = UNSET
    cache_creation_input_tokens: _Count = UNSET
    cache_read_input_tokens: _Count = UNSET
    cache_creation: _CacheCreation | None | UnsetType = UNSET
    output_tokens: _Count = UNSET
    server_tool_use: _ServerToolUse | None | UnsetType = UNSET
    service_tier: _Text = UNSET
    inference_geo: _Text = UNSET
    speed: _Text = UNSET


class _Message(Struct, frozen=True, gc=False):
    model: _Text = UNSET
    id: str | UnsetType = UNSET
    stop_reason: _Text = UNSET
    usage: _Usage | None | UnsetType = UNSET


class _Line(Struct, frozen=True, gc=False, rename="camel"):
    """What matters of a line, in the order in which files write it; and what tells other dialects."""

    cwd: _Any = UNSET
    session_id: _Any = UNSET
    agent_id: _Any = UNSET
    message: _Message | list[Raw] | _Any = UNSET
    type: _Any = UNSET
    uuid: _Any = UNSET
    timestamp: _Any = UNSET
    attribution_agent: _Any = UNSET
    attribution_skill: _Any = UNSET
    attribution_plugin: _Any = UNSET
    attribution_mcp_server: _Any = UNSET
    attribution_mcp_tool: _Any = UNSET
    usage: Raw | UnsetType = UNSET
    total_cost: _Any = msgspec.field(name="totalCostUSD", default=UNSET)
    document: Raw | UnsetType = msgspec.field(name="_id", default=UNSET)
    message_data: Raw | UnsetType = UNSET
    cost_usd: Raw | UnsetType = UNSET
    created_at: Raw | UnsetType = UNSET
    hook: Raw | UnsetType = msgspec.field(name="hook_event_name", default=UNSET)


_decode_lines = msgspec.json.Decoder(_Line).decode_lines
_decode_line = msgspec.json.Decoder(_Line).decode
_decode_usage = msgspec.json.Decoder(_Usage | None).decode
_REFUSALS = (msgspec.DecodeError, UnicodeDecodeError)


class _UnfamiliarError(Exception):
    """There is a line that only the full reader can judge."""


def scan_file(path: str, source: str) -> Scan | None:
    """Return what a file says; None if only the full reader can tell. Raises `OSError`."""
    scanner = _Scanner(source)
    try:
        with open(path, "rb", buffering=0) as file:
            for data, length, is_whole in _read_pieces(file):
                scanner.take(data, length, is_whole)
    except _UnfamiliarError:
        return None
    return scanner.finish()


def _read_pieces(file: FileIO) -> Iterator[tuple[bytearray, int, bool]]:
    """Yield pieces of whole lines: the bytes, how many of them count, and whether a newline ends them.

    Only the last piece may be without. The buffer is the same each time.
    """
    buffer = bytearray(min(_CHUNK, os.fstat(file.fileno()).st_size) + 1)
    held = 0
    while True:
        if held == len(buffer):
            buffer.extend(bytes(len(buffer)))
        with memoryview(buffer) as view:
            length = held + (file.readinto(view[held:]) or 0)
        if length == held:
            break
        end = buffer.rfind(b"\n", held, length) + 1
        if end:
            yield buffer, end, True
            buffer[: length - end] = buffer[end:length]
            held = length - end
        else:
            held = length
    if held:
        yield buffer, held, False


class _Seen:
    """The lines of one answer in one file and session, so far: the last one with the most output speaks."""

    __slots__ = ("attribution", "ended", "message", "number", "output", "timestamp", "usage")

    def __init__(self, line: _Line, message: _Message, usage: _Usage, timestamp: str, number: int) -> None:
        self.message = message
        self.usage = usage
        self.output = _count(usage.output_tokens)
        self.number = number
        self.timestamp = timestamp
        self.ended = message.stop_reason is not None
        self.attribution = _attribution(line)

    def join(self, line: _Line, message: _Message, usage: _Usage, timestamp: str, number: int) -> None:
        """Take the next line."""
        output = _count(usage.output_tokens)
        if output >= self.output:
            self.message, self.usage, self.output, self.number = message, usage, output, number
        self.ended = self.ended or message.stop_reason is not None
        if _precedes(timestamp, self.timestamp):
            self.timestamp = timestamp
        attribution = _attribution(line)
        if attribution is not self.attribution:
            self.attribution = self.attribution.join(attribution)


class _Scanner:
    """What one file says, so far."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._number = 0
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._reported: dict[str, ReportedSighting] = {}
        self._cwds: dict[str, None] = {}

    def take(self, data: bytearray, length: int, is_whole: bool) -> None:
        """Look at lines."""
        lines: Iterable[_Line]
        try:
            with memoryview(data) as view:
                lines = _decode_lines(view[:length])
        except _REFUSALS:
            lines = _decode_one_by_one(data[:length], is_whole)
        cwd: object = UNSET
        for line in lines:
            if line.cwd != cwd:
                cwd = line.cwd
                if isinstance(cwd, str) and cwd:
                    self._cwds.setdefault(cwd)
            kind = line.type
            if kind == "assistant":
                self._take_answer(line)
            elif kind == "cost-state":
                self._take_cost(line)
            elif type(kind) is not str or kind in _COUNTING:
                raise _UnfamiliarError
            self._number += 1

    def finish(self) -> Scan:
        """Return all of it."""
        sightings = [self._build(*key, seen) for key, seen in self._seen.items()]
        return Scan(sightings, [*self._reported.values()], [*self._cwds])

    def _take_answer(self, line: _Line) -> None:
        message, session, timestamp = line.message, line.session_id, line.timestamp
        if type(message) is not _Message or type(session) is not str or type(timestamp) is not str:
            raise _UnfamiliarError
        if _is_other_dialect(line):
            raise _UnfamiliarError
        usage = message.usage or _decode_copy(line.usage)
        if not usage or message.model == _SYNTHETIC:
            return
        name = message.id or (f"uuid:{line.uuid}" if line.uuid and type(line.uuid) is str else "")
        if not name:  # it is known by its place, which the full reader can tell
            raise _UnfamiliarError
        seen = self._seen.get((name, session))
        if seen is None:
            self._seen[name, session] = _Seen(line, message, usage, timestamp, self._number)
        else:
            seen.join(line, message, usage, timestamp, self._number)

    def _take_cost(self, line: _Line) -> None:
        if type(line.session_id) is not str:
            raise _UnfamiliarError
        session = line.session_id or self._source
        self._reported.pop(session, None)  # the last of a file counts
        if type(line.total_cost) in (int, float):
            cost = Decimal(str(line.total_cost))
            if cost.is_finite():
                self._reported[session] = ReportedSighting(session, self._source, "cost-state", cost)

    def _build(self, name: str, session: str, seen: _Seen) -> Sighting:
        return Sighting(
            message=name,
            session=session or self._source,
            source=self._source,
            offset=seen.number,
            time=_instant(seen.timestamp),
            model=seen.message.model or None,
            tokens=_tokens(seen.usage),
            terms=_terms(seen.usage),
            attribution=seen.attribution,
            ended=seen.ended,
        )


def _decode_one_by_one(data: bytearray, is_whole: bool) -> Iterator[_Line]:
    """Yield the lines of a piece that has some which are none of ours, if those cannot matter."""
    texts = data.split(b"\n")
    for at, text in enumerate(texts):
        if not text or text.isspace():
            continue
        try:
            yield _decode_line(text)
        except _REFUSALS as error:
            is_torn = not is_whole and at == len(texts) - 1 and str(error) == _TORN
            if not (_is_idle(text) or (is_torn and text.startswith(_START))):
                raise _UnfamiliarError from error


def _is_idle(text: bytearray) -> bool:
    """Tell whether a line that is none of ours says nothing about usage: it is no part of any object."""
    return text.lstrip(_BLANK)[:1] not in _GOES_ON


def _decode_copy(usage: Raw | UnsetType) -> _Usage | None:
    """Return the second copy that lines of old have."""
    if usage is UNSET:
        return None
    try:
        copy: _Usage | None = _decode_usage(usage)
    except _REFUSALS as error:
        raise _UnfamiliarError from error
    return copy


def _is_other_dialect(line: _Line) -> bool:
    return not (
        line.document is UNSET
        and line.message_data is UNSET
        and line.cost_usd is UNSET
        and line.created_at is UNSET
        and line.hook is UNSET
    )


def _precedes(one: str, other: str) -> bool:
    """Tell whether a time is earlier than another; those of today's program can be compared as they are."""
    if len(one) == len(other) == _TIME_SIZE and one.endswith("Z") and other.endswith("Z"):
        return one < other
    before, after = _instant(one), _instant(other)
    return before is not None and (after is None or before < after)


def _instant(timestamp: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(timestamp)
        if moment.tzinfo is UTC:
            return moment
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _count(value: _Count) -> int:
    return value if value and value > 0 else 0


def _tokens(usage: _Usage) -> Tokens:
    split, tools = usage.cache_creation or None, usage.server_tool_use or None
    long = _count(split.ephemeral_1h_input_tokens) if split else 0
    short = _count(split.ephemeral_5m_input_tokens) if split else 0
    return Tokens(
        input=_count(usage.input_tokens),
        output=_count(usage.output_tokens),
        cache_read=_count(usage.cache_read_input_tokens),
        cache_write_5m=max(short, _count(usage.cache_creation_input_tokens) - long),
        cache_write_1h=long,
        web_searches=_count(tools.web_search_requests) if tools else 0,
    )


def _terms(usage: _Usage) -> Terms:
    if not (usage.service_tier or usage.speed or usage.inference_geo):
        return _NO_TERMS
    return Terms(usage.service_tier or None, usage.speed or None, usage.inference_geo or None)


def _attribution(line: _Line) -> Attribution:
    found = (
        line.attribution_agent, line.agent_id, line.attribution_skill, line.attribution_plugin,
        line.attribution_mcp_server, line.attribution_mcp_tool,
    )  # fmt: skip
    if found == _NOTHING:
        return _NOBODY
    return Attribution(*(_text(each) for each in found))


def _text(value: _Any) -> str | None:
    if isinstance(value, str):
        return value or None
    if value is None or value is UNSET:
        return None
    raise _UnfamiliarError
