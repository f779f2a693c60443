"""Forgetting: a session is deleted for good, and a tombstone keeps it from coming back.

Deleting rows leaves their content in the server's files until it is overwritten; `scrubbing` does that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from psycopg import Connection

from turnlog.store.care import Forgotten, Tombstone
from turnlog.store.changes import NewChange
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.packing import unpack_text
from turnlog.store.postgres.derived import delete_rows
from turnlog.store.postgres.feed import lock_feed
from turnlog.store.postgres.hook_spans import forget_span
from turnlog.store.postgres.ledger import Ledger
from turnlog.store.postgres.scrubbing import tell_statistics
from turnlog.store.postgres.seen import own_only
from turnlog.store.postgres.texts import delete_delivery_texts, delete_texts
from turnlog.store.postgres.tombstones import bury
from turnlog.store.postgres.words import purge_words

__all__ = ["forget_sessions", "weigh_sessions"]

_FIND = """
SELECT e.id, e.key, e.session_id, e.revision, e.month, a.person, a.shared, e.origin
FROM sessions AS e JOIN access AS a ON a.session = e.id WHERE e.owner = %s AND e.key = ANY(%s) ORDER BY e.id
"""
_WEIGH = """
SELECT count(DISTINCT g.source), coalesce(sum(g.length), 0) FROM generations AS g
JOIN sources AS s ON s.id = g.source WHERE s.session = %s
"""
_GENERATIONS = """
SELECT g.id, g.month FROM generations AS g JOIN sources AS s ON s.id = g.source WHERE s.session = %s
"""
_OF_GENERATION = ("lines", "frames", "tail_frames")
_OF_SOURCE = ("generations", "source_paths")
_OF_SESSION = ("sources", "marks", "absent_sessions", "usage_versions")
_OWN_IDS = """
SELECT own.session_id, NOT coalesce(bool_or(others.person IS NOT NULL), false) FROM (
    SELECT session_id FROM sessions WHERE id = %(session)s
    UNION SELECT session_id FROM summaries WHERE session = %(session)s
) AS own LEFT JOIN LATERAL (
    SELECT coalesce(a.person, '') AS person FROM access AS a JOIN (
        SELECT id FROM sessions WHERE owner = %(owner)s AND session_id = own.session_id
        UNION ALL SELECT session FROM summaries WHERE owner = %(owner)s AND session_id = own.session_id
    ) AS same ON same.id = a.session WHERE a.session <> %(session)s
) AS others ON true
WHERE own.session_id IS NOT NULL GROUP BY own.session_id
HAVING NOT coalesce(bool_or(others.person = coalesce(%(person)s::text, '')), false)
"""
"""With whether no other session of anybody has it."""
_DELIVERIES = """
FROM hook_deliveries AS d WHERE d.owner = %(owner)s AND d.session_id = %(id)s
AND substring(d.session_id from 1 for 64) = substring(%(id)s::bytea from 1 for 64)
AND ((d.origin = '' AND %(only)s) OR (
    SELECT m.person FROM machines AS m WHERE m.owner = d.owner AND m.origin = d.origin
) IS NOT DISTINCT FROM %(person)s)
"""

_OwnIds = dict[bytes, bool]
"""Ids of a session, each with whether no other session of anybody has it."""


class _Found(NamedTuple):
    """A session that is there."""

    number: int
    key: str
    session_id: bytes
    revision: int
    month: int
    person: str | None
    shared: bool
    origin: bytes


class _Weight(NamedTuple):
    """What a session takes with it."""

    files: int
    bytes: int
    deliveries: int


def forget_sessions(connection: Connection, scope: Scope, keys: Sequence[str]) -> Forgotten:
    """Delete sessions and all that only they needed, in the transaction of the caller."""
    at_ns = time.time_ns()
    ledger = Ledger()
    found = _list_found(connection, scope, keys, "FOR UPDATE OF e")
    ids = {each: _list_own_ids(connection, scope, each) for each in found}
    weights = [_weigh(connection, scope, each) for each in found]
    for each in found:
        _forget(connection, scope, each, ids[each], at_ns, ledger)
    if found:
        purge_words(connection)
        lock_feed(connection)
        for each, names in ids.items():  # what arrived while we did the rest
            _delete_deliveries(connection, scope, each, names)
        ledger.close(connection)
        tell_statistics(connection)
    return _add_up(weights)


def weigh_sessions(connection: Connection, scope: Scope, keys: Sequence[str]) -> Forgotten:
    """Return what `forget_sessions` would delete."""
    return _add_up([_weigh(connection, scope, each) for each in _list_found(connection, scope, keys)])


def _list_found(connection: Connection, scope: Scope, keys: Iterable[str], lock: str = "") -> list[_Found]:
    rows = connection.execute(_FIND + lock, (scope.owner, own_only(connection, scope, keys))).fetchall()
    return [_Found(*row) for row in rows]


def _weigh(connection: Connection, scope: Scope, found: _Found) -> _Weight:
    [(files, size)] = connection.execute(_WEIGH, (found.number,)).fetchall()
    deliveries = 0
    for values in _name_deliveries(scope, found, _list_own_ids(connection, scope, found)):
        [(count,)] = connection.execute(f"SELECT count(*) {_DELIVERIES}", values).fetchall()
        deliveries += count
    return _Weight(int(files), int(size), deliveries)


def _add_up(weights: Sequence[_Weight]) -> Forgotten:
    return Forgotten(
        sessions=len(weights),
        files=sum(each.files for each in weights),
        bytes=sum(each.bytes for each in weights),
        deliveries=sum(each.deliveries for each in weights),
    )


def _forget(
    connection: Connection, scope: Scope, found: _Found, ids: _OwnIds, at_ns: int, ledger: Ledger
) -> None:
    session = found.number
    _delete_deliveries(connection, scope, found, ids)
    for generation, month in connection.execute(_GENERATIONS, (session,)).fetchall():
        delete_texts(connection, [generation], month=month)
        for table in _OF_GENERATION:
            where = "month = %s AND generation = %s"
            connection.execute(f"DELETE FROM {table} WHERE {where}", (month, generation))
    for table in _OF_SOURCE:
        where = "source IN (SELECT id FROM sources WHERE session = %s)"
        connection.execute(f"DELETE FROM {table} WHERE {where}", (session,))
    delete_rows(connection, session, found.month, ledger)
    for table in _OF_SESSION:
        connection.execute(f"DELETE FROM {table} WHERE session = %s", (session,))
    connection.execute("DELETE FROM sessions WHERE id = %s", (session,))
    told = unpack_text(found.session_id) if found.session_id in ids else None
    bury(connection, scope, [Tombstone(found.key, told, at_ns, found.person, unpack_text(found.origin))])
    told_as = scope.owner, ChangeKind.SESSION_FORGOTTEN, found.key, found.revision + 1, at_ns
    ledger.add_change(NewChange(*told_as, person=found.person, shared=found.shared))


def _list_own_ids(connection: Connection, scope: Scope, found: _Found) -> _OwnIds:
    """Return the ids of a session that no other session of its person has, which may be a copy of it."""
    values = {"session": found.number, "owner": scope.owner, "person": found.person}
    return {name: bool(only) for name, only in connection.execute(_OWN_IDS, values)}


def _name_deliveries(scope: Scope, found: _Found, ids: _OwnIds) -> Iterator[dict[str, Any]]:
    for name, only in ids.items():
        yield {"owner": scope.owner, "person": found.person, "id": name, "only": only}


def _delete_deliveries(connection: Connection, scope: Scope, found: _Found, ids: _OwnIds) -> None:
    for values in _name_deliveries(scope, found, ids):
        rows = connection.execute(f"DELETE {_DELIVERIES} RETURNING d.id", values).fetchall()
        if rows:
            numbers = [number for (number,) in rows]
            delete_delivery_texts(connection, numbers)
            connection.execute("DELETE FROM delivery_numbers WHERE id = ANY(%s)", (numbers,))
            forget_span(connection, scope.owner, values["id"])
