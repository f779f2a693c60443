"""How much the archive has, counted again only when something happened."""

from __future__ import annotations

from msgspec import Struct

from turnlog.store.identity import Scope
from turnlog.store.interface import Store
from turnlog.store.lists import SessionFilter
from turnlog.store.windows import FileCounts

__all__ = ["WITH_PROBLEMS", "ArchiveCounter", "Counted"]

WITH_PROBLEMS = SessionFilter(problems=True, archived=None)


class Counted(Struct, frozen=True, gc=False, kw_only=True):
    """What there is, as of an entry of the feed."""

    last_change: int
    files: FileCounts
    problems: int
    """Sessions in whose lines something is wrong or unknown."""


class ArchiveCounter:
    """Counts one owner's sessions; from any thread."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self._counted: Counted | None = None

    def count(self) -> Counted:
        """Return what there is now."""
        last, counted = self._store.find_last_change(self._scope), self._counted
        if counted is None or counted.last_change != last:
            # What comes in meanwhile is counted under a number that is too low, and so again next time.
            counted = self._counted = Counted(
                last_change=last,
                files=self._store.count_files(self._scope),
                problems=self._store.list_sessions(self._scope, WITH_PROBLEMS, limit=0).total,
            )
        return counted
