"""`/api/status`: what the archive has, and how far it is up to date."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version

from litestar import get

from turnlog.server.dependencies import GivenScope, GivenStore, GivenSync
from turnlog.server.shapes.status import Status, SyncStatus
from turnlog.server.sync_state import SyncState

__all__ = ["HANDLERS", "get_status"]

_VERSION = version("turnlog")


@get("/api/status", sync_to_thread=True)
def get_status(store: GivenStore, visible: GivenScope, syncing: GivenSync) -> Status:
    """Say what the archive has, and how much of it exists only there."""
    counts = store.count_files(visible)
    return Status(
        version=_VERSION,
        sessions=counts.sessions,
        only_here=counts.only_here,
        files=counts.files,
        bytes=counts.bytes,
        lines=counts.lines,
        last_change=store.find_last_change(visible),
        sync=_view_sync(syncing),
    )


def _view_sync(syncing: SyncState) -> SyncStatus:
    last = syncing.last_at
    return SyncStatus(
        phase=syncing.phase,
        done=syncing.done,
        total=syncing.total,
        failing=bool(syncing.reason),
        last_at=None if last is None else datetime.fromtimestamp(last, UTC),
    )


HANDLERS = (get_status,)
