"""The archive as a whole: what it contains, and its verification; forgetting, restoring, deleting sessions."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Annotated

from litestar import Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, RawBody, SkipValidation
from msgspec import Struct
from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.export.files import Outcome, restore_session
from turnlog.ingest.captured_files import list_own_files, remove_captures
from turnlog.ingest.machine import Exclusion, find_in_backups, find_tombstones, read_origin
from turnlog.ingest.retention import (
    ExpiringFiles,
    list_all_expiring,
    list_managed_settings,
    read_shortest_retention,
)
from turnlog.server import requests
from turnlog.server.audit import GivenSession, RequestedSession
from turnlog.server.errors import ErrorDetail, InvalidRequestError, NotFoundError, RequestError
from turnlog.server.security.callers import ADMINS, OPERATORS, Caller
from turnlog.server.sessions import SHORTEST, WITH_PROBLEMS, name_session
from turnlog.server.values import clean_optional, clean_text, instant_of, one_line
from turnlog.server.verifier import VerifierProcess, VerifyJob
from turnlog.shapes import fill
from turnlog.store import interface
from turnlog.store.account_model import Action
from turnlog.store.accounts import Accounts
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL, Scope, home_of
from turnlog.store.opening import find_in_backup, measure_store
from turnlog.transcripts.session_files import list_roots, path_text


class ExpiringSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session whose files Claude Code deletes soon."""

    session_id: str
    key: str | None
    """Null if nothing of it is archived."""
    title: str | None
    project: str | None
    deletes_at: datetime
    """From then on, the next time that Claude Code starts."""
    archived: bool
    """Whether all of it is."""
    missing_bytes: int


class ForgottenSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session that was forgotten, and is not archived again."""

    session_id: str | None
    """Null if another session has the same."""
    key: str
    at: datetime


class BackupCopy(Struct, frozen=True, gc=False, kw_only=True):
    """A backup of the archive."""

    path: str
    at: datetime
    size: int | None
    """Null if it no longer exists."""


class ProblemSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session with wrong or unknown content in its lines."""

    session_id: str
    key: str
    title: str | None
    problems: int
    """Lines."""


class ArchiveOverview(Struct, frozen=True, gc=False, kw_only=True):
    """What the archive contains, and where it is stored."""

    place: str | None
    """Its file."""
    bytes: int
    """The size of the archive's files."""
    raw_bytes: int
    """The size of the original files."""
    sessions: int
    only_here: int
    """Sessions whose original files no longer exist."""
    retention_days: float
    """How long Claude Code keeps sessions."""
    deleted_soon: tuple[ExpiringSession, ...]
    """Within three days; the first 100."""
    deleted_soon_total: int
    not_archived: int
    """How many of these are not archived and would be lost."""
    tombstones: tuple[ForgottenSession, ...]
    """The last 200."""
    tombstones_total: int
    backups: tuple[BackupCopy, ...]
    """The last 100."""
    sessions_with_problems: tuple[ProblemSession, ...]
    """The newest 100."""
    sessions_with_problems_total: int
    verify: VerifyJob | None
    """The last verification since the server started."""


