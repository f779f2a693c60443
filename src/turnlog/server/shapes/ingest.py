"""What machines are told that push."""

from __future__ import annotations

from msgspec import Struct

from turnlog.ingest.uploads.state import KeptSession
from turnlog.ingest.uploads.taking import SessionAnswer

__all__ = ["HookReceipts", "IngestReceipt", "IngestState"]


class IngestState(Struct, frozen=True, gc=False, kw_only=True):
    """A page of what there is of a machine's sessions, by key."""

    protocol: int
    """Which version of the protocol the server speaks."""
    sessions: tuple[KeptSession, ...]
    next: str | None = None
    """What to give as `after` for the next page; null with the last one."""
    forgotten: tuple[str, ...] = ()
    """With the first page: keys of sessions that are not taken any more."""


class IngestReceipt(Struct, frozen=True, gc=False, kw_only=True):
    """What became of an upload; what was taken of it is on the disk."""

    sessions: tuple[SessionAnswer, ...]
    """In the order of the upload."""


class HookReceipts(Struct, frozen=True, gc=False, kw_only=True):
    """What became of hook deliveries; they are on the disk."""

    kept: int
    missing: tuple[str, ...] = ()
    """Which of those that were offered are not here."""
