"""Which sessions hooks told of lately, whether or not there is a transcript of them."""

from __future__ import annotations

import apsw

from turnlog.store.hooks import HookSession
from turnlog.store.identity import Scope

__all__ = ["RECENT_HOOKS", "list_hook_sessions"]

RECENT_HOOKS = """
CREATE INDEX hook_deliveries_by_time ON hook_deliveries (owner, received_ns, session_id);
"""


def list_hook_sessions(
    connection: apsw.Connection, scope: Scope, since_ns: int, count: int
) -> list[HookSession]:
    """Return the sessions that hooks told of at a time or later, the latest first."""
    query = """
    SELECT session_id, max(received_ns) AS last_ns FROM hook_deliveries INDEXED BY hook_deliveries_by_time
    WHERE owner = ? AND received_ns >= ? AND session_id <> '' GROUP BY session_id
    ORDER BY last_ns DESC, session_id LIMIT ?
    """
    return [HookSession(*row) for row in connection.execute(query, (scope.owner, since_ns, count))]
