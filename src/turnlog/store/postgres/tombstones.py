"""Tombstones: what was forgotten, so that it does not come back.

A tombstone has the session's key, which is a digest, and its id, but nothing that was said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from psycopg import Connection

from turnlog.store.care import Tombstone
from turnlog.store.identity import Scope
from turnlog.store.packing import as_word, pack_text, unpack_text

__all__ = ["bury", "is_forgotten", "lift_tombstones", "list_forgotten_ids", "list_tombstones"]

_KEY, _ID = "session-key", "session-id"


def is_forgotten(connection: Connection, owner: str, key: str) -> bool:
    """Tell whether a session was forgotten."""
    query = "SELECT EXISTS (SELECT 1 FROM tombstones WHERE owner = %s AND session = %s AND kind = %s)"
    [(found,)] = connection.execute(query, (owner, key, _KEY)).fetchall()
    return bool(found)


def list_forgotten_ids(
    connection: Connection, owner: str, told: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Return which ids of sessions, each told by a machine, were forgotten by the person whose that is."""
    query = """
    SELECT w.id, w.origin FROM unnest(%(ids)s::bytea[], %(origins)s::bytea[]) AS w (id, origin)
    LEFT JOIN machines AS m ON m.owner = %(owner)s AND m.origin = w.origin
    WHERE EXISTS (
        SELECT 1 FROM tombstones AS t WHERE t.owner = %(owner)s AND t.kind = %(kind)s AND t.value = w.id
            AND substring(t.value from 1 for 64) = substring(w.id from 1 for 64)
            AND t.person IS NOT DISTINCT FROM m.person
    )
    """
    values = {
        "owner": owner,
        "kind": _ID,
        "ids": [pack_text(id) for id, _ in told],
        "origins": [pack_text(origin) for _, origin in told],
    }
    rows = connection.execute(query, values)
    return {(unpack_text(id), unpack_text(origin)) for id, origin in rows}


def list_tombstones(connection: Connection, scope: Scope) -> list[Tombstone]:
    """Return what was forgotten, by time."""
    query = """
    SELECT k.session, i.value, k.at_ns, k.person, coalesce(k.origin, '') FROM tombstones AS k
    LEFT JOIN tombstones AS i ON i.owner = k.owner AND i.session = k.session AND i.kind = %(id)s
    WHERE k.owner = %(owner)s AND k.kind = %(key)s ORDER BY k.at_ns, k.session
    """
    rows = connection.execute(query, {"owner": scope.owner, "id": _ID, "key": _KEY})
    return [
        Tombstone(key, unpack_text(session_id), at_ns, person, unpack_text(origin))
        for key, session_id, at_ns, person, origin in rows
    ]


def bury(connection: Connection, scope: Scope, tombstones: Iterable[Tombstone]) -> None:
    """Add tombstones, in the transaction of the caller."""
    for tombstone in tombstones:
        for kind, value in ((_KEY, tombstone.key), (_ID, tombstone.session_id)):
            if value is not None:
                whose = tombstone.person, pack_text(tombstone.origin)
                connection.execute(
                    "INSERT INTO tombstones VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                    (scope.owner, tombstone.key, kind, pack_text(value), tombstone.at_ns, *whose),
                )


def lift_tombstones(connection: Connection, scope: Scope, keys: Iterable[str]) -> int:
    """Let sessions come back; return how many were forgotten."""
    query = """
    DELETE FROM tombstones WHERE owner = %s AND session = ANY(%s) AND (%s OR person = %s) RETURNING session
    """
    names = [key for key in keys if as_word(key) is not None]
    whose = (True, None) if scope.viewer is None else (False, scope.viewer.person)
    return len(set(connection.execute(query, (scope.owner, names, *whose)).fetchall()))
