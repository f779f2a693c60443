"""The feed, as somebody is told it: the control database has the entries, and the engine knows who sees what.

What happened to a session is told to who sees it now. That it was forgotten, or that others see it or do so no
longer, is told to who could see it before or can now, which the entry itself says. What a hook told is told to
whose machine it was, and to who sees a session of theirs with that id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnlog.store.changes import NewChange
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.reading import Reading
from turnlog.store.clickhouse.transaction import Connected
from turnlog.store.control.interface import Control, StoredChange
from turnlog.store.control.machines import find_persons
from turnlog.store.identity import Scope, Viewer
from turnlog.store.interface import ChangeEntry, ChangeKind, ChangeListener
from turnlog.store.packing import pack_text, unpack_text

__all__ = ["Feed"]

_TOLD_BY_ENTRY = frozenset({ChangeKind.SESSION_FORGOTTEN, ChangeKind.SESSION_ACCESS})
_AT_ONCE = 1000
_MOST_AT_ONCE = 8000
_KEYS = "SELECT key FROM sessions FINAL WHERE owner = {owner:String} AND id IN {ids:Array(UInt128)}"
_IDS = """
SELECT DISTINCT arrayJoin([session_id, ifNull(told_id, session_id)]) AS name, ifNull(toString(person), '')
FROM sessions FINAL WHERE session_id IN {names:Array(String)} OR told_id IN {names:Array(String)}
"""


class Feed(Connected):
    """What `ClickHouseStore` tells of what happened."""

    def list_changes(self, scope: Scope, after: int = 0, limit: int = 1000) -> list[ChangeEntry]:
        """Return entries of the feed, each once and in order."""
        if scope.viewer is None:
            return [each.entry for each in self._control.list_changes(scope.owner, after, limit)]
        told: list[ChangeEntry] = []
        at_once = min(max(limit, _AT_ONCE), _MOST_AT_ONCE)
        while len(told) < limit and (some := self._control.list_changes(scope.owner, after, at_once)):
            told += _list_told(self._reading(scope), self._control, scope.viewer, some)
            after = some[-1].entry.seq
        return told[:limit]

    def find_last_change(self, scope: Scope) -> int:
        """Return the last `seq` of the feed; 0 if nothing happened yet."""
        last = self._control.find_last_change(scope.owner)
        if scope.viewer is None:
            return last
        # From the end on: as a rule something of the last is told.
        size = _AT_ONCE
        while last > 0:
            some = self._control.list_changes(scope.owner, max(last - size, 0), size)
            there = [each for each in some if each.entry.seq <= last]
            told = _list_told(self._reading(scope), self._control, scope.viewer, there)
            if told:
                return told[-1].seq
            last, size = last - size, min(size * 2, _MOST_AT_ONCE)
        return 0

    def find_epoch(self) -> str:
        """Return the name of the feed."""
        return self._control.find_epoch()

    def listen(self) -> ChangeListener | None:
        """Return what tells of changes whoever writes them; None where one has to look for them."""
        return self._control.listen()


def _list_told(
    reading: Reading, control: Control, viewer: Viewer, changes: Sequence[StoredChange]
) -> list[ChangeEntry]:
    """Return those entries that a viewer is told."""
    entries = [each.change for each in changes]
    keys = _list_keys(reading, (each for each in entries if not _has_own_audience(each)))
    hooks = _list_hooks(reading, control, viewer, [each for each in entries if _is_hook(each)])

    def is_told(change: NewChange) -> bool:
        if change.kind in _TOLD_BY_ENTRY:
            own = viewer.person is not None and viewer.person in (change.person, change.former)
            return own or (viewer.team and bool(change.shared)) or change.session == viewer.session
        if _is_hook(change):
            return (change.session, change.origin) in hooks
        return change.session in keys

    return [each.entry for each in changes if is_told(each.change)]


def _is_hook(change: NewChange) -> bool:
    return change.kind is ChangeKind.HOOK_DELIVERED


def _has_own_audience(change: NewChange) -> bool:
    return change.kind in _TOLD_BY_ENTRY or _is_hook(change)


def _list_keys(reading: Reading, changes: Iterable[NewChange]) -> set[str]:
    """Return the keys of sessions that may be seen."""
    ids = sorted({number(reading.scope.owner, each.session) for each in changes})
    return {unpack_text(key) for (key,) in reading.query(_KEYS, {"ids": ids})} if ids else set()


def _list_hooks(
    reading: Reading, control: Control, viewer: Viewer, changes: Sequence[NewChange]
) -> set[tuple[str, str | None]]:
    """Return of which sessions, told on which machines, what hooks told may be seen."""
    told = {(each.session, each.origin) for each in changes}
    if not told:
        return set()
    persons = find_persons(control, reading.scope.owner, (origin for _, origin in told if origin is not None))
    names = sorted({pack_text(name) for name, _ in told})
    seen = {(unpack_text(name), unpack_text(person)) for name, person in reading.query(_IDS, {"names": names})}
    return {
        (name, origin)
        for name, origin in told
        for person in [None if origin is None else persons.get(origin)]
        if (person is not None and person == viewer.person) or (name, person or "") in seen
    }
