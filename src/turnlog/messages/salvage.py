r"""Tolerant decoding: what to make of a value that the strict decoder refused.

The strict decoder gives up on a whole line for one unknown field. `TolerantDecoder` walks the declared types
beside the bytes, decodes strictly whatever it can, and keeps the rest visible: an unknown tag becomes an
`Unknown…`, an unknown field or a wrong type becomes a `Problem` (and the field reads as absent), and their
neighbours stay typed. The types themselves say what is possible; nothing here knows of any particular message.

Decoders also refuse text that JSON forbids but real files hold: lone surrogates (`\ud83d` without its other
half, as cut-off emoji leave them), bytes that are not UTF-8, and a byte-order mark. The line's bytes are kept
as they are; what is decoded has U+FFFD there (`repair_text`).

A `Problem` never stops a reader. It says what was expected, what was found and where: a path into the line,
and the byte offset of the offending value. The offset costs a scan of the line, so it is found when asked for.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import Meta, Raw, Struct, UnsetType
from msgspec.structs import FieldInfo

from turnlog.errors import DecodeError, MalformedError, UnknownTypeError
from turnlog.messages.base import REFUSALS, OpenEnum, TypeEnum, Unknown, UnknownField, UnknownTagged
from turnlog.messages.spans import Path, find_span, list_items, list_members, render_path

__all__ = [
    "Problem", "ProblemKind", "REFUSALS", "TolerantDecoder", "View", "decoder", "describe", "is_failed",
    "original_offset", "repair_text", "split_object", "text_of", "view",
]  # fmt: skip


class ProblemKind(StrEnum):
    """What sort of thing is wrong."""

    MALFORMED = "malformed"
    """Not JSON, or not UTF-8."""
    GLUED = "glued"
    """More than one JSON value on the line."""
    BAD_TEXT = "bad-text"
    """A lone surrogate or bytes that are not UTF-8 inside a string; U+FFFD stands for them."""
    UNKNOWN_TYPE = "unknown-type"
    """An entry, subtype, block, attachment or progress of an undeclared type."""
    UNKNOWN_FIELD = "unknown-field"
    UNKNOWN_VALUE = "unknown-value"
    """A string that its enum does not list."""
    WRONG_TYPE = "wrong-type"
    """A known field holds a value of another JSON type; the field reads as absent."""
    MISSING_FIELD = "missing-field"
    TOO_LONG = "too-long"
    """A line of over 16 MB: what it says is read from its first 16 MB."""


_ERRORS: dict[ProblemKind, type[DecodeError]] = {
    ProblemKind.MALFORMED: MalformedError,
    ProblemKind.GLUED: MalformedError,
    ProblemKind.BAD_TEXT: MalformedError,
    ProblemKind.UNKNOWN_TYPE: UnknownTypeError,
}


class Problem(Struct, frozen=True, gc=False):
    """One thing that is wrong or unknown in a line."""

    kind: ProblemKind
    expected: str
    found: str
    steps: Path
    """Keys and indexes from the line's root to the value."""
    unknown: Unknown | None = None
    """The unknown thing itself, where there is one."""
    source: bytes = b""
    """The bytes that `steps` and `offset` speak of."""
    known_offset: int | None = None

    @property
    def path(self) -> str:
        """The place as a JSON path, such as `$.message.content[0]`."""
        return render_path(self.steps)

    @property
    def offset(self) -> int | None:
        """The byte offset of the value in its line, or None when it is not there."""
        if self.known_offset is not None:
            return self.known_offset
        span = find_span(self.source, self.steps)
        return None if span is None else span.start

    def error(self) -> DecodeError:
        """Return the exception that `strict=True` raises for this problem."""
        cls = _ERRORS.get(self.kind, DecodeError)
        return cls(self.expected, self.found, self.path, self.offset)

    def __str__(self) -> str:
        return str(self.error())


T = TypeVar("T")

_SCALARS: dict[type, str] = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}
_FOUND = {b'"': "a string", b"{": "an object", b"[": "an array", b"t": "true", b"f": "false", b"n": "null"}
_SHOWN = 60


