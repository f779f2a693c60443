"""Recording who looked at which session, before anything of it is shown; `/api/audit` lists who did what.

A look is recorded when a session is found for a caller (`get_session`, and what a search or an export returns),
so no route can forget it. Looks within a quarter of an hour of each other are one visit, and one entry. If a
look cannot be recorded, nothing is shown. What the operator looks at is not recorded: whoever has the server's
token has its files, too, the record among them.

A session known only from hooks goes by its whole id.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation
from msgspec import Struct
from msgspec.structs import asdict

from turnlog.server import requests
from turnlog.server.errors import ErrorDetail, InvalidRequestError, NotFoundError, RequestError
from turnlog.server.security.callers import Caller, CallerKind, GivenCaller, forbid
from turnlog.server.sessions import find_session, name_session
from turnlog.server.values import LruDict, instant_of
from turnlog.shapes import fill
from turnlog.store.account_model import Action, AuditEntry, AuditFilter
from turnlog.store.accounts import Accounts
from turnlog.store.interface import MaintainedStore
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL, Scope
from turnlog.transcripts.hooks import DeliveryFilter
from turnlog.transcripts.queries.sessions import SessionActions

logger = logging.getLogger("turnlog.server")

VISIT_SECONDS = 15 * 60.0
"""After so long without a request, a visit is over."""
_MOST = 100_000
"""How many visits are remembered; of one that is not, the next look is recorded again."""

_Known = tuple[str, str | None, str, Action]


class ViewedSession(Struct, frozen=True, gc=False):
    """A session that is about to be shown."""

    session: str
    """Its key; its id, if only hooks have reported it."""
    person: str | None
    """Whose it is."""


class Auditor:
    """Writes the audit log; thread-safe."""

    def __init__(self, accounts: Accounts | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._accounts = accounts
        self._clock = clock
        self._visits: LruDict[_Known, float] = LruDict(_MOST)
        self._lock = threading.Lock()

    def record_views(
        self, caller: Caller, looks: Iterable[ViewedSession], action: Action, client: str = ""
    ) -> None:
        """Record views of other people's sessions, one entry per visit; raises `RequestError`.

        `client` tells strangers with the same link apart.
        """
        if caller.kind is CallerKind.OPERATOR:
            return
        link = caller.link
        if link is not None:
            action = Action.LINK_OPENED
        others = [look for look in looks if link is not None or look.person != caller.name]
        by = None if link is None else link.id
        wanted = {(caller.name or "", by, f"{client} {look.session}", action): look for look in others}
        if self._extend_visits(wanted):
            return
        with self._lock:  # so that requests which come together are one visit
            new = {known: look for known, look in wanted.items() if not self._is_open(known)}
            if not new:
                return
            self.record(
                [
                    build_entry(caller, action, look.person, link=by, session=look.session)
                    for look in new.values()
                ]
            )
            if link is not None:
                self._count_opened(link.id)
            self._remember(new)

    def record(self, entries: Sequence[AuditEntry]) -> None:
        """Keep entries for good; raises `RequestError` if that cannot be done."""
        try:
            if self._accounts is None:
                raise RuntimeError("there is nowhere to record it")
            if entries:
                self._accounts.record(entries)
        except Exception as error:
            logger.error("the audit log cannot be written: %s", error)
            message = "Views must be recorded, which is not possible right now; try again"
            raise RequestError(503, "not_recorded", message, headers={"retry-after": "5"}) from error

    def _extend_visits(self, wanted: Iterable[_Known]) -> bool:
        """Tell whether all views belong to current visits, and extend those."""
        found = list(wanted)
        if not all(map(self._is_open, found)):
            return False
        with self._lock:
            self._remember(found)
        return True

    def _is_open(self, known: _Known) -> bool:
        last = self._visits.get(known)
        return last is not None and self._clock() - last < VISIT_SECONDS

    def _remember(self, visits: Iterable[_Known]) -> None:
        now = self._clock()
        for known in visits:
            self._visits.put(known, now)

    def _count_opened(self, id: str) -> None:
        try:
            if self._accounts is not None:
                self._accounts.note_opened(id)
        except Exception:  # it is recorded; only the count is not right
            logger.exception("an opened link could not be counted")


GivenAudit = NamedDependency[SkipValidation[Auditor]]
"""Parameter `audit`: what keeps what people do."""


class Requester(Struct, frozen=True):
    """The caller of a request, with what they may see, and what records their actions."""

    request: Request[Any, Any, Any]
    caller: Caller
    audit: Auditor
    store: MaintainedStore
    visible: Scope

    def check_unchanged(self, *parts: str | int | None) -> None:
        """Raise `NotModifiedError` if the client has this state of what it asks for."""
        requests.check_unchanged(self.request, *parts)

    def record_views(self, looks: Iterable[ViewedSession], action: Action = Action.VIEWED) -> None:
        """Record that sessions are about to be shown; raises `RequestError` if that cannot be done."""
        client = self.request.client
        self.audit.record_views(self.caller, looks, action, client.host if client and self.caller.link else "")

    def record(self, action: Action, person: str | None = None, **what: Any) -> None:
        """Record something that was just done, as `build_entry` has it; raises as `Auditor.record`."""
        self.audit.record([build_entry(self.caller, action, person, **what)])

    def get_session(self, name: str, action: Action = Action.VIEWED) -> StoredSession:
        """Return a session, and record the view; raises `RequestError`.

        It does so if there is none, if several go by that name, or if the look cannot be recorded.
        """
        session = find_session(self.store, self.visible, name)
        self.record_views([ViewedSession(session.key, session.person)], action)
        return session

    def get_own_session(self, name: str, refusal: str) -> StoredSession:
        """Return a session that the caller may change; raises `RequestError` with a refusal for others."""
        session = self.get_session(name)
        if not may_change(self.caller, session.person):
            raise forbid(refusal)
        return session

    def has_deliveries(self, session_id: str, action: Action = Action.VIEWED) -> bool:
        """Return whether hooks have reported a session, and record the view."""
        if not self.store.count_deliveries(self.visible, session_id):
            return False
        if self.caller.kind is not CallerKind.OPERATOR:
            which = DeliveryFilter(session_id=session_id, count=1, payloads=False, longest_context=0)
            told = self.store.list_deliveries(self.visible, which)
            persons = {machine.origin: machine.person for machine in self.store.list_machines(LOCAL)}
            self.record_views([ViewedSession(session_id, persons.get(each.origin)) for each in told], action)
        return True


GivenRequester = NamedDependency[SkipValidation[Requester]]
"""Parameter `requester`: the caller, and what they may see."""


def build_requester(
    request: Request[Any, Any, Any],
    caller: GivenCaller,
    audit: GivenAudit,
    store: requests.GivenStore,
    visible: requests.GivenScope,
) -> Requester:
    """Return who asks."""
    return Requester(request, caller, audit, store, visible)


def build_entry(caller: Caller, action: Action, person: str | None = None, **what: Any) -> AuditEntry:
    """Return what is recorded of something that was just done: to a `session` or `link`, with a `detail`."""
    return AuditEntry(at_ns=time.time_ns(), who=caller.name, action=action, person=person, **what)


class SessionReference(Struct, frozen=True):
    """A session known from files or from hooks."""

    key: str
    hooks: str
    """Its id as hooks know it."""
    stored: StoredSession | None
    """The session as it is stored; None if only hooks have reported it."""

    @property
    def revision(self) -> int:
        """The revision of its files; 0 if there are none."""
        return 0 if self.stored is None else self.stored.revision


def may_change(caller: Caller, person: str | None) -> bool:
    """Return whether a caller may set who sees this person's session, make links to it, and delete it."""
    return caller.is_admin or (caller.may_write and person is not None and person == caller.name)


