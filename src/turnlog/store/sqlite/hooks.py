"""Hook deliveries: each once, with what is searched of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import msgspec

from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.search.reading import read_delivery
from turnlog.store.search.text_rows import HOOKS
from turnlog.store.search.texts import build_text
from turnlog.store.sqlite.texts import write_texts
from turnlog.store.sqlite.values import pack_text, unpack_text
from turnlog.transcripts.hooks.deliveries import DeliveryFilter, HookDelivery, find_text

RECENT_HOOKS = """
CREATE INDEX hook_deliveries_by_time ON hook_deliveries (owner, received_ns, session_id);
"""
_NAMES = HookDelivery.__struct_fields__
_KEPT = [name for name in _NAMES if name != "id"]
_INSERT = f"""
INSERT INTO hook_deliveries (owner, {", ".join(_KEPT)}) VALUES (?, {", ".join("?" * len(_KEPT))})
ON CONFLICT (delivery_id) DO NOTHING
"""
_FORGOTTEN = """
SELECT 1 FROM tombstones WHERE owner = ?1 AND kind = 'session-id' AND value = ?2
AND person IS (SELECT person FROM machines WHERE owner = ?1 AND origin = ?3) LIMIT 1
"""
"""Whether a session with this id was forgotten, of the person whose machine tells of it."""
_INSERT_CHANGE = "INSERT INTO changes (owner, kind, session, revision, at_ns, origin) VALUES (?, ?, ?, 0, ?, ?)"
_OF_SESSION = "INDEXED BY hook_deliveries_by_session"
"""There are more indexes, and without statistics the engine does not know which one is good."""
_OF_CALLS = "INDEXED BY hook_deliveries_by_call"
_AMONG = "IN (SELECT value FROM json_each({}))"
_CONDITIONS = {
    "session_id": "d.session_id = :session_id",
    "since_ns": "d.received_ns >= :since_ns",
    "until_ns": "d.received_ns < :until_ns",
    "tool_use_ids": f"d.tool_use_id {_AMONG.format(':tool_use_ids')}",
    "delivery_ids": f"d.delivery_id {_AMONG.format(':delivery_ids')}",
    "ids": f"d.id {_AMONG.format(':ids')}",
}
"""By the fields of `DeliveryFilter`."""
_KEYS = "delivery_ids", "ids"
_IS_EVENT = "d.event_name <> 'SessionEnd' AND d.notification_type IS NOT 'auth_success'"
"""As the view `hook_events` has it."""


def add_deliveries(connection: apsw.Connection, scope: Scope, deliveries: Iterable[HookDelivery]) -> int:
    """Write deliveries that are not there yet, with an entry in the feed for each; return how many."""
    new: list[tuple[int, HookDelivery]] = []
    for delivery in deliveries:
        origin = pack_text(delivery.origin)
        if connection.execute(_FORGOTTEN, (scope.owner, pack_text(delivery.session_id), origin)).fetchall():
            continue
        cells = [origin if name == "origin" else getattr(delivery, name) for name in _KEPT]
        connection.execute(_INSERT, (scope.owner, *cells))
        if connection.changes():
            new.append((connection.last_insert_rowid(), delivery))
            kind = str(ChangeKind.HOOK_DELIVERED)
            told = scope.owner, kind, delivery.session_id, delivery.received_ns, origin
            connection.execute(_INSERT_CHANGE, told)
    if new:
        _add_texts(connection, new)
    return len(new)


def list_deliveries(connection: apsw.Connection, scope: Scope, which: DeliveryFilter) -> list[HookDelivery]:
    """Return the deliveries that are asked for, by time."""
    given = {name: getattr(which, name) for name in _CONDITIONS}
    values = {name: _pack(value) for name, value in given.items() if value is not None}
    keys = [_CONDITIONS[name] for name in values if name in _KEYS]
    where = ["d.owner = :owner", *(_CONDITIONS[name] for name in values if name not in _KEYS)]
    hint = ""
    if keys:
        where = [f"+{condition}" for condition in where]  # so that no index but that of the key is used
    elif which.session_id is not None:
        hint = _OF_SESSION if which.tool_use_ids is None else _OF_CALLS
    where += [*keys, *([_IS_EVENT] * which.events_only)]
    columns = {name: f"d.{name}" for name in _NAMES}
    if not which.payloads:
        columns["payload"] = "x''"
    if which.longest_context is not None:
        limit = which.longest_context
        columns["context"] = f"iif(length(d.context) <= {limit:d}, d.context, NULL)" if limit else "NULL"
    query = f"""
    SELECT {", ".join(columns.values())} FROM hook_deliveries AS d {hint} WHERE {" AND ".join(where)}
    ORDER BY d.received_ns, d.delivery_id LIMIT :count OFFSET :first
    """
    count = -1 if which.count is None else which.count
    rows = connection.execute(query, values | {"owner": scope.owner, "count": count, "first": which.first})
    found = [(*cells, unpack_text(origin), number) for *cells, origin, number in rows]
    return msgspec.convert(found, list[HookDelivery])


def count_deliveries(connection: apsw.Connection, scope: Scope, session_id: str | None) -> int:
    """Return how many deliveries there are of a session, or of all."""
    query, values = "SELECT count(*) FROM hook_deliveries WHERE owner = ?", [scope.owner]
    if session_id is not None:
        query = f"SELECT count(*) FROM hook_deliveries {_OF_SESSION} WHERE owner = ? AND session_id = ?"
        values = [scope.owner, session_id]
    [(count,)] = connection.execute(query, values)
    return int(count)


def list_hook_sessions(connection: apsw.Connection, scope: Scope, since_ns: int, count: int) -> list[str]:
    """Return the sessions that hooks told of at a time or later, the latest first."""
    query = """
    SELECT session_id, max(received_ns) AS last_ns FROM hook_deliveries INDEXED BY hook_deliveries_by_time
    WHERE owner = ? AND received_ns >= ? AND session_id <> '' GROUP BY session_id
    ORDER BY last_ns DESC, session_id LIMIT ?
    """
    return [str(name) for name, _ in connection.execute(query, (scope.owner, since_ns, count))]


def index_deliveries(connection: apsw.Connection) -> None:
    """Put all deliveries that there are into what is searched."""
    _add_texts(connection, _list_payloads(connection))


def find_calls_of_hooks(connection: apsw.Connection) -> None:
    """Fill the columns for calls and sub-agents of deliveries that were kept before there were any."""
    for number, delivery in _list_payloads(connection):
        found = [find_text(delivery.fields, name) or None for name in ("tool_use_id", "agent_id")]
        if any(found):
            connection.execute(
                "UPDATE hook_deliveries SET tool_use_id = ?, agent_id = ? WHERE id = ?", (*found, number)
            )


def _list_payloads(connection: apsw.Connection) -> Iterator[tuple[int, HookDelivery]]:
    """Yield all deliveries by their numbers; migrations ask, so what later ones add is not there."""
    query = "SELECT delivery_id, received_ns, payload FROM hook_deliveries WHERE id = ?"
    numbers = [number for (number,) in connection.execute("SELECT id FROM hook_deliveries ORDER BY id")]
    for number in numbers:
        [(name, at, payload)] = connection.execute(query, (number,))
        yield number, HookDelivery(delivery_id=name, received_ns=at, payload=payload)


def _add_texts(connection: apsw.Connection, deliveries: Iterable[tuple[int, HookDelivery]]) -> None:
    texts = (
        build_text(number, ordinal, passage, delivery.received_ns // 1000)
        for number, delivery in deliveries
        for ordinal, passage in enumerate(read_delivery(delivery))
    )
    write_texts(connection, HOOKS, texts)


def _pack(value: Any) -> str | int:
    """Return a value of a filter as SQLite takes it; what no JSON can say is nowhere."""
    if isinstance(value, str | int):
        return value
    return msgspec.json.encode(sorted(each for each in set(value) if _is_sayable(each))).decode()


def _is_sayable(value: str | int) -> bool:
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True
