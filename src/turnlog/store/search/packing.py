"""What is searched of a file's lines, packed to be handed to the writer: compressed, a megabyte at a time.

A text comes as its place, a few facts that filters ask for first, and its cells as the index takes them. A
longer text has a digest, by which one that is there already is told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

import zstandard
from msgspec import Struct, msgpack

from turnlog.store.search.cells import cut_cells
from turnlog.store.search.indexing import index_form

if TYPE_CHECKING:  # it knows all types of lines, which nobody who only opens a store wants to load
    from turnlog.transcripts.lines.passages import Passage

__all__ = ["KINDS", "TextFact", "TextPacker", "build_text", "unpack_texts"]

KINDS = (
    "prompt",
    "answer",
    "thinking",
    "tool-input",
    "tool-output",
    "summary",
    "notice",
    "title",
    "hook",
)
"""The kinds of passages by their numbers, which are kept and never change; new ones come last."""
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}

_CHUNK = 1 << 20
_WORTH = 256
"""From how many characters on a repeated text is kept once."""
_DIGEST = 12
"""Bytes; nobody finds two texts with the same 96 bits."""
_UTF8 = "utf-8"


class TextFact(Struct, frozen=True, gc=False, array_like=True):
    """One text of a line: a passage, as the index takes it."""

    number: int
    """Which line of its generation it is in."""
    ordinal: int
    """Which passage of the line it is."""
    block: int
    """Of which block of the line."""
    kind: int
    """Of `KINDS`."""
    is_error: bool
    time: int
    """Microseconds since 1970: of the line, else of the last line before it that has one; 0 if none has."""
    digest: bytes
    """Of the whole text; empty for a short one."""
    cells: tuple[str, ...]


class _Codecs(threading.local):
    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=1)
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()
_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(list[TextFact]).decode


def build_text(number: int, ordinal: int, passage: Passage, time: int | None) -> TextFact:
    """Return a passage as the index takes it."""
    body = _clean(index_form(passage.text))
    return TextFact(
        number,
        ordinal,
        passage.block,
        _NUMBERS[passage.kind],
        passage.is_error,
        time or 0,
        _digest(body) if len(body) >= _WORTH else b"",
        tuple(cut_cells(body)),
    )


def _clean(body: str) -> str:
    """Return a text without what no engine can keep."""
    if "\0" in body:
        body = body.replace("\0", " ")
    try:
        if not body.isascii():
            body.encode()
    except UnicodeEncodeError:
        body = body.encode(_UTF8, "replace").decode()
    return body


def _digest(body: str) -> bytes:
    """Return the digest of a text; a long one is not encoded at once."""
    digest = blake2b(digest_size=_DIGEST)
    for start in range(0, len(body), _CHUNK):
        digest.update(body[start : start + _CHUNK].encode())
    return digest.digest()


class TextPacker:
    """Gathers texts; memory holds one chunk of them that is not compressed."""

    def __init__(self, take: Callable[[bytes], object] | None = None) -> None:
        """Begin with nothing; `take` is given the chunks as they are full, if they are not to be kept here."""
        self._chunks: list[bytes] = []
        self._take = self._chunks.append if take is None else take
        self._held: list[TextFact] = []
        self._size = 0

    def add(self, text: TextFact) -> None:
        """Take a text."""
        self._held.append(text)
        self._size += sum(map(len, text.cells))
        if self._size >= _CHUNK:
            self._pack()

    def finish(self) -> tuple[bytes, ...]:
        """Return all chunks that are kept here."""
        if self._held:
            self._pack()
        return tuple(self._chunks)

    def _pack(self) -> None:
        packed = _codecs.compressor.compress(_encode(self._held))
        self._take(bytes(memoryview(packed)))  # a copy: the compressor's buffer is larger
        self._held, self._size = [], 0


def unpack_texts(chunks: Iterable[bytes]) -> Iterator[TextFact]:
    """Yield the texts of some chunks, in order."""
    for chunk in chunks:
        yield from _decode(_codecs.decompressor.decompress(chunk))
