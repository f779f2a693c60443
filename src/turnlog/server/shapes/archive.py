"""What the archive holds, and what is done to it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from turnlog.ingest.verification import Subject


class VerifyState(StrEnum):
    """The state of a verification."""

    RUNNING = "running"
    CLEAN = "clean"
    """Everything agrees."""
    FOUND = "found"
    """Something disagrees."""
    FAILED = "failed"
    """It could not be done to the end."""


class Finding(Struct, frozen=True, gc=False, kw_only=True):
    """A problem that verification found in the archive."""

    session: str | None
    """The session's key; null if it concerns the whole store."""
    subject: Subject
    path: str | None
    """The file concerned, if there is one."""
    message: str


class VerifyJob(Struct, frozen=True, gc=False, kw_only=True):
    """A verification of the whole archive, running in the background."""

    state: VerifyState
    done: int
    total: int
    """Sessions."""
    started_at: datetime
    ended_at: datetime | None = None
    findings: tuple[Finding, ...] = ()
    """At most 200."""
    found: int = 0
    """All of them."""
    message: str | None = None
    """Why it failed."""


class EndangeredSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session whose files Claude Code deletes soon."""

    session_id: str
    key: str | None
    """Null if nothing of it is archived."""
    title: str | None
    project: str | None
    deletes_at: datetime
    """From then on, the next time that Claude Code starts."""
    archived: bool
    """Whether all of it is."""
    missing_bytes: int


class ForgottenSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session that was forgotten, and is not archived again."""

    session_id: str | None
    """Null if another session has the same."""
    key: str
    at: datetime


class BackupCopy(Struct, frozen=True, gc=False, kw_only=True):
    """A backup of the archive."""

    path: str
    at: datetime
    size: int | None
    """Null if it no longer exists."""


class FlawedSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session with wrong or unknown content in its lines."""

    session_id: str
    key: str
    title: str | None
    problems: int
    """Lines."""


class ArchiveOverview(Struct, frozen=True, gc=False, kw_only=True):
    """What the archive contains, and where it is stored."""

    place: str | None
    """Its file."""
    bytes: int
    """The size of the archive's files."""
    raw_bytes: int
    """The size of the original files."""
    sessions: int
    only_here: int
    """Sessions whose original files no longer exist."""
    retention_days: float
    """How long Claude Code keeps sessions."""
    deleted_soon: tuple[EndangeredSession, ...]
    """Within three days; the first 100."""
    deleted_soon_total: int
    not_archived: int
    """How many of these are not archived and would be lost."""
    tombstones: tuple[ForgottenSession, ...]
    """The last 200."""
    tombstones_total: int
    backups: tuple[BackupCopy, ...]
    """The last 100."""
    flawed: tuple[FlawedSession, ...]
    """The newest 100."""
    flawed_total: int
    verify: VerifyJob | None
    """The last verification since the server started."""


class Wish(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Whether to do something, or only to report what would be done."""

    dry_run: bool = True
    """Nothing is changed unless this is false."""


class Forgetting(Struct, frozen=True, gc=False, kw_only=True):
    """What was forgotten, or would be."""

    done: bool
    sessions: int
    files: int
    bytes: int
    """The original size, including all generations."""
    deliveries: int
    """Of hooks."""
    outside: tuple[str, ...]
    """Its files that are still where Claude Code wrote them; they are not changed."""
    backups: tuple[str, ...]
    """Backups that have some of it; they are not changed either."""
    unknown_backups: tuple[str, ...]
    """Backups that may have some of it: they have been moved, or cannot be read."""
    scrubbed: bool
    """Whether nothing of it is left in the archive's files; if false, `turnlog forget --scrub` tries again."""


class Lifted(Struct, frozen=True, gc=False, kw_only=True):
    """A session that may be archived again."""

    session_id: str | None
    key: str


class Restoring(Struct, frozen=True, gc=False, kw_only=True):
    """What was restored, or would be."""

    done: bool
    written: tuple[str, ...]
    kept: tuple[str, ...]
    """Files that already exist with the same bytes."""
