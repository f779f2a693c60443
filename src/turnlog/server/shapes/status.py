"""What the server says of itself."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from turnlog.server.sync_state import SyncPhase

__all__ = ["Health", "OpeningKey", "Status", "SyncStatus"]


class Health(Struct, frozen=True, gc=False, kw_only=True):
    """Whether the server works; everybody may know."""

    status: Literal["ok", "failing"]
    version: str


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
    last_change: int
    """The last entry of the feed."""
    sync: SyncStatus
