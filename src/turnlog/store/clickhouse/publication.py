"""What a write publishes, as the control database remembers it until it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from msgspec import Struct, field, msgpack

from turnlog.store.changes import NewChange
from turnlog.store.clickhouse.tables import Table
from turnlog.store.packing import pack_row, unpack_row

__all__ = [
    "Publication",
    "Staged",
    "pack_ids",
    "pack_publication",
    "pack_staged",
    "unpack_ids",
    "unpack_publication",
    "unpack_rows",
    "unpack_staged",
]

_WIDE = 16
"""How many bytes a number of 128 bits has."""
_Row = Sequence[Any]


class Staged(Struct, frozen=True, gc=False):
    """A session of which something is staged."""

    session: int
    born: date


class Publication(Struct, kw_only=True):
    """What is inserted and deleted when a write is published, and what is done then; again does no harm."""

    inserts: dict[str, list[list[Any]]] = field(default_factory=dict)
    """Rows by table, packed."""
    forgotten: list[tuple[bytes, int]] = field(default_factory=list)
    """Sessions that are deleted with all that is kept of them: their numbers, and when they were born."""
    deletes: list[tuple[str, str]] = field(default_factory=list)
    """Tables, each with a condition for rows that are deleted."""
    renewals: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    """Tables, each with what columns become, and a condition for rows that are inserted anew so.

    Doing it again must find the same rows, or none.
    """
    stale: list[bytes] = field(default_factory=list)
    """Answers of which sightings came or went."""
    moved: list[bytes] = field(default_factory=list)
    """Answers of sessions that are another person's now, or that others see from now on, or no longer."""
    changes: list[NewChange] = field(default_factory=list)

    def add(self, table: Table, rows: Iterable[_Row]) -> None:
        """Have rows inserted."""
        packers = _list_converters(table, _pack_wide, _pack_date)
        packed = self.inserts.setdefault(table.name, [])
        packed += (_convert(row, packers) for row in rows)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done."""
        return not (
            any(self.inserts.values())
            or self.forgotten
            or self.deletes
            or self.renewals
            or self.stale
            or self.moved
            or self.changes
        )


def unpack_rows(table: Table, rows: Iterable[_Row]) -> Iterable[list[Any]]:
    """Return rows of a table as they were added."""
    unpackers = _list_converters(table, _unpack_wide, date.fromordinal)
    return (_convert(row, unpackers) for row in rows)


def pack_publication(publication: Publication) -> bytes:
    """Return it as bytes."""
    return pack_row(publication)  # which has the ids that hooks told, whatever characters they have


def unpack_publication(data: bytes) -> Publication:
    """Return what `pack_publication` was given."""
    return unpack_row(Publication, data)


def pack_staged(staged: Iterable[Staged]) -> bytes:
    """Return sessions as bytes."""
    return msgpack.encode([(_pack_wide(each.session), each.born.toordinal()) for each in staged])


def unpack_staged(data: bytes) -> list[Staged]:
    """Return what `pack_staged` was given."""
    found = msgpack.decode(data, type=list[tuple[bytes, int]])
    return [Staged(_unpack_wide(session), date.fromordinal(born)) for session, born in found]


def pack_ids(ids: Iterable[int]) -> list[bytes]:
    """Return numbers of 128 bits as bytes."""
    return [_pack_wide(each) for each in sorted(set(ids))]


def unpack_ids(packed: Iterable[bytes]) -> list[int]:
    """Return what `pack_ids` was given, each once and in order."""
    return [_unpack_wide(each) for each in packed]


_Converters = Mapping[int, Callable[[Any], Any]]


def _list_converters(table: Table, wide: Callable[[Any], Any], day: Callable[[Any], Any]) -> _Converters:
    """Return what changes the cells of columns that cannot be packed as they are."""
    found: dict[int, Callable[[Any], Any]] = {}
    for at, kind in enumerate(table.columns.values()):
        if "UInt128" in kind:
            found[at] = wide
        elif kind.startswith("Date"):
            found[at] = day
    return found


def _convert(row: _Row, converters: _Converters) -> list[Any]:
    cells = list(row)
    for at, convert in converters.items():
        if cells[at] is not None:
            cells[at] = convert(cells[at])
    return cells


def _pack_wide(value: int) -> bytes:
    return value.to_bytes(_WIDE, "big")


def _unpack_wide(value: bytes) -> int:
    return int.from_bytes(value, "big")


def _pack_date(value: date) -> int:
    return value.toordinal()