class RequestedSession(Requester, frozen=True):
    """The session that an address names; it is looked for, and that recorded, when a handler asks for it."""

    name: str

    def get(self) -> StoredSession:
        """Return the session; raises as `get_session`."""
        return self.get_session(self.name)

    def get_own(self, refusal: str) -> StoredSession:
        """Return the session if the caller may change it; raises `RequestError` with a refusal otherwise."""
        return self.get_own_session(self.name, refusal)

    def get_reference(self) -> SessionReference:
        """Return a reference to a session known from files or only from hooks; raises as `get_session`."""
        try:
            session = self.get()
        except NotFoundError:
            if not self.has_deliveries(self.name):
                raise
            return SessionReference(self.name, self.name, None)
        return SessionReference(session.key, session.row.session_id or name_session(session), session)

    def get_unchanged(self) -> StoredSession:
        """Return the session, unless the client has this state of it: then `NotModifiedError` is raised."""
        session = self.get()
        self.check_unchanged(session.key, session.revision)
        return session

    @contextmanager
    def open(self) -> Iterator[tuple[StoredSession, SessionActions]]:
        """Yield the session, as `get_unchanged` returns it, and what it is made of."""
        session = self.get_unchanged()
        with self.store.open_session(self.visible, session.key) as opened:
            yield session, opened


