"""What machines are told that push."""

from __future__ import annotations

from msgspec import Struct

from turnlog.ingest.uploads.protocol import KeptSession
from turnlog.ingest.uploads.receiver import SessionAnswer


class IngestState(Struct, frozen=True, gc=False, kw_only=True):
    """A page of what the server has of a machine's sessions, by key."""

    protocol: int
    """Which version of the protocol the server speaks."""
    sessions: tuple[KeptSession, ...]
    next: str | None = None
    """Pass it as `after` for the next page; null on the last one."""
    forgotten: tuple[str, ...] = ()
    """On the first page: keys of sessions that are no longer accepted."""


class IngestReceipt(Struct, frozen=True, gc=False, kw_only=True):
    """The result of an upload; everything accepted is on disk."""

    sessions: tuple[SessionAnswer, ...]
    """In the order of the upload."""


class HookReceipts(Struct, frozen=True, gc=False, kw_only=True):
    """The result of hook deliveries, which are on disk."""

    kept: int
    missing: tuple[str, ...] = ()
    """Which of the offered deliveries are missing here."""
