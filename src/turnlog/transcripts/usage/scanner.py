"""Reading what a file says about usage, and nothing else, as fast as it can be read.

Of each line only what is counted is decoded. A line that may matter must be one that today's program writes: a
file with any other (an older dialect, the stream, broken lines) is left to the full reader, which is loaded
then. So the figures are the same, whichever way they were read. Looking for `"usage"` first takes longer than
decoding all lines. But more than half of all bytes stand in long lines of other types, most of them results of
tools: where the beginning of such a line tells its type, only its end is looked for.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from io import FileIO

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import astuple

from turnlog.instants import from_microseconds, to_microseconds
from turnlog.transcripts.usage.tokens import AnswerCount, AnswerGroup, Attribution, PricingTerms, Sighting

_CHUNK = 1 << 20
"""What fits into a processor's cache is looked at twice for the price of once."""
_LONG = 3 << 10
"""Finding out that a shorter line does not matter takes longer than decoding it."""
_HEAD, _TAIL = 1 << 10, 1 << 10
"""Where in a line its type and its `cwd` stand: before what was said, or behind it."""
_TYPE = b',"type":"'
_CWD = b',"cwd":'
_START = b'{"'
_BLANK = b" \t\r"
_GOES_ON = b'"{}[],:-0123456789tfn\0\xef'
"""What a further line of an object or an array begins with, padding, or the mark at the beginning of a file."""
_COUNTING = frozenset({"result", "tool_use"})
"""Types of other dialects whose lines may count."""
_OF_ACCOUNT = tuple(f'{kind}"'.encode() for kind in ("assistant", "cost-state", *sorted(_COUNTING)))
_NEVER = b"\n"
"""Stands in no line."""
_SYNTHETIC = "<synthetic>"
_TORN = "Input data was truncated"
_TIME_SIZE = len("2026-03-01T10:00:00.000Z")
_NOBODY = Attribution()
_Text = str | None | UnsetType
_Count = int | None | UnsetType
_Any = str | int | float | bool | None | UnsetType


class ReportedSighting(Struct, frozen=True, gc=False):
    """What the program itself says that a session cost, in one file."""

    session: str
    source: str
    kind: str
    """`cost-state` or `result`."""
    cost: Decimal


class Scan(Struct, frozen=True, gc=False, array_like=True):
    """What one file says."""

    groups: list[AnswerGroup]
    answers: list[AnswerCount]
    """One for each answer and session."""
    reported: list[ReportedSighting]
    """The last of each session."""
    cwds: list[str]
    """Where it was written, in order of appearance."""

    def list_sightings(self, source: str, messages: Container[str] | None = None) -> Iterator[Sighting]:
        """Yield all answers, or some, as sightings."""
        for answer in self.answers:
            if messages is not None and answer.message not in messages:
                continue
            group = self.groups[answer.group]
            yield Sighting(
                message=answer.message,
                session=group.session,
                source=source,
                offset=answer.offset,
                time=None if answer.time is None else from_microseconds(answer.time),
                model=group.model,
                tokens=answer.tokens,
                terms=group.terms,
                attribution=group.attribution,
                ended=answer.ended,
            )


def pack_sightings(sightings: Iterable[Sighting], reported: list[ReportedSighting], cwds: list[str]) -> Scan:
    """Return what a file says, given what it says of each answer."""
    groups: dict[AnswerGroup, int] = {}
    answers = [
        AnswerCount(
            each.message,
            groups.setdefault(AnswerGroup(each.session, each.model, each.terms, each.attribution), len(groups)),
            each.offset,
            None if each.time is None else to_microseconds(each.time),
            each.ended,
            *astuple(each.tokens),
        )
        for each in sightings
    ]
    return Scan([*groups], answers, reported, cwds)


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
_encode = msgspec.json.Encoder().encode
_REFUSALS = (msgspec.DecodeError, UnicodeDecodeError)


