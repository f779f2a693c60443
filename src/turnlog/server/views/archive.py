"""The archive as a whole: what it holds, what is about to be deleted outside, what was forgotten."""

from __future__ import annotations

from datetime import UTC, datetime

from turnlog.ingest.exclusions import Exclusion
from turnlog.ingest.origin import peek_origin
from turnlog.ingest.retention import (
    Endangered,
    list_all_endangered,
    list_managed_settings,
    read_shortest_retention,
)
from turnlog.server.counting import WITH_PROBLEMS
from turnlog.server.shapes.archive import (
    ArchiveOverview,
    BackupCopy,
    EndangeredSession,
    FlawedSession,
    ForgottenSession,
    VerifyJob,
)
from turnlog.server.surroundings import Surroundings
from turnlog.server.views.limits import head_of, say, sayable
from turnlog.server.views.lists import name_session
from turnlog.server.views.moments import moment
from turnlog.store.interface import Backup, CaredStore, Tombstone, count_files, find_sessions
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope
from turnlog.store.opening import measure_store
from turnlog.store.places import home_of
from turnlog.transcripts.files.session_files import path_text

_MOST = 100
_MOST_TOMBSTONES = 200


def view_archive(
    store: CaredStore, scope: Scope, around: Surroundings, job: VerifyJob | None
) -> ArchiveOverview:
    """Return what the archive holds, and what it is kept from.

    To a viewer it tells of their sessions alone: where the archive is, and what lies around it, is not theirs.
    """
    if scope.viewer is not None:
        return _view_own(store, scope)
    counts = count_files(store, scope)
    managed = list_managed_settings()
    machine = None if around.place is None else peek_origin(home_of(around.place))
    known = store.list_known(scope, machine)
    endangered = list_all_endangered(
        around.config_dirs, known, datetime.now(UTC), managed, Exclusion(around.exclude)
    )
    tombstones = store.list_tombstones(scope)
    flawed = store.list_sessions(scope, WITH_PROBLEMS, limit=_MOST)
    return ArchiveOverview(
        place=None if around.place is None else path_text(str(around.place)),
        bytes=0 if around.place is None else measure_store(around.place),
        raw_bytes=counts.bytes,
        sessions=counts.sessions,
        only_here=counts.only_here,
        retention_days=read_shortest_retention(around.config_dirs, managed),
        deleted_soon=tuple(_view_endangered(store, scope, each) for each in endangered[:_MOST]),
        deleted_soon_total=len(endangered),
        not_archived=sum(not each.archived for each in endangered),
        tombstones=tuple(map(_view_tombstone, reversed(tombstones[-_MOST_TOMBSTONES:]))),
        tombstones_total=len(tombstones),
        backups=tuple(map(_view_backup, reversed(store.list_backups()[-_MOST:]))),
        flawed=tuple(map(_view_flawed, flawed.sessions)),
        flawed_total=flawed.total,
        verify=job,
    )


def _view_own(store: CaredStore, scope: Scope) -> ArchiveOverview:
    counts, tombstones = count_files(store, scope), store.list_tombstones(scope)
    flawed = store.list_sessions(scope, WITH_PROBLEMS, limit=_MOST)
    return ArchiveOverview(
        place=None,
        bytes=0,
        raw_bytes=counts.bytes,
        sessions=counts.sessions,
        only_here=counts.only_here,
        retention_days=0,
        deleted_soon=(),
        deleted_soon_total=0,
        not_archived=0,
        tombstones=tuple(map(_view_tombstone, reversed(tombstones[-_MOST_TOMBSTONES:]))),
        tombstones_total=len(tombstones),
        backups=(),
        flawed=tuple(map(_view_flawed, flawed.sessions)),
        flawed_total=flawed.total,
        verify=None,
    )


def _view_endangered(store: CaredStore, scope: Scope, found: Endangered) -> EndangeredSession:
    stored = None if found.key is None else _find(store, scope, found.key)
    return EndangeredSession(
        session_id=sayable(found.path.stem) if stored is None else name_session(stored),
        key=None if stored is None else stored.key,
        title=None if stored is None else _name(stored),
        project=None if stored is None else say(stored.row.project),
        deletes_at=found.deletes_at,
        archived=found.archived,
        missing_bytes=found.missing_bytes,
    )


def _find(store: CaredStore, scope: Scope, key: str) -> StoredSession | None:
    return next((each for each in find_sessions(store, scope, key) if each.key == key), None)


def _view_flawed(stored: StoredSession) -> FlawedSession:
    return FlawedSession(
        session_id=name_session(stored),
        key=stored.key,
        title=_name(stored),
        problems=stored.row.problems,
    )


def _name(stored: StoredSession) -> str | None:
    title = stored.marks.name or stored.row.title
    return None if title is None else head_of(title)


def _view_tombstone(found: Tombstone) -> ForgottenSession:
    return ForgottenSession(session_id=say(found.session_id), key=found.key, at=_at(found.at_ns))


def _view_backup(found: Backup) -> BackupCopy:
    return BackupCopy(path=path_text(found.path), at=_at(found.at_ns), size=found.size)


def _at(at_ns: int) -> datetime:
    found = moment(at_ns // 1000)
    assert found is not None
    return found
