"""`/api/status`: what the archive has, and how far it is up to date."""

from __future__ import annotations

from importlib.metadata import version

from litestar import get
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from turnlog.server.board.board import count_columns
from turnlog.server.board.columns import Column
from turnlog.server.board.watching import GivenWatch
from turnlog.server.counting import ArchiveCounter
from turnlog.server.dependencies import GivenScope, GivenStore, GivenSync
from turnlog.server.receiving import GivenHooks
from turnlog.server.shapes.status import Status
from turnlog.server.surroundings import GivenSurroundings
from turnlog.server.views.hook_status import view_hooks
from turnlog.server.views.sync import view_sync

_VERSION = version("turnlog")


@get("/api/status", sync_to_thread=True)
def get_status(
    store: GivenStore,
    visible: GivenScope,
    syncing: GivenSync,
    surroundings: GivenSurroundings,
    hooks: GivenHooks,
    watch: GivenWatch,
    counter: NamedDependency[SkipValidation[ArchiveCounter]],
) -> Status:
    """Return what the archive has, how much of it exists only there, and how many sessions need attention."""
    counted, columns = counter.count(visible), count_columns(store, watch, visible)
    files = counted.files
    return Status(
        version=_VERSION,
        sessions=files.sessions,
        only_here=files.only_here,
        files=files.files,
        bytes=files.bytes,
        lines=files.lines,
        problems=counted.problems,
        needs_you=columns[Column.NEEDS_YOU],
        working=columns[Column.WORKING],
        hooks=view_hooks(store, visible, hooks, surroundings),
        demo=surroundings.demo,
        last_change=counted.last_change,
        sync=view_sync(syncing, in_detail=visible.viewer is None),
    )


HANDLERS = (get_status,)