class DryRunOption(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Whether to do something, or only to report what would be done."""

    dry_run: bool = True
    """Nothing is changed unless this is false."""


class ForgetResult(Struct, frozen=True, gc=False, kw_only=True):
    """What was forgotten, or would be."""

    done: bool
    sessions: int
    files: int
    bytes: int
    """The original size, including all generations."""
    deliveries: int
    """Of hooks."""
    outside: tuple[str, ...]
    """Its files that are still where Claude Code wrote them; they are not changed."""
    backups: tuple[str, ...]
    """Backups that have some of it; they are not changed either."""
    unknown_backups: tuple[str, ...]
    """Backups that may have some of it: they have been moved, or cannot be read."""
    scrubbed: bool
    """Whether nothing of it is left in the archive's files; if false, `turnlog forget --scrub` tries again."""


class ReleasedSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session that may be archived again."""

    session_id: str | None
    key: str


class RestoreResult(Struct, frozen=True, gc=False, kw_only=True):
    """What was restored, or would be."""

    done: bool
    written: tuple[str, ...]
    kept: tuple[str, ...]
    """Files that already exist with the same bytes."""


_MOST = 100
_MOST_TOMBSTONES = 200


def _view_archive(
    store: interface.MaintainedStore, scope: Scope, context: requests.ServerContext, job: VerifyJob | None
) -> ArchiveOverview:
    """Return what the archive contains, and what threatens it.

    A viewer sees only their own sessions: where the archive is, and what is around it, is not theirs.
    """
    counts, tombstones = interface.count_files(store, scope), store.list_tombstones(scope)
    flawed = store.list_sessions(scope, WITH_PROBLEMS, limit=_MOST)
    own = ArchiveOverview(
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
        sessions_with_problems=tuple(map(_view_flawed, flawed.sessions)),
        sessions_with_problems_total=flawed.total,
        verify=None,
    )
    if scope.viewer is not None:
        return own
    managed = list_managed_settings()
    machine = None if context.place is None else read_origin(home_of(context.place))
    expiring = list_all_expiring(
        context.config_dirs,
        store.list_known(scope, machine),
        datetime.now(UTC),
        managed,
        Exclusion(context.exclude),
    )
    return replace(
        own,
        place=None if context.place is None else path_text(str(context.place)),
        bytes=0 if context.place is None else measure_store(context.place),
        retention_days=read_shortest_retention(context.config_dirs, managed),
        deleted_soon=tuple(_view_expiring(store, scope, each) for each in expiring[:_MOST]),
        deleted_soon_total=len(expiring),
        not_archived=sum(not each.archived for each in expiring),
        backups=tuple(
            BackupCopy(path=path_text(each.path), at=instant_of(each.at_ns), size=each.size)
            for each in reversed(store.list_backups()[-_MOST:])
        ),
        verify=job,
    )


def _view_expiring(store: interface.MaintainedStore, scope: Scope, found: ExpiringFiles) -> ExpiringSession:
    named = [] if found.key is None else interface.find_sessions(store, scope, found.key)
    stored = next((each for each in named if each.key == found.key), None)
    return fill(
        ExpiringSession,
        found,
        session_id=clean_text(found.path.stem) if stored is None else name_session(stored),
        key=None if stored is None else stored.key,
        title=None if stored is None else _name(stored),
        project=None if stored is None else clean_optional(stored.row.project),
    )


def _view_flawed(stored: StoredSession) -> ProblemSession:
    return ProblemSession(
        session_id=name_session(stored),
        key=stored.key,
        title=_name(stored),
        problems=stored.row.problems,
    )


def _name(stored: StoredSession) -> str | None:
    title = stored.marks.name or stored.row.title
    return None if title is None else one_line(title)


def _view_tombstone(found: interface.Tombstone) -> ForgottenSession:
    return ForgottenSession(
        session_id=clean_optional(found.session_id), key=found.key, at=instant_of(found.at_ns)
    )


GivenVerifying = NamedDependency[SkipValidation[VerifierProcess]]


@get("/api/archive", sync_to_thread=True)
def get_archive(
    store: requests.GivenStore,
    visible: requests.GivenScope,
    context: requests.GivenContext,
    verifying: GivenVerifying,
) -> ArchiveOverview:
    """Return what is in the archive, what Claude Code deletes soon, what was forgotten, and any problems."""
    return _view_archive(store, visible, context, verifying.find_job())


@post("/api/archive/verify", opt=ADMINS, status_code=202, sync_to_thread=True)
def verify_archive(verifying: GivenVerifying) -> VerifyJob:
    """Derive everything again from the archived bytes, and list what disagrees.

    It runs in the background, one at a time, whether or not anybody waits for it.
    """
    return verifying.start()


@get("/api/archive/verify", opt=ADMINS, sync_to_thread=False)
def find_verification(verifying: GivenVerifying) -> VerifyJob:
    """Return the state of the last verification."""
    job = verifying.find_job()
    if job is None:
        raise NotFoundError("Nothing has been verified since the server started")
    return job


@delete("/api/archive/tombstones/{session_id:str}", status_code=200, sync_to_thread=True)
def delete_tombstone(
    session_id: Annotated[
        str, PathParameter(description="A forgotten session: its id or key, or the beginning of either.")
    ],
    store: requests.GivenStore,
    visible: requests.GivenScope,
) -> ReleasedSession:
    """Allow a forgotten session to be archived again, if its files still exist."""
    found = find_tombstones(store, session_id, visible)
    if len(session_id) < SHORTEST:
        found = [each for each in found if session_id in (each.key, each.session_id)]
    if not found:
        raise NotFoundError("No such session was forgotten")
    if len(found) > 1:
        raise RequestError(409, "ambiguous", f"{len(found)} forgotten sessions match that name")
    store.delete_tombstones(visible, [found[0].key])
    return ReleasedSession(session_id=clean_optional(found[0].session_id), key=found[0].key)


@post("/api/sessions/{id:str}/forget", status_code=200, sync_to_thread=True)
def forget_session(
    requested: GivenSession,
    data: JSONBody[DryRunOption],
    body: RawBody,
    context: requests.GivenContext,
) -> Response[ForgetResult]:
    """Permanently remove a session from the archive, or report what would be removed.

    It must be named by its full id or key. Files outside the archive are not changed, except those that
    turnlog captured itself.
    """
    wish, known = requests.decode_body(body, DryRunOption), _get_exactly(requested)
    wiped = requested.store.forget(requested.visible, [known.key], dry_run=wish.dry_run)
    captured = context.captured_dir
    own = [] if captured is None else list_own_files(known, captured)
    if captured is not None and not wish.dry_run:
        remove_captures([known], captured)
    backups = find_in_backups(requested.store, [known.key], requested.visible)
    told = fill(
        ForgetResult,
        wiped,
        done=not wish.dry_run,
        outside=tuple(
            path_text(source.path) for source in known.sources if source.present and source.path not in own
        ),
        backups=tuple(map(path_text, backups.holding)),
        unknown_backups=tuple(map(path_text, backups.unknown)),
        scrubbed=wiped.scrubbed and not wish.dry_run,
    )
    # The browser may have kept answers, to ask whether they still hold.
    return Response(told, headers={} if wish.dry_run else {"clear-site-data": '"cache"'})


@post("/api/sessions/{id:str}/restore", opt=OPERATORS, status_code=200, sync_to_thread=True)
def restore_files(
    requested: GivenSession,
    data: JSONBody[DryRunOption],
    body: RawBody,
    context: requests.GivenContext,
) -> RestoreResult:
    """Restore the files of a session to where Claude Code kept them, or report which would be restored.

    It must be named by its full id or key. Nothing is overwritten, and nothing is written outside Claude
    Code's own folders, except what turnlog captured itself.
    """
    wish, known = requests.decode_body(body, DryRunOption), _get_exactly(requested)
    captured = context.captured_dir
    places = [*context.config_dirs, *([] if captured is None else [captured])]
    try:
        found = restore_session(
            requested.store, requested.visible, known, dry_run=wish.dry_run, within=list_roots(places)
        )
    except OSError as error:
        problem = ErrorDetail(where=path_text(error.filename or ""), message=error.strerror or "")
        raise RequestError(409, "not_written", "A file could not be written", details=(problem,)) from error
    return RestoreResult(
        done=not wish.dry_run,
        written=tuple(path_text(each.path) for each in found if each.outcome is not Outcome.SAME),
        kept=tuple(path_text(each.path) for each in found if each.outcome is Outcome.SAME),
    )


def _get_exactly(requested: RequestedSession) -> interface.KnownSession:
    """Return a session that is named in full: what begins alike today may be another one tomorrow."""
    session = requested.get_own("Only the owner of the session and admins can do this")
    known = interface.find_known(requested.store, requested.visible, session.key)
    if known is None:
        raise NotFoundError("There is no such session")
    if requested.name not in (session.key, session.row.session_id, known.session_id):
        raise InvalidRequestError("This needs the full id or key of the session")
    return known


class AffectedBackup(Struct, frozen=True, gc=False, kw_only=True):
    """A backup that still has a session, or may have it."""

    path: str
    """The full path for admins; only the file name for others."""
    at: datetime
    """When it was made."""
    certain: bool
    """False if it could not be read: then it may have the session."""


class DeletionPreview(Struct, frozen=True, gc=False, kw_only=True):
    """What deleting a session would remove."""

    sessions: int
    files: int
    bytes: int
    """The original size, including all generations."""
    deliveries: int
    """Of hooks."""
    links: int
    """That would end."""
    backups: tuple[AffectedBackup, ...]
    """Backups that would still have it."""


class DeletedSession(Struct, frozen=True, gc=False, kw_only=True):
    """What was permanently deleted."""

    sessions: int
    files: int
    bytes: int
    """The original size, including all generations."""
    deliveries: int
    """Of hooks."""
    links: int
    """That ended."""
    scrubbed: bool
    """Whether nothing of it is left in the archive's files; if false, `turnlog forget --scrub` tries again."""
    backups: tuple[AffectedBackup, ...]
    """Backups that still have it."""


_NOT_OWN = "Only the owner and admins can delete this session"


@get("/api/sessions/{id:str}/deletion-preview", sync_to_thread=True)
def preview_deletion(requested: GivenSession, accounts: requests.GivenAccounts) -> DeletionPreview:
    """Return what deleting a session would remove, and which backups would still have it."""
    session = requested.get_own(_NOT_OWN)
    weighed = requested.store.forget(requested.visible, [session.key], dry_run=True)
    return fill(
        DeletionPreview,
        weighed,
        links=_count_open(accounts, session.key),
        backups=_list_holding(requested.store, session.key, requested.caller),
    )


@delete("/api/sessions/{id:str}", status_code=200, sync_to_thread=True)
def delete_session(
    requested: GivenSession,
    accounts: requests.GivenAccounts,
    context: requests.GivenContext,
) -> Response[DeletedSession]:
    """Permanently delete a session: its bytes, everything derived from them, its hook events, and links to it.

    It must be named by its full id or key; its owner and admins may delete it. No collector brings it
    back. The response lists what cannot be deleted from here: backups that still have it.
    """
    session = requested.get_own(_NOT_OWN)
    if requested.name not in (session.key, session.row.session_id):
        raise InvalidRequestError("This needs the full id or key of the session")
    known = interface.find_known(requested.store, requested.visible, session.key)
    # First: nothing goes without being recorded.
    requested.record(Action.FORGOTTEN, session.person, session=session.key)
    links = accounts.revoke_links([session.key])
    gone = requested.store.forget(requested.visible, [session.key])
    if gone.sessions == 0:
        raise StoreError("the session could not be deleted")
    captured = context.captured_dir
    if captured is not None and known is not None:
        remove_captures([known], captured)
    backups = _list_holding(requested.store, session.key, requested.caller)
    told = fill(DeletedSession, gone, links=links, backups=backups)
    # The browser may have kept answers, to ask whether they still hold.
    return Response(told, headers={"clear-site-data": '"cache"'})


def _count_open(accounts: Accounts, key: str) -> int:
    now = time.time_ns()
    return sum(link.revoked_ns is None and link.expires_ns > now for link in accounts.list_links(session=key))


def _list_holding(store: interface.MaintainedStore, key: str, caller: Caller) -> tuple[AffectedBackup, ...]:
    """Return the copies of the archive that have a session, or may; where they are is for admins."""
    # Copies that were made before there were people know of no viewers, and the session is known to be theirs.
    found = [(backup, find_in_backup(backup, LOCAL, [key])) for backup in store.list_backups()]
    return tuple(
        AffectedBackup(
            path=path_text(backup.path if caller.is_admin else PurePath(backup.path).name),
            at=instant_of(backup.at_ns),
            certain=held is not None,
        )
        for backup, held in found
        if held is None or held
    )
