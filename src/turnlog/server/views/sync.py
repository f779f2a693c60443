"""How far the archive is up to date, as the API tells it."""

from __future__ import annotations

from datetime import UTC, datetime

from turnlog.server.shapes.status import SyncStatus
from turnlog.server.sync_state import SyncState


def view_sync(syncing: SyncState, *, in_detail: bool = True) -> SyncStatus:
    """Return what is known of the follower; without details, nothing that tells of anybody's sessions."""
    if not in_detail:
        return SyncStatus(phase=syncing.phase, done=0, total=0, failing=bool(syncing.reason), last_at=None)
    last = syncing.last_at
    return SyncStatus(
        phase=syncing.phase,
        done=syncing.done,
        total=syncing.total,
        failing=bool(syncing.reason),
        last_at=None if last is None else datetime.fromtimestamp(last, UTC),
    )
