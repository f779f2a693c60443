"""Lines that do not fit today's types: older dialects, newer versions, broken ones.

The dialect is told first; then its types are decoded tolerantly. A line that is no JSON object at all is an
`UnknownEntry` with a problem that says why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Raw, Struct

from turnlog.messages.base import Unknown, Value
from turnlog.messages.dialects import (
    AnyEntry,
    Dialect,
    detect,
    find_control_type,
    find_hook_type,
    find_stream_type,
)
from turnlog.messages.entries import (
    AssistantEntry,
    AttachmentEntry,
    MetadataEntry,
    ProgressEntry,
    UnknownEntry,
    UserEntry,
)
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import LegacyLine, find_line_type
from turnlog.messages.problems import Problem, ProblemKind
from turnlog.messages.salvage import (
    REFUSALS,
    Salvage,
    decoder,
    describe,
    is_failed,
    original_offset,
    repair_text,
    split_object,
    text_of,
)
from turnlog.messages.spans import list_values
from turnlog.messages.system import SystemNotice, SystemSubtype

__all__ = ["Recovered", "close_line", "recover"]

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:"]', re.DOTALL)
_TEXT = re.compile(rb'"[^"\\]*+(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*+)*+', re.DOTALL)
_HALF = re.compile(rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2}|[\xc0-\xff][\x80-\xbf]{0,2})\Z")
_SAYS = re.compile(rb'"(type|uuid|parentUuid|sessionId|timestamp)"\s*:\s*"[^"\\]*"')
"""What the end of a line may say about it. A quote inside of a text is escaped, so it is no part of any."""

_ENTRY_TYPES: Mapping[Any, type[Envelope]] = {
    cls.__struct_config__.tag: cls
    for cls in (
        UserEntry,
        AssistantEntry,
        AttachmentEntry,
        ProgressEntry,
        SystemNotice,
        *get_args(MetadataEntry),
    )
}
_SUBTYPES: Mapping[Any, type[Envelope]] = {cls.__struct_config__.tag: cls for cls in get_args(SystemSubtype)}
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
    rescue = Salvage(raw, problems)
    members = split_object(text)
    if members is None:
        problem = _explain(raw, text)
        return Recovered(UnknownEntry(raw=raw), Dialect.UNKNOWN, (*problems, problem))
    type_ = text_of(members.get("type"))
    dialect = detect(members, type_)
    cls, tag_field = _find_type(dialect, members, type_)
    value = _decode_as(rescue, text, members, cls, tag_field)
    if dialect is Dialect.SPEC_000 and any(map(_is_unreadable, rescue.problems)):
        value = None  # without what it says, nothing of it would be shown
    wire = value if isinstance(value, LegacyLine) else None
    if wire is not None:
        wire.inspect(rescue)
        value = wire.lift()
    entry = _unknown_entry(members, raw) if value is None else value
    return Recovered(entry, dialect, tuple(rescue.problems), wire)


def _find_type(
    dialect: Dialect, members: Mapping[str, Raw], type_: str | None
) -> tuple[type[Struct] | None, str]:
    """Return the class that reads a line, or None, and the key by which it was chosen."""
    match dialect:
        case Dialect.STREAM:
            return find_stream_type(members, type_)
        case Dialect.CONTROL:
            return find_control_type(members, type_)
        case Dialect.HOOK:
            return find_hook_type(members)
        case Dialect.CLAUDE_CODE if type_ == "system" and "subtype" in members:
            return _SUBTYPES.get(text_of(members["subtype"])), "subtype"
        case Dialect.CLAUDE_CODE:
            return _ENTRY_TYPES.get(type_), "type"
    return find_line_type(dialect, type_), "type"


def _decode_as(
    rescue: Salvage, text: bytes, members: Mapping[str, Raw], cls: type[Struct] | None, tag_field: str
) -> Any:
    if cls is None:
        tag = members.get(tag_field)
        name = None if tag is None else text_of(tag)
        found = "nothing" if tag is None else describe(bytes(tag)) if not name else f"`{name}`"
        unknown = None if tag is None else Unknown(bytes(tag))
        path = () if tag is None else (tag_field,)
        rescue.report(ProblemKind.UNKNOWN_TYPE, f"a known `{tag_field}`", found, path, unknown)
        return None
    try:
        return decoder(cls).decode(text)
    except REFUSALS:
        value = rescue.decode_struct(cls, members, ())
    return None if is_failed(value) else value


def _is_unreadable(problem: Problem) -> bool:
    return problem.kind is ProblemKind.WRONG_TYPE and problem.steps == ("message",)


def _unknown_entry(members: Mapping[str, Raw], raw: bytes) -> UnknownEntry:
    """Return an entry that knows the line's envelope, if nothing else."""
    known = {key: value for key, value in members.items() if key in _ENVELOPE_KEYS}
    envelope = Salvage(raw).decode_struct(Envelope, known, ())  # what is wrong with the line is told already
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
