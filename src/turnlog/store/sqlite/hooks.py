"""Hook deliveries: each once, in the order in which they came."""

from __future__ import annotations

from collections.abc import Iterable

import apsw
from msgspec.structs import astuple

from turnlog.store.hooks import HookDelivery, HookEvent
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.sqlite.forgetting import is_forgotten_id
from turnlog.store.sqlite.hook_texts import add_delivery_texts

__all__ = ["add_deliveries", "list_deliveries", "list_hook_events"]

_NAMES = HookDelivery.__struct_fields__
_COLUMNS = ", ".join(_NAMES)
_INSERT = f"""
INSERT INTO hook_deliveries (owner, {_COLUMNS}) VALUES (?, {", ".join("?" * len(_NAMES))})
ON CONFLICT (delivery_id) DO NOTHING
"""


def add_deliveries(connection: apsw.Connection, scope: Scope, deliveries: Iterable[HookDelivery]) -> int:
    """Write deliveries that are not there yet, with an entry in the feed for each; return how many."""
    added = 0
    new: list[tuple[int, int, bytes]] = []
    for delivery in deliveries:
        if is_forgotten_id(connection, scope.owner, delivery.session_id):
            continue
        connection.execute(_INSERT, (scope.owner, *astuple(delivery)))
        if connection.changes():
            new.append((connection.last_insert_rowid(), delivery.received_ns, delivery.payload))
            connection.execute(
                "INSERT INTO changes (owner, kind, session, revision, at_ns) VALUES (?, ?, ?, 0, ?)",
                (scope.owner, str(ChangeKind.HOOK_DELIVERED), delivery.session_id, delivery.received_ns),
            )
            added += 1
    if new:
        add_delivery_texts(connection, new)
    return added


def list_deliveries(
    connection: apsw.Connection, scope: Scope, session_id: str | None, first: int, count: int
) -> list[HookDelivery]:
    """Return deliveries of a session, or of all, by time."""
    query = f"""
    SELECT {_COLUMNS} FROM hook_deliveries WHERE owner = ?1 AND (?2 IS NULL OR session_id = ?2)
    ORDER BY received_ns, id LIMIT ?3 OFFSET ?4
    """
    if session_id is not None:  # so that the index is used
        query = query.replace("(?2 IS NULL OR session_id = ?2)", "session_id = ?2")
    rows = connection.execute(query, (scope.owner, session_id, count, first))
    return [HookDelivery(**dict(zip(_NAMES, row, strict=True))) for row in rows]


def list_hook_events(
    connection: apsw.Connection, scope: Scope, session_id: str, first: int, count: int
) -> list[HookEvent]:
    """Return a session's events as spec 002 tells them, by time."""
    query = """
    SELECT e.* FROM hook_deliveries AS d JOIN hook_events AS e ON e.id = d.id
    WHERE d.owner = ? AND d.session_id = ? ORDER BY d.received_ns, d.id LIMIT ? OFFSET ?
    """
    rows = connection.execute(query, (scope.owner, session_id, count, first))
    return [HookEvent(**dict(zip(HookEvent.__struct_fields__, row, strict=True))) for row in rows]
