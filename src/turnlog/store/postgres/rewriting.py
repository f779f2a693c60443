"""Mending: what follows from the bytes is written anew, whatever is there, and damaged bytes are put back.

The digests by which differing rows are told are not asked: they may be as wrong as the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from psycopg import Connection

from turnlog.errors import StoreError
from turnlog.store.batch import DerivedRows, Frame
from turnlog.store.frames import make_frame, open_frame
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.postgres.archive import Generation, find_generation
from turnlog.store.postgres.derived import RowPlace, delete_rows, write_derived
from turnlog.store.postgres.ledger import Ledger
from turnlog.store.postgres.sources import write_lines
from turnlog.store.postgres.texts import delete_texts, write_texts
from turnlog.store.rows import LineFact
from turnlog.store.search.packing import unpack_texts
from turnlog.store.tails import FRAMES, TAIL

__all__ = ["mend_frames", "rewrite_session"]

_FIND = """
SELECT id, month, derivation FROM sessions WHERE owner = %s AND key = %s AND revision = %s FOR UPDATE
"""


def rewrite_session(
    connection: Connection,
    scope: Scope,
    key: str,
    revision: int,
    lines: Mapping[tuple[str, int], Sequence[LineFact]],
    derived: DerivedRows | None,
    derivation: int,
    texts: Mapping[tuple[str, int], Sequence[bytes]],
) -> int:
    """Write facts and rows of a session anew, in the transaction of the caller; return the new revision."""
    found = connection.execute(_FIND, (scope.owner, key, revision)).fetchone()
    if found is None:
        raise StoreError(f"Expected revision {revision} of the session {key}; it has changed, or is gone")
    session, month, former = found
    ledger = Ledger()
    for (source, number), facts in lines.items():
        _rewrite_lines(connection, _get(connection, scope, source, number), facts)
    for (source, number), packed in texts.items():
        generation = _get(connection, scope, source, number)
        delete_texts(connection, [generation.id])
        write_texts(connection, scope.owner, generation.month, generation.id, unpack_texts(packed))
    if derived is not None:
        delete_rows(connection, session, month, ledger)
        names = connection.execute("SELECT source, id FROM sources WHERE session = %s", (session,)).fetchall()
        place = RowPlace(scope.owner, session, month, revision + 1, dict(names))
        write_derived(connection, place, derived, ledger)
    connection.execute(
        "UPDATE sessions SET revision = %s, derivation = %s WHERE id = %s",
        (revision + 1, former if derived is None else derivation, session),
    )
    ledger.note_written(scope.owner, session, time.time_ns())
    ledger.note_change(scope.owner, ChangeKind.SESSION_CHANGED, key, revision + 1, time.time_ns())
    ledger.close(connection)
    return revision + 1


def _get(connection: Connection, scope: Scope, source: str, number: int) -> Generation:
    found = find_generation(connection, scope, source, number)
    if found is None:
        raise StoreError(f"There is no generation {number} of {source}")
    return found


def _rewrite_lines(connection: Connection, generation: Generation, facts: Sequence[LineFact]) -> None:
    where = "month = %s AND generation = %s"
    connection.execute(f"DELETE FROM lines WHERE {where}", (generation.month, generation.id))
    write_lines(connection, generation.id, generation.month, facts)
    connection.execute("UPDATE generations SET lines = %s WHERE id = %s", (len(facts), generation.id))


def mend_frames(
    connection: Connection,
    scope: Scope,
    source: str,
    generation: int,
    find: Callable[[int, int], bytes | None],
) -> int:
    """Replace frames that cannot be opened by what `find` has of them, if its digest is the same."""
    found = find_generation(connection, scope, source, generation)
    if found is None:
        return 0
    mended = 0
    for table in (FRAMES, TAIL):
        for frame in _list_damaged(connection, table, found):
            data = find(frame.start, frame.length)
            if data is not None and (new := make_frame(data, frame.start)).digest == frame.digest:
                connection.execute(
                    f"UPDATE {table} SET data = %s WHERE month = %s AND generation = %s AND start = %s",
                    (new.data, found.month, found.id, frame.start),
                )
                mended += 1
    return mended


def _list_damaged(connection: Connection, table: str, generation: Generation) -> list[Frame]:
    where = "month = %s AND generation = %s"
    starts = connection.execute(
        f"SELECT start FROM {table} WHERE {where} ORDER BY start", (generation.month, generation.id)
    ).fetchall()
    damaged = []
    for (start,) in starts:
        query = f"SELECT start, length, data, digest FROM {table} WHERE {where} AND start = %s"
        [row] = connection.execute(query, (generation.month, generation.id, start)).fetchall()
        if _is_damaged(Frame(*row)):
            damaged.append(Frame(*row))
    return damaged


def _is_damaged(frame: Frame) -> bool:
    try:
        open_frame(frame)
    except ValueError:
        return True
    return False
