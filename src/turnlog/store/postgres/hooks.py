"""Hook deliveries: each once, in the order in which they came.

They lie in partitions by the month in which they came; `delivery_numbers` has each of them once, whichever that
is, and gives them their numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from typing import Any

from psycopg import Connection

from turnlog.store.changes import NewChange
from turnlog.store.hooks import HookDelivery, HookEvent, HookSession
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.packing import Cells, pack_text, unpack_text
from turnlog.store.postgres.failures import CollisionError
from turnlog.store.postgres.feed import add_entries, lock_feed
from turnlog.store.postgres.hook_spans import widen_spans
from turnlog.store.postgres.partitions import month_of, require_month
from turnlog.store.postgres.texts import add_delivery_texts
from turnlog.store.postgres.tombstones import list_forgotten_ids
from turnlog.store.postgres.wire import copy_rows

__all__ = [
    "add_deliveries",
    "count_deliveries",
    "list_deliveries",
    "list_deliveries_between",
    "list_deliveries_of",
    "list_hook_events",
    "list_hook_sessions",
    "number_deliveries",
]

_NAMES = HookDelivery.__struct_fields__
_PLAIN = frozenset({"received_ns", "payload"})
"""What is not text."""
_COLUMNS = ", ".join(_NAMES)
_TYPES = {"id": "int8", "owner": "text", **dict.fromkeys(_NAMES, "bytea"), "received_ns": "int8"}
_OF_SESSION = """
owner = %(owner)s AND substring(session_id from 1 for 64) = substring(%(session_id)s::bytea from 1 for 64)
AND session_id = %(session_id)s
"""
_NUMBER = """
INSERT INTO delivery_numbers (owner, digest, received_ns)
SELECT %s, w.digest, w.received_ns
FROM unnest(%s::bytea[], %s::bigint[]) WITH ORDINALITY AS w (digest, received_ns, place) ORDER BY w.place
ON CONFLICT DO NOTHING RETURNING digest, id
"""
_IS_SEEN = """
AND EXISTS (SELECT 1 FROM hook_deliveries AS d WHERE d.id = n.id AND d.received_ns = n.received_ns)
"""
"""Numbers are there for everybody, and what they stand for is not."""
_EVENTS = f"""
SELECT id, session_id, received_ns / 1000000000, event_name, tool_name, coalesce(label, event_name),
    coalesce(group_name, 'autonomous'), context
