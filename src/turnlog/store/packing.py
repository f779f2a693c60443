"""How values stand in cells: text that comes from data as bytes, rows packed, UUIDs short.

PostgreSQL's text has neither zero characters nor halves of characters, both of which occur in data; bytes have
everything, and they are in the order in which Python has the text.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from msgspec import msgpack

from turnlog.store.rows import LineFact

__all__ = [
    "Cells",
    "as_word",
    "pack_row",
    "pack_text",
    "pack_uuid",
    "unpack_line",
    "unpack_row",
    "unpack_text",
    "unpack_uuid",
]

Cells = tuple[Any, ...]
"""A row as an engine gives it."""
R = TypeVar("R", bound=msgspec.Struct)

_is_uuid = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_UUID_SIZE = 16
_OTHER = b"\xff"
"""Stands before text that is no UUID; no text has this byte."""
_ODD = 1
"""The extension type of text that is no UTF-8."""
_encode = msgpack.Encoder().encode
_decoders: dict[type, msgpack.Decoder[Any]] = {}


def pack_text(text: str | None) -> Any:
    """Return text as bytes, whatever characters it has; None stays None."""
    return None if text is None else text.encode("utf-8", "surrogatepass")


def unpack_text(value: bytes | None) -> Any:
    """Return what `pack_text` was given."""
    return None if value is None else value.decode("utf-8", "surrogatepass")


def as_word(name: str) -> str | None:
    """Return a name as it can be asked for; None for one that nothing has: with zeros or half characters."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return None
    return None if "\0" in name else name


def pack_uuid(text: str | None) -> bytes | None:
    """Return a UUID as 16 bytes if it is written as usual, any other text as bytes of another length."""
    if text is None:
        return None
    if _is_uuid(text) is not None:
        return bytes.fromhex(text.replace("-", ""))
    data = _OTHER + text.encode("utf-8", "surrogatepass")
    return data + _OTHER if len(data) == _UUID_SIZE else data


def unpack_uuid(value: bytes | None) -> Any:
    """Return what `pack_uuid` was given."""
    if value is None:
        return None
    if len(value) != _UUID_SIZE:
        return value.removeprefix(_OTHER).removesuffix(_OTHER).decode("utf-8", "surrogatepass")
    digits = value.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def pack_row(row: msgspec.Struct) -> bytes:
    """Return a row as bytes."""
    try:
        return _encode(row)
    except UnicodeEncodeError:  # as in names of files
        return _encode(_mark_odd(msgspec.to_builtins(row, builtin_types=(bytes,))))


def unpack_row(kind: type[R], data: bytes) -> R:
    """Return what `pack_row` was given; raises `msgspec.DecodeError` for bytes that are no such row."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgpack.Decoder(kind)
    try:
        row: R = decoder.decode(data)
    except msgspec.ValidationError:
        row = msgspec.convert(msgpack.decode(data, ext_hook=_read_odd), kind)
    return row


def unpack_line(cells: Cells) -> LineFact:
    """Return a line by its cells, text and UUIDs packed, in the order of `LineFact`."""
    (
        offset, length, number, dialect, type, uuid, parent, session_id, agent_id, message_id, time, sidechain,
        problems,
    ) = cells  # fmt: skip
    return LineFact(
        offset=offset, length=length, number=number, dialect=unpack_text(dialect), type=unpack_text(type),
        uuid=unpack_uuid(uuid), parent_uuid=unpack_uuid(parent), session_id=unpack_text(session_id),
        agent_id=unpack_text(agent_id), message_id=unpack_text(message_id), time=time, is_sidechain=sidechain,
        problems=problems,
    )  # fmt: skip


def _mark_odd(value: Any) -> Any:
    """Return a value with text that is no UTF-8 as an extension of its own."""
    match value:
        case str():
            data = value.encode("utf-8", "surrogatepass")
            return value if data.decode("utf-8", "ignore") == value else msgpack.Ext(_ODD, data)
        case list() | tuple():
            return [_mark_odd(each) for each in value]
        case dict():
            return {name: _mark_odd(each) for name, each in value.items()}
    return value


def _read_odd(code: int, data: memoryview) -> str:
    if code != _ODD:
        raise msgspec.DecodeError(f"Expected text, got an extension {code}")
    return bytes(data).decode("utf-8", "surrogatepass")
