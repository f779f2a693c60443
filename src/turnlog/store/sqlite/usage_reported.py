"""What the program itself says that sessions cost, taken out of their summaries."""

from __future__ import annotations

from typing import Any

import apsw

from turnlog.store.frames import decompress
from turnlog.store.sqlite.values import pack_text
from turnlog.store.usage.reported import read_reported

__all__ = ["write_reported"]


def write_reported(connection: apsw.Connection) -> None:
    """Write the figures of the sessions that are noted as stale."""
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT k.session, t.summary_length, t.summary FROM stale_sessions AS k "
        "LEFT JOIN summaries AS t ON t.session = k.session"
    ).fetchall()
    for session, length, data in rows:
        connection.execute("DELETE FROM reported_costs WHERE session = ?", (session,))
        found = None if data is None else read_reported(decompress(data, length))
        if found is not None:
            amounts = format(found.cost_usd, "f"), format(found.computed_usd, "f")
            cells = session, pack_text(found.session), found.source, *amounts
            connection.execute("INSERT INTO reported_costs VALUES (?, ?, ?, ?, ?)", cells)
