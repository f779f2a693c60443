"""The way in and the way out: `decode` a line, change it, `encode` it.

The bytes of a line are the truth, and an entry is a view of them. A line that fits today's types completely is
decoded in one pass; that is nearly all of them, and what the speed rests on. Any other line goes to `recover`:
it tells the dialect first, and then decodes its types tolerantly. A line that is no JSON object at all is an
`UnknownEntry` with a problem that says why. Encoding an untouched line gives back its bytes; a changed one
differs from them only where it was changed.

Today's session files are the rule and are tried first; which other dialect it is, is asked only about lines
that do not fit them. The SDK's stream, its control protocol and what hooks are told share type names with
session files (`user`, `assistant`, `system`, `result`), and so do the specs' older dialects. So the evidence is
in the keys and in the form of two values: the stream names its session in snake_case alone, a hook's payload
names its event. A line that is broken is of the dialect that it is nearest to.

Of a line of over 16 MB (`LONGEST`), what it means is read from its first 16 MB, as if all that was open there
ended there; what a line says about itself may stand behind that, so its last bytes are looked at, too. Whoever
reads a file need not hold more of it (`decode_long`). A `Problem` says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, get_args

import msgspec
from msgspec import Raw, Struct

from turnlog.errors import ChangeError
from turnlog.messages import legacy
from turnlog.messages.base import UNSET, Unknown, UnsetType, Value, encode_value
from turnlog.messages.control.frames import CONTROL_TYPES, ControlMessage, FlatControlResponse, is_flat
from turnlog.messages.entries import (
    AssistantEntry,
    AttachmentEntry,
    Entry,
    MetadataEntry,
    ProgressEntry,
    UnknownEntry,
    UserEntry,
)
from turnlog.messages.envelope import Envelope, Head
from turnlog.messages.hook_events import HOOK_EVENTS, BaseHookInput
from turnlog.messages.legacy import LegacyLine, StoredType
from turnlog.messages.salvage import (
    REFUSALS,
    Problem,
    ProblemKind,
    TolerantDecoder,
    decoder,
    describe,
    is_failed,
    original_offset,
    repair_text,
    split_object,
    text_of,
)
from turnlog.messages.sdk.messages import STREAM_TYPES, SYSTEM_SUBTYPES, StreamHead, StreamMessage, find_class
from turnlog.messages.spans import list_values, members_of, patch
from turnlog.messages.system import SystemNotice, SystemSubtype

AnyEntry = Entry | StreamMessage | ControlMessage | BaseHookInput
"""What a line can be: an entry of a session file, or a message of one of the other channels."""


class Dialect(StrEnum):
    """How a line is written."""

    CLAUDE_CODE = "claude-code"
    """Today's session files."""
    SPEC_000 = "spec-000"
    """Text in `message`, calls in `toolName` and `toolArguments`, results in system lines."""
    SPEC_003_EXTRACTED = "spec-003-extracted"
    """A call or a result taken out of its message, as a line of its own."""
    SPEC_003_DOCUMENT = "spec-003-document"
    """A message as a database keeps it: `_id`, `messageData`, `costUsd`, `createdAt`."""
    SPEC_003_API = "spec-003-api"
    """The same as an HTTP API gives it, in snake_case."""
    SPEC_004 = "spec-004"
    """`human` and `tool_result` lines, times in milliseconds."""
    STREAM = "stream-json"
    """Messages of the SDK's stream."""
    CONTROL = "control"
    """Frames of the SDK's control protocol."""
    HOOK = "hook"
    """What a hook is told."""
    UNKNOWN = "unknown"
    """Nothing that could be read."""


_SHARED_TYPES = frozenset({"user", "assistant", "system", "result"})
"""The stream's and the disk's."""
_HOOK_KEY = "hook_event_name"
_STORED_TYPES = frozenset({"user", "assistant", "tool_use", "tool_result", "summary"})
_DOCUMENT_KEYS = frozenset({"_id", "messageData", "costUsd", "createdAt"})
_API_KEYS = frozenset(
    {"parent_uuid", "cost_usd", "created_at", "message_uuid", "parent_uuid_alias", "session_id_alias"}
)
_TYPES_004 = frozenset({"human", "compact_prelude", "compact_recap"})
_SUBTYPES_000 = frozenset({"tool_result", "error", "meta"})
_KEYS_TODAY = frozenset({"cwd", "version", "gitBranch"})
"""What Claude Code writes on every line of a conversation, and spec 000 on none."""
_NUMBER_STARTS = frozenset(b"-0123456789"[i : i + 1] for i in range(11))
_ABSENT, _STRING, _OBJECT = b"", b'"', b"{"


