"""Mending: what follows from the bytes is written anew, whatever is there.

The digests by which differing rows are told are not asked: they may be as wrong as the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import apsw

from turnlog.errors import StoreError
from turnlog.store.batch import DerivedRows, Frame
from turnlog.store.frames import make_frame, open_frame
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.rows import LineFact
from turnlog.store.search.packing import unpack_texts
from turnlog.store.sqlite.derived import write_derived
from turnlog.store.sqlite.derived_kinds import DERIVED_TABLES
from turnlog.store.sqlite.kinds import PackContext
from turnlog.store.sqlite.people import refresh_access
from turnlog.store.sqlite.sources import write_lines
from turnlog.store.sqlite.texts import delete_texts, write_texts
from turnlog.store.sqlite.values import Numbers

__all__ = ["mend_frames", "rewrite_session"]


def rewrite_session(
    connection: apsw.Connection,
    numbers: Numbers,
    scope: Scope,
    key: str,
    revision: int,
    lines: Mapping[tuple[str, int], Sequence[LineFact]],
    derived: DerivedRows | None,
    derivation: int,
    texts: Mapping[tuple[str, int], Sequence[bytes]],
    affect: Callable[[int], None],
) -> int:
    """Write facts and rows of a session anew, in the transaction of the caller; return the new revision.

    `affect` is called as by `write_batch`.
    """
    query = """
    SELECT id, owner, key, origin, session_id, project_folder, derivation FROM sessions
    WHERE owner = ? AND key = ? AND revision = ?
    """
    found = connection.execute(query, (scope.owner, key, revision)).fetchone()
    if found is None:
        raise StoreError(f"Expected revision {revision} of the session {key}; it has changed, or is gone")
    session, *description, former = found
    for (source, generation), facts in lines.items():
        _rewrite_lines(connection, numbers, scope, source, generation, facts)
    for (source, generation), packed in texts.items():
        _rewrite_texts(connection, scope, source, generation, packed)
    if derived is not None:
        for table in ("digests", *DERIVED_TABLES):
            connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
        names = dict(connection.execute("SELECT source, id FROM sources WHERE session = ?", (session,)))
        write_derived(connection, session, revision + 1, derived, PackContext(scope.owner, numbers, names))
    connection.execute("DELETE FROM sessions WHERE id = ?", (session,))
    connection.execute(
        "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (session, *description, revision + 1, former if derived is None else derivation),
    )
    connection.execute(
        "INSERT INTO changes (owner, kind, session, revision, at_ns) VALUES (?, ?, ?, ?, ?)",
        (scope.owner, str(ChangeKind.SESSION_CHANGED), key, revision + 1, time.time_ns()),
    )
    refresh_access(connection, session, affect)
    return revision + 1


def _rewrite_lines(
    connection: apsw.Connection,
    numbers: Numbers,
    scope: Scope,
    source: str,
    generation: int,
    facts: Sequence[LineFact],
) -> None:
    query = """
    SELECT c.* FROM sources AS s JOIN generations AS g ON g.source = s.id
    JOIN checkpoints AS c ON c.generation = g.id WHERE s.owner = ? AND s.source = ? AND g.generation = ?
    """
    found = connection.execute(query, (scope.owner, source, generation)).fetchone()
    if found is None:
        raise StoreError(f"There is no generation {generation} of {source}")
    number, length, sealed, consumed, in_array, _, checkpoint = found
    connection.execute("DELETE FROM lines WHERE generation = ?", (number,))
    write_lines(connection, number, facts, numbers)
    connection.execute("DELETE FROM checkpoints WHERE generation = ?", (number,))
    connection.execute(
        "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)",
        (number, length, sealed, consumed, in_array, len(facts), checkpoint),
    )


def _rewrite_texts(
    connection: apsw.Connection, scope: Scope, source: str, generation: int, packed: Sequence[bytes]
) -> None:
    query = """
    SELECT g.id FROM sources AS s JOIN generations AS g ON g.source = s.id
    WHERE s.owner = ? AND s.source = ? AND g.generation = ?
    """
    for (number,) in list(connection.execute(query, (scope.owner, source, generation))):
        delete_texts(connection, [number], distrusted=True)
        write_texts(connection, number, unpack_texts(packed))


def mend_frames(
    connection: apsw.Connection,
    scope: Scope,
    source: str,
    generation: int,
    find: Callable[[int, int], bytes | None],
) -> int:
    """Replace frames that cannot be opened by what `find` has of them, if its digest is the same."""
    mended = 0
    for table in ("frames", "tail_frames"):
        for number, frame in _list_damaged(connection, table, scope, source, generation):
            data = find(frame.start, frame.length)
            if data is not None and (new := make_frame(data, frame.start)).digest == frame.digest:
                [(owner,)] = connection.execute(f"SELECT generation FROM {table} WHERE id = ?", (number,))
                connection.execute(f"DELETE FROM {table} WHERE id = ?", (number,))
                connection.execute(
                    f"INSERT INTO {table} (id, generation, start, length, digest, data) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    (number, owner, new.start, new.length, new.digest, new.data),
                )
                mended += 1
    return mended


def _list_damaged(
    connection: apsw.Connection, table: str, scope: Scope, source: str, generation: int
) -> list[tuple[int, Frame]]:
    query = f"""
    SELECT f.id, f.start, f.length, f.data, f.digest FROM sources AS s
    JOIN generations AS g ON g.source = s.id JOIN {table} AS f ON f.generation = g.id
    WHERE s.owner = ? AND s.source = ? AND g.generation = ? ORDER BY f.start
    """
    rows = connection.execute(query, (scope.owner, source, generation))
    return [(row[0], Frame(*row[1:])) for row in rows if _is_damaged(Frame(*row[1:]))]


def _is_damaged(frame: Frame) -> bool:
    try:
        open_frame(frame)
    except ValueError:
        return True
    return False
