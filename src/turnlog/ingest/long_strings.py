"""The long strings of a line that is too long to be decoded whole: taken out of its bytes while they pass by.

What is left of the line is its skeleton: the same JSON, in which each long string is replaced by how it begins
and ends, with a mark between that nobody can guess. So types, rules and readers find what they would have
found, and whoever needs all of a text asks for the pieces that a mark stands for. Equal strings have equal
marks.

What is taken out is decoded piece by piece, as strictly as a decoder would: a line with anything odd in it is
refused here (`UnusualLineError`), and read in the ordinary way.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from hashlib import blake2b

import msgspec
from msgspec import Struct

from turnlog.ingest.spill import KeptItems, Spill, pack, unpack
from turnlog.messages.salvage import REFUSALS

__all__ = ["LongString", "StringTaker", "UnusualLineError", "expand", "find_string", "measure"]

_LONG = 8 << 10
"""From how many bytes on a string is taken out."""
_VAST = 1 << 20
_BEGINNING, _LONGER_BEGINNING, _END = 256, 5000, 256
"""How many characters stay; of a very long one as many as any title is made of."""
_MOST_BLANKS = 64 << 10
_TOKEN = secrets.token_hex(12)
_MARK = re.compile(rf"~?{_TOKEN}([0-9a-f]{{32}})~?")
_BASE64 = re.compile(r"[A-Za-z0-9+/_=\r\n-]+").fullmatch
_PLAIN = re.compile(rb'(?:[^"]++|"[^"\\]{0,512}+(?:\\.[^"\\]{0,512}+){0,12}+")*+', re.DOTALL)
"""What stands between long strings, and short ones."""
_UNITS = re.compile(
    rb'(?:[^"\\]++|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}'
    rb'|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\["\\/bfnrt])*+'
)
"""What a string consists of: characters and whole escapes."""
_LONGEST_UNIT = 12
_QUOTE, _BACKSLASH = b'"', b"\\"
_decode = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


class UnusualLineError(Exception):
    """A line is not what the quick way expects."""


class LongString(Struct, frozen=True):
    """A string that was taken out."""

    beginning: str
    end: str
    pieces: KeptItems[str]
    """All of it."""
    length: int
    quoted: bytes
    """What stands in its place, as JSON."""

    def list_middle(self) -> Iterator[str]:
        """Yield what is between its beginning and its end, in pieces."""
        skipped, left = len(self.beginning), self.length - len(self.beginning) - len(self.end)
        for piece in self.pieces:
            if skipped >= len(piece):
                skipped -= len(piece)
                continue
            some = piece[skipped : skipped + left]
            skipped, left = 0, left - len(some)
            if some:
                yield some

    def read(self) -> str:
        """Return all of it."""
        return "".join(self.pieces)


def find_string(text: str, strings: dict[str, LongString]) -> LongString | None:
    """Return the string that a text stands for; None if it is nothing but itself."""
    found = _MARK.search(text) if _TOKEN in text else None
    return None if found is None else strings.get(found[1])


def expand(text: str, strings: dict[str, LongString]) -> Iterator[str]:
    """Yield a text with what its marks stand for in their places, in pieces."""
    done = 0
    for mark in _MARK.finditer(text):
        yield text[done : mark.start()]
        yield from strings[mark[1]].list_middle()
        done = mark.end()
    yield text[done:]


def measure(text: str, strings: dict[str, LongString]) -> int:
    """Return how long a text is with what its marks stand for."""
    size = len(text)
    if _TOKEN in text:
        for mark in _MARK.finditer(text):
            string = strings[mark[1]]
            size += string.length - len(string.beginning) - len(string.end) - len(mark[0])
    return size


class StringTaker:
    """Takes long strings out of a line, which comes in pieces of any size."""

    def __init__(self, spill: Spill) -> None:
        self.strings: dict[str, LongString] = {}
        """What was taken out, by what is in their marks."""
        self._spill = spill
        self._skeleton = bytearray()
        self._held = b""
        self._open: _OpenString | None = None

    def add(self, piece: bytes) -> None:
        """Take the next bytes; raises `UnusualLineError` if they are not for this way."""
        data, at = self._held + piece, 0
        self._held = b""
        while at < len(data):
            if self._open is None:
                found = _PLAIN.match(data, at)
                end = at if found is None else found.end()
                self._skeleton += data[at:end]
                at = end + 1
                if end < len(data):
                    self._open = _OpenString(self._spill)
                continue
            found = _UNITS.match(data, at)
            end = at if found is None else found.end()
            if data[end : end + 1] == _QUOTE:
                self._close(self._open, data[at:end])
                at = end + 1
                continue
            if len(data) - end >= _LONGEST_UNIT:
                raise UnusualLineError
            end = _find_character(data, at, end)
            self._open.add(data[at:end])
            self._held = data[end:]
            return

    def finish(self) -> bytes:
        """Return the skeleton, when all bytes are there."""
        if self._open is not None:
            raise UnusualLineError
        found = bytes(self._skeleton)
        self._skeleton = bytearray()
        return found

    def _close(self, string: _OpenString, rest: bytes) -> None:
        self._open = None
        string.add(rest)
        found = string.finish()
        if isinstance(found, bytes):
            self._skeleton += b'"%b"' % found
        else:
            digest, taken = found
            self.strings.setdefault(digest, taken)
            self._skeleton += taken.quoted


def _find_character(data: bytes, start: int, end: int) -> int:
    """Return the last place up to `end` at which a character begins or all of them are whole."""
    at = end
    while at > start and at > end - 4:
        at -= 1
        first = data[at]
        if first < 0x80:
            return end
        if first >= 0xC0:
            return at  # it may not be whole
    return end


class _OpenString:
    """A string of which not all bytes are there yet."""

    def __init__(self, spill: Spill) -> None:
        self._short: bytearray | None = bytearray()
        self._pieces: KeptItems[str] = KeptItems(spill, lambda _, data: unpack(data).decode())
        self._digest = blake2b(digest_size=16)
        self._length = 0
        self._beginning = self._end = ""
        self._is_base64 = True

    def add(self, data: bytes) -> None:
        if self._short is not None:
            self._short += data
            if len(self._short) < _LONG:
                return
            data, self._short = bytes(self._short), None
        if data:
            self._take(data)

    def _take(self, data: bytes) -> None:
        try:
            text = _decode(b'"%b"' % data)
        except REFUSALS:
            raise UnusualLineError from None
        written = text.encode()
        self._digest.update(written)
        self._pieces.append(pack(written))
        self._length += len(text)
        self._is_base64 = self._is_base64 and _BASE64(text) is not None
        if len(self._beginning.lstrip()) < _LONGER_BEGINNING:
            self._beginning += text[: _LONGER_BEGINNING + _MOST_BLANKS]
        self._end = (self._end + text[-_END:])[-_END:]

    def finish(self) -> bytes | tuple[str, LongString]:
        """Return a short string as it stands, or a long one with its digest."""
        if self._short is not None:
            return bytes(self._short)
        blanks = len(self._beginning) - len(self._beginning.lstrip())
        if blanks > _MOST_BLANKS or blanks == len(self._beginning) or not self._end.strip():
            raise UnusualLineError
        size = _LONGER_BEGINNING if self._length > _VAST else _BEGINNING
        beginning = self._beginning[: blanks + size]
        end = self._end[-min(len(self._end), self._length - len(beginning)) :]
        if len(beginning) + len(end) >= self._length:
            raise UnusualLineError
        digest = self._digest.hexdigest()
        sign = "" if self._is_base64 else "~"
        quoted = _encode(f"{beginning}{sign}{_TOKEN}{digest}{sign}{end}")
        return digest, LongString(beginning, end, self._pieces, self._length, quoted)
