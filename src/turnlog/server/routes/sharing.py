"""Who may see a session: its visibility, the rules for projects, and links for strangers.

`/api/sessions/{id}/access` and `/api/access` say who may see sessions, `/api/rules` who does where nobody said,
and `/api/links` makes addresses by which strangers see one session, without secrets, until they end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from litestar import delete, get, post, put
from litestar.params import JSONBody, PathParameter, RawBody
from msgspec import Meta, Struct

from turnlog.export.link_preview import LinkPreview, build_preview
from turnlog.server.audit import GivenRequester, GivenSession, Requester, build_entry, may_change
from turnlog.server.errors import NotFoundError, RequestError
from turnlog.server.requests import GivenAccounts, GivenContext, GivenScope, GivenStore, decode_body, query
from turnlog.server.security.callers import ADMINS, GivenCaller
from turnlog.server.sessions import name_session
from turnlog.server.values import clean_text, fill_clean, one_line
from turnlog.shapes import fill, fill_dated
from turnlog.store.account_model import Action
from turnlog.store.accounts import Accounts
from turnlog.store.model import SessionAccess, Visibility, find_access

_LONGEST_DAYS = 365
_Word = Annotated[str, Meta(min_length=2, max_length=200)]
_Words = Annotated[tuple[_Word, ...], Meta(max_length=100)]
_Named = Annotated[str, Meta(max_length=200)]


class SharedLink(Struct, frozen=True, gc=False, kw_only=True):
    """A link; its address is shown only once, when it is created."""

    id: str
    session: str
    """The session's key."""
    title: str
    """The session's title when the link was created."""
    created_by: str | None
    """Null if it was created with the server's own token."""
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    words: tuple[str, ...]
    """Words that it hides, besides secrets."""
    opened: int
    """How often it was opened."""
    opened_at: datetime | None
    """The last time."""


