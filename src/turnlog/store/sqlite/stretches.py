"""Rows of one kind, written in stretches: only those that differ from what is there.

Rows of a chapter are derived anew when it changes, but few of them differ. The store keeps a digest of each
row, so it can tell which without reading them, and one of the digests of each stretch of rows, by which those
that are the same are passed by. Slight rows have no digests of their own: those of a stretch that differs are
read and compared themselves. Whoever knows which rows are new names only those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby
from typing import Any, TypeVar

import apsw
from msgspec import Struct, msgpack

from turnlog.errors import StoreError
from turnlog.store.rows import DerivedRow
from turnlog.store.sqlite.kinds import Kind, PackContext

__all__ = ["RowWriter"]

R = TypeVar("R", bound=DerivedRow)

_SIZE = 8
"""Of a row's digest."""
_WHOLE_SIZE = 16
"""Of a stretch's digest."""
_STRETCH = 200
"""How many rows there are in a stretch: their digests take a fifth of a page, and are replaced together."""
_encode = msgpack.Encoder().encode


class _Stretch(Struct, frozen=True, gc=False):
    """What is there of a stretch of rows."""

    rows: int = 0
    whole: bytes = b""
    digests: bytes | None = None


_NOTHING = _Stretch()


class RowWriter:
    """Writes the rows of one chapter, or of the whole session."""

    def __init__(
        self, connection: apsw.Connection, session: int, source: int, revision: int, to: PackContext
    ) -> None:
        self._connection = connection
        self._place = session, source
        self._revision = revision
        self._to = to

    def write(self, kind: Kind[R], rows: Sequence[R], size: int | None = None) -> bool:
        """Replace the rows of a kind that differ; return whether any did.

        These are all rows, or, if `size` says how many there are, those that are new or may differ.
        """
        return self._write_all(kind, rows) if size is None else self._write_some(kind, rows, size)

    def _write_all(self, kind: Kind[R], rows: Sequence[R]) -> bool:
        stretches = self._load(kind)
        changed = False
        for number in sorted({*stretches, *range(-(-len(rows) // _STRETCH))}):
            first = number * _STRETCH
            new = dict(enumerate(rows[first : first + _STRETCH]))
            changed = self._replace(kind, number, stretches.get(number), self._mark(kind, new), new) or changed
        return changed

    def _write_some(self, kind: Kind[R], rows: Sequence[R], size: int) -> bool:
        named = {number: list(group) for number, group in groupby(rows, lambda row: row.index // _STRETCH)}
        last = self._load(kind, size // _STRETCH)  # where there may be too many
        changed = False
        for number in sorted({*named, *last}):
            old = last[number] if number in last else self._find(kind, number)
            new = {row.index % _STRETCH: row for row in named.get(number, ())}
            room = range(min(size - number * _STRETCH, _STRETCH))
            marks = self._list_marks(kind, number, old) | self._mark(kind, new)
            if any(at not in marks for at in room):
                raise StoreError(f"Expected {size} rows without gaps ({kind.table}), some are missing")
            left = {at: marks[at] for at in room}
            changed = self._replace(kind, number, old, left, new) or changed
        return changed

    def _replace(
        self, kind: Kind[R], number: int, old: _Stretch | None, marks: Mapping[int, Any], rows: Mapping[int, R]
    ) -> bool:
        """Replace what differs in a stretch that is to have such marks; those of new ones are of `rows`."""
        whole = _digest([*marks.values()], _WHOLE_SIZE) if marks else b""
        old = old or _NOTHING
        if whole == old.whole:
            return False
        before = self._list_marks(kind, number, old)
        new = [at for at, mark in marks.items() if mark != before.get(at)] if before else [*marks]
        gone = [at for at, mark in before.items() if marks.get(at) != mark]
        first = number * _STRETCH
        self._connection.executemany(
            f"DELETE FROM {kind.table} WHERE session = ? AND source = ? AND idx = ?",
            ((*self._place, first + at) for at in gone),
        )
        revision = () if kind.is_slight else (self._revision,)
        pack, to = kind.pack, self._to
        self._connection.executemany(
            kind.insert,
            ((*self._place, row.index, *revision, *pack(row, to)) for row in map(rows.__getitem__, new)),
        )
        self._note(kind, number, old, _Stretch(len(marks), whole, _join(kind, marks)))
        return bool(new or gone)

    def _note(self, kind: Kind[R], number: int, old: _Stretch, new: _Stretch) -> None:
        place = *self._place, kind.number, number
        if old.rows:
            self._connection.execute(
                "DELETE FROM digests WHERE session = ? AND source = ? AND kind = ? AND chunk = ?", place
            )
        if new.rows:
            self._connection.execute(
                "INSERT INTO digests VALUES (?, ?, ?, ?, ?, ?, ?)", (*place, new.rows, new.whole, new.digests)
            )

    def _mark(self, kind: Kind[R], rows: Mapping[int, R]) -> dict[int, Any]:
        """Return by what rows are compared: digests, or slight rows themselves."""
        if kind.is_slight:
            return {at: kind.pack(row, self._to) for at, row in rows.items()}
        return {at: _digest(row, _SIZE) for at, row in rows.items()}

    def _list_marks(self, kind: Kind[R], number: int, stretch: _Stretch | None) -> dict[int, Any]:
        """Return the same of the rows that are there."""
        if stretch is None or not stretch.rows:
            return {}
        if stretch.digests is not None:
            digests = stretch.digests
            return {at // _SIZE: digests[at : at + _SIZE] for at in range(0, len(digests), _SIZE)}
        query = f"""
        SELECT idx, {kind.columns} FROM {kind.table} WHERE session = ? AND source = ? AND idx >= ? AND idx < ?
        ORDER BY idx
        """
        first = number * _STRETCH
        rows = self._connection.execute(query, (*self._place, first, first + _STRETCH))
        return {index - first: tuple(cells) for index, *cells in rows}

    def _load(self, kind: Kind[R], first: int = 0) -> dict[int, _Stretch]:
        """Return all stretches from one on."""
        return self._select(kind, "chunk >= ?", first)

    def _find(self, kind: Kind[R], number: int) -> _Stretch | None:
        return self._select(kind, "chunk = ?", number).get(number)

    def _select(self, kind: Kind[R], where: str, number: int) -> dict[int, _Stretch]:
        query = f"""
        SELECT chunk, rows, whole, digests FROM digests
        WHERE session = ? AND source = ? AND kind = ? AND {where}
        """
        rows = self._connection.execute(query, (*self._place, kind.number, number))
        return {chunk: _Stretch(*found) for chunk, *found in rows}


def _join(kind: Kind[R], marks: Mapping[int, Any]) -> bytes | None:
    return None if kind.is_slight else b"".join(marks.values())


def _digest(value: DerivedRow | Iterable[object], size: int) -> bytes:
    try:
        data = _encode(value)
    except UnicodeEncodeError:  # a name of a file that is not UTF-8
        data = repr(value).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=size).digest()
