"""From when to when hooks told of a session: so that only the partitions of those months are looked at.

Deliveries lie in partitions by when they came, and a session is told of in one or two months, as a rule. A
planner that does not know which ones makes plans for all of them, which takes longer than all else.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from psycopg import Connection

from turnlog.store.hooks import HookDelivery
from turnlog.store.identity import Scope
from turnlog.store.packing import pack_text

__all__ = ["HOOK_SPANS", "IS_EVENT", "OF_SESSION", "forget_span", "name_events", "widen_spans"]

HOOK_SPANS = """
CREATE TABLE hook_spans (              -- operational
    owner     text COLLATE "C" NOT NULL,
    digest    bytea NOT NULL,          -- of the session's id
    first_ns  bigint NOT NULL,
    last_ns   bigint NOT NULL,
    PRIMARY KEY (owner, digest)
);
"""
_WIDEN = """
INSERT INTO hook_spans AS h SELECT %(owner)s, w.digest, min(w.received_ns), max(w.received_ns)
FROM unnest(%(digests)s::bytea[], %(times)s::bigint[]) AS w (digest, received_ns) GROUP BY w.digest
ON CONFLICT (owner, digest) DO UPDATE
SET first_ns = least(h.first_ns, excluded.first_ns), last_ns = greatest(h.last_ns, excluded.last_ns)
"""
OF_SESSION = """
d.owner = %(owner)s AND d.received_ns BETWEEN %(first_ns)s AND %(last_ns)s
AND substring(d.session_id from 1 for 64) = substring(%(id)s::bytea from 1 for 64) AND d.session_id = %(id)s
"""
"""Which deliveries are of a session; `name_events` has the values."""
IS_EVENT = f"""
{OF_SESSION} AND d.event_name <> 'SessionEnd' AND d.notification_type IS DISTINCT FROM 'auth_success'
"""
"""Which of them are events (spec 002)."""


def widen_spans(connection: Connection, scope: Scope, deliveries: Iterable[HookDelivery]) -> None:
    """Note when deliveries came, in the transaction that adds them; under the feed's lock."""
    found = [(_digest(pack_text(each.session_id)), each.received_ns) for each in deliveries]
    values = {
        "owner": scope.owner,
        "digests": [digest for digest, _ in found],
        "times": [received_ns for _, received_ns in found],
    }
    connection.execute(_WIDEN, values)


def forget_span(connection: Connection, owner: str, session_id: bytes) -> None:
    """Forget when hooks told of a session if all deliveries are deleted; its id is as in its column."""
    query = """
    DELETE FROM hook_spans WHERE owner = %(owner)s AND digest = %(digest)s AND NOT EXISTS (
        SELECT 1 FROM hook_deliveries AS d WHERE d.owner = %(owner)s AND d.session_id = %(id)s
        AND substring(d.session_id from 1 for 64) = substring(%(id)s::bytea from 1 for 64)
    )
    """
    connection.execute(query, {"owner": owner, "digest": _digest(session_id), "id": session_id})


def name_events(connection: Connection, scope: Scope, session_id: str) -> dict[str, Any]:
    """Return the values by which queries name the deliveries of a session; without any, the times are None."""
    query = "SELECT first_ns, last_ns FROM hook_spans WHERE owner = %s AND digest = %s"
    id = pack_text(session_id)
    found = connection.execute(query, (scope.owner, _digest(id))).fetchone() or (None, None)
    return {"owner": scope.owner, "id": id, "first_ns": found[0], "last_ns": found[1]}


def _digest(session_id: bytes) -> bytes:
    return blake2b(session_id, digest_size=16).digest()
