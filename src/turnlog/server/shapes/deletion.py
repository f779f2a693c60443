"""What deleting a session removes, and what it leaves."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class HoldingBackup(Struct, frozen=True, gc=False, kw_only=True):
    """A backup that still has a session, or may have it."""

    path: str
    """The full path for admins; only the file name for others."""
    at: datetime
    """When it was made."""
    certain: bool
    """False if it could not be read: then it may have the session."""


class SessionWeight(Struct, frozen=True, gc=False, kw_only=True):
    """What deleting a session would remove."""

    sessions: int
    files: int
    bytes: int
    """The original size, including all generations."""
    deliveries: int
    """Of hooks."""
    links: int
    """That would end."""
    backups: tuple[HoldingBackup, ...]
    """Backups that would still have it."""


class DeletedSession(Struct, frozen=True, gc=False, kw_only=True):
    """What was permanently deleted."""

    sessions: int
    files: int
    bytes: int
    """The original size, including all generations."""
    deliveries: int
    """Of hooks."""
    links: int
    """That ended."""
    scrubbed: bool
    """Whether nothing of it is left in the archive's files; if false, `turnlog forget --scrub` tries again."""
    backups: tuple[HoldingBackup, ...]
    """Backups that still have it."""