def _detect(members: Mapping[str, Raw], type_: str | None) -> Dialect:
    """Return the dialect of an object, given its members and the value of `type`."""
    if _HOOK_KEY in members:
        return Dialect.HOOK
    if type_ in CONTROL_TYPES:
        return Dialect.CONTROL
    message = _form(members.get("message"))
    if type_ in _STORED_TYPES or (type_ == "system" and _is_exported(members)):
        stored = _detect_stored(members, type_, message)
        if stored is not None:
            return stored
    if _is_stream(members, type_):
        return Dialect.STREAM
    if type_ in _TYPES_004 or _is_spec_004(members, type_, message):
        return Dialect.SPEC_004
    if type_ == "compact_system" or _is_spec_000(members, type_, message):
        return Dialect.SPEC_000
    return Dialect.CLAUDE_CODE


def _detect_stored(members: Mapping[str, Raw], type_: str | None, message: bytes) -> Dialect | None:
    keys = members.keys()
    snake = "session_id" in keys and "sessionId" not in keys and "content" in keys
    if message == _ABSENT and (snake or keys & _API_KEYS):
        return Dialect.SPEC_003_API
    if keys & _DOCUMENT_KEYS:
        return Dialect.SPEC_003_DOCUMENT
    if message == _ABSENT and "content" in keys:
        extracted = type_ in ("tool_use", "tool_result")
        return Dialect.SPEC_003_EXTRACTED if extracted else Dialect.SPEC_003_DOCUMENT
    return None


def _is_exported(members: Mapping[str, Raw]) -> bool:
    """Tell whether an object is named as `turnlog export` names documents; those of the spec are no notices."""
    identity, uuid = text_of(members.get("_id")), text_of(members.get("uuid"))
    return bool(identity and uuid) and f":{identity}".endswith(f":{uuid}") and "subtype" not in members


def _is_stream(members: Mapping[str, Raw], type_: str | None) -> bool:
    if type_ in STREAM_TYPES and type_ not in _SHARED_TYPES:
        return True
    if type_ == "system":
        subtype = text_of(members.get("subtype"))
        if subtype in SYSTEM_SUBTYPES and subtype not in _SUBTYPES:
            return "sessionId" not in members
    if type_ == "result" and "subtype" in members:
        return True
    snake = "session_id" in members or "parent_tool_use_id" in members
    return snake and "sessionId" not in members and type_ is not None


def _is_spec_004(members: Mapping[str, Raw], type_: str | None, message: bytes) -> bool:
    has_number = _form(members.get("timestamp")) in _NUMBER_STARTS
    if message != _OBJECT:
        return has_number and _is_broken(members, type_, message)
    match type_:
        case "tool_result":
            return True
        case "user" | "assistant":
            return has_number
        case "system":
            return text_of(members.get("subtype")) not in _SUBTYPES
    return type_ is None and has_number and "sessionId" in members


def _is_spec_000(members: Mapping[str, Raw], type_: str | None, message: bytes) -> bool:
    is_foreign = members.keys().isdisjoint(_KEYS_TODAY)
    match type_:
        case "user" | "assistant":
            return message in (_ABSENT, _STRING) or (is_foreign and message != _OBJECT)
        case "system":
            subtype = text_of(members.get("subtype"))
            if subtype in _SUBTYPES_000 or (message != _ABSENT and subtype not in _SUBTYPES):
                return True
            return is_foreign and _is_broken(members, type_, message)
        case None:
            return is_foreign and "sessionId" in members and message in (_ABSENT, _STRING)
    return False


def _is_broken(members: Mapping[str, Raw], type_: str | None, message: bytes) -> bool:
    """Tell whether the message that specs 000 and 004 ask for is missing, or of no form that they have."""
    match type_:
        case "user" | "assistant":
            return message not in (_ABSENT, _STRING)
        case "system":
            return message == _ABSENT and members.keys().isdisjoint(("subtype", "content"))
    return False


