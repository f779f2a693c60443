"""The bytes of a file in SQLite's tables (`turnlog.store.tails`)."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from turnlog.store import tails
from turnlog.store.batch import Frame

__all__ = ["TailWriter"]


class TailWriter(tails.TailWriter):
    """Writes the bytes of one generation behind those that it has."""

    def __init__(self, connection: apsw.Connection, generation: int, sealed: int) -> None:
        super().__init__(sealed)
        self._connection = connection
        self._generation = generation

    def _measure_tail(self) -> Iterable[tuple[int, int]]:
        query = "SELECT start, length FROM tail_frames WHERE generation = ? ORDER BY start DESC"
        return self._connection.execute(query, (self._generation,))

    def _take_tail(self, start: int) -> list[Frame]:
        where = "FROM tail_frames WHERE generation = ? AND start >= ?"
        query = f"SELECT start, length, data, digest {where} ORDER BY start"
        frames = [Frame(*row) for row in self._connection.execute(query, (self._generation, start))]
        self._connection.execute(f"DELETE {where}", (self._generation, start))
        return frames

    def _insert(self, table: str, frames: Iterable[Frame]) -> None:
        self._connection.executemany(
            f"INSERT INTO {table} (generation, start, length, digest, data) VALUES (?, ?, ?, ?, ?)",
            ((self._generation, frame.start, frame.length, frame.digest, frame.data) for frame in frames),
        )
