"""What the program itself says that sessions cost, taken out of their summaries."""

from __future__ import annotations

from psycopg import Connection

from turnlog.store.packing import pack_text, unpack_row
from turnlog.store.rows import SessionRow
from turnlog.store.usage.reported import read_reported

__all__ = ["write_reported"]


def write_reported(connection: Connection, sessions: list[int]) -> None:
    """Write the figures of some sessions anew."""
    if not sessions:
        return
    query = "SELECT session, row FROM summaries WHERE session = ANY(%s::bigint[]) ORDER BY session"
    rows = connection.execute(query, (sessions,)).fetchall()
    connection.execute("DELETE FROM reported_costs WHERE session = ANY(%s::bigint[])", (sessions,))
    for session, data in rows:
        found = read_reported(unpack_row(SessionRow, data).summary)
        if found is not None:
            cells = session, pack_text(found.session), found.source, found.cost_usd, found.computed_usd
            connection.execute("INSERT INTO reported_costs VALUES (%s, %s, %s, %s, %s)", cells)
