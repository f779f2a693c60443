"""What the server says of itself."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from turnlog.server.sync_state import SyncPhase


class Health(Struct, frozen=True, gc=False, kw_only=True):
    """Whether the server works; needs no authentication."""

    status: Literal["ok", "failing"]
    version: str


class ReadyState(Struct, frozen=True, gc=False, kw_only=True):
    """Whether requests should be sent here; needs no authentication."""

    ready: bool
    reason: Literal["ending", "failing"] | None = None
    """Why not."""


class OpeningKey(Struct, frozen=True, gc=False, kw_only=True):
    """An address that logs one browser in, once."""

    path: str
    """The path on this server; it is a secret until it is used."""
    seconds: int
    """How long it is valid."""


class SyncStatus(Struct, frozen=True, gc=False, kw_only=True):
    """How far the archive is up to date."""

    phase: SyncPhase
    done: int
    total: int
    """Sessions of the first sync."""
    failing: bool
    """Whether the last scan failed; it is retried."""
    last_at: datetime | None
    """When something was last found."""


class HookStatus(Struct, frozen=True, gc=False, kw_only=True):
    """What is known about Claude Code's hooks."""

    installed: bool | None
    """Whether the user's settings name turnlog's hooks; null if they cannot be read."""
    deliveries: int
    """In the archive."""
    spooled: int
    """Files waiting to be imported."""
    aside: int
    """Files that could not be read."""


class Status(Struct, frozen=True, gc=False, kw_only=True):
    """What the archive has."""

    version: str
    sessions: int
    only_here: int
    """Sessions whose original files no longer exist."""
    files: int
    bytes: int
    """The original size of the newest generations."""
    lines: int
    problems: int
    """Sessions with wrong or unknown content in their lines."""
    needs_you: int
    """Sessions of the last 24 hours that are waiting for somebody."""
    working: int
    hooks: HookStatus
    demo: bool
    """Whether these are the sample sessions."""
    last_change: int
    """The last entry of the feed."""
    sync: SyncStatus
