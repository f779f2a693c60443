"""Hook deliveries: each once, with what is searched of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from turnlog.store.batch import TextFact
from turnlog.store.catalogue.database import MOST, Connection, pack_text, same_text, unpack_text
from turnlog.store.catalogue.feed import add_change, lock_feed
from turnlog.store.interface import ChangeKind
from turnlog.store.model import Scope
from turnlog.store.search.index import HOOKS, TextIndex
from turnlog.store.search.paging import read_delivery
from turnlog.store.search.texts import build_text
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery

_NAMES = HookDelivery.__struct_fields__
_KEPT = [name for name in _NAMES if name != "id"]
_NUMBERS = frozenset({"id", "received_ns", "payload"})
"""The columns that are no text."""
_INSERT = f"""
INSERT INTO hook_deliveries (owner, digest, {", ".join(_KEPT)}) VALUES (?, ?, {", ".join("?" * len(_KEPT))})
ON CONFLICT (digest) DO NOTHING RETURNING id
"""
_FORGOTTEN = f"""
SELECT 1 FROM tombstones WHERE owner = :owner AND {same_text("session_id", ":session")}
AND person IS NOT DISTINCT FROM (SELECT person FROM machines WHERE owner = :owner AND origin = :origin) LIMIT 1
"""
"""Whether a session with this id was forgotten, of the person whose machine tells of it."""
_CONDITIONS = {
    "session_id": same_text("d.session_id", ":session_id"),
    "since_ns": "d.received_ns >= :since_ns",
    "until_ns": "d.received_ns < :until_ns",
    "tool_use_ids": (
        "substr(d.tool_use_id, 1, 64) IN (SELECT substr(value, 1, 64) FROM @@blobs(:tool_use_ids) AS w) "
        "AND d.tool_use_id IN @@blobs(:tool_use_ids)"
    ),
    "delivery_ids": "d.digest IN @@blobs(:delivery_ids)",
    "ids": "d.id IN @@ints(:ids)",
}
"""By the fields of `DeliveryFilter`."""
_IS_EVENT = "d.event_name <> :ending AND (d.notification_type IS NULL OR d.notification_type <> :authorised)"
"""As the view `hook_events` has it."""
_AT_ONCE = 500


def add_deliveries(
    connection: Connection, index: TextIndex, scope: Scope, deliveries: Iterable[HookDelivery]
) -> int:
    """Write deliveries that are not there yet, with an entry in the feed for each; return how many."""
    new: list[tuple[int, HookDelivery]] = []
    for delivery in deliveries:
        if _is_forgotten(connection, scope, delivery):
            continue
        given = ((name, getattr(delivery, name)) for name in _KEPT)
        cells = (value if name in _NUMBERS else pack_text(value) for name, value in given)
        rows = connection.execute(_INSERT, (scope.owner, _digest(delivery.delivery_id), *cells))
        new += [(number, delivery) for (number,) in rows]
    if new:
        _add_texts(connection, index, new)
        lock_feed(connection)
        # Who forgets a session deletes under this lock what hooks told of it, as far as it is committed.
        gone = {number for number, delivery in new if _is_forgotten(connection, scope, delivery)}
        if gone:
            index.delete_lines(connection, HOOKS, gone)
            connection.execute("DELETE FROM hook_deliveries WHERE id IN @@ints(?)", ([*gone],))
            new = [each for each in new if each[0] not in gone]
        for _, delivery in new:
            kind, told = ChangeKind.HOOK_DELIVERED, (delivery.session_id, 0, delivery.received_ns)
            add_change(connection, scope.owner, kind, *told, origin=delivery.origin)
    return len(new)


def _is_forgotten(connection: Connection, scope: Scope, delivery: HookDelivery) -> bool:
    session, origin = pack_text(delivery.session_id), pack_text(delivery.origin)
    asked = {"owner": scope.owner, "session": session, "origin": origin}
    return bool(connection.execute(_FORGOTTEN, asked))


def list_deliveries(connection: Connection, scope: Scope, which: DeliveryFilter) -> list[HookDelivery]:
    """Return the deliveries that are asked for, by time."""
    given = {name: getattr(which, name) for name in _CONDITIONS}
    values = {name: _pack_value(name, value) for name, value in given.items() if value is not None}
    is_keyed = "ids" in values or "delivery_ids" in values
    # So that no index but that of the key is used.
    where = ["coalesce(d.owner, '') = :owner" if is_keyed else "d.owner = :owner"]
    where += [_CONDITIONS[name] for name in values]
    if which.events_only:
        where.append(_IS_EVENT)
        values |= {"ending": b"SessionEnd", "authorised": b"auth_success"}
    columns = {name: f"d.{name}" for name in _NAMES}
    if not which.payloads:
        columns["payload"] = "CAST('' AS @@bytes)"
    if which.longest_context is not None:
        limit = which.longest_context
        short = f"CASE WHEN length(d.context) <= {limit:d} THEN d.context END"
        columns["context"] = short if limit else "CAST(NULL AS @@bytes)"
    # So that the index by calls is used, and not one that has them in this order.
    time = "d.received_ns + 0" if "tool_use_ids" in values else "d.received_ns"
    query = f"""
    SELECT {", ".join(columns.values())} FROM hook_deliveries AS d WHERE {" AND ".join(where)}
    ORDER BY {time}, d.delivery_id LIMIT :count OFFSET :first
    """
    count = MOST if which.count is None else which.count
    rows = connection.execute(query, values | {"owner": scope.owner, "count": count, "first": which.first})
    return [_unpack(row) for row in rows]


def count_deliveries(connection: Connection, scope: Scope, session_id: str | None) -> int:
    """Return how many deliveries there are of a session, or of all."""
    query, values = "SELECT count(*) FROM hook_deliveries WHERE owner = :owner", {"owner": scope.owner}
    if session_id is not None:
        query += f" AND {same_text('session_id', ':session')}"
        values["session"] = pack_text(session_id)  # type: ignore[assignment]
    [(count,)] = connection.execute(query, values)
    return int(count)


def list_hook_sessions(connection: Connection, scope: Scope, since_ns: int, count: int) -> list[str]:
    """Return the sessions that hooks told of at a time or later, the latest first."""
    query = """
    SELECT session_id, max(received_ns) AS last_ns FROM hook_deliveries
    WHERE owner = ? AND received_ns >= ? AND session_id <> ? GROUP BY session_id
    ORDER BY last_ns DESC, session_id LIMIT ?
    """
    return [unpack_text(name) for name, _ in connection.execute(query, (scope.owner, since_ns, b"", count))]


def index_deliveries(connection: Connection, index: TextIndex) -> None:
    """Put all deliveries that there are into what is searched."""
    columns = ", ".join(f"d.{name}" for name in _NAMES)
    query = f"SELECT {columns} FROM hook_deliveries AS d WHERE d.id > ? ORDER BY d.id LIMIT {_AT_ONCE}"
    last = 0
    while found := [_unpack(row) for row in connection.execute(query, (last,))]:
        last = found[-1].id or 0
        _add_texts(connection, index, [(each.id or 0, each) for each in found])


def _add_texts(
    connection: Connection, index: TextIndex, deliveries: Iterable[tuple[int, HookDelivery]]
) -> None:
    index.write(connection, HOOKS, _list_texts(deliveries))
    index.flush(connection)


def _list_texts(deliveries: Iterable[tuple[int, HookDelivery]]) -> Iterator[TextFact]:
    for number, delivery in deliveries:
        for ordinal, passage in enumerate(read_delivery(delivery)):
            yield build_text(number, ordinal, passage, delivery.received_ns // 1000)


def list_delivery_texts(connection: Connection, numbers: Iterable[int]) -> Iterator[tuple[str, TextFact]]:
    """Yield what is searched of some deliveries, as far as they are there, each with its owner."""
    columns = ", ".join(f"d.{name}" for name in _NAMES)
    query = f"SELECT d.owner, {columns} FROM hook_deliveries AS d WHERE d.id IN @@ints(?) ORDER BY d.id"
    for owner, *row in connection.execute(query, ([*numbers],)):
        delivery = _unpack(tuple(row))
        for text in _list_texts([(delivery.id or 0, delivery)]):
            yield owner, text


def _digest(delivery_id: str) -> bytes:
    return blake2b(pack_text(delivery_id), digest_size=16).digest()


def _pack_value(name: str, value: Any) -> Any:
    """Return a value of a filter as it is asked for."""
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return pack_text(value)
    if name == "ids":
        return sorted({each for each in value if 0 <= each <= MOST})
    return sorted({_digest(each) if name == "delivery_ids" else pack_text(each) for each in value})


def _unpack(row: tuple[Any, ...]) -> HookDelivery:
    cells = [cell if name in _NUMBERS else unpack_text(cell) for name, cell in zip(_NAMES, row, strict=True)]
    return msgspec.convert(cells, HookDelivery)
