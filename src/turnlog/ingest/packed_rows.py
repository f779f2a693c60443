"""Rows of a large session, packed and put aside: whoever goes through them has a few at a time in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

from msgspec import Struct, msgpack

from turnlog.ingest.spill import Kept, Spill, pack, unpack

__all__ = ["PackedRows", "gather"]

R = TypeVar("R", bound=Struct)

_AT_ONCE = 1000
"""A multiple of what a store writes at once."""
_encode = msgpack.Encoder().encode


class PackedRows(Sequence[R], Generic[R]):
    """Rows of one type, in order; equal to any sequence of the same ones."""

    def __init__(self, kind: type[R], spill: Spill, rows: Iterable[R] = ()) -> None:
        self._decode: Callable[[bytes], list[R]] = msgpack.Decoder(list[kind]).decode  # type: ignore[valid-type]
        self._spill = spill
        self._chunks: list[Kept | list[R]] = []
        self._held: list[R] = []
        self._opened: tuple[int, list[R]] = -1, []
        found = iter(rows)
        while some := list(islice(found, _AT_ONCE)):
            self.extend(some)

    def append(self, row: R) -> None:
        """Add a row."""
        self._held.append(row)
        if len(self._held) == _AT_ONCE:
            self._chunks.append(self._pack(self._held))
            self._held = []

    def extend(self, rows: Iterable[R]) -> None:
        """Add some rows."""
        for row in rows:
            self.append(row)

    def __len__(self) -> int:
        return len(self._chunks) * _AT_ONCE + len(self._held)

    def __iter__(self) -> Iterator[R]:
        for number in range(len(self._chunks)):
            yield from self._open(number)
        yield from self._held

    @overload
    def __getitem__(self, at: int) -> R: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[R, ...]: ...
    def __getitem__(self, at: int | slice) -> R | tuple[R, ...]:
        if isinstance(at, int):
            number, place = divmod(range(len(self))[at], _AT_ONCE)
            return self._open(number)[place]
        return tuple([self[each] for each in range(len(self))[at]])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PackedRows | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _open(self, number: int) -> list[R]:
        if number == len(self._chunks):
            return self._held
        if self._opened[0] != number:
            self._opened = number, self._unpack(self._chunks[number])
        return self._opened[1]

    def _pack(self, rows: list[R]) -> Kept | list[R]:
        try:
            data = _encode(rows)
        except UnicodeEncodeError:  # names of files that are not UTF-8
            return rows
        return self._spill.keep(pack(data))

    def _unpack(self, chunk: Kept | list[R]) -> list[R]:
        return chunk if isinstance(chunk, list) else self._decode(unpack(chunk.read()))


def gather(kind: type[R], rows: Iterable[R], spill: Spill | None) -> Any:
    """Return rows as a batch has them: packed if there is a place for that."""
    return tuple(rows) if spill is None else PackedRows(kind, spill, rows)
