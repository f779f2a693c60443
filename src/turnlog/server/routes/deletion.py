"""`DELETE /api/sessions/{id}`: deleting a session for good, and which backups still have it."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import PurePath

from litestar import Response, delete, get
from msgspec import Struct

from turnlog.errors import StoreError
from turnlog.ingest.capture.sources import remove_captures
from turnlog.server.audit import GivenVisit, Visit, get_session, may_change
from turnlog.server.errors import InvalidRequestError
from turnlog.server.requests import GivenAccounts, GivenScope, GivenStore, GivenSurroundings, NamedSession
from turnlog.server.security.callers import Caller, forbid
from turnlog.server.values import instant_of
from turnlog.store.accounts.interface import Accounts, Action, AuditEntry
from turnlog.store.interface import CaredStore, Store, find_known
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL, Scope
from turnlog.store.opening import find_in_backup
from turnlog.transcripts.files.paths import path_text


class HoldingBackup(Struct, frozen=True, gc=False, kw_only=True):
    """A backup that still has a session, or may have it."""

    path: str
    """The full path for admins; only the file name for others."""
    at: datetime
    """When it was made."""
    certain: bool
    """False if it could not be read: then it may have the session."""


class SessionWeight(Struct, frozen=True, gc=False, kw_only=True):
    """What deleting a session would remove."""

    sessions: int
    files: int
    bytes: int
    """The original size, including all generations."""
    deliveries: int
    """Of hooks."""
    links: int
    """That would end."""
    backups: tuple[HoldingBackup, ...]
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
    backups: tuple[HoldingBackup, ...]
    """Backups that still have it."""


@get("/api/sessions/{id:str}/weight", sync_to_thread=True)
def weigh_session(
    id: NamedSession, store: GivenStore, visible: GivenScope, visit: GivenVisit, accounts: GivenAccounts
) -> SessionWeight:
    """Return what deleting a session would remove, and which backups would still have it."""
    session = _get_own(store, visible, id, visit)
    weighed = store.forget(visible, [session.key], dry_run=True)
    return SessionWeight(
        sessions=weighed.sessions,
        files=weighed.files,
        bytes=weighed.bytes,
        deliveries=weighed.deliveries,
        links=_count_open(accounts, session.key),
        backups=list_holding(store, session.key, visit.caller),
    )


@delete("/api/sessions/{id:str}", status_code=200, sync_to_thread=True)
def delete_session(
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    accounts: GivenAccounts,
    surroundings: GivenSurroundings,
) -> Response[DeletedSession]:
    """Permanently delete a session: its bytes, everything derived from them, its hook events, and links to it.

    It must be named by its full id or key; its owner and admins may delete it. No collector brings it
    back. The response lists what cannot be deleted from here: backups that still have it.
    """
    session = _get_own(store, visible, id, visit)
    if id not in (session.key, session.row.session_id):
        raise InvalidRequestError("This needs the full id or key of the session")
    known = find_known(store, visible, session.key)
    entry = AuditEntry(
        at_ns=time.time_ns(),
        who=visit.caller.name,
        action=Action.FORGOTTEN,
        session=session.key,
        person=session.person,
    )
    visit.audit.record([entry])  # first: nothing goes without being recorded
    links = accounts.revoke_links([session.key])
    gone = store.forget(visible, [session.key])
    if gone.sessions == 0:
        raise StoreError("the session could not be deleted")
    captured = surroundings.captured_dir
    if captured is not None and known is not None:
        remove_captures([known], captured)
    told = DeletedSession(
        sessions=gone.sessions,
        files=gone.files,
        bytes=gone.bytes,
        deliveries=gone.deliveries,
        links=links,
        scrubbed=gone.scrubbed,
        backups=list_holding(store, session.key, visit.caller),
    )
    # The browser may have kept answers, to ask whether they still hold.
    return Response(told, headers={"clear-site-data": '"cache"'})


def _get_own(store: Store, visible: Scope, name: str, visit: Visit) -> StoredSession:
    session = get_session(store, visible, name, visit)
    if not may_change(visit.caller, session.person):
        raise forbid("Only the owner and admins can delete this session")
    return session


def _count_open(accounts: Accounts, key: str) -> int:
    now = time.time_ns()
    return sum(link.revoked_ns is None and link.expires_ns > now for link in accounts.list_links(session=key))


def list_holding(store: CaredStore, key: str, caller: Caller) -> tuple[HoldingBackup, ...]:
    """Return the copies of the archive that have a session, or may; where they are is for admins."""
    # Copies that were made before there were people know of no viewers, and the session is known to be theirs.
    found = [(backup, find_in_backup(backup, LOCAL, [key])) for backup in store.list_backups()]
    return tuple(
        HoldingBackup(
            path=path_text(backup.path if caller.is_admin else PurePath(backup.path).name),
            at=instant_of(backup.at_ns),
            certain=held is not None,
        )
        for backup, held in found
        if held is None or held
    )
