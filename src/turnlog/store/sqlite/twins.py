"""Transcripts that begin with the same message: copies of each other."""

from __future__ import annotations

import apsw

from turnlog.store.identity import Scope, SourceKind
from turnlog.store.interface import BEGINNING, Twin
from turnlog.store.sqlite.sources import NEWEST
from turnlog.store.sqlite.values import pack_uuid, unpack_text

__all__ = ["list_twins"]

_FOLLOWS = "substr(parent, -6) = substr(:uuid, -6) AND parent = :uuid"
_QUERY = f"""
SELECT DISTINCT e.key, e.session_id, w.word, s.copied_from
{NEWEST} JOIN sessions AS e ON e.id = s.session
JOIN lines AS l ON l.generation = g.id LEFT JOIN words AS w ON w.id = l.session
WHERE s.owner = :owner AND s.kind = '{SourceKind.TRANSCRIPT}'
    AND g.id IN (
        SELECT generation FROM lines INDEXED BY lines_by_parent WHERE {_FOLLOWS} AND number < {BEGINNING}
    )
    AND l.number = (SELECT min(number) FROM lines WHERE generation = g.id AND parent = :uuid)
    AND EXISTS (SELECT 1 FROM lines WHERE generation = g.id AND number < l.number AND uuid = :uuid)
ORDER BY e.key
"""


def list_twins(connection: apsw.Connection, scope: Scope, uuid: str) -> list[Twin]:
    """Return the sessions whose transcripts begin with a message, by key."""
    rows = connection.execute(_QUERY, {"owner": scope.owner, "uuid": pack_uuid(uuid)})
    return [
        Twin(key=key, session_id=unpack_text(name), told_id=told, copied_from=copied)
        for key, name, told, copied in rows
    ]