class _Failed:
    """The mark of a value that nothing could be made of."""


_FAILED = _Failed()


def is_failed(value: object) -> bool:
    """Tell whether `TolerantDecoder` could make nothing of a value."""
    return value is _FAILED


class View(Struct, Generic[T], frozen=True, gc=False):
    """A value decoded on demand: typed as far as possible, with its bytes and what was wrong."""

    value: T | Unknown
    raw: bytes
    problems: tuple[Problem, ...] = ()


def view(type_: Any, raw: bytes | Raw) -> View[Any]:
    """Decode `raw` as `type_` and never raise; the value is an `Unknown` if nothing can be made of it."""
    data = bytes(raw)
    try:
        return View(decoder(type_).decode(data), data)
    except REFUSALS:
        text, problems = repair_text(data)
        tolerant = TolerantDecoder(data, problems)
        value = tolerant.decode(type_, text, ())
        return View(Unknown(data) if value is _FAILED else value, data, tuple(tolerant.problems))


@cache
def decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    """Return the strict decoder of a type; there is one for each."""
    return msgspec.json.Decoder(type_)


class TolerantDecoder:
    """One tolerant pass over the bytes of one line; collects the problems it meets."""

    def __init__(self, source: bytes, problems: Iterable[Problem] = ()) -> None:
        self.source = source
        self.problems: list[Problem] = list(problems)

    def report(
        self, kind: ProblemKind, expected: str, found: str, path: Path, unknown: Unknown | None = None
    ) -> None:
        """Note a problem at `path`."""
        self.problems.append(Problem(kind, expected, found, path, unknown, self.source))

    def decode(self, type_: Any, raw: bytes, path: Path) -> Any:
        """Decode `raw` as `type_`: strictly if possible, else piece by piece."""
        try:
            return decoder(type_).decode(raw)
        except REFUSALS:
            return self._piecewise(_shape(type_), raw, path)

    def decode_struct(self, cls: type[Struct], members: Mapping[str, Raw], path: Path) -> Any:
        """Decode an object's members as the fields of `cls`."""
        declared = _declared(cls)
        known = {key: raw for key, raw in members.items() if key in declared}
        for key in [key for key in members if key not in declared]:
            unknown = UnknownField(bytes(members[key]), key)
            self.report(
                ProblemKind.UNKNOWN_FIELD, f"a field of {cls.__name__}", f"`{key}`", (*path, key), unknown
            )
        # New versions bring new fields before they bring anything else: without those, all may be well.
        if len(known) < len(members):
            try:
                return decoder(cls).decode(msgspec.json.encode(known))
            except REFUSALS:
                pass
        return self._decode_fields(cls, known, path)

    def _decode_fields(self, cls: type[Struct], members: Mapping[str, Raw], path: Path) -> Any:
        fields = _fields(cls)
        values = {
            fields[key].name: self.decode(fields[key].type, bytes(raw), (*path, key))
            for key, raw in members.items()
            if key in fields
        }
        complete = True
        for info in fields.values():
            if info.required and info.encode_name not in members:
                self.report(ProblemKind.MISSING_FIELD, f"field `{info.encode_name}`", "nothing", path)
                complete = False
            elif info.required and values[info.name] is _FAILED:
                complete = False
        kept = {name: value for name, value in values.items() if value is not _FAILED}
        return cls(**kept) if complete else _FAILED

    def _piecewise(self, shape: _Shape, raw: bytes, path: Path) -> Any:
        value = self._by_form(shape, raw, path)
        if value is _FAILED and shape.unknown is not None:
            return shape.unknown(raw, _tag_of(shape, raw))
        return value

    def _by_form(self, shape: _Shape, raw: bytes, path: Path) -> Any:
        if shape.raw:
            return Raw(raw)
        first = raw.lstrip(b" \t\n\r")[:1]
        if first == b"{" and (shape.structs or shape.map_value is not None):
            return self._object(shape, raw, path)
        if first == b"[" and shape.item is not None:
            return self._array(shape, raw, path)
        if first == b'"' and shape.enum is not None:
            return self._enum(shape, shape.enum, raw, path)
        return self._wrong(shape, raw, path)

    def _object(self, shape: _Shape, raw: bytes, path: Path) -> Any:
        members = split_object(raw)
        if members is None:
            return self._wrong(shape, raw, path)
        if shape.map_value is not None:
            return self._map(shape.map_value, members, path)
        if shape.tag_field is None:
            return self.decode_struct(shape.structs[None], members, path)
        tag = text_of(members.get(shape.tag_field))
        cls = shape.structs.get(tag)
        if cls is not None:
            return self.decode_struct(cls, members, path)
        unknown = None if shape.unknown is None else shape.unknown(raw, tag)
        found = "nothing" if tag is None else f"`{tag}`"
        self.report(ProblemKind.UNKNOWN_TYPE, f"a known `{shape.tag_field}`", found, path, unknown)
        return _FAILED

    def _map(self, value_type: Any, members: Mapping[str, Raw], path: Path) -> Any:
        values = {key: self.decode(value_type, bytes(raw), (*path, key)) for key, raw in members.items()}
        return {key: value for key, value in values.items() if value is not _FAILED}

    def _array(self, shape: _Shape, raw: bytes, path: Path) -> Any:
        items = _split_array(raw)
        if items is None:
            return self._wrong(shape, raw, path)
        values = [self.decode(shape.item, bytes(item), (*path, i)) for i, item in enumerate(items)]
        return _FAILED if any(value is _FAILED for value in values) else tuple(values)

    def _enum(self, shape: _Shape, cls: type[OpenEnum], raw: bytes, path: Path) -> Any:
        value = text_of(raw)
        if value is None:
            return self._wrong(shape, raw, path)
        kind = ProblemKind.UNKNOWN_TYPE if issubclass(cls, TypeEnum) else ProblemKind.UNKNOWN_VALUE
        name = next((step for step in reversed(path) if isinstance(step, str)), "value")
        self.report(kind, f"a known `{name}`", f"`{value}`", path, Unknown(raw))
        return cls.of(value)

    def _wrong(self, shape: _Shape, raw: bytes, path: Path) -> _Failed:
        self.report(ProblemKind.WRONG_TYPE, shape.expected, describe(raw), path, Unknown(raw))
        return _FAILED


