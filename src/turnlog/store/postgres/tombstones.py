"""Tombstones: what was forgotten, so that it does not come back.

A tombstone has the session's key, which is a digest, and its id, but nothing that was said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from psycopg import Connection

from turnlog.store.care import Tombstone
from turnlog.store.identity import Scope
from turnlog.store.postgres.chapters import as_word
from turnlog.store.postgres.packing import pack_text, unpack_text

__all__ = ["bury", "is_forgotten", "lift_tombstones", "list_forgotten_ids", "list_tombstones"]

_KEY, _ID = "session-key", "session-id"


def is_forgotten(connection: Connection, owner: str, key: str) -> bool:
    """Tell whether a session was forgotten."""
    query = "SELECT EXISTS (SELECT 1 FROM tombstones WHERE owner = %s AND session = %s AND kind = %s)"
    [(found,)] = connection.execute(query, (owner, key, _KEY)).fetchall()
    return bool(found)


def list_forgotten_ids(connection: Connection, owner: str, session_ids: Collection[str]) -> set[str]:
    """Return which of some ids of sessions were forgotten."""
    query = """
    SELECT value FROM tombstones WHERE owner = %(owner)s AND kind = %(kind)s AND value = ANY(%(ids)s)
        AND substring(value from 1 for 64) = ANY(%(heads)s)
    """
    ids = [pack_text(each) for each in session_ids]
    values = {"owner": owner, "kind": _ID, "ids": ids, "heads": [each[:64] for each in ids]}
    return {unpack_text(value) for (value,) in connection.execute(query, values)}


def list_tombstones(connection: Connection, scope: Scope) -> list[Tombstone]:
    """Return what was forgotten, by time."""
    query = """
    SELECT k.session, i.value, k.at_ns FROM tombstones AS k
    LEFT JOIN tombstones AS i ON i.owner = k.owner AND i.session = k.session AND i.kind = %(id)s
    WHERE k.owner = %(owner)s AND k.kind = %(key)s ORDER BY k.at_ns, k.session
    """
    rows = connection.execute(query, {"owner": scope.owner, "id": _ID, "key": _KEY})
    return [Tombstone(key, unpack_text(session_id), at_ns) for key, session_id, at_ns in rows]


def bury(connection: Connection, scope: Scope, tombstones: Iterable[Tombstone]) -> None:
    """Add tombstones, in the transaction of the caller."""
    for tombstone in tombstones:
        for kind, value in ((_KEY, tombstone.key), (_ID, tombstone.session_id)):
            if value is not None:
                connection.execute(
                    "INSERT INTO tombstones VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                    (scope.owner, tombstone.key, kind, pack_text(value), tombstone.at_ns),
                )


def lift_tombstones(connection: Connection, scope: Scope, keys: Iterable[str]) -> int:
    """Let sessions come back; return how many were forgotten."""
    query = "DELETE FROM tombstones WHERE owner = %s AND session = ANY(%s) RETURNING session"
    names = [key for key in keys if as_word(key) is not None]
    return len(set(connection.execute(query, (scope.owner, names)).fetchall()))
