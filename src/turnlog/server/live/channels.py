"""What those who may see the same are told: a window of their own, filled as the store says for their scope."""

from __future__ import annotations

import threading

from msgspec.structs import replace

from turnlog.server.live.window import Window
from turnlog.store.interface import CaredStore, ChangeEntry, ChangeKind
from turnlog.store.model import Scope, find_access


class Channel:
    """A scope with clients."""

    def __init__(self, scope: Scope, seq: int) -> None:
        self.scope = scope
        self.window = Window()
        self.seq = seq
        """Up to where the window has been filled."""
        self.read = seq
        """Up to where the feed has been read for it; behind `lock`."""
        self.lock = threading.Lock()
        self.clients = 0


def view_for(store: CaredStore, scope: Scope, entry: ChangeEntry) -> tuple[ChangeEntry, ...]:
    """Return an entry as those of a scope are told it.

    A session that they may no longer see is gone for them, as if it had been forgotten. One that is not their
    own, and that they may see, is told as added before: it may be new to them.
    """
    if entry.kind is not ChangeKind.SESSION_ACCESS or scope.viewer is None:
        return (entry,)
    access = find_access(store, scope, entry.session)
    if access is None:
        return (replace(entry, kind=ChangeKind.SESSION_FORGOTTEN),)
    if access.person is not None and access.person == scope.viewer.person:
        return (entry,)
    return replace(entry, kind=ChangeKind.SESSION_ADDED), entry