class _UnfamiliarError(Exception):
    """There is a line that only the full reader can judge."""


def scan_file(path: str, source: str, buffer: bytearray | None = None) -> Scan | None:
    """Return what a file says; None if only the full reader can tell. Raises `OSError`.

    Whoever scans many files may give the same buffer each time: new memory costs more than reading into it.
    """
    scanner = _Scanner(source)
    try:
        with FileIO(path) as file:
            for data, length, is_whole in _read_pieces(file, bytearray() if buffer is None else buffer):
                scanner.take(data, length, is_whole)
    except _UnfamiliarError:
        return None
    return scanner.finish()


def _read_pieces(file: FileIO, buffer: bytearray) -> Iterator[tuple[bytearray, int, bool]]:
    """Yield pieces of whole lines: the bytes, how many of them count, and whether a newline ends them.

    Only the last piece may be without.
    """
    if not buffer:
        buffer.extend(bytes(_CHUNK))
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


class _Seen(Struct, eq=False, gc=False):
    """The lines of one answer in one file and session, so far: the last one with the most output speaks."""

    message: _Message
    usage: _Usage
    output: int
    number: int
    timestamp: str = ""
    ended: bool = False
    attribution: Attribution = _NOBODY


class _Scanner:
    """What one file says, so far."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._number = 0
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._groups: dict[AnswerGroup, int] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        """The groups, by what lines say."""
        self._reported: dict[str, ReportedSighting] = {}
        self._cwds: dict[str, None] = {}
        self._cwd: object = UNSET
        """Of the line before."""
        self._cwd_mark = _NEVER
        """How a line says that it was written there, too."""

    def take(self, data: bytearray, length: int, is_whole: bool) -> None:
        """Look at lines."""
        start = at = 0
        while at < length:
            # The last newline of so many bytes: nobody needs to know where short lines end.
            end = data.rfind(b"\n", at, min(at + _LONG, length))
            if end < 0:
                end = data.find(b"\n", at + _LONG, length)
                if end < 0:
                    break
                if _is_of_no_account(data, at, end):
                    self._take_run(data, start, at, is_whole=True)
                    start = end + 1 if self._knows_cwd(data, at, end) else at
            at = end + 1
        self._take_run(data, start, length, is_whole)

    def _knows_cwd(self, data: bytearray, start: int, end: int) -> bool:
        """Tell whether a line says, in a way that can be told at a glance, the same `cwd` as before."""
        head = data.find(_TYPE, start, start + _HEAD)
        if data.find(self._cwd_mark, start, head) >= 0:
            return True
        at = data.find(self._cwd_mark, max(head, end - _TAIL), end)
        # Where nothing is closed but the line's own object, this is one of its own members.
        return at >= 0 and data.find(b"}", at, end) == end - 1

    def _take_run(self, data: bytearray, start: int, end: int, is_whole: bool) -> None:
        """Decode some of the lines."""
        if start == end:
            return
        lines: Iterable[_Line]
        try:
            with memoryview(data) as view:
                lines = _decode_lines(view[start:end])
        except _REFUSALS:
            lines = _decode_one_by_one(data[start:end], is_whole)
        cwd = self._cwd
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
        if cwd is not self._cwd:
            self._cwd, self._cwd_mark = cwd, _CWD + _encode(cwd) if isinstance(cwd, str) else _NEVER

    def finish(self) -> Scan:
        """Return all of it."""
        answers = [self._build(*key, seen) for key, seen in self._seen.items()]
        return Scan([*self._groups], answers, [*self._reported.values()], [*self._cwds])

    def _take_answer(self, line: _Line) -> None:
        message, session, timestamp = line.message, line.session_id, line.timestamp
        if type(message) is not _Message or type(session) is not str or type(timestamp) is not str:
            raise _UnfamiliarError
        if (
            line.document is not UNSET
            or line.message_data is not UNSET
            or line.cost_usd is not UNSET
            or line.created_at is not UNSET
            or line.hook is not UNSET
        ):  # it is of another dialect
            raise _UnfamiliarError
        usage = message.usage or _decode_copy(line.usage)
        if not usage or message.model == _SYNTHETIC:
            return
        name = message.id or (f"uuid:{line.uuid}" if line.uuid and type(line.uuid) is str else "")
        if not name:  # it is known by its place, which the full reader can tell
            raise _UnfamiliarError
        output = usage.output_tokens or 0
        if output < 0:
            output = 0
        seen = self._seen.get((name, session))
        if seen is None:
            seen = self._seen[name, session] = _Seen(message, usage, output, self._number)
        elif output >= seen.output:
            seen.message, seen.usage, seen.output, seen.number = message, usage, output, self._number
        if message.stop_reason is not None:
            seen.ended = True
        if not seen.timestamp or _precedes(timestamp, seen.timestamp):
            seen.timestamp = timestamp
        if (
            line.agent_id is not UNSET
            or line.attribution_agent is not UNSET
            or line.attribution_skill is not UNSET
            or line.attribution_plugin is not UNSET
            or line.attribution_mcp_server is not UNSET
            or line.attribution_mcp_tool is not UNSET
        ):
            found = _attribution(line)
            seen.attribution = found if seen.attribution is _NOBODY else seen.attribution.join(found)

    def _take_cost(self, line: _Line) -> None:
        if type(line.session_id) is not str:
            raise _UnfamiliarError
        session = line.session_id or self._source
        self._reported.pop(session, None)  # the last of a file counts
        if type(line.total_cost) in (int, float):
            cost = Decimal(str(line.total_cost))
            if cost.is_finite():
                self._reported[session] = ReportedSighting(session, self._source, "cost-state", cost)

    def _build(self, name: str, session: str, seen: _Seen) -> AnswerCount:
        message, usage = seen.message, seen.usage
        key = session, message.model, usage.service_tier, usage.speed, usage.inference_geo, seen.attribution
        group = self._numbers.get(key)
        if group is None:
            terms = PricingTerms(usage.service_tier or None, usage.speed or None, usage.inference_geo or None)
            whole = AnswerGroup(session or self._source, message.model or None, terms, seen.attribution)
            group = self._numbers[key] = self._groups.setdefault(whole, len(self._groups))
        split, tools = usage.cache_creation or None, usage.server_tool_use or None
        long = _count(split.ephemeral_1h_input_tokens) if split else 0
        short = _count(split.ephemeral_5m_input_tokens) if split else 0
        moment = _instant(seen.timestamp)
        return AnswerCount(
            name,
            group,
            seen.number,
            None if moment is None else to_microseconds(moment),
            seen.ended,
            _count(usage.input_tokens),
            seen.output,
            _count(usage.cache_read_input_tokens),
            max(short, _count(usage.cache_creation_input_tokens) - long),
            long,
            _count(tools.web_search_requests) if tools else 0,
        )


def _is_of_no_account(data: bytearray, start: int, end: int) -> bool:
    """Tell whether a line is of a type that says nothing about usage, by its beginning."""
    at = data.find(_TYPE, start, start + _HEAD)
    if at < 0 or not data.startswith(_START, start):
        return False
    # Within an object of the line, it would be that one's type.
    return not data.startswith(_OF_ACCOUNT, at + len(_TYPE)) and data.find(b"{", start + 1, at) < 0


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


def _attribution(line: _Line) -> Attribution:
    found = (
        line.attribution_agent, line.agent_id, line.attribution_skill, line.attribution_plugin,
        line.attribution_mcp_server, line.attribution_mcp_tool,
    )  # fmt: skip
    return Attribution(*(_text(each) for each in found))


def _text(value: _Any) -> str | None:
    if isinstance(value, str):
        return value or None
    if value is None or value is UNSET:
        return None
    raise _UnfamiliarError
