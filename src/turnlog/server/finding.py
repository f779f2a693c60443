"""Which session an address means: by its key, its id, or a beginning of either that only one has."""

from __future__ import annotations

from turnlog.server.errors import NotFoundError, RequestError
from turnlog.server.shapes.errors import ErrorDetail
from turnlog.store.identity import Scope
from turnlog.store.interface import Store, StoredSession

__all__ = ["SHORTEST", "get_session"]

SHORTEST = 4
"""How many characters of a name are needed."""
_SHOWN = 5


def get_session(store: Store, visible: Scope, name: str) -> StoredSession:
    """Return a session; raises `RequestError` if there is none, or if several go by that name."""
    found = store.find_sessions(visible, name) if len(name) >= SHORTEST else []
    exact = [session for session in found if session.key == name] or [
        session for session in found if session.row.session_id == name
    ]
    meant = exact or found
    if not meant:
        raise NotFoundError("There is no such session")
    if len(meant) > 1:
        # Copies have the same id; their keys tell them apart.
        keys = tuple(ErrorDetail(where="id", message=session.key) for session in meant[:_SHOWN])
        raise RequestError(409, "ambiguous", f"{len(meant)} sessions go by that name", details=keys)
    return meant[0]
