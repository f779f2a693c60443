"""How much the archive has, counted again only when something happened."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from msgspec import Struct

from turnlog.store.interface import FileCounts, Store, count_files
from turnlog.store.lists import SessionFilter
from turnlog.store.model import Scope

_MOST_SCOPES = 256
WITH_PROBLEMS = SessionFilter(problems=True, archived=None)


class Counted(Struct, frozen=True, gc=False, kw_only=True):
    """What there is, as of an entry of the feed."""

    last_change: int
    files: FileCounts
    problems: int
    """Sessions with wrong or unknown content in their lines."""


class ArchiveCounter:
    """Counts what may be seen, for each scope apart; from any thread."""

    def __init__(self, store: Store, scope: Scope) -> None:
        """Take the scope that is counted where none is named."""
        self._store = store
        self._scope = scope
        self._counted: OrderedDict[Scope, Counted] = OrderedDict()
        self._lock = Lock()

    def count(self, scope: Scope | None = None) -> Counted:
        """Return what there is now."""
        scope = scope or self._scope
        last = self._store.read_feed(scope).last
        with self._lock:
            counted = self._counted.get(scope)
        if counted is None or counted.last_change != last:
            # What comes in meanwhile is counted under a number that is too low, and so again next time.
            counted = Counted(
                last_change=last,
                files=count_files(self._store, scope),
                problems=self._store.list_sessions(scope, WITH_PROBLEMS, limit=0).total,
            )
        with self._lock:
            self._counted[scope] = counted
            self._counted.move_to_end(scope)
            if len(self._counted) > _MOST_SCOPES:
                self._counted.popitem(last=False)
        return counted
