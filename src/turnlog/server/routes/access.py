"""`/api/sessions/{id}/access` and `/api/access`: who may see sessions."""

from __future__ import annotations

import time
from collections.abc import Sequence

from litestar import get, post, put
from litestar.params import JSONBody, RawBody

from turnlog.server.auditing import GivenAudit, GivenVisit
from turnlog.server.bodies import decode_body
from turnlog.server.dependencies import GivenAccounts, GivenScope, GivenStore
from turnlog.server.errors import NotFoundError
from turnlog.server.finding import get_session, may_change
from turnlog.server.parameters import NamedSession
from turnlog.server.security.callers import Caller, GivenCaller
from turnlog.server.security.policies import forbid
from turnlog.server.shapes.access import AccessChange, AccessChanges, ChangedAccess, SessionAccessItem
from turnlog.server.views.sharing import view_access
from turnlog.store.accounts.interface import Action, AuditEntry
from turnlog.store.model import PeopleStore, Scope, SessionAccess, Visibility, find_access


@get("/api/sessions/{id:str}/access", sync_to_thread=True)
def get_access(
    id: NamedSession,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    accounts: GivenAccounts,
) -> SessionAccessItem:
    """Return who may see a session, and why."""
    session = get_session(store, visible, id, visit)
    found = _find(store, visible, session.key)
    return view_access(store, accounts, visible, found, visit.caller)


@put("/api/sessions/{id:str}/access", sync_to_thread=True)
def change_access(
    id: NamedSession,
    data: JSONBody[AccessChange],
    body: RawBody,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    accounts: GivenAccounts,
) -> SessionAccessItem:
    """Set who may see a session; its owner and admins may do this."""
    wanted = decode_body(body, AccessChange)
    session = get_session(store, visible, id, visit)
    if not may_change(visit.caller, session.person):
        raise forbid("Only the owner and admins can change who sees this session")
    changed = store.set_visibility(visible, [session.key], wanted.visibility)
    visit.audit.record(_list_entries(visit.caller, changed, wanted.visibility))
    return view_access(store, accounts, visible, _find(store, visible, session.key), visit.caller)


@post("/api/access", status_code=200, sync_to_thread=True)
def change_accesses(
    data: JSONBody[AccessChanges],
    body: RawBody,
    store: GivenStore,
    visible: GivenScope,
    caller: GivenCaller,
    audit: GivenAudit,
) -> ChangedAccess:
    """Set who may see several sessions; those of other people are left out."""
    wanted = decode_body(body, AccessChanges)
    changed = store.set_visibility(visible, wanted.keys, wanted.visibility)
    audit.record(_list_entries(caller, changed, wanted.visibility))
    return ChangedAccess(changed=tuple(each.key for each in changed))


def _find(store: PeopleStore, visible: Scope, key: str) -> SessionAccess:
    found = find_access(store, visible, key)
    if found is None:
        raise NotFoundError("There is no such session")
    return found


def _list_entries(
    caller: Caller, changed: Sequence[SessionAccess], chosen: Visibility | None
) -> list[AuditEntry]:
    return [
        AuditEntry(
            at_ns=time.time_ns(),
            who=caller.name,
            action=Action.VISIBILITY_CHANGED,
            session=each.key,
            person=each.person,
            detail=f"by the rules: {each.visibility}" if chosen is None else str(chosen),
        )
        for each in changed
    ]


HANDLERS = (get_access, change_access, change_accesses)
