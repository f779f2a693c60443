"""`/api/archive`: what the archive holds, whether it is sound, and sessions that are forgotten or put back."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, PathParameter, RawBody, SkipValidation

from turnlog.export.files import Outcome, restore_session
from turnlog.ingest.captured_files import list_own_files, remove_captures
from turnlog.ingest.exclusions import find_tombstones, list_holding
from turnlog.server.auditing import GivenVisit, Visit
from turnlog.server.bodies import decode_body
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import InvalidRequestError, NotFoundError, RequestError
from turnlog.server.finding import SHORTEST, get_session, may_change
from turnlog.server.parameters import NamedSession
from turnlog.server.security.policies import ADMINS, OPERATORS, forbid
from turnlog.server.shapes.archive import (
    ArchiveOverview,
    Forgetting,
    Lifted,
    Restoring,
    VerifyJob,
    Wish,
)
from turnlog.server.shapes.errors import ErrorDetail
from turnlog.server.surroundings import GivenSurroundings
from turnlog.server.verifying import Verifying
from turnlog.server.views.archive import view_archive
from turnlog.server.views.limits import say
from turnlog.store.interface import KnownSession, Store, find_known
from turnlog.store.model import Scope
from turnlog.transcripts.files.locate import list_roots
from turnlog.transcripts.files.session_files import path_text

GivenVerifying = NamedDependency[SkipValidation[Verifying]]


@get("/api/archive", sync_to_thread=True)
def get_archive(
    store: GivenStore, visible: GivenScope, surroundings: GivenSurroundings, verifying: GivenVerifying
) -> ArchiveOverview:
    """Return what is in the archive, what Claude Code deletes soon, what was forgotten, and any problems."""
    return view_archive(store, visible, surroundings, verifying.find_job())


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


@post("/api/archive/tombstones/{session_id:str}/lift", status_code=200, sync_to_thread=True)
def lift_tombstone(
    session_id: Annotated[
        str, PathParameter(description="A forgotten session: its id or key, or the beginning of either.")
    ],
    store: GivenStore,
    visible: GivenScope,
) -> Lifted:
    """Allow a forgotten session to be archived again, if its files still exist."""
    found = find_tombstones(store, session_id, visible)
    if len(session_id) < SHORTEST:
        found = [each for each in found if session_id in (each.key, each.session_id)]
    if not found:
        raise NotFoundError("No such session was forgotten")
    if len(found) > 1:
        raise RequestError(409, "ambiguous", f"{len(found)} forgotten sessions match that name")
    store.delete_tombstones(visible, [found[0].key])
    return Lifted(session_id=say(found[0].session_id), key=found[0].key)


@post("/api/sessions/{id:str}/forget", status_code=200, sync_to_thread=True)
def forget_session(
    id: NamedSession,
    data: JSONBody[Wish],
    body: RawBody,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    surroundings: GivenSurroundings,
) -> Response[Forgetting]:
    """Permanently remove a session from the archive, or report what would be removed.

    It must be named by its full id or key. Files outside the archive are not changed, except those that
    turnlog captured itself.
    """
    wish, known = decode_body(body, Wish), _get_exactly(store, visible, id, visit)
    wiped = (
        store.forget(visible, [known.key], dry_run=True) if wish.dry_run else store.forget(visible, [known.key])
    )
    captured = surroundings.captured_dir
    own = [] if captured is None else list_own_files(known, captured)
    if captured is not None and not wish.dry_run:
        remove_captures([known], captured)
    backups = list_holding(store, [known.key], visible)
    told = Forgetting(
        done=not wish.dry_run,
        sessions=wiped.sessions,
        files=wiped.files,
        bytes=wiped.bytes,
        deliveries=wiped.deliveries,
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
    id: NamedSession,
    data: JSONBody[Wish],
    body: RawBody,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    surroundings: GivenSurroundings,
) -> Restoring:
    """Restore the files of a session to where Claude Code kept them, or report which would be restored.

    It must be named by its full id or key. Nothing is overwritten, and nothing is written outside Claude
    Code's own folders, except what turnlog captured itself.
    """
    wish, known = decode_body(body, Wish), _get_exactly(store, visible, id, visit)
    captured = surroundings.captured_dir
    places = [*surroundings.config_dirs, *([] if captured is None else [captured])]
    try:
        found = restore_session(store, visible, known, dry_run=wish.dry_run, within=list_roots(places))
    except OSError as error:
        problem = ErrorDetail(where=path_text(error.filename or ""), message=error.strerror or "")
        raise RequestError(409, "not_written", "A file could not be written", details=(problem,)) from error
    return Restoring(
        done=not wish.dry_run,
        written=tuple(path_text(each.path) for each in found if each.outcome is not Outcome.SAME),
        kept=tuple(path_text(each.path) for each in found if each.outcome is Outcome.SAME),
    )


def _get_exactly(store: Store, visible: Scope, name: str, visit: Visit) -> KnownSession:
    """Return a session that is named in full: what begins alike today may be another one tomorrow."""
    session = get_session(store, visible, name, visit)
    if not may_change(visit.caller, session.person):
        raise forbid("Only the owner of the session and admins can do this")
    known = find_known(store, visible, session.key)
    if known is None:
        raise NotFoundError("There is no such session")
    if name not in (session.key, session.row.session_id, known.session_id):
        raise InvalidRequestError("This needs the full id or key of the session")
    return known


HANDLERS = (
    get_archive,
    verify_archive,
    find_verification,
    lift_tombstone,
    forget_session,
    restore_files,
)
