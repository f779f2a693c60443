"""`DELETE /api/sessions/{id}`: a session that goes for good, and what is left of it."""

from __future__ import annotations

import time

from litestar import Response, delete, get

from turnlog.errors import StoreError
from turnlog.ingest.captured_files import remove_captures
from turnlog.server.auditing import GivenVisit, Visit
from turnlog.server.dependencies import GivenAccounts, GivenScope, GivenStore
from turnlog.server.errors import InvalidRequestError
from turnlog.server.finding import get_session, may_change
from turnlog.server.parameters import NamedSession
from turnlog.server.security.policies import forbid
from turnlog.server.shapes.deletion import DeletedSession, SessionWeight
from turnlog.server.surroundings import GivenSurroundings
from turnlog.server.views.sharing import list_holding
from turnlog.store.accounts.interface import Accounts, Action, AuditEntry
from turnlog.store.interface import Store, find_known
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope


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


HANDLERS = (weigh_session, delete_session)
