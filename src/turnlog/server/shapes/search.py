"""What a search finds."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from turnlog.transcripts.lines.kinds import Role
from turnlog.transcripts.lines.passage import PassageKind


class Mark(Struct, frozen=True, gc=False, kw_only=True):
    """A matching part of a snippet, in characters (not UTF-16 units)."""

    start: int
    end: int


class Hit(Struct, frozen=True, gc=False, kw_only=True):
    """A passage that matches, and exactly where it is."""

    kind: PassageKind
    session: str | None
    """The session's key; None for a hook delivery of a session that is not known."""
    session_id: str
    project: str | None
    title: str | None
    source: str | None
    message: int | None
    """The index of its message, among those of its file."""
    message_uuid: str | None
    call: int | None
    tool: str | None
    role: Role | None
    model: str | None
    agent_id: str | None
    is_error: bool
    created_at: datetime | None
    snippet: str
    marks: tuple[Mark, ...]
    person: str | None | UnsetType = UNSET
    """The owner of the session; absent where there is only one person."""
    machine: str | UnsetType = UNSET
    """The machine the session comes from; absent like `person`."""


class Hits(Struct, frozen=True, gc=False, kw_only=True):
    """A page of hits."""

    items: tuple[Hit, ...]
    next: str | None
    """Pass it as `cursor` to continue; None at the end."""
    unreadable: int
    """Texts that may be hits, but could not be read: the archive is damaged."""
