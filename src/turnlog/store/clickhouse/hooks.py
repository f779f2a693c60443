"""Hook deliveries: each once, in the order in which they came.

A delivery is published, with what is searched of it, under the lock of the machine that it comes from: so of
several attempts to deliver it, whichever comes second finds what the first one left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from turnlog.store.changes import NewChange
from turnlog.store.clickhouse.hook_schema import DELIVERIES, MOST_AT_ONCE, number_delivery
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.search_schema import TEXTS
from turnlog.store.clickhouse.texts import build_delivery_texts
from turnlog.store.clickhouse.tombstones import list_forgotten_ids
from turnlog.store.clickhouse.transaction import Connected, Write
from turnlog.store.control.machines import find_persons, name_machine
from turnlog.store.hooks import HookDelivery, HookEvent, HookSession
from turnlog.store.identity import Scope
from turnlog.store.interface import ChangeKind
from turnlog.store.packing import Cells, pack_text, unpack_text

__all__ = ["Hooks"]

_NAMES = HookDelivery.__struct_fields__
_PLAIN = frozenset({"received_ns", "payload"})
"""What is not text."""
_COLUMNS = ", ".join(_NAMES)
_MOST_BYTES = 16 << 20
"""How much is written at once."""
_DAY = 86_400_000_000_000
_OF_SESSION = "owner = {owner:String} AND session_id = {session_id:String}"
_BY_TIME = "ORDER BY received_ns, number"
_KNOWN = """
SELECT DISTINCT digest FROM delivery_numbers WHERE owner = {owner:String} AND digest IN {digests:Array(UInt128)}
"""
_NUMBERS = """
SELECT digest, number FROM deliveries FINAL
WHERE owner = {owner:String} AND (session_id, received_ns, digest) IN (
    SELECT session_id, received_ns, digest FROM delivery_numbers
    WHERE owner = {owner:String} AND digest IN {digests:Array(UInt128)}
)
"""
_SESSIONS = """
SELECT session_id, max(received_ns) AS last_ns FROM deliveries FINAL
WHERE owner = {owner:String} AND born >= {day:Date} AND received_ns >= {since:Int64} AND session_id <> ''
GROUP BY session_id ORDER BY last_ns DESC, session_id LIMIT {count:UInt64}
"""
_EVENTS = f"""
SELECT number, session_id, intDiv(received_ns, 1000000000), event_name, tool_name, coalesce(label, event_name),
    coalesce(group_name, 'autonomous'), context
