"""Hook deliveries: each once, in the order in which they came."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import apsw
import msgspec
from msgspec.structs import astuple

from turnlog.store.hooks import HookDelivery, HookEvent
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.sqlite.forgetting import is_forgotten_id
from turnlog.store.sqlite.hook_texts import add_delivery_texts
from turnlog.store.sqlite.values import pack_text, unpack_text

__all__ = [
    "add_deliveries",
    "count_deliveries",
    "list_deliveries",
    "list_deliveries_between",
    "list_deliveries_of",
    "list_hook_events",
    "number_deliveries",
]

_NAMES = HookDelivery.__struct_fields__
_COLUMNS = ", ".join(_NAMES)
_OF_SESSION = "INDEXED BY hook_deliveries_by_session"
"""There are more indexes, and without statistics the engine does not know which one is good."""
_INSERT = f"""
INSERT INTO hook_deliveries (owner, {_COLUMNS}) VALUES (?, {", ".join("?" * len(_NAMES))})
ON CONFLICT (delivery_id) DO NOTHING
"""


def add_deliveries(connection: apsw.Connection, scope: Scope, deliveries: Iterable[HookDelivery]) -> int:
    """Write deliveries that are not there yet, with an entry in the feed for each; return how many."""
    added = 0
    new: list[tuple[int, int, bytes]] = []
    for delivery in deliveries:
        if is_forgotten_id(connection, scope.owner, delivery.session_id, delivery.origin):
            continue
        *cells, origin = astuple(delivery)
        connection.execute(_INSERT, (scope.owner, *cells, pack_text(origin)))
        if connection.changes():
            new.append((connection.last_insert_rowid(), delivery.received_ns, delivery.payload))
            connection.execute(
                "INSERT INTO changes (owner, kind, session, revision, at_ns, origin) VALUES (?, ?, ?, 0, ?, ?)",
                (
                    scope.owner,
                    str(ChangeKind.HOOK_DELIVERED),
                    delivery.session_id,
                    delivery.received_ns,
                    pack_text(origin),
                ),
            )
            added += 1
    if new:
        add_delivery_texts(connection, new)
    return added


def list_deliveries(
    connection: apsw.Connection, scope: Scope, session_id: str | None, first: int, count: int
) -> list[HookDelivery]:
    """Return deliveries of a session, or of all, by time."""
    where = "WHERE ?2 IS NULL" if session_id is None else f"{_OF_SESSION} WHERE session_id = ?2"
    query = f"""
    SELECT {_COLUMNS} FROM hook_deliveries {where} AND owner = ?1
    ORDER BY received_ns, id LIMIT ?3 OFFSET ?4
    """
    return _read(connection.execute(query, (scope.owner, session_id, count, first)))


def list_deliveries_between(
    connection: apsw.Connection, scope: Scope, session_id: str, since_ns: int, until_ns: int, count: int
) -> list[HookDelivery]:
    """Return deliveries of a session from a time on, and before another."""
    query = f"""
    SELECT {_COLUMNS} FROM hook_deliveries {_OF_SESSION}
    WHERE owner = ? AND session_id = ? AND received_ns >= ? AND received_ns < ?
    ORDER BY received_ns, id LIMIT ?
    """
    return _read(connection.execute(query, (scope.owner, session_id, since_ns, until_ns, count)))


def list_deliveries_of(
    connection: apsw.Connection, scope: Scope, session_id: str, tool_use_ids: Collection[str]
) -> list[HookDelivery]:
    """Return deliveries of a session that are about any of some calls, by time."""
    query = f"""
    SELECT {_COLUMNS} FROM hook_deliveries INDEXED BY hook_deliveries_by_call
    WHERE owner = ? AND session_id = ? AND tool_use_id IN (SELECT value FROM json_each(?))
    ORDER BY received_ns, id
    """
    wanted = msgspec.json.encode(sorted(set(tool_use_ids))).decode()
    return _read(connection.execute(query, (scope.owner, session_id, wanted)))


def count_deliveries(connection: apsw.Connection, scope: Scope, session_id: str | None) -> int:
    """Return how many deliveries there are of a session, or of all."""
    query, values = "SELECT count(*) FROM hook_deliveries WHERE owner = ?", [scope.owner]
    if session_id is not None:
        query = f"SELECT count(*) FROM hook_deliveries {_OF_SESSION} WHERE owner = ? AND session_id = ?"
        values = [scope.owner, session_id]
    [(count,)] = connection.execute(query, values)
    return int(count)


def number_deliveries(
    connection: apsw.Connection, scope: Scope, delivery_ids: Collection[str]
) -> dict[str, int]:
    """Return the numbers of some deliveries, of those that are there."""
    query = """
    SELECT delivery_id, id FROM hook_deliveries
    WHERE delivery_id IN (SELECT value FROM json_each(?)) AND owner = ?
    """
    wanted = msgspec.json.encode(sorted(set(delivery_ids))).decode()
    return {str(name): int(number) for name, number in connection.execute(query, (wanted, scope.owner))}


def _read(rows: Iterable[tuple[Any, ...]]) -> list[HookDelivery]:
    return [
        msgspec.convert(dict(zip(_NAMES, (*cells, unpack_text(origin)), strict=True)), HookDelivery)
        for *cells, origin in rows
    ]


def list_hook_events(
    connection: apsw.Connection, scope: Scope, session_id: str, first: int, count: int
) -> list[HookEvent]:
    """Return a session's events as spec 002 tells them, by time."""
    query = f"""
    SELECT e.* FROM hook_deliveries AS d {_OF_SESSION} CROSS JOIN hook_events AS e ON e.id = d.id
    WHERE d.owner = ? AND d.session_id = ? ORDER BY d.received_ns, d.id LIMIT ? OFFSET ?
    """
    rows = connection.execute(query, (scope.owner, session_id, count, first))
    return [HookEvent(**dict(zip(HookEvent.__struct_fields__, row, strict=True))) for row in rows]
