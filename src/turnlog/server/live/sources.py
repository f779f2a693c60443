"""Where news come from: the follower, which wakes the reader and says how far it is, and states that change."""

from __future__ import annotations

from collections.abc import Callable

from turnlog.server.board.columns import StateChange
from turnlog.server.board.tracking import StateTracker
from turnlog.server.board.watching import StateWatch
from turnlog.server.live.hub import LiveHub
from turnlog.server.shapes.live import StateEvent
from turnlog.server.shapes.status import SyncStatus
from turnlog.server.sync_state import SyncState
from turnlog.server.views.sync import view_sync
from turnlog.store.interface import CaredStore


def build_live(
    store: CaredStore, syncing: SyncState, watch: StateWatch, on_change: Callable[[StateChange], None]
) -> LiveHub:
    """Return what tells clients of all that changes in a store, of the follower's doings, and of states.

    `on_change` is told of states, too, in the reader's thread.
    """
    live = LiveHub(store)
    told: list[SyncStatus] = []

    def on_news() -> None:
        live.wake()
        status, others = view_sync(syncing), view_sync(syncing, in_detail=False)
        if told[:1] != [status]:
            is_new = told[1:] != [others]
            told[:] = [status, others]
            live.tell("sync", "sync", status, others if is_new else None)

    def tell(change: StateChange) -> None:
        event = StateEvent(session_id=change.session_id, column=change.state.column, why=change.state.why)
        live.tell_of(change.key or change.session_id, "state", event)
        on_change(change)

    syncing.listen(on_news)
    tracker = StateTracker(store, watch, tell)
    live.follow(tracker, tracker.prime, tracker.recheck)
    return live
