"""What is staged by one write, put together: all sessions share the inserts.

Rows are held until there are many, so that what is refused in the end has mostly left nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from turnlog.store.clickhouse.tables import Table
from turnlog.store.clickhouse.transaction import Write

__all__ = ["Staging"]

_MOST = 20_000
"""How many rows are held."""


class Staging:
    """Rows for staged tables; the number of the write is put into them when they are sent."""

    def __init__(self, write: Write) -> None:
        self.write = write
        self._rows: dict[str, list[list[Any]]] = {}
        self._tables: dict[str, Table] = {}
        self._count = 0

    def add(self, table: Table, rows: Iterable[list[Any]]) -> int:
        """Hold rows, and return how many there are.

        Their cells are in the order of the table's columns; those of `write` are filled in.
        """
        self._tables[table.name] = table
        left, count = iter(rows), 0
        while some := list(islice(left, _MOST - self._count)):
            self._rows.setdefault(table.name, []).extend(some)
            self._count += len(some)
            count += len(some)
            if self._count >= _MOST:
                self.flush()
        return count

    def flush(self) -> None:
        """Send what is held."""
        for name, rows in self._rows.items():
            table = self._tables[name]
            at, number = table.names.index("write"), self.write.number
            for row in rows:
                row[at] = number
            self.write.stage(table, rows)
        self._rows = {}
        self._count = 0