FROM deliveries FINAL
WHERE {_OF_SESSION} AND event_name <> 'SessionEnd' AND ifNull(notification_type, '') <> 'auth_success'
{_BY_TIME} LIMIT {{count:UInt64}} OFFSET {{first:UInt64}}
"""


class Hooks(Connected):
    """What `ClickHouseStore` does with what hooks told."""

    def add_deliveries(self, scope: Scope, deliveries: Sequence[HookDelivery]) -> int:
        """Keep what hooks were given, each delivery once, and return how many are new."""
        return sum(self._add_some(scope, some) for some in _split(deliveries))

    def number_deliveries(self, scope: Scope, delivery_ids: Collection[str]) -> dict[str, int]:
        """Return the numbers that `HookEvent.id` tells of some deliveries, of those that are there."""
        names = {number(scope.owner, each): each for each in delivery_ids}
        if not names:
            return {}
        rows = self._reading(scope).query(_NUMBERS, {"digests": list(names)})
        return {names[digest]: found for digest, found in rows}

    def list_deliveries(
        self, scope: Scope, session_id: str | None = None, *, first: int = 0, count: int = 1000
    ) -> list[HookDelivery]:
        """Return deliveries of a session, or of all, by time."""
        where = "owner = {owner:String}" if session_id is None else _OF_SESSION
        values = {"session_id": pack_text(session_id or ""), "first": first, "count": count}
        return self._list(scope, where, f"{_BY_TIME} LIMIT {{count:UInt64}} OFFSET {{first:UInt64}}", values)

    def list_deliveries_between(
        self, scope: Scope, session_id: str, since_ns: int, until_ns: int, count: int = 1000
    ) -> list[HookDelivery]:
        """Return deliveries of a session that came at `since_ns` or later, and before `until_ns`, by time."""
        where = f"{_OF_SESSION} AND received_ns >= {{since:Int64}} AND received_ns < {{until:Int64}}"
        values = {"session_id": pack_text(session_id), "since": since_ns, "until": until_ns, "count": count}
        return self._list(scope, where, f"{_BY_TIME} LIMIT {{count:UInt64}}", values)

    def list_deliveries_of(
        self, scope: Scope, session_id: str, tool_use_ids: Collection[str]
    ) -> list[HookDelivery]:
        """Return deliveries of a session that are about any of some calls, by time."""
        ids = [pack_text(each) for each in sorted(set(tool_use_ids))]
        if not ids:
            return []
        where = f"{_OF_SESSION} AND tool_use_id IN {{ids:Array(String)}}"
        return self._list(scope, where, "", {"session_id": pack_text(session_id), "ids": ids})

    def count_deliveries(self, scope: Scope, session_id: str | None = None) -> int:
        """Return how many deliveries there are of a session, or of all."""
        where = "owner = {owner:String}" if session_id is None else _OF_SESSION
        query = f"SELECT count() FROM deliveries FINAL WHERE {where}"
        [(count,)] = self._reading(scope).query(query, {"session_id": pack_text(session_id or "")})
        return int(count)

    def list_hook_sessions(self, scope: Scope, since_ns: int, count: int = 200) -> list[HookSession]:
        """Return the sessions that hooks told of at a time or later, the latest first."""
        values = {"since": since_ns, "day": _find_day(since_ns), "count": count}
        rows = self._reading(scope).query(_SESSIONS, values)
        return [HookSession(unpack_text(session_id), last_ns) for session_id, last_ns in rows]

    def list_hook_events(
        self, scope: Scope, session_id: str, *, first: int = 0, count: int = 1000
    ) -> list[HookEvent]:
        """Return a session's hook events as spec 002 tells them, by time."""
        values = {"session_id": pack_text(session_id), "first": first, "count": count}
        names = HookEvent.__struct_fields__
        return [
            HookEvent(**{name: _unpack(cell) for name, cell in zip(names, row, strict=True)})
            for row in self._reading(scope).query(_EVENTS, values)
        ]

    def _add_some(self, scope: Scope, deliveries: Sequence[HookDelivery]) -> int:
        names = {name_machine(each.origin) for each in deliveries}
        with self._writing(scope.owner, names) as write:
            new = self._list_new(scope, deliveries)
            if new:
                self._publish_new(write, scope, new)
        return len(new)

    def _list_new(self, scope: Scope, deliveries: Sequence[HookDelivery]) -> list[HookDelivery]:
        """Return the deliveries that are not there yet and were not forgotten, each once, in their order."""
        told = {(each.session_id, each.origin) for each in deliveries}
        forgotten = list_forgotten_ids(self._control, scope.owner, told)
        named: dict[int, HookDelivery] = {}
        for each in deliveries:
            if (each.session_id, each.origin) not in forgotten:
                named.setdefault(number(scope.owner, each.delivery_id), each)
        if not named:
            return []
        values = {"owner": scope.owner, "digests": list(named)}
        known = {digest for (digest,) in self._engine.query(_KNOWN, values)}
        return [each for digest, each in named.items() if digest not in known]

    def _publish_new(self, write: Write, scope: Scope, new: Sequence[HookDelivery]) -> None:
        persons = find_persons(self._control, scope.owner, {each.origin for each in new})
        numbered = [(number_delivery(write.number, at), each) for at, each in enumerate(new)]
        rows = (_pack(scope.owner, write.number, at, each, persons.get(each.origin)) for at, each in numbered)
        write.publish(DELIVERIES, rows)
        texts = [(at, each.received_ns, each.payload) for at, each in numbered]
        write.publish(TEXTS, build_delivery_texts(scope.owner, write.number, texts))
        for each in new:
            told = scope.owner, ChangeKind.HOOK_DELIVERED, each.session_id, 0, each.received_ns
            write.note_change(NewChange(*told, origin=each.origin))

    def _list(self, scope: Scope, where: str, limit: str, values: dict[str, Any]) -> list[HookDelivery]:
        """Return deliveries by time; payloads are read only of those that are returned."""
        query = f"""
        SELECT {_COLUMNS} FROM deliveries FINAL
        WHERE owner = {{owner:String}} AND (session_id, received_ns, digest) IN (
            SELECT session_id, received_ns, digest FROM deliveries FINAL WHERE {where} {limit}
        ) {_BY_TIME}
        """
        return list(map(_build, self._reading(scope).query(query, values)))


def _split(deliveries: Sequence[HookDelivery]) -> Iterable[list[HookDelivery]]:
    """Yield deliveries in their order, as many as are written at once."""
    some: list[HookDelivery] = []
    size = 0
    for each in deliveries:
        if some and (len(some) == MOST_AT_ONCE or size + len(each.payload) > _MOST_BYTES):
            yield some
            some, size = [], 0
        some.append(each)
        size += len(each.payload)
    if some:
        yield some


def _find_day(at_ns: int) -> date:
    return datetime.fromtimestamp(max(0, at_ns) // _DAY * 86_400, UTC).date()


def _pack(owner: str, write: int, at: int, delivery: HookDelivery, person: str | None) -> Cells:
    cells: dict[str, Any] = {
        name: getattr(delivery, name) if name in _PLAIN else pack_text(getattr(delivery, name))
        for name in _NAMES
    }
    cells["owner"] = pack_text(owner)
    cells["digest"] = number(owner, delivery.delivery_id)
    cells["write"] = write
    cells["born"] = _find_day(delivery.received_ns)
    cells["number"] = at
    cells["person"] = pack_text(person)
    return tuple(cells[name] for name in DELIVERIES.names)


def _unpack(cell: Any) -> Any:
    return unpack_text(cell) if isinstance(cell, bytes) else cell


def _build(row: Cells) -> HookDelivery:
    cells = zip(_NAMES, row, strict=True)
    return HookDelivery(**{name: cell if name in _PLAIN else unpack_text(cell) for name, cell in cells})
