"""Rows of one kind, written in stretches: only those that differ from what is there.

Rows of a chapter are derived anew when it changes, but few of them differ. A store keeps a digest of each
row, so it can tell which without reading them, and one of the digests of each stretch of rows, by which those
that are the same are passed by. Slight rows may have no digests of their own: those of a stretch that differs
are read and compared themselves. Whoever knows which rows are new names only those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct, msgpack

from turnlog.errors import StoreError
from turnlog.store.rows import DerivedRow

__all__ = ["STRETCH", "RowKind", "RowWriter", "Stretch", "digest_row"]

STRETCH = 200
"""How many rows there are in a stretch: their digests take a fifth of a page, and are replaced together."""
_SIZE = 8
"""Of a row's digest."""
_WHOLE_SIZE = 16
"""Of a stretch's digest."""
_encode = msgpack.Encoder().encode


class RowKind(Protocol):
    """A kind of rows."""

    @property
    def table(self) -> str:
        """What it is called."""


K = TypeVar("K", bound=RowKind)


class Stretch(Struct, frozen=True, gc=False):
    """What is there of a stretch of rows."""

    rows: int = 0
    whole: bytes = b""
    digests: bytes | None = None


_NOTHING = Stretch()


class RowWriter(ABC, Generic[K]):
    """Writes the rows of one chapter, or of the whole session; an engine says how they are read and written."""

    def write(self, kind: K, rows: Sequence[DerivedRow], size: int | None = None) -> bool:
        """Replace the rows of a kind that differ; return whether any did.

        These are all rows, or, if `size` says how many there are, those that are new or may differ.
        """
        return self._write_all(kind, rows) if size is None else self._write_some(kind, rows, size)

    @abstractmethod
    def _load(self, kind: K, first: int = 0) -> dict[int, Stretch]:
        """Return all stretches from one on."""

    @abstractmethod
    def _find(self, kind: K, number: int) -> Stretch | None:
        """Return one stretch."""

    @abstractmethod
    def _delete(self, kind: K, indexes: Sequence[int]) -> None:
        """Delete rows."""

    @abstractmethod
    def _insert(self, kind: K, rows: Iterable[DerivedRow]) -> None:
        """Add rows."""

    @abstractmethod
    def _note(self, kind: K, number: int, old: Stretch, new: Stretch) -> None:
        """Replace what is said of a stretch."""

    def _mark(self, kind: K, rows: Mapping[int, DerivedRow]) -> dict[int, Any]:
        """Return by what rows are compared."""
        return {at: digest_row(row) for at, row in rows.items()}

    def _join(self, kind: K, marks: Mapping[int, Any]) -> bytes | None:
        """Return what is kept of the marks of a stretch."""
        return b"".join(marks.values())

    def _list_marks(self, kind: K, number: int, stretch: Stretch | None) -> dict[int, Any]:
        """Return by what the rows are compared that are there."""
        if stretch is None or not stretch.rows or stretch.digests is None:
            return {}
        digests = stretch.digests
        return {at // _SIZE: digests[at : at + _SIZE] for at in range(0, len(digests), _SIZE)}

    def _write_all(self, kind: K, rows: Sequence[DerivedRow]) -> bool:
        stretches = self._load(kind)
        changed = False
        for number in sorted({*stretches, *range(-(-len(rows) // STRETCH))}):
            first = number * STRETCH
            new = dict(enumerate(rows[first : first + STRETCH]))
            changed = self._replace(kind, number, stretches.get(number), self._mark(kind, new), new) or changed
        return changed

    def _write_some(self, kind: K, rows: Sequence[DerivedRow], size: int) -> bool:
        named = {number: list(group) for number, group in groupby(rows, lambda row: row.index // STRETCH)}
        last = self._load(kind, size // STRETCH)  # where there may be too many
        changed = False
        for number in sorted({*named, *last}):
            old = last[number] if number in last else self._find(kind, number)
            new = {row.index % STRETCH: row for row in named.get(number, ())}
            room = range(min(size - number * STRETCH, STRETCH))
            marks = self._list_marks(kind, number, old) | self._mark(kind, new)
            if any(at not in marks for at in room):
                raise StoreError(f"Expected {size} rows without gaps ({kind.table}), some are missing")
            left = {at: marks[at] for at in room}
            changed = self._replace(kind, number, old, left, new) or changed
        return changed

    def _replace(
        self,
        kind: K,
        number: int,
        old: Stretch | None,
        marks: Mapping[int, Any],
        rows: Mapping[int, DerivedRow],
    ) -> bool:
        """Replace what differs in a stretch that is to have such marks; those of new ones are of `rows`."""
        whole = _digest([*marks.values()], _WHOLE_SIZE) if marks else b""
        old = old or _NOTHING
        if whole == old.whole:
            return False
        before = self._list_marks(kind, number, old)
        new = [at for at, mark in marks.items() if mark != before.get(at)] if before else [*marks]
        gone = [number * STRETCH + at for at, mark in before.items() if marks.get(at) != mark]
        self._delete(kind, gone)
        self._insert(kind, map(rows.__getitem__, new))
        self._note(kind, number, old, Stretch(len(marks), whole, self._join(kind, marks)))
        return bool(new or gone)


def digest_row(row: DerivedRow) -> bytes:
    """Return by what a row is compared with what is there."""
    return _digest(row, _SIZE)


def _digest(value: DerivedRow | Iterable[object], size: int) -> bytes:
    try:
        data = _encode(value)
    except UnicodeEncodeError:  # a name of a file that is not UTF-8
        data = repr(value).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=size).digest()
