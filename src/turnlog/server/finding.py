"""Which session an address means: by its key, its id, or a beginning of either that only one has."""

from __future__ import annotations

from turnlog.server.auditing import Look, Visit
from turnlog.server.errors import NotFoundError, RequestError
from turnlog.server.security.callers import Caller
from turnlog.server.shapes.errors import ErrorDetail
from turnlog.store.accounts.interface import Action
from turnlog.store.identity import Scope
from turnlog.store.interface import Store, StoredSession

__all__ = ["SHORTEST", "find_session", "get_session", "may_change"]

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
    found = store.find_sessions(visible, name) if name else []
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


def may_change(caller: Caller, person: str | None) -> bool:
    """Tell whether somebody may say who sees a session of this person's, make links to it, or delete it."""
    return caller.is_admin or (caller.may_write and person is not None and person == caller.name)
