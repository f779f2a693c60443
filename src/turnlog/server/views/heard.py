"""Sessions of which something is known: from their files, or from hooks alone."""

from __future__ import annotations

from turnlog.server.errors import NotFoundError
from turnlog.server.finding import get_session
from turnlog.server.views.hook_items import HookSession
from turnlog.server.views.lists import name_session
from turnlog.store.care import CaredStore
from turnlog.store.identity import Scope
from turnlog.store.interface import StoredSession

__all__ = ["find_heard"]


def find_heard(store: CaredStore, visible: Scope, name: str) -> tuple[HookSession, StoredSession | None]:
    """Return a session, and what is kept of its files; None if only hooks have told of it.

    Such a session goes by its whole id. Raises `RequestError` if there is none of that name.
    """
    try:
        session = get_session(store, visible, name)
    except NotFoundError:
        if not store.count_deliveries(visible, name):
            raise
        return HookSession(store, visible, name, name), None
    return HookSession(store, visible, session.key, session.row.session_id or name_session(session)), session
