"""Which session an address means: by its key, its id, or a beginning of either that only one has.

Of some sessions only hooks have told. Such a session goes by its whole id.
"""

from __future__ import annotations

from msgspec import Struct

from turnlog.server.auditing import Look, Visit
from turnlog.server.errors import NotFoundError, RequestError
from turnlog.server.security.callers import Caller, CallerKind
from turnlog.server.shapes.errors import ErrorDetail
from turnlog.server.views.lists import name_session
from turnlog.store.accounts.interface import Action
from turnlog.store.interface import CaredStore, Store, find_sessions
from turnlog.store.lists import StoredSession
from turnlog.store.model import LOCAL, Scope
from turnlog.transcripts.hooks.deliveries import DeliveryFilter

SHORTEST = 4
"""How many characters of a name are needed, unless it is the whole name."""
_SHOWN = 5


def get_session(
    store: Store, visible: Scope, name: str, visit: Visit, action: Action = Action.LOOKED
) -> StoredSession:
    """Return a session, and record that it is looked at; raises `RequestError`.

    It does so if there is none, if several go by that name, or if the look cannot be recorded.
    """
    session = find_session(store, visible, name)
    visit.note([Look(session.key, session.person)], action)
    return session


def find_session(store: Store, visible: Scope, name: str) -> StoredSession:
    """Return a session for somebody whose looks are not recorded; raises `RequestError` as `get_session`."""
    found = find_sessions(store, visible, name) if name else []
    exact = [session for session in found if session.key == name] or [
        session for session in found if session.row.session_id == name
    ]
    meant = exact or (found if len(name) >= SHORTEST else [])
    if not meant:
        raise NotFoundError("There is no such session")
    if len(meant) > 1:
        # Copies have the same id; their keys tell them apart.
        keys = tuple(ErrorDetail(where="id", message=session.key) for session in meant[:_SHOWN])
        raise RequestError(409, "ambiguous", f"{len(meant)} sessions match that name", details=keys)
    return meant[0]


class HeardSession(Struct, frozen=True):
    """A session of which files or hooks have told."""

    key: str
    hooks: str
    """Its id as hooks know it."""
    stored: StoredSession | None
    """What is kept of its files; None if only hooks have told of it."""

    @property
    def revision(self) -> int:
        """Of what is kept of its files; 0 if there is nothing."""
        return 0 if self.stored is None else self.stored.revision


def get_heard(store: CaredStore, visible: Scope, name: str, visit: Visit) -> HeardSession:
    """Return a session of which files or hooks have told, and record the look; raises as `get_session`."""
    try:
        session = get_session(store, visible, name, visit)
    except NotFoundError:
        if not has_deliveries(store, visible, name, visit):
            raise
        return HeardSession(name, name, None)
    return HeardSession(session.key, session.row.session_id or name_session(session), session)


def has_deliveries(
    store: CaredStore, visible: Scope, session_id: str, visit: Visit, action: Action = Action.LOOKED
) -> bool:
    """Tell whether hooks told of a session, and record that it is looked at."""
    if not store.count_deliveries(visible, session_id):
        return False
    if visit.caller.kind is not CallerKind.OPERATOR:
        which = DeliveryFilter(session_id=session_id, count=1, payloads=False, longest_context=0)
        told = store.list_deliveries(visible, which)
        persons = {machine.origin: machine.person for machine in store.list_machines(LOCAL)}
        visit.note([Look(session_id, persons.get(each.origin)) for each in told], action)
    return True


def may_change(caller: Caller, person: str | None) -> bool:
    """Tell whether somebody may say who sees a session of this person's, make links to it, or delete it."""
    return caller.is_admin or (caller.may_write and person is not None and person == caller.name)
