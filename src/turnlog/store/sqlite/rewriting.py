"""Mending: what follows from the bytes is written anew, whatever is there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

import apsw

from turnlog.errors import StoreError
from turnlog.store.batch import Derived, TextFact
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.sqlite.people import refresh_access
from turnlog.store.sqlite.texts import delete_texts, write_texts
from turnlog.store.sqlite.usage_writing import UsageKeeper
from turnlog.store.sqlite.writing import write_derived

__all__ = ["rewrite_session"]

_COUNT_LINES = """
UPDATE checkpoints SET lines = ? WHERE generation = (
    SELECT g.id FROM sources AS s JOIN generations AS g ON g.source = s.id
    WHERE s.owner = ? AND s.source = ? ORDER BY g.generation DESC LIMIT 1
)
"""


def rewrite_session(
    connection: apsw.Connection,
    usage: UsageKeeper,
    scope: Scope,
    key: str,
    revision: int,
    derived: Derived | None,
    derivation: int,
    lines: Mapping[str, int],
    texts: Mapping[tuple[str, int], Iterable[TextFact]],
) -> int:
    """Write what follows from a session's bytes anew, in the caller's transaction; return the new revision."""
    query = """
    SELECT id, derivation FROM sessions WHERE owner = ? AND key = ? AND revision = ?
    """
    found = connection.execute(query, (scope.owner, key, revision)).fetchone()
    if found is None:
        raise StoreError(f"Expected revision {revision} of the session {key}; it has changed, or is gone")
    session, former = found
    for source, count in lines.items():
        connection.execute(_COUNT_LINES, (count, scope.owner, source))
    for (source, generation), found in texts.items():
        _rewrite_texts(connection, scope, source, generation, found)
    if derived is not None:
        of_session = "source IN (SELECT id FROM sources WHERE session = ?)"
        connection.execute(f"DELETE FROM segments WHERE {of_session}", (session,))
        for table in ("outlines", "summaries"):
            connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
        write_derived(connection, usage, session, scope.owner, derived)
    connection.execute(
        "UPDATE sessions SET revision = ?, derivation = ? WHERE id = ?",
        (revision + 1, former if derived is None else derivation, session),
    )
    connection.execute(
        "INSERT INTO changes (owner, kind, session, revision, at_ns) VALUES (?, ?, ?, ?, ?)",
        (scope.owner, str(ChangeKind.SESSION_CHANGED), key, revision + 1, time.time_ns()),
    )
    refresh_access(connection, session, usage.affect)
    return revision + 1


def _rewrite_texts(
    connection: apsw.Connection, scope: Scope, source: str, generation: int, found: Iterable[TextFact]
) -> None:
    query = """
    SELECT g.id FROM sources AS s JOIN generations AS g ON g.source = s.id
    WHERE s.owner = ? AND s.source = ? AND g.generation = ?
    """
    for (number,) in list(connection.execute(query, (scope.owner, source, generation))):
        delete_texts(connection, [number])
        write_texts(connection, number, found)
