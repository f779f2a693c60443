"""Forgetting: a session is deleted for good, and a tombstone keeps it from coming back.

Deleting rows leaves their content in an engine's files until that is overwritten, which is the engine's affair.
A tombstone has the session's key, which is a digest, and its id, but nothing that was said.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from turnlog.store.catalogue.database import Connection, pack_text, same_text, unpack_text
from turnlog.store.catalogue.feed import add_change, lock_feed, lock_sessions
from turnlog.store.catalogue.people import list_own
from turnlog.store.catalogue.usage import UsageKeeper
from turnlog.store.interface import ChangeKind, Forgotten, Tombstone
from turnlog.store.model import Scope
from turnlog.store.search.index import HOOKS, TextIndex

_OF_GENERATION = ("frames", "tail_frames")
_GENERATIONS = "SELECT g.id FROM generations AS g JOIN sources AS s ON s.id = g.source WHERE s.session = ?"
_OF_SOURCE = ("segments", "segment_data", "generations")
_OF_SESSION = ("sources", "outlines", "summaries", "marks", "reported_costs")


class _Found(NamedTuple):
    """A session that is there."""

    number: int
    key: str
    revision: int
    origin: bytes
    person: str | None
    is_shared: int
    ids: tuple[bytes, ...]
    """Its ids that no other session of its person has, which may be a copy of it."""


class _Weight(NamedTuple):
    """What a session takes with it."""

    files: int
    bytes: int
    deliveries: int


def list_tombstones(connection: Connection, scope: Scope) -> list[Tombstone]:
    """Return what was forgotten, by time."""
    query = "SELECT key, session_id, at_ns, person, origin FROM tombstones WHERE owner = ? ORDER BY at_ns, key"
    return [
        Tombstone(key, unpack_text(session_id), at_ns, person, unpack_text(origin))
        for key, session_id, at_ns, person, origin in connection.execute(query, (scope.owner,))
    ]


def add_tombstone(connection: Connection, scope: Scope, tombstone: Tombstone) -> None:
    """Add a tombstone, in the transaction of the caller."""
    connection.execute(
        "INSERT INTO tombstones VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (owner, key) DO NOTHING",
        (
            scope.owner, tombstone.key, pack_text(tombstone.session_id), tombstone.at_ns, tombstone.person,
            pack_text(tombstone.origin),
        ),
    )  # fmt: skip


def delete_tombstones(connection: Connection, scope: Scope, keys: Iterable[str]) -> int:
    """Let sessions come back; return how many were forgotten."""
    query = "DELETE FROM tombstones WHERE owner = ? AND key IN @@texts(?)"
    if scope.viewer is None:
        return connection.change(query, (scope.owner, list(keys)))
    return connection.change(f"{query} AND person = ?", (scope.owner, list(keys), scope.viewer.person))


def forget_sessions(
    connection: Connection, index: TextIndex, scope: Scope, keys: Sequence[str], usage: UsageKeeper
) -> Forgotten:
    """Delete sessions and all that only they needed, in the transaction of the caller."""
    at_ns = time.time_ns()
    lock_sessions(connection, scope.owner, keys)
    found = _list_found(connection, scope, keys)
    weights = [_weigh(connection, scope, each) for each in found]
    for each in found:
        usage.note(each.number, (), is_whole=True)
    if found:
        lock_feed(connection)
        usage.settle()
    for each in found:
        _forget(connection, index, scope, each, at_ns)
    if found:
        index.purge(connection)
    return _add_up(weights)


def count_forgotten(connection: Connection, scope: Scope, keys: Sequence[str]) -> Forgotten:
    """Return what `forget_sessions` would delete."""
    return _add_up([_weigh(connection, scope, found) for found in _list_found(connection, scope, keys)])


def _list_found(connection: Connection, scope: Scope, keys: Iterable[str]) -> list[_Found]:
    where, values = list_own(scope)
    query = f"""
    SELECT e.id, e.key, e.revision, e.origin, e.person, e.is_shared, e.file_id, e.session_id FROM sessions AS e
    WHERE {where} AND e.key IN @@texts(:keys) ORDER BY e.id
    """
    rows = {row[1]: row for row in connection.execute(query, {**values, "keys": list(keys)})}
    found = []
    for key in dict.fromkeys(keys):
        if key in rows:
            head: tuple[Any, ...] = rows[key][:-2]
            file_id, session_id = rows[key][-2:]
            ids = dict.fromkeys(each for each in (file_id, session_id) if each is not None)
            own = [each for each in ids if not _has_another(connection, scope, head[0], each, head[4])]
            found.append(_Found._make((*head, tuple(own))))
    return found


def _has_another(
    connection: Connection,
    scope: Scope,
    session: int,
    name: bytes,
    person: str | None,
    *,
    any_person: bool = False,
) -> bool:
    """Tell whether another session of a person, or of anybody, has an id."""
    clauses = " OR ".join(f"({same_text(f'e.{column}', ':name')})" for column in ("file_id", "session_id"))
    query = f"""
    SELECT 1 FROM sessions AS e WHERE e.owner = :owner AND e.id <> :session AND ({clauses})
    AND (:any = 1 OR coalesce(e.person, '') = :person) LIMIT 1
    """
    values = {
        "owner": scope.owner, "session": session, "name": name, "person": person or "", "any": int(any_person)
    }  # fmt: skip
    return bool(connection.execute(query, values))


def _weigh(connection: Connection, scope: Scope, found: _Found) -> _Weight:
    [(files, size)] = connection.execute(
        "SELECT count(DISTINCT g.source), coalesce(sum(g.length), 0) FROM generations AS g "
        "JOIN sources AS s ON s.id = g.source WHERE s.session = ?",
        (found.number,),
    )
    deliveries = sum(len(_list_deliveries(connection, scope, found, name)) for name in found.ids)
    return _Weight(int(files), int(size), deliveries)


def _add_up(weights: Sequence[_Weight]) -> Forgotten:
    return Forgotten(
        sessions=len(weights),
        files=sum(each.files for each in weights),
        bytes=sum(each.bytes for each in weights),
        deliveries=sum(each.deliveries for each in weights),
    )


def _forget(connection: Connection, index: TextIndex, scope: Scope, found: _Found, at_ns: int) -> None:
    execute, session = connection.execute, found.number
    for name in found.ids:
        numbers = _list_deliveries(connection, scope, found, name)
        index.delete_lines(connection, HOOKS, numbers)
        execute("DELETE FROM hook_deliveries WHERE id IN @@ints(?)", (numbers,))
    generations = [number for (number,) in execute(_GENERATIONS, (session,))]
    index.delete(connection, generations)
    for table in _OF_GENERATION:
        execute(f"DELETE FROM {table} WHERE generation IN @@ints(?)", (generations,))
    sources = [number for (number,) in execute("SELECT id FROM sources WHERE session = ?", (session,))]
    for table in _OF_SOURCE:
        execute(f"DELETE FROM {table} WHERE source IN @@ints(?)", (sources,))
    for table in _OF_SESSION:
        execute(f"DELETE FROM {table} WHERE session = ?", (session,))
    [(file_id,)] = execute("SELECT file_id FROM sessions WHERE id = ?", (session,))
    execute("DELETE FROM sessions WHERE id = ?", (session,))
    known = unpack_text(file_id) if file_id in found.ids else None
    add_tombstone(
        connection, scope, Tombstone(found.key, known, at_ns, found.person, unpack_text(found.origin))
    )
    add_change(
        connection,
        scope.owner,
        ChangeKind.SESSION_FORGOTTEN,
        found.key,
        found.revision + 1,
        at_ns,
        person=found.person,
        is_shared=bool(found.is_shared),
    )


def _list_deliveries(connection: Connection, scope: Scope, found: _Found, name: bytes) -> list[int]:
    """Return what hooks of a person's machines told of an id; what nobody's did, if nobody else has it."""
    is_alone = not _has_another(connection, scope, found.number, name, None, any_person=True)
    query = f"""
    SELECT d.id FROM hook_deliveries AS d LEFT JOIN machines AS m ON m.owner = d.owner AND m.origin = d.origin
    WHERE d.owner = :owner AND {same_text("d.session_id", ":name")} AND (
        coalesce(m.person, '') = :person OR (d.origin = :nowhere AND m.person IS NULL AND :alone = 1)
    )
    """
    values = {
        "owner": scope.owner, "name": name, "person": found.person or "", "nowhere": b"", "alone": int(is_alone)
    }  # fmt: skip
    return [number for (number,) in connection.execute(query, values)]