FROM hook_deliveries
WHERE {_OF_SESSION} AND event_name <> 'SessionEnd' AND notification_type IS DISTINCT FROM 'auth_success'
ORDER BY received_ns, id LIMIT %(count)s OFFSET %(first)s
"""
"""As the view `hook_events`, which is for people: its text is not always what it was."""


def add_deliveries(connection: Connection, scope: Scope, deliveries: Sequence[HookDelivery]) -> int:
    """Write deliveries that are not there yet, with an entry in the feed for each; return how many."""
    # However the server is set up: what a hook was told is not told again.
    connection.execute("SET LOCAL synchronous_commit TO on")
    forgotten = _list_forgotten(connection, scope, deliveries)
    kept = [each for each in deliveries if (each.session_id, each.origin) not in forgotten]
    for month in sorted({month_of(each.received_ns // 1000) for each in kept}):
        require_month(connection, month)
    new = _number(connection, scope, kept)
    if not new:
        return 0
    rows = ((number, scope.owner, *_pack(delivery)) for number, delivery in new)
    copy_rows(connection, "hook_deliveries", _TYPES, rows)
    add_delivery_texts(
        connection, scope.owner, [(number, each.received_ns, each.payload) for number, each in new]
    )
    lock_feed(connection)
    # Whoever forgets a session deletes what it was told under this lock, too.
    if _list_forgotten(connection, scope, [each for _, each in new]):
        raise CollisionError("A session was forgotten in the meantime")
    widen_spans(connection, scope, [each for _, each in new])
    add_entries(
        connection,
        [
            NewChange(
                scope.owner,
                ChangeKind.HOOK_DELIVERED,
                each.session_id,
                0,
                each.received_ns,
                origin=each.origin,
            )
            for _, each in new
        ],
    )
    return len(new)


def list_deliveries(
    connection: Connection, scope: Scope, session_id: str | None, first: int, count: int
) -> list[HookDelivery]:
    """Return deliveries of a session, or of all, by time."""
    where = "owner = %(owner)s" if session_id is None else _OF_SESSION
    query = f"""
    SELECT {_COLUMNS} FROM hook_deliveries WHERE {where}
    ORDER BY received_ns, id LIMIT %(count)s OFFSET %(first)s
    """
    values = {**_name(scope, session_id), "first": first, "count": count}
    return _read(connection.execute(query, values))


def list_deliveries_between(
    connection: Connection, scope: Scope, session_id: str, since_ns: int, until_ns: int, count: int
) -> list[HookDelivery]:
    """Return deliveries of a session from a time on, and before another."""
    query = f"""
    SELECT {_COLUMNS} FROM hook_deliveries
    WHERE {_OF_SESSION} AND received_ns >= %(since)s AND received_ns < %(until)s
    ORDER BY received_ns, id LIMIT %(count)s
    """
    values = {**_name(scope, session_id), "since": since_ns, "until": until_ns, "count": count}
    return _read(connection.execute(query, values))


def list_deliveries_of(
    connection: Connection, scope: Scope, session_id: str, tool_use_ids: Collection[str]
) -> list[HookDelivery]:
    """Return deliveries of a session that are about any of some calls, by time."""
    query = f"""
    SELECT {_COLUMNS} FROM hook_deliveries
    WHERE {_OF_SESSION} AND substring(tool_use_id from 1 for 64) = ANY(%(heads)s) AND tool_use_id = ANY(%(ids)s)
    ORDER BY received_ns, id
    """
    ids = [pack_text(each) for each in sorted(set(tool_use_ids))]
    values = {**_name(scope, session_id), "ids": ids, "heads": [each[:64] for each in ids]}
    return _read(connection.execute(query, values))


def count_deliveries(connection: Connection, scope: Scope, session_id: str | None) -> int:
    """Return how many deliveries there are of a session, or of all."""
    where = "owner = %(owner)s" if session_id is None else _OF_SESSION
    query = f"SELECT count(*) FROM hook_deliveries WHERE {where}"
    [(count,)] = connection.execute(query, _name(scope, session_id)).fetchall()
    return int(count)


def number_deliveries(connection: Connection, scope: Scope, delivery_ids: Collection[str]) -> dict[str, int]:
    """Return the numbers of some deliveries, of those that are there."""
    names = {_digest(each): each for each in delivery_ids}
    query = "SELECT n.digest, n.id FROM delivery_numbers AS n WHERE n.owner = %s AND n.digest = ANY(%s)"
    if scope.viewer is not None:
        query += _IS_SEEN
    found = connection.execute(query, (scope.owner, list(names)))
    return {names[digest]: int(number) for digest, number in found}


def list_hook_sessions(connection: Connection, scope: Scope, since_ns: int, count: int) -> list[HookSession]:
    """Return the sessions that hooks told of at a time or later, the latest first."""
    query = """
    SELECT session_id, max(received_ns) AS last_ns FROM hook_deliveries
    WHERE owner = %s AND received_ns >= %s AND session_id <> '' GROUP BY session_id
    ORDER BY last_ns DESC, session_id LIMIT %s
    """
    rows = connection.execute(query, (scope.owner, since_ns, count))
    return [HookSession(unpack_text(session_id), last_ns) for session_id, last_ns in rows]


def list_hook_events(
    connection: Connection, scope: Scope, session_id: str, first: int, count: int
) -> list[HookEvent]:
    """Return a session's events as spec 002 tells them, by time."""
    values = {**_name(scope, session_id), "first": first, "count": count}
    names = HookEvent.__struct_fields__
    return [
        HookEvent(**{name: _unpack(cell) for name, cell in zip(names, row, strict=True)})
        for row in connection.execute(_EVENTS, values)
    ]


def _number(
    connection: Connection, scope: Scope, deliveries: Sequence[HookDelivery]
) -> list[tuple[int, HookDelivery]]:
    """Return the deliveries that are new, each once, with the numbers that they get."""
    found = {_digest(each.delivery_id): each for each in reversed(deliveries)}
    named = {digest: found[digest] for digest in (_digest(each.delivery_id) for each in deliveries)}
    times = [each.received_ns for each in named.values()]
    rows = connection.execute(_NUMBER, (scope.owner, list(named), times)).fetchall()
    return sorted(((number, named[digest]) for digest, number in rows), key=lambda each: each[0])


def _list_forgotten(
    connection: Connection, scope: Scope, deliveries: Iterable[HookDelivery]
) -> set[tuple[str, str]]:
    return list_forgotten_ids(connection, scope.owner, {(each.session_id, each.origin) for each in deliveries})


def _digest(delivery_id: str) -> bytes:
    return blake2b(pack_text(delivery_id), digest_size=16).digest()


def _name(scope: Scope, session_id: str | None) -> dict[str, Any]:
    return {"owner": scope.owner, "session_id": pack_text(session_id)}


def _pack(delivery: HookDelivery) -> Cells:
    return tuple(
        getattr(delivery, name) if name in _PLAIN else pack_text(getattr(delivery, name)) for name in _NAMES
    )


def _unpack(cell: Any) -> Any:
    return unpack_text(cell) if isinstance(cell, bytes) else cell


def _read(rows: Iterable[Cells]) -> list[HookDelivery]:
    return [
        HookDelivery(
            **{
                name: cell if name in _PLAIN else unpack_text(cell)
                for name, cell in zip(_NAMES, row, strict=True)
            }
        )
        for row in rows
    ]
