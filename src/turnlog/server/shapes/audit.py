"""Who did what."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class AuditItem(Struct, frozen=True, gc=False, kw_only=True):
    """An entry of the audit log; entries are added and never changed."""

    id: int
    at: datetime
    who: str | None
    """A user's name; null for the server's own token, and for strangers with a link."""
    action: str
    """What was done: `looked`, `found`, `exported`, `link-opened` … docs/sharing.md lists them all."""
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
