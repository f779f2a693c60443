"""All actions of a session at a glance, counted once for each state of the archive: pages share it."""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

from turnlog.server.views.hook_items import HookSession
from turnlog.store.actions import ActionFilter, ActionTally
from turnlog.store.care import CaredStore
from turnlog.store.identity import Scope

__all__ = ["find_tally"]

_MOST = 32
"""How many are remembered for a store."""
_Key = tuple[str, Scope, int, ActionFilter, int]
_remembered: WeakKeyDictionary[CaredStore, dict[_Key, ActionTally]] = WeakKeyDictionary()
_lock = Lock()


def find_tally(session: HookSession, where: ActionFilter, spans: int, last_change: int) -> ActionTally:
    """Return the tally of a session's actions, as of a change of the archive."""
    key = session.key, session.scope, last_change, where, spans
    with _lock:
        known = _remembered.setdefault(session.store, {})
        tally = known.get(key)
    if tally is None:
        tally = session.store.tally_actions(session.scope, session.key, session.id, where, spans=spans)
        with _lock:
            known[key] = tally
            while len(known) > _MOST:
                del known[next(iter(known))]
    return tally
