"""`/api/links`: addresses by which strangers see one session, without secrets, until they end."""

from __future__ import annotations

import time
from typing import Annotated

from litestar import delete, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter, RawBody

from turnlog.export.link_preview import build_preview
from turnlog.server.auditing import GivenAudit, GivenVisit, Visit
from turnlog.server.bodies import decode_body
from turnlog.server.dependencies import GivenAccounts, GivenScope, GivenStore
from turnlog.server.errors import NotFoundError, RequestError
from turnlog.server.finding import get_session, may_change
from turnlog.server.security.callers import GivenCaller
from turnlog.server.security.policies import forbid
from turnlog.server.shapes.links import LinkAsked, LinkMade, LinkPreviewed, LinkWanted, SharedLink
from turnlog.server.surroundings import GivenSurroundings
from turnlog.server.views.limits import head_of, say, sayable
from turnlog.server.views.lists import name_session
from turnlog.server.views.sharing import view_link
from turnlog.store.accounts.interface import Action, AuditEntry, Link
from turnlog.store.interface import Store
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope, find_access

_DAY_NS = 24 * 3600 * 1_000_000_000


@get("/api/links", sync_to_thread=True)
def list_links(
    accounts: GivenAccounts,
    caller: GivenCaller,
    session: Annotated[
        str | None, QueryParameter(max_length=200, description="The key of a session; all sessions by default.")
    ] = None,
) -> list[SharedLink]:
    """List links, the newest first, ended ones included: your own, or everybody's for admins."""
    found = accounts.list_links(created_by=None if caller.is_admin else caller.name, session=session)
    return [view_link(link) for link in found if caller.is_admin or link.created_by == caller.name]


@post("/api/links/preview", status_code=200, sync_to_thread=True)
def preview_link(
    data: JSONBody[LinkAsked],
    body: RawBody,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    surroundings: GivenSurroundings,
) -> LinkPreviewed:
    """Return what strangers would see of a session, without sharing anything."""
    wanted = decode_body(body, LinkAsked)
    session = _get_own(store, visible, wanted.session, visit)
    words = (*surroundings.redact_words, *wanted.words)
    found = build_preview(store, visible, session, words)
    return LinkPreviewed(
        title=head_of(found.title),
        project=say(found.project),
        messages=found.messages,
        agents=found.agents,
        calls=found.calls,
        tools=tuple((sayable(name), times) for name, times in found.tools),
        files=tuple(map(sayable, found.files)),
        redacted=found.redacted,
        excerpts=tuple(map(head_of, found.excerpts)),
    )


@post("/api/links", status_code=201, sync_to_thread=True)
def create_link(
    data: JSONBody[LinkWanted],
    body: RawBody,
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    accounts: GivenAccounts,
) -> LinkMade:
    """Create an address that shows strangers a session in its current state, without secrets.

    Its owner and admins may do this. The address is shown only once.
    """
    wanted = decode_body(body, LinkWanted)
    session = _get_own(store, visible, wanted.session, visit)
    title = session.marks.name or session.row.title or name_session(session)
    link, secret = accounts.create_link(
        session.key,
        title=head_of(title),
        created_by=visit.caller.name,
        expires_ns=time.time_ns() + int(wanted.days * _DAY_NS),
        words=wanted.words,
    )
    try:
        visit.audit.record([_build_entry(visit, link, Action.LINK_CREATED, session.person)])
    except RequestError:
        accounts.revoke_link(link.id)
        raise
    return LinkMade(link=view_link(link), path=f"/s/{secret}")


@delete("/api/links/{id:str}", status_code=204, sync_to_thread=True)
def revoke_link(
    id: Annotated[str, PathParameter(description="`id` of a link.", max_length=100)],
    store: GivenStore,
    visible: GivenScope,
    visit: GivenVisit,
    accounts: GivenAccounts,
    audit: GivenAudit,
) -> None:
    """Revoke a link: nobody can use it from now on, including those who are viewing it."""
    caller = visit.caller
    link = next((each for each in accounts.list_links() if each.id == id), None)
    access = None if link is None else find_access(store, visible, link.session)
    person = None if access is None else access.person
    own = link is not None and (caller.is_admin or (link.created_by == caller.name and caller.name is not None))
    if link is None or not (own or may_change(caller, person)):
        raise NotFoundError("There is no such link")
    if link.revoked_ns is None:
        accounts.revoke_link(link.id)
        audit.record([_build_entry(visit, link, Action.LINK_REVOKED, person)])


def _get_own(store: Store, visible: Scope, name: str, visit: Visit) -> StoredSession:
    session = get_session(store, visible, name, visit)
    if not may_change(visit.caller, session.person):
        raise forbid("Only the owner and admins can share this session")
    return session


def _build_entry(visit: Visit, link: Link, action: Action, person: str | None) -> AuditEntry:
    return AuditEntry(
        at_ns=time.time_ns(),
        who=visit.caller.name,
        action=action,
        link=link.id,
        session=link.session,
        person=person,
    )


HANDLERS = (list_links, preview_link, create_link, revoke_link)