def _form(raw: Raw | None) -> bytes:
    """Return the first byte of a value, which tells what it is."""
    return _ABSENT if raw is None else bytes(raw).lstrip(b" \t\n\r")[:1]


_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:"]', re.DOTALL)
_TEXT = re.compile(rb'"[^"\\]*+(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*+)*+', re.DOTALL)
_HALF = re.compile(rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2}|[\xc0-\xff][\x80-\xbf]{0,2})\Z")
_SAYS = re.compile(rb'"(type|uuid|parentUuid|sessionId|timestamp)"\s*:\s*"[^"\\]*"')
"""What the end of a line may say about it. A quote inside of a text is escaped, so it is no part of any."""


def _by_tag(*classes: Any) -> Mapping[Any, Any]:
    return {cls.__struct_config__.tag: cls for cls in classes}


_ENTRY_TYPES: Mapping[Any, type[Envelope]] = _by_tag(
    UserEntry, AssistantEntry, AttachmentEntry, ProgressEntry, SystemNotice, *get_args(MetadataEntry)
)
_SUBTYPES: Mapping[Any, type[Envelope]] = _by_tag(*get_args(SystemSubtype))
_LEGACY_TYPES: Mapping[Dialect, Mapping[Any, type[LegacyLine]]] = {
    Dialect.SPEC_000: _by_tag(legacy.User000, legacy.Assistant000, legacy.System000, legacy.CompactSystem000),
    Dialect.SPEC_003_EXTRACTED: dict.fromkeys(
        (StoredType.TOOL_USE, StoredType.TOOL_RESULT), legacy.Document003
    ),
    Dialect.SPEC_003_DOCUMENT: dict.fromkeys(StoredType, legacy.Document003),
    Dialect.SPEC_003_API: dict.fromkeys(StoredType, legacy.Api003),
    Dialect.SPEC_004: _by_tag(
        legacy.Human004,
        legacy.User004,
        legacy.Assistant004,
        legacy.ToolResult004,
        legacy.System004,
        legacy.CompactPrelude004,
        legacy.CompactRecap004,
    ),
}
_ENVELOPE_KEYS = frozenset(Envelope.__struct_encode_fields__)
_BYTE = re.compile(r"^(?:JSON is malformed: )?(.*) \(byte (\d+)\)$")


class Recovered(Struct, frozen=True, gc=False):
    """What could be made of a line."""

    entry: AnyEntry
    dialect: Dialect
    problems: tuple[Problem, ...]
    wire: Value | None = None


def recover(raw: bytes) -> Recovered:
    """Make of a line what can be made of it."""
    text, problems = repair_text(raw)
    tolerant = TolerantDecoder(raw, problems)
    members = split_object(text)
    if members is None:
        problem = _explain(raw, text)
        return Recovered(UnknownEntry(raw=raw), Dialect.UNKNOWN, (*problems, problem))
    type_ = text_of(members.get("type"))
    dialect = _detect(members, type_)
    cls, tag_field = _find_type(dialect, members, type_)
    value = _decode_as(tolerant, text, members, cls, tag_field)
    if dialect is Dialect.SPEC_000 and any(map(_is_unreadable, tolerant.problems)):
        value = None  # without what it says, nothing of it would be shown
    wire = value if isinstance(value, LegacyLine) else None
    if wire is not None:
        wire.inspect(tolerant)
        value = wire.lift()
    entry = _unknown_entry(members, raw) if value is None else value
    return Recovered(entry, dialect, tuple(tolerant.problems), wire)


def _find_type(
    dialect: Dialect, members: Mapping[str, Raw], type_: str | None
) -> tuple[type[Struct] | None, str]:
    """Return the class that reads a line, or None, and the key by which it was chosen."""
    match dialect:
        case Dialect.STREAM:
            echo = bytes(members.get("isReplay", b"")).strip() == b"true"
            head = StreamHead(type=type_, subtype=text_of(members.get("subtype")), is_replay=echo)
            return find_class(head), "subtype" if type_ == "system" else "type"
        case Dialect.CONTROL:
            return FlatControlResponse if is_flat(members) else CONTROL_TYPES[type_ or ""][0], "type"
        case Dialect.HOOK:
            return HOOK_EVENTS.get(text_of(members[_HOOK_KEY]) or ""), _HOOK_KEY
        case Dialect.CLAUDE_CODE if type_ == "system" and "subtype" in members:
            return _SUBTYPES.get(text_of(members["subtype"])), "subtype"
        case Dialect.CLAUDE_CODE:
            return _ENTRY_TYPES.get(type_), "type"
    return _LEGACY_TYPES[dialect].get(type_), "type"


