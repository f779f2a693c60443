"""The ids of sessions, which the feed knows by their keys."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

from turnlog.server.shapes.live import ChangeEvent
from turnlog.server.views.limits import sayable
from turnlog.server.views.lists import name_session
from turnlog.store.interface import ChangeEntry, ChangeKind, Store, find_sessions
from turnlog.store.model import LOCAL

_MOST = 10_000


class SessionNames:
    """Ids by keys, each asked for once; from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def find(self, entry: ChangeEntry) -> str | None:
        """Return the id of the session that an entry is about; None if there is no such session any more."""
        if entry.kind is ChangeKind.HOOK_DELIVERED:
            return sayable(entry.session)
        with self._lock:
            known = self._known.get(entry.session)
        if known is not None or entry.kind is ChangeKind.SESSION_FORGOTTEN:
            return known
        stored = next((each for each in find_sessions(self._store, LOCAL, entry.session)), None)
        if stored is None:
            return None
        name = name_session(stored)
        with self._lock:
            self._known[entry.session] = name
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        return name

    def view(self, entry: ChangeEntry) -> ChangeEvent:
        """Return an entry as clients are told it."""
        return ChangeEvent(
            kind=entry.kind,
            session=sayable(entry.session),
            session_id=self.find(entry),
            revision=entry.revision,
            seq=entry.seq,
        )


def coalesce(entries: Iterable[ChangeEntry]) -> list[ChangeEntry]:
    """Return entries without those that a later one repeats: the same thing of the same session."""
    last: dict[tuple[ChangeKind, str], ChangeEntry] = {}
    for entry in entries:
        about = (entry.kind, entry.session)
        last.pop(about, None)  # so that it stands where it happened last
        last[about] = entry
    return list(last.values())