GivenSession = NamedDependency[SkipValidation[RequestedSession]]
"""Parameter `requested`: the session that the address names."""


def build_requested(requester: GivenRequester, id: requests.NamedSession) -> RequestedSession:
    """Return the session that the address names."""
    return RequestedSession(**asdict(requester), name=id)


class AuditItem(Struct, frozen=True, gc=False, kw_only=True):
    """An entry of the audit log; entries are added and never changed."""

    id: int
    at: datetime
    who: str | None
    """A user's name; null for the server's own token, and for strangers with a link."""
    action: str
    """What was done: `viewed`, `searched`, `exported` … `turnlog audit --help` lists them all."""
    link: str | None
    """The id of the link that was used or changed."""
    session: str | None
    """A session's key."""
    person: str | None
    """The owner of the session, or the person concerned."""
    detail: str


class AuditPage(Struct, frozen=True, gc=False, kw_only=True):
    """Entries, newest first."""

    entries: tuple[AuditItem, ...]
    next: int | None
    """Pass it as `before` to continue; null at the end."""


@get("/api/audit", sync_to_thread=True)
def list_audit(
    accounts: requests.GivenAccounts,
    caller: GivenCaller,
    who: Annotated[str | None, requests.query("Who did it: the name of a user.", max_length=200)] = None,
    person: Annotated[
        str | None,
        requests.query("The owner of the session, or the person concerned: a user's name.", max_length=200),
    ] = None,
    session: Annotated[str | None, requests.query("The key of the session concerned.", max_length=200)] = None,
    action: Annotated[
        list[str] | None,
        requests.query("What was done, such as `viewed` or `link-opened`: any of these.", max_items=50),
    ] = None,
    before: Annotated[
        int | None, requests.integer("Where to continue: `next` from the previous response.", least=1)
    ] = None,
    limit: requests.Limit = 100,
) -> AuditPage:
    """List who did what, newest first.

    Admins see everything, others what they did or what concerns them. Views of other people's sessions have one
    entry per visit.
    """
    asked = AuditFilter(
        who=who,
        person=person,
        session=session,
        actions=tuple(map(_find_action, action or ())),
        about=None if caller.is_admin else caller.name,
    )
    found = accounts.list_audit(asked, before=before, limit=limit + 1)
    entries = found[:limit]
    return AuditPage(
        entries=tuple(fill(AuditItem, each, at=instant_of(each.at_ns)) for each in entries),
        next=entries[-1].id if len(found) > limit else None,
    )


def _find_action(name: str) -> Action:
    try:
        return Action(name)
    except ValueError:
        known = ErrorDetail(where="action", message=f"expected one of {', '.join(Action)}")
        raise InvalidRequestError("There is no such action", known) from None