def _decode_as(
    tolerant: TolerantDecoder, text: bytes, members: Mapping[str, Raw], cls: type[Struct] | None, tag_field: str
) -> Any:
    if cls is None:
        tag = members.get(tag_field)
        name = None if tag is None else text_of(tag)
        found = "nothing" if tag is None else describe(bytes(tag)) if not name else f"`{name}`"
        unknown = None if tag is None else Unknown(bytes(tag))
        path = () if tag is None else (tag_field,)
        tolerant.report(ProblemKind.UNKNOWN_TYPE, f"a known `{tag_field}`", found, path, unknown)
        return None
    try:
        return decoder(cls).decode(text)
    except REFUSALS:
        value = tolerant.decode_struct(cls, members, ())
    return None if is_failed(value) else value


def _is_unreadable(problem: Problem) -> bool:
    return problem.kind is ProblemKind.WRONG_TYPE and problem.steps == ("message",)


def _unknown_entry(members: Mapping[str, Raw], raw: bytes) -> UnknownEntry:
    """Return an entry that knows the line's envelope, if nothing else."""
    known = {key: value for key, value in members.items() if key in _ENVELOPE_KEYS}
    envelope = TolerantDecoder(raw).decode_struct(
        Envelope, known, ()
    )  # what is wrong with the line is told already
    fields = {name: getattr(envelope, name) for name in Envelope.__struct_fields__}
    type_ = text_of(members.get("type")) or text_of(members.get("hook_event_name"))
    return UnknownEntry(raw=raw, type=type_, subtype=text_of(members.get("subtype")), **fields)


def _explain(raw: bytes, text: bytes) -> Problem:
    """Say why a text is not one JSON object."""
    values = list_values(text)
    if len(values) > 1 and all(split_object(text[slice(*span)]) is not None for span in values):
        offset = original_offset(raw, text, values[1].start)
        found = f"{len(values)} objects on one line"
        return Problem(ProblemKind.GLUED, "one object", found, (), known_offset=offset)
    expected, found, offset = _syntax_error(text)
    offset = original_offset(raw, text, offset)
    return Problem(ProblemKind.MALFORMED, expected, found, (), Unknown(raw), raw, offset)


def _syntax_error(text: bytes) -> tuple[str, str, int]:
    """Return what was expected, what was found, and where; msgspec tells one of the two, and where."""
    whole = "a JSON object"
    try:
        decoder(Raw).decode(text)
    except REFUSALS as refusal:
        match = _BYTE.match(str(refusal))
        if not match:
            cut_off = "the end of the line before the end of the object"
            return whole, cut_off if text.strip() else "nothing", len(text)
        reason, offset = match[1], int(match[2])
        if reason == "trailing characters":
            # msgspec counts the first byte too many here.
            return "the end of the line", _show_at(text, offset - 1), offset - 1
        if reason.startswith("expected "):
            return reason.removeprefix("expected ").replace("'", "`"), _show_at(text, offset), offset
        reason = reason.replace(" in ", " in an ").replace("in an unicode", "in a unicode")
        return whole, f"{'an' if reason[0] in 'aeiou' else 'a'} {reason}", offset
    return whole, describe(text), 0


def _show_at(text: bytes, offset: int) -> str:
    sign = text[offset : offset + 4].decode("utf-8", "ignore")[:1]
    return f"`{sign}`" if sign.isprintable() and sign else f"byte 0x{text[offset]:02x}"


