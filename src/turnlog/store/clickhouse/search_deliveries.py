"""What search shows of hook deliveries: their payloads, and the sessions that they are of."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime

from turnlog.store.clickhouse.reading import Reading
from turnlog.store.control.interface import Control
from turnlog.store.packing import Cells, unpack_text
from turnlog.store.search.text_rows import Delivery

__all__ = ["DeliveryRows"]

_DELIVERIES = """
SELECT number, payload, delivery_id, session_id, tool_name, person, origin FROM deliveries FINAL
WHERE owner = {owner:String} AND number IN {numbers:Array(Int64)} AND born IN {days:Array(Date)}
"""
_SESSIONS = """
SELECT told_id, key, project, title, person FROM sessions FINAL
WHERE owner = {owner:String} AND told_id IN {ids:Array(String)} ORDER BY key
"""
_ORIGINS = """
SELECT DISTINCT origin FROM sessions FINAL WHERE owner = {owner:String} AND origin IN {origins:Array(String)}
"""
_HOSTS = "SELECT origin, host FROM @machines WHERE owner = ?"
_DAY = 86_400_000_000
"""In microseconds."""


class DeliveryRows:
    """Looks up deliveries that a scope sees; what it has learned it keeps."""

    def __init__(self, reading: Reading, control: Control) -> None:
        self._reading = reading
        self._control = control
        self._found: dict[int, Cells | None] = {}
        self._sessions: dict[bytes, list[Cells]] = {}
        self._hosts: dict[bytes, bytes] | None = None

    def load(self, deliveries: Iterable[tuple[int, int]]) -> None:
        """Look up deliveries by their numbers, given when they came in microseconds."""
        missing = {number: time for number, time in deliveries if number not in self._found}
        if not missing:
            return
        self._found.update(dict.fromkeys(missing))
        days = {_find_day(time) for time in missing.values()}
        values = {"numbers": sorted(missing), "days": sorted(days)}
        found = self._reading.query(_DELIVERIES, values)
        self._found.update((row[0], row[1:]) for row in found)
        ids = {session_id for _, _, _, session_id, *_ in found} - self._sessions.keys()
        if ids:
            self._sessions.update((session_id, []) for session_id in ids)
            for session_id, *cells in self._reading.query(_SESSIONS, {"ids": sorted(ids)}):
                self._sessions[session_id].append(tuple(cells))

    def find_payload(self, number: int) -> bytes | None:
        """Return what a hook was given."""
        found = self._found.get(number)
        return None if found is None else found[0]

    def find(self, number: int) -> Delivery | None:
        """Return a delivery."""
        found = self._found.get(number)
        if found is None:
            return None
        _, name, session_id, tool, person, origin = found
        same = [cells for cells in self._sessions[session_id] if person is None or cells[-1] == person]
        key, project, title, whose = same[0] if same else (None, None, None, None)
        return Delivery(
            unpack_text(name),
            unpack_text(session_id),
            unpack_text(tool),
            unpack_text(key),
            unpack_text(project),
            unpack_text(title),
            unpack_text(whose if person is None else person),
            self._name_machine(origin),
        )

    def _name_machine(self, origin: bytes) -> tuple[str, ...]:
        if self._hosts is None:
            self._hosts = self._load_hosts()
        host = self._hosts.get(origin)
        return tuple(map(unpack_text, (origin, host) if host else (origin,)))

    def _load_hosts(self) -> dict[bytes, bytes]:
        """Return what machines call themselves: the viewer's own, and those that they see sessions of."""
        scope = self._reading.scope
        rows = self._control.read(lambda execute: execute(_HOSTS, (scope.owner,)))
        hosts = {bytes(origin): bytes(host) for origin, host in rows}
        if scope.viewer is None:
            return hosts
        own = {found[-1] for found in self._found.values() if found is not None and self._is_own(found[-2])}
        seen = {origin for (origin,) in self._reading.query(_ORIGINS, {"origins": sorted(hosts)})}
        return {origin: host for origin, host in hosts.items() if origin in own | seen}

    def _is_own(self, person: bytes | None) -> bool:
        viewer = self._reading.scope.viewer
        return viewer is not None and person is not None and unpack_text(person) == viewer.person


def _find_day(time: int) -> date:
    return datetime.fromtimestamp(time // _DAY * (_DAY // 1_000_000), UTC).date()