def describe(raw: bytes) -> str:
    """Say in a few words what JSON value this is."""
    text = raw.strip(b" \t\n\r")
    if not text:
        return "nothing"
    if text == b'""':
        return "an empty string"
    form = _FOUND.get(text[:1])
    if form is None:
        shown = text[:_SHOWN].decode("utf-8", "replace")
        return f"`{shown}`" if len(text) <= _SHOWN else f"`{shown}…`"
    return form


def split_object(raw: bytes | Raw) -> dict[str, Raw] | None:
    """Return an object's members undecoded; None if it is no object. Any depth will do."""
    try:
        return cast("dict[str, Raw]", decoder(dict[str, Raw]).decode(raw))
    except RecursionError:
        data = bytes(raw)
        return {member.key: Raw(data[slice(*member.value)]) for member in list_members(data)} or None
    except REFUSALS:
        return None


def _split_array(raw: bytes) -> list[Raw] | None:
    try:
        return cast("list[Raw]", decoder(list[Raw]).decode(raw))
    except RecursionError:
        return [Raw(raw[slice(*span)]) for span in list_items(raw)] or None
    except REFUSALS:
        return None


def text_of(raw: bytes | Raw | None) -> str | None:
    """Return a JSON string's text; None if it is none."""
    if raw is None:
        return None
    try:
        return cast("str", decoder(str).decode(raw))
    except REFUSALS:
        return None


def _tag_of(shape: _Shape, raw: bytes) -> str | None:
    members = split_object(raw) if shape.tag_field else None
    return text_of(members.get(shape.tag_field or "")) if members else None


@cache
def _declared(cls: type[Struct]) -> frozenset[str]:
    """Return the keys that an object of this class may have."""
    tag_field = cls.__struct_config__.tag_field
    return frozenset(cls.__struct_encode_fields__) | ({tag_field} if tag_field else set())


