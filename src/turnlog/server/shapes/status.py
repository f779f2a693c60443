"""What the server says of itself."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from turnlog.server.sync_state import SyncPhase

__all__ = ["Health", "HookStatus", "OpeningKey", "ReadyState", "Status", "SyncStatus"]


class Health(Struct, frozen=True, gc=False, kw_only=True):
    """Whether the server works; everybody may know."""

    status: Literal["ok", "failing"]
    version: str


class ReadyState(Struct, frozen=True, gc=False, kw_only=True):
    """Whether requests should be sent here; everybody may know."""

    ready: bool
    reason: Literal["ending", "failing"] | None = None
    """Why not."""


class OpeningKey(Struct, frozen=True, gc=False, kw_only=True):
    """An address that lets one browser in, once."""

    path: str
    """On this server; it is a secret until it is used."""
    seconds: int
    """How long it is good."""


class SyncStatus(Struct, frozen=True, gc=False, kw_only=True):
    """How far the archive is up to date."""

    phase: SyncPhase
    done: int
    total: int
    """Sessions of the first sync."""
    failing: bool
    """Whether the last look failed; it is tried again."""
    last_at: datetime | None
    """When something was last found."""


class HookStatus(Struct, frozen=True, gc=False, kw_only=True):
    """What is known of Claude Code's hooks."""

    installed: bool | None
    """Whether the user's settings name turnlog's hooks; null if they cannot be read."""
    deliveries: int
    """In the archive."""
    spooled: int
    """Files that are still to be taken up."""
    aside: int
    """Files that could not be read."""


class Status(Struct, frozen=True, gc=False, kw_only=True):
    """What the archive has."""

    version: str
    sessions: int
    only_here: int
    """Sessions whose files are gone from where they were."""
    files: int
    bytes: int
    """As they were, of the newest generations."""
    lines: int
    problems: int
    """Sessions in whose lines something is wrong or unknown."""
    needs_you: int
    """Sessions of the last 24 hours that wait for somebody."""
    working: int
    hooks: HookStatus
    demo: bool
    """Whether the sessions are sample ones."""
    last_change: int
    """The last entry of the feed."""
    sync: SyncStatus
