"""Sessions of which something is known: from their files, or from hooks alone."""

from __future__ import annotations

from turnlog.server.auditing import Look, Visit
from turnlog.server.errors import NotFoundError
from turnlog.server.finding import get_session
from turnlog.server.security.callers import CallerKind
from turnlog.server.views.hook_items import HookSession
from turnlog.server.views.lists import name_session
from turnlog.store.accounts.interface import Action
from turnlog.store.care import CaredStore
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.interface import StoredSession

__all__ = ["find_heard", "find_told"]


def find_heard(
    store: CaredStore, visible: Scope, name: str, visit: Visit
) -> tuple[HookSession, StoredSession | None]:
    """Return a session, and what is kept of its files; None if only hooks have told of it.

    Such a session goes by its whole id. Raises `RequestError` if there is none of that name.
    """
    try:
        session = get_session(store, visible, name, visit)
    except NotFoundError:
        if not find_told(store, visible, name, visit):
            raise
        return HookSession(store, visible, name, name), None
    return HookSession(store, visible, session.key, session.row.session_id or name_session(session)), session


def find_told(
    store: CaredStore, visible: Scope, session_id: str, visit: Visit, action: Action = Action.LOOKED
) -> bool:
    """Tell whether hooks told of a session, and record that it is looked at."""
    if not store.count_deliveries(visible, session_id):
        return False
    if visit.caller.kind is not CallerKind.OPERATOR:
        told = store.list_deliveries(visible, session_id, count=1)
        persons = {machine.origin: machine.person for machine in store.list_machines(LOCAL)}
        visit.note([Look(session_id, persons.get(each.origin)) for each in told], action)
    return True
