"""What is searched of a file's lines, packed to be handed to the writer: compressed, a megabyte at a time.

A text comes as its place, a few facts that filters ask for first, and its cells as the index takes them. A
longer text has a digest, by which one that is there already is told. The cells of a very long one are in chunks
of their own before it, and are read from there when somebody goes through them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

import zstandard
from msgspec import Struct, msgpack
from msgspec.structs import replace

from turnlog.store.batch import Several
from turnlog.store.search.cells import cut_cells
from turnlog.store.search.indexing import index_form
from turnlog.store.search.long_texts import LongText, clean

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
_CELLS = 1 << 10
"""How many cells of a very long text are in one chunk."""
_WORTH = 256
"""From how many characters on a repeated text is kept once."""
_DIGEST = 12
"""Bytes; nobody finds two texts with the same 96 bits."""


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
    cells: Several[str]
    apart: tuple[int, int] = (0, 0)
    """If the cells are not here: how many chunks before this one they are in, and how many they are."""


class _Codecs(threading.local):
    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=1)
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()
_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder[Any](list[TextFact] | str).decode


def build_text(number: int, ordinal: int, passage: Passage, time: int | None) -> TextFact:
    """Return a passage as the index takes it."""
    body = clean(index_form(passage.text))
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

    def add_long(
        self, number: int, ordinal: int, passage: Passage, time: int | None, pieces: Iterable[str]
    ) -> None:
        """Take a very long text, which comes in pieces of any size; what its `passage` has is not looked at."""
        if self._held:
            self._pack()
        text = LongText(pieces, _DIGEST)
        cells = iter(text)
        chunks = count = 0
        while some := list(islice(cells, _CELLS)):
            self._put("\n".join(some))
            chunks, count = chunks + 1, count + len(some)
        fact = build_text(number, ordinal, replace(passage, text=""), time)
        digest = text.digest if text.length >= _WORTH else b""
        self.add(replace(fact, digest=digest, cells=(), apart=(chunks, count)))

    def finish(self) -> tuple[bytes, ...]:
        """Return all chunks that are kept here."""
        if self._held:
            self._pack()
        return tuple(self._chunks)

    def _pack(self) -> None:
        self._put(self._held)
        self._held, self._size = [], 0

    def _put(self, what: list[TextFact] | str) -> None:
        packed = _codecs.compressor.compress(_encode(what))
        self._take(bytes(memoryview(packed)))  # a copy: the compressor's buffer is larger


class _Apart(Sequence[str]):
    """Cells of a very long text: they are unpacked when somebody goes through them."""

    def __init__(self, chunks: Sequence[bytes], which: range, count: int) -> None:
        self._chunks = chunks
        self._which = which
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for number in range(len(self._which)):
            yield from self._open(number)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple([self[each] for each in range(self._count)[at]])
        number, place = divmod(range(self._count)[at], _CELLS)
        return self._open(number)[place]

    def _open(self, number: int) -> list[str]:
        found = _unpack(self._chunks[self._which[number]])
        return found.split("\n") if isinstance(found, str) else []


def unpack_texts(chunks: Iterable[bytes]) -> Iterator[TextFact]:
    """Yield the texts of some chunks, in order; a sequence of them may be read again later."""
    several = chunks if isinstance(chunks, Sequence) else tuple(chunks)
    for number, chunk in enumerate(several):
        found = _unpack(chunk)
        if isinstance(found, str):
            continue
        for text in found:
            before, count = text.apart
            if count:
                cells = _Apart(several, range(number - before, number), count)
                yield replace(text, cells=cells, apart=(0, 0))
            else:
                yield text


def _unpack(chunk: bytes) -> list[TextFact] | str:
    found: list[TextFact] | str = _decode(_codecs.decompressor.decompress(chunk))
    return found
