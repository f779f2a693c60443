"""What `/api/live` tells. Events say what changed; what it is now is asked for apart."""

from __future__ import annotations

from msgspec import Struct

from turnlog.store.interface import ChangeKind


class HelloEvent(Struct, frozen=True, gc=False, kw_only=True):
    """The first event: where the stream begins."""

    version: str
    """Of turnlog. If it is not the page's own, the page is old."""
    seq: int


class ResetEvent(Struct, frozen=True, gc=False, kw_only=True):
    """What the client has is of no use: it asks for everything again, and goes on from here."""

    seq: int


class ChangeEvent(Struct, frozen=True, gc=False, kw_only=True):
    """Something happened to a session."""

    kind: ChangeKind
    session: str
    """Its key; for hooks, its id."""
    session_id: str | None
    """None if it is no longer known."""
    revision: int
    seq: int


class StateEvent(Struct, frozen=True, gc=False, kw_only=True):
    """A session went to another column of mission control, or is there for another reason."""

    session_id: str
    column: str
    why: str | None