class LinkPreviewRequest(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Which session strangers would see."""

    session: _Named
    words: _Words = ()
    """Words to hide from them, besides secrets."""


class NewLinkRequest(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Which session strangers may see, and for how long."""

    session: _Named
    days: Annotated[float, Meta(gt=0, le=_LONGEST_DAYS)] = 7
    words: _Words = ()
    """Words to hide from them, besides secrets."""


class CreatedLink(Struct, frozen=True, gc=False, kw_only=True):
    """A new link."""

    link: SharedLink
    path: str
    """The path on this server. It is the secret, and is shown only once."""


_Key = Annotated[str, Meta(max_length=200)]


class SessionAccessItem(Struct, frozen=True, gc=False, kw_only=True):
    """Who may see a session, and why."""

    key: str
    person: str | None
    """The owner; null if there is none."""
    machine: str
    """Where it comes from."""
    host: str
    """That machine's host name; empty if unknown."""
    chosen: Visibility | None
    """What its owner chose; null if the rules decide."""
    rule: str | None
    """The pattern of the rule that matches its project; null if none does."""
    visibility: Visibility
    """The resulting visibility."""
    may_change: bool
    """Whether the caller may change who sees it, create links to it, and delete it."""
    links: tuple[SharedLink, ...]
    """Links to it, for callers who may change it; newest first."""


class AccessChange(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Who may see a session."""

    visibility: Visibility | None
    """Null leaves it to the rules."""


class AccessChanges(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Who may see several sessions."""

    keys: Annotated[tuple[_Key, ...], Meta(max_length=1000)]
    visibility: Visibility | None
    """Null leaves it to the rules."""


class ChangedAccess(Struct, frozen=True, gc=False, kw_only=True):
    """What changed."""

    changed: tuple[str, ...]
    """The keys of the sessions that changed; those of other people are left out."""


class RuleItem(Struct, frozen=True, gc=False, kw_only=True):
    """A rule for some projects."""

    pattern: str
    """Matches the project's path, with `*` for anything. The longest matching pattern wins."""
    visibility: Visibility


class RuleChange(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A rule to set or remove."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1000)]
    visibility: Visibility | None
    """Null removes it."""


class RulePreview(Struct, frozen=True, gc=False, kw_only=True):
    """What a rule changes."""

    sessions: int
    """How many sessions become visible to others, or stop being visible."""


def _view_access(requester: Requester, accounts: Accounts, key: str) -> SessionAccessItem:
    """Return who may see a session, and, for a caller who may change that, the links to it."""
    store, visible = requester.store, requester.visible
    found = find_access(store, visible, key)
    if found is None:
        raise NotFoundError("There is no such session")
    machine = next((each for each in store.list_machines(visible) if each.origin == found.origin), None)
    may = may_change(requester.caller, found.person)
    links = accounts.list_links(session=found.key) if may else []
    return fill(
        SessionAccessItem,
        found,
        machine=found.origin,
        host="" if machine is None else machine.host,
        may_change=may,
        links=tuple(fill_dated(SharedLink, link) for link in links),
    )


@get("/api/sessions/{id:str}/access", sync_to_thread=True)
def get_access(
    requested: GivenSession,
    accounts: GivenAccounts,
) -> SessionAccessItem:
    """Return who may see a session, and why."""
    return _view_access(requested, accounts, requested.get().key)


@put("/api/sessions/{id:str}/access", sync_to_thread=True)
def change_access(
    requested: GivenSession,
    data: JSONBody[AccessChange],
    body: RawBody,
    accounts: GivenAccounts,
) -> SessionAccessItem:
    """Set who may see a session; its owner and admins may do this."""
    wanted = decode_body(body, AccessChange)
    session = requested.get_own("Only the owner and admins can change who sees this session")
    changed = requested.store.set_visibility(requested.visible, [session.key], wanted.visibility)
    _record_changes(requested, changed, wanted.visibility)
    return _view_access(requested, accounts, session.key)


@post("/api/access", status_code=200, sync_to_thread=True)
def change_accesses(
    data: JSONBody[AccessChanges],
    body: RawBody,
    requester: GivenRequester,
) -> ChangedAccess:
    """Set who may see several sessions; those of other people are left out."""
    wanted = decode_body(body, AccessChanges)
    changed = requester.store.set_visibility(requester.visible, wanted.keys, wanted.visibility)
    _record_changes(requester, changed, wanted.visibility)
    return ChangedAccess(changed=tuple(each.key for each in changed))


def _record_changes(requester: Requester, changed: Sequence[SessionAccess], chosen: Visibility | None) -> None:
    told = [f"by the rules: {each.visibility}" if chosen is None else str(chosen) for each in changed]
    requester.audit.record(
        [
            build_entry(
                requester.caller, Action.VISIBILITY_CHANGED, each.person, session=each.key, detail=detail
            )
            for each, detail in zip(changed, told, strict=True)
        ]
    )


@get("/api/rules", sync_to_thread=True)
def list_rules(store: GivenStore, visible: GivenScope) -> list[RuleItem]:
    """List the rules for projects, by pattern."""
    return [fill(RuleItem, rule) for rule in store.list_rules(visible)]


@put("/api/rules", opt=ADMINS, sync_to_thread=True)
def set_rule(
    data: JSONBody[RuleChange],
    body: RawBody,
    requester: GivenRequester,
) -> RulePreview:
    """Set or remove a rule, and return for how many sessions this changes who sees them."""
    wanted = decode_body(body, RuleChange)
    sessions = requester.store.set_rule(requester.visible, wanted.pattern, wanted.visibility)
    said = "removed" if wanted.visibility is None else str(wanted.visibility)
    requester.record(Action.RULE_CHANGED, detail=f"{wanted.pattern}: {said}")
    return RulePreview(sessions=sessions)


@post("/api/rules/preview", opt=ADMINS, status_code=200, sync_to_thread=True)
def preview_rule(
    data: JSONBody[RuleChange], body: RawBody, store: GivenStore, visible: GivenScope
) -> RulePreview:
    """Return what setting a rule would change, without setting it."""
    wanted = decode_body(body, RuleChange)
    return RulePreview(sessions=store.set_rule(visible, wanted.pattern, wanted.visibility, dry_run=True))


_NOT_OWN = "Only the owner and admins can share this session"
_DAY_NS = 24 * 3600 * 1_000_000_000


@get("/api/links", sync_to_thread=True)
def list_links(
    accounts: GivenAccounts,
    caller: GivenCaller,
    session: Annotated[
        str | None, query("The key of a session; all sessions by default.", max_length=200)
    ] = None,
) -> list[SharedLink]:
    """List links, the newest first, ended ones included: your own, or everybody's for admins."""
    found = accounts.list_links(created_by=None if caller.is_admin else caller.name, session=session)
    return [fill_dated(SharedLink, link) for link in found if caller.is_admin or link.created_by == caller.name]


@post("/api/links/preview", status_code=200, sync_to_thread=True)
def preview_link(
    data: JSONBody[LinkPreviewRequest],
    body: RawBody,
    requester: GivenRequester,
    context: GivenContext,
) -> LinkPreview:
    """Return what strangers would see of a session, without sharing anything."""
    wanted = decode_body(body, LinkPreviewRequest)
    session = requester.get_own_session(wanted.session, _NOT_OWN)
    words = (*context.redact_words, *wanted.words)
    found = build_preview(requester.store, requester.visible, session, words)
    return fill_clean(
        LinkPreview,
        found,
        title=one_line(found.title),
        tools=tuple((clean_text(name), times) for name, times in found.tools),
        files=tuple(map(clean_text, found.files)),
        excerpts=tuple(map(one_line, found.excerpts)),
    )


@post("/api/links", status_code=201, sync_to_thread=True)
def create_link(
    data: JSONBody[NewLinkRequest],
    body: RawBody,
    requester: GivenRequester,
    accounts: GivenAccounts,
) -> CreatedLink:
    """Create an address that shows strangers a session in its current state, without secrets.

    Its owner and admins may do this. The address is shown only once.
    """
    wanted = decode_body(body, NewLinkRequest)
    session = requester.get_own_session(wanted.session, _NOT_OWN)
    title = session.marks.name or session.row.title or name_session(session)
    link, secret = accounts.create_link(
        session.key,
        title=one_line(title),
        created_by=requester.caller.name,
        expires_ns=time.time_ns() + int(wanted.days * _DAY_NS),
        words=wanted.words,
    )
    try:
        requester.record(Action.LINK_CREATED, session.person, link=link.id, session=link.session)
    except RequestError:
        accounts.revoke_link(link.id)
        raise
    return CreatedLink(link=fill_dated(SharedLink, link), path=f"/s/{secret}")


@delete("/api/links/{id:str}", status_code=204, sync_to_thread=True)
def revoke_link(
    id: Annotated[str, PathParameter(description="`id` of a link.", max_length=100)],
    requester: GivenRequester,
    accounts: GivenAccounts,
) -> None:
    """Revoke a link: nobody can use it from now on, including those who are viewing it."""
    caller = requester.caller
    link = next((each for each in accounts.list_links() if each.id == id), None)
    access = None if link is None else find_access(requester.store, requester.visible, link.session)
    person = None if access is None else access.person
    own = link is not None and (caller.is_admin or (link.created_by == caller.name and caller.name is not None))
    if link is None or not (own or may_change(caller, person)):
        raise NotFoundError("There is no such link")
    if link.revoked_ns is None:
        accounts.revoke_link(link.id)
        requester.record(Action.LINK_REVOKED, person, link=link.id, session=link.session)
