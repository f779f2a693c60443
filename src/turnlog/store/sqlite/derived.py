"""Writing derived rows: only those that differ from what is there.

All rows of a session are derived anew when it changes, but few of them differ. The store keeps a digest of each
row, and one of each stretch of rows, so it can tell which without reading them: most stretches are compared as
a whole, which takes half the time that it takes row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

import apsw
from msgspec import msgpack

from turnlog.store.batch import DerivedRows
from turnlog.store.rows import DerivedRow
from turnlog.store.sqlite.derived_kinds import AGENTS, CALLS, MESSAGES, SESSIONS, SIGHTINGS, TURNS
from turnlog.store.sqlite.kinds import Kind, PackContext

__all__ = ["write_derived"]

R = TypeVar("R", bound=DerivedRow)

_SIZE = 8
"""Of a row's digest."""
_WHOLE_SIZE = 16
"""Of a stretch's digest."""
_STRETCH = 200
"""How many rows there are in a stretch: their digests take a fifth of a page, and are replaced together."""
_encode = msgpack.Encoder().encode


def write_derived(
    connection: apsw.Connection, session: int, revision: int, rows: DerivedRows, to: PackContext
) -> bool:
    """Replace the rows that differ; return whether any did."""
    writer = _Writer(connection, session, revision, to)
    return any(
        [
            writer.write(SESSIONS, (rows.session,)),
            writer.write(MESSAGES, rows.messages),
            writer.write(CALLS, rows.calls),
            writer.write(TURNS, rows.turns),
            writer.write(AGENTS, rows.agents),
            writer.write(SIGHTINGS, rows.sightings),
        ]
    )


class _Writer:
    def __init__(self, connection: apsw.Connection, session: int, revision: int, to: PackContext) -> None:
        self._connection = connection
        self._session = session
        self._revision = revision
        self._to = to

    def write(self, kind: Kind[R], rows: Sequence[R]) -> bool:
        """Replace the rows of a kind that differ."""
        stretches = self._load_stretches(kind)
        changed = False
        for number in sorted({*stretches, *range(-(-len(rows) // _STRETCH))}):
            old = stretches.get(number, (b"", b""))
            first = number * _STRETCH
            changed = self._write_stretch(kind, number, rows[first : first + _STRETCH], *old) or changed
        return changed

    def _write_stretch(self, kind: Kind[R], number: int, rows: Sequence[R], whole: bytes, old: bytes) -> bool:
        after = _digest(rows, _WHOLE_SIZE) if rows else b""
        if after == whole:
            return False
        new = [_digest(row, _SIZE) for row in rows]
        known = len(old) // _SIZE
        differing = [at for at, digest in enumerate(new) if digest != old[at * _SIZE : (at + 1) * _SIZE]]
        first = number * _STRETCH
        gone = (*(at for at in differing if at < known), *range(len(rows), known))
        self._connection.executemany(
            f"DELETE FROM {kind.table} WHERE session = ? AND idx = ?",
            ((self._session, first + at) for at in gone),
        )
        self._connection.executemany(kind.insert, self._pack(kind, rows, differing))
        place = self._session, kind.number, number
        if whole:
            self._connection.execute("DELETE FROM digests WHERE session = ? AND kind = ? AND chunk = ?", place)
        if rows:
            self._connection.execute(
                "INSERT INTO digests VALUES (?, ?, ?, ?, ?)", (*place, after, b"".join(new))
            )
        return True

    def _pack(self, kind: Kind[R], rows: Sequence[R], places: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        session, revision, pack, to = self._session, self._revision, kind.pack, self._to
        for place in places:
            row = rows[place]
            yield session, row.index, revision, *pack(row, to)

    def _load_stretches(self, kind: Kind[R]) -> dict[int, tuple[bytes, bytes]]:
        query = "SELECT chunk, whole, digests FROM digests WHERE session = ? AND kind = ?"
        rows = self._connection.execute(query, (self._session, kind.number))
        return {chunk: (whole, digests) for chunk, whole, digests in rows}


def _digest(value: DerivedRow | Sequence[DerivedRow], size: int) -> bytes:
    try:
        data = _encode(value)
    except UnicodeEncodeError:  # a name of a file that is not UTF-8
        data = repr(value).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=size).digest()
