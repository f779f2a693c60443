"""The calls and sub-agents of hook deliveries that were kept before there were columns for them."""

from __future__ import annotations

import apsw

from turnlog.transcripts.hooks.details import find_field, read_fields

__all__ = ["find_calls_of_hooks"]

_UPDATE = "UPDATE hook_deliveries SET tool_use_id = ?, agent_id = ? WHERE id = ?"


def find_calls_of_hooks(connection: apsw.Connection) -> None:
    """Fill the columns from the payloads."""
    numbers = [number for (number,) in connection.execute("SELECT id FROM hook_deliveries ORDER BY id")]
    for number in numbers:
        [(payload,)] = connection.execute("SELECT payload FROM hook_deliveries WHERE id = ?", (number,))
        fields = read_fields(payload)
        found = [find_field(fields, name) or None for name in ("tool_use_id", "agent_id")]
        if any(found):
            connection.execute(_UPDATE, (*found, number))