@cache
def _fields(cls: type[Struct]) -> dict[str, FieldInfo]:
    return {info.encode_name: info for info in msgspec.structs.fields(cls)}


class _Shape(Struct):
    """What a type annotation allows, by the form of the JSON value."""

    expected: str = ""
    structs: dict[Any, type[Struct]] = {}
    tag_field: str | None = None
    item: Any = None
    map_value: Any = None
    enum: type[OpenEnum] | None = None
    raw: bool = False
    unknown: type[UnknownTagged] | None = None


@cache
def _shape(annotation: Any) -> _Shape:
    shape = _Shape(structs={})
    names: list[str] = []
    for member in _flatten(annotation, shape):
        names.append(_admit(shape, member))
    shape.expected = " or ".join(dict.fromkeys(name for name in names if name))
    return shape


def _flatten(annotation: Any, shape: _Shape) -> Iterable[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *notes = get_args(annotation)
        for note in notes:
            if isinstance(note, Meta) and note.extra:
                shape.unknown = note.extra["unknown"]
        yield from _flatten(inner, shape)
    elif origin in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _flatten(member, shape)
    elif annotation is not UnsetType:
        yield annotation


def _admit(shape: _Shape, member: Any) -> str:
    """Enter one member of a union into its shape, and return what to call it."""
    origin = get_origin(member)
    if origin is tuple or origin is list:
        shape.item = get_args(member)[0]
        return "an array"
    if origin is dict:
        shape.map_value = get_args(member)[1]
        return "an object"
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in get_args(member))
    if member is Raw:
        shape.raw = True
        return "any value"
    if member is types.NoneType:
        return "null"
    if issubclass(member, OpenEnum):
        shape.enum = member
        return "a string"
    if issubclass(member, Struct):
        config = member.__struct_config__
        shape.structs[config.tag] = member
        shape.tag_field = config.tag_field
        return f"an object ({member.__name__})" if config.tag is None else "an object"
    return _SCALARS[member]


_BOM = b"\xef\xbb\xbf"
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_ESCAPE = re.compile(
    rb"(\\\\)"  # an escaped backslash: what follows it is no escape
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a whole pair
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half of one
)


def repair_text(data: bytes) -> tuple[bytes, list[Problem]]:
    """Return `data` with U+FFFD for each piece that is no text, and the problems."""
    problems: list[Problem] = []
    text = data
    if text.startswith(_BOM):
        problems.append(_problem("an object", "a byte-order mark", 0))
        text = text[len(_BOM) :]
    if not text.isascii():
        text = _repair_bytes(data, text, problems)
    if b"\\u" in text:
        text = _repair_escapes(data, text, problems)
    return text, problems


def original_offset(data: bytes, text: bytes, offset: int) -> int:
    """Return where in `data` the byte stands that is at `offset` of its repaired text."""
    if data == text:
        return offset
    cut = len(_BOM) if data.startswith(_BOM) and not text.startswith(_BOM) else 0
    characters = len(text[:offset].decode("utf-8", "replace"))
    original = data[cut:].decode("utf-8", "surrogateescape")
    return cut + len(original[:characters].encode("utf-8", "surrogateescape"))


def _repair_bytes(data: bytes, text: bytes, problems: list[Problem]) -> bytes:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        offset = len(data) - len(text) + error.start
        problems.append(_problem("UTF-8", f"byte 0x{data[offset]:02x}", offset))
        # One character for each byte that is no UTF-8, so that offsets can be found again.
        return _NOT_UTF8.sub("\ufffd", text.decode("utf-8", "surrogateescape")).encode()
    return text


def _repair_escapes(data: bytes, text: bytes, problems: list[Problem]) -> bytes:
    def mend(match: re.Match[bytes]) -> bytes:
        half = match[2]
        if half is None:
            return match[0]
        offset = original_offset(data, text, match.start())
        problems.append(_problem("text", f"a lone surrogate `{half.decode()}`", offset))
        return rb"\ufffd"

    return _ESCAPE.sub(mend, text)


def _problem(expected: str, found: str, offset: int) -> Problem:
    return Problem(ProblemKind.BAD_TEXT, expected, found, (), known_offset=offset)