def close_line(head: bytes, end: bytes) -> bytes:
    """Return the first bytes of a long line as if it ended there, with what its last bytes say about it.

    A text that is open where they end is cut there; any other value that is not whole is left out.
    """
    closers: list[bytes] = []
    whole: list[int] = []
    """Up to where each object or array that is open has whole values."""
    last, opened = b"", 0
    for token in _TOKEN.finditer(head):
        sign = token[0]
        if sign == b'"':
            opened = token.start()
            break
        if sign in (b"{", b"["):
            closers.append(b"}" if sign == b"{" else b"]")
            whole.append(token.end())
        elif sign == b"," and whole:
            whole[-1] = token.start()
        elif sign in (b"}", b"]") and closers:
            closers.pop()
            whole.pop()
        if not closers:
            break
        last = sign
    if not closers:
        return head
    text = _TEXT.match(head, opened) if opened and (last == b":" or closers[-1] == b"]") else None
    cut = head[: whole[-1]] if text is None else _HALF.sub(b"", head[: text.end()]) + b'"'
    closed = cut + b"".join(reversed(closers))
    members = split_object(closed)
    if not members:
        return closed
    says = {found[1].decode(): found[0] for found in _SAYS.finditer(end)}
    return b",".join((closed[:-1], *(said for name, said in says.items() if name not in members))) + b"}"


LONGEST = 16 << 20
"""How many bytes of a line are read, at most."""
END = 4 << 10
"""How many of its last bytes are looked at for what a longer line says about itself."""


class Position(Struct, frozen=True, gc=False):
    """Where a line stands."""

    source: str
    offset: int


class Line(Struct, frozen=True, gc=False):
    """A line and what it means."""

    raw: bytes
    """The bytes as they were read; of a line of over 16 MB in a file, the first 16 MB and the last 4 KB."""
    entry: AnyEntry
    dialect: Dialect = Dialect.CLAUDE_CODE
    problems: tuple[Problem, ...] = ()
    """What is wrong or unknown; empty when all of it is typed."""
    at: Position | None = None
    wire: Value | None = None
    """The line as its own dialect spells it, where that is not today's."""
    unread: int = 0
    """How many bytes of a long line are not in `raw`."""

    @property
    def length(self) -> int:
        """How many bytes the line has."""
        return len(self.raw) + self.unread

    @property
    def json(self) -> bytes:
        """The line as JSON: its bytes, or what was read of a long one, closed where it was cut."""
        return close_line(self.raw[:LONGEST], self.raw[-END:]) if self.unread else self.raw

    def replace(self, **changes: Any) -> Line:
        """Return a copy with other values for some fields of the entry.

        Only the bytes of what differs change: unknown fields, the order of keys and the forms of numbers stay.
        `UNSET` takes a field away. Raises `ChangeError` for a field that the entry does not have, or a value
        that the line's dialect cannot say.
        """
        return _replace(self, changes)


class _SystemHead(Struct, tag_field="type", tag="system"):
    """Enough of a system line to tell its subtype, by which alone its type can be chosen."""

    subtype: str | UnsetType = UNSET


@cache  # all of them take as long to make as a search: each is made when there is a line for it
def _any_decoder() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(
        UserEntry | AssistantEntry | AttachmentEntry | ProgressEntry | MetadataEntry | _SystemHead
    )


@cache
def _subtype_decoder() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(SystemSubtype)


_ASSISTANT = b'"type":"assistant"'
_TAIL = 520
_TODAY = Dialect.CLAUDE_CODE  # looking a member up costs as much as making the Line
_TOLERATED = frozenset({ProblemKind.UNKNOWN_FIELD, ProblemKind.UNKNOWN_VALUE})


def decode(line: bytes | str, strict: bool = False, *, at: Position | None = None) -> Line:
    """Decode one line. No data raises, unless `strict` asks for errors.

    With `strict`, a broken line, an unknown type or subtype and a value of the wrong type raise `DecodeError`;
    unknown fields and new enum values do not: every version brings some.
    """
    raw = line if type(line) is bytes else _as_bytes(line)
    if len(raw) <= LONGEST:
        return _decode(raw, strict, at)
    if strict:
        _decode(raw, strict, at)
    return msgspec.structs.replace(decode_long(raw[:LONGEST], raw[-END:], len(raw), at), raw=raw, unread=0)


def decode_long(head: bytes, end: bytes, length: int, at: Position | None = None) -> Line:
    """Decode a line of more than `LONGEST` bytes, of which these are the first `LONGEST` and the last `END`."""
    found = _decode(close_line(head, end), False, at)
    expected, told = f"at most {LONGEST} bytes", f"{length} bytes, of which only the first {LONGEST} are read"
    problems = (Problem(ProblemKind.TOO_LONG, expected, told, (), known_offset=LONGEST), *found.problems)
    raw = head + end
    return Line(raw, found.entry, found.dialect, problems, at, found.wire, length - len(raw))


