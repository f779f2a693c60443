"""What deleting a session removes, and what it leaves."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

__all__ = ["DeletedSession", "HoldingBackup", "SessionWeight"]


class HoldingBackup(Struct, frozen=True, gc=False, kw_only=True):
    """A copy of the archive that still has a session, or may."""

    path: str
    """For admins, all of it; for others, the name of the file."""
    at: datetime
    """When it was made."""
    certain: bool
    """False if it could not be looked into: then it may have it."""


class SessionWeight(Struct, frozen=True, gc=False, kw_only=True):
    """What deleting a session would remove."""

    sessions: int
    files: int
    bytes: int
    """As they were, of all generations."""
    deliveries: int
    """Of hooks."""
    links: int
    """That would end."""
    backups: tuple[HoldingBackup, ...]
    """Copies of the archive that would keep it."""


class DeletedSession(Struct, frozen=True, gc=False, kw_only=True):
    """What was deleted for good."""

    sessions: int
    files: int
    bytes: int
    """As they were, of all generations."""
    deliveries: int
    """Of hooks."""
    links: int
    """That ended."""
    scrubbed: bool
    """Whether nothing of it is left in the archive's files; if not, `turnlog forget --scrub` tries again."""
    backups: tuple[HoldingBackup, ...]
    """Copies of the archive that still have it."""
