"""Rows of one kind in SQLite's tables, written in stretches (`turnlog.store.stretches`).

Slight rows have no digests of their own: those of a stretch that differs are read and compared themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apsw

from turnlog.store import stretches
from turnlog.store.rows import DerivedRow
from turnlog.store.sqlite.kinds import Kind, PackContext
from turnlog.store.stretches import STRETCH, Stretch

__all__ = ["RowWriter"]


class RowWriter(stretches.RowWriter[Kind[Any]]):
    """Writes the rows of one chapter, or of the whole session."""

    def __init__(
        self, connection: apsw.Connection, session: int, source: int, revision: int, to: PackContext
    ) -> None:
        self._connection = connection
        self._place = session, source
        self._revision = revision
        self._to = to

    def _delete(self, kind: Kind[Any], indexes: Sequence[int]) -> None:
        self._connection.executemany(
            f"DELETE FROM {kind.table} WHERE session = ? AND source = ? AND idx = ?",
            ((*self._place, index) for index in indexes),
        )

    def _insert(self, kind: Kind[Any], rows: Iterable[DerivedRow]) -> None:
        revision = () if kind.is_slight else (self._revision,)
        pack, to = kind.pack, self._to
        self._connection.executemany(
            kind.insert, ((*self._place, row.index, *revision, *pack(row, to)) for row in rows)
        )

    def _note(self, kind: Kind[Any], number: int, old: Stretch, new: Stretch) -> None:
        place = *self._place, kind.number, number
        if old.rows:
            self._connection.execute(
                "DELETE FROM digests WHERE session = ? AND source = ? AND kind = ? AND chunk = ?", place
            )
        if new.rows:
            self._connection.execute(
                "INSERT INTO digests VALUES (?, ?, ?, ?, ?, ?, ?)", (*place, new.rows, new.whole, new.digests)
            )

    def _mark(self, kind: Kind[Any], rows: Mapping[int, DerivedRow]) -> dict[int, Any]:
        """Return digests, or slight rows themselves."""
        if kind.is_slight:
            return {at: kind.pack(row, self._to) for at, row in rows.items()}
        return super()._mark(kind, rows)

    def _join(self, kind: Kind[Any], marks: Mapping[int, Any]) -> bytes | None:
        return None if kind.is_slight else super()._join(kind, marks)

    def _list_marks(self, kind: Kind[Any], number: int, stretch: Stretch | None) -> dict[int, Any]:
        if stretch is None or not stretch.rows or stretch.digests is not None:
            return super()._list_marks(kind, number, stretch)
        query = f"""
        SELECT idx, {kind.columns} FROM {kind.table} WHERE session = ? AND source = ? AND idx >= ? AND idx < ?
        ORDER BY idx
        """
        first = number * STRETCH
        rows = self._connection.execute(query, (*self._place, first, first + STRETCH))
        return {index - first: tuple(cells) for index, *cells in rows}

    def _load(self, kind: Kind[Any], first: int = 0) -> dict[int, Stretch]:
        return self._select(kind, "chunk >= ?", first)

    def _find(self, kind: Kind[Any], number: int) -> Stretch | None:
        return self._select(kind, "chunk = ?", number).get(number)

    def _select(self, kind: Kind[Any], where: str, number: int) -> dict[int, Stretch]:
        query = f"""
        SELECT chunk, rows, whole, digests FROM digests
        WHERE session = ? AND source = ? AND kind = ? AND {where}
        """
        rows = self._connection.execute(query, (*self._place, kind.number, number))
        return {chunk: Stretch(*found) for chunk, *found in rows}
