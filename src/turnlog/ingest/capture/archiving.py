"""Bringing the archive up to date with what was just captured, unless another process does so all the time."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from turnlog.errors import BusyStoreError
from turnlog.ingest.capture.joining import identify
from turnlog.ingest.exclusion import Exclusion
from turnlog.ingest.forgotten import list_forgotten
from turnlog.ingest.glance import SyncReport
from turnlog.ingest.hot import HotSessions
from turnlog.ingest.origin import find_origin
from turnlog.ingest.pipeline import sync
from turnlog.ingest.tenure import hold_lease
from turnlog.store.interface import CaredStore, KnownSession, find_known, find_sessions
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.places import StorePlace, home_of
from turnlog.transcripts.files.locate import locate_path
from turnlog.transcripts.files.session_files import SessionFiles


def archive_paths(
    place: StorePlace,
    paths: Iterable[Path],
    *,
    exclude: tuple[str, ...] = (),
    hot: HotSessions | None = None,
    wait_seconds: float = 0.0,
) -> SyncReport | None:
    """Archive what is new of the sessions at some paths; None if another process is about to do that.

    Raises `StoreError` and `OSError`.
    """
    exclusion = Exclusion(exclude)
    located = [files for path in paths if path.exists() for files in locate_path(path).sessions]
    sessions = [files for files in located if not exclusion.excludes(files)]
    if not sessions:
        return SyncReport()
    try:
        with (
            closing(open_store(place)) as store,
            hold_lease(place, lambda: None, wait_seconds=wait_seconds),
        ):
            origin = find_origin(home_of(place))
            return sync(
                store,
                place,
                sessions,
                origin=origin,
                known=_find_known(store, origin, sessions),
                forgotten=list_forgotten(store),
                hot=hot,
            )
    except BusyStoreError:
        return None


def _find_known(store: CaredStore, origin: str, sessions: Iterable[SessionFiles]) -> list[KnownSession]:
    """Return what is known of some sessions; all that is known, where one of them is new."""
    found: dict[str, KnownSession] = {}
    for files in sessions:
        keys = [each.key for each in find_sessions(store, LOCAL, files.session_id)]
        known = [session for key in keys if (session := find_known(store, LOCAL, key)) is not None]
        wanted = identify(files.session_id, files.project_folder)
        if not any(identify(each.session_id, each.project_folder) == wanted for each in known):
            return list(store.list_known(LOCAL, origin))
        found |= {session.key: session for session in known}
    return list(found.values())