def _decode(raw: bytes, strict: bool, at: Position | None) -> Line:
    try:
        # Assistant lines have their type behind the message. The union would skip the message to find it, and
        # then read it again; a look at the tail saves the first pass. A wrong guess is refused, and recovered.
        is_answer = raw.rfind(_ASSISTANT, -_TAIL) >= 0
        entry = (decoder(AssistantEntry) if is_answer else _any_decoder()).decode(raw)
        if type(entry) is _SystemHead:
            entry = (decoder(SystemNotice) if entry.subtype is UNSET else _subtype_decoder()).decode(raw)
            is_today = not _is_other(entry)
        else:
            is_today = (type(entry.timestamp) is str and entry.session_id is not UNSET) or not _is_other(entry)
        if is_today:
            return Line(raw, entry, _TODAY, (), at)
    except REFUSALS:
        pass  # what is wrong with it, `recover` finds out
    found = recover(raw)
    if strict:
        for problem in found.problems:
            if problem.kind not in _TOLERATED:
                raise problem.error()
    return Line(raw, found.entry, found.dialect, found.problems, at, found.wire)


def decode_envelope(line: bytes | str) -> Head:
    """Decode a line's type and envelope alone, in today's spelling: the cheapest look there is.

    What the line says is skipped, not checked, so a line can have a head here and problems in `decode`.
    """
    raw = line if type(line) is bytes else _as_bytes(line)
    try:
        found: Head = decoder(Head).decode(raw)
        return found
    except REFUSALS:
        entry = recover(raw).entry
        known = Head.__struct_fields__
        return Head(**{name: getattr(entry, name) for name in entry.__struct_fields__ if name in known})


def encode(value: Line | Value | Unknown) -> bytes:
    """Return the bytes of a line, or of any decoded value. An untouched line gives back its own.

    Raises `ChangeError` for a line of over 16 MB in a file: not all of its bytes are in memory.
    """
    if isinstance(value, Line) and value.unread:
        raise ChangeError(f"{value.unread} bytes of the line were not read")
    if isinstance(value, Line | UnknownEntry):
        return value.raw
    return encode_value(value)


def _as_bytes(line: object) -> bytes:
    if isinstance(line, str):
        return line.encode("utf-8", "surrogatepass")
    if isinstance(line, bytes | bytearray | memoryview):
        return bytes(line)
    raise TypeError(f"decode takes bytes or str, not {type(line).__name__}")


def _is_other(entry: Envelope) -> bool:
    """Tell whether a line that fits today's types may yet be of another dialect.

    Spec 004 gives times as numbers, and the stream names its session in snake_case alone. A system line that
    says nothing is no line of today.
    """
    if entry.second_session_id is not UNSET and entry.session_id is UNSET:
        return True
    if type(entry) is SystemNotice:
        return entry.content is UNSET
    return isinstance(entry, UserEntry | AssistantEntry) and isinstance(entry.timestamp, int | float)


def _replace(line: Line, changes: dict[str, Any]) -> Line:
    entry = line.entry
    among: type[Struct] = Envelope if isinstance(entry, UnknownEntry) else type(entry)
    for name in changes:
        if name not in among.__struct_fields__:
            raise ChangeError(f"{type(entry).__name__} has no field `{name}` that can be changed")
    if line.dialect is Dialect.UNKNOWN:
        raise ChangeError("a broken line cannot be changed")
    if any(problem.kind is ProblemKind.TOO_LONG for problem in line.problems):
        raise ChangeError("a line that is too long to be read whole cannot be changed")
    changed: Any = msgspec.structs.replace(entry, **changes)
    if isinstance(line.wire, LegacyLine):
        wire = line.wire
        raw = patch(line.raw, members_of(wire), members_of(wire.lower(changed)))
    else:
        raw = patch(line.raw, members_of(entry, among), members_of(changed, among))
    written = decode(raw)
    for name, value in changes.items():
        if not _says(getattr(written.entry, name, UNSET), value):
            raise ChangeError(f"`{name}` cannot be {value!r}")
    return written


def _says(read: Any, value: Any) -> bool:
    """Tell whether what is read back is what was to be written, if perhaps in a more precise type."""
    if read == value:
        return True
    if read is UNSET or value is UNSET:
        return False
    return bool(msgspec.json.decode(encode_value(read)) == msgspec.json.decode(encode_value(value)))
