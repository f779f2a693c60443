"""How far the archive is up to date, as the API tells it."""

from __future__ import annotations

from datetime import UTC, datetime

from turnlog.server.shapes.status import SyncStatus
from turnlog.server.sync_state import SyncState

__all__ = ["view_sync"]


def view_sync(syncing: SyncState) -> SyncStatus:
    """Return what is known of the follower."""
    last = syncing.last_at
    return SyncStatus(
        phase=syncing.phase,
        done=syncing.done,
        total=syncing.total,
        failing=bool(syncing.reason),
        last_at=None if last is None else datetime.fromtimestamp(last, UTC),
    )
