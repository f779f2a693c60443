"""Who did what."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

__all__ = ["AuditItem", "AuditPage"]


class AuditItem(Struct, frozen=True, gc=False, kw_only=True):
    """Something that somebody did; entries are added and never changed."""

    id: int
    at: datetime
    who: str | None
    """A user's name; null for the server's own token, and for strangers with a link."""
    action: str
    """What it was, in a word: `looked`, `found`, `exported`, `link-opened` … docs/sharing.md has them all."""
    link: str | None
    """The link's id, if that let them in or is what it is about."""
    session: str | None
    """A session's key."""
    person: str | None
    """Whose session it is, or whom it is about."""
    detail: str


class AuditPage(Struct, frozen=True, gc=False, kw_only=True):
    """Entries, the newest first."""

    entries: tuple[AuditItem, ...]
    next: int | None
    """Give it as `before` to go on; null at the end."""
