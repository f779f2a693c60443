"""The host's own place for sessions, to which Claude Code's lines are mirrored.

A store gets and gives back lines as they are; what is in them is not its business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from turnlog.messages.base import UNSET, Camel, Number, Raw, UnsetType


class SessionKey(Camel):
    """What a store keeps lines under; a `subpath` is that of a sub-agent."""

    project_key: str
    session_id: str
    subpath: str | UnsetType = UNSET


class SessionSummaryEntry(Camel):
    """What a store knows of a session without reading it."""

    session_id: str
    mtime: Number
    data: dict[str, Raw] | UnsetType = UNSET


class SessionStore(Protocol):
    """Keeps the lines of sessions, in the order in which they came."""

    async def append(self, key: SessionKey, entries: Sequence[Raw]) -> None:
        """Add lines; those with a `uuid` that is already there may be left out."""

    async def load(self, key: SessionKey) -> Sequence[Raw] | None:
        """Return all lines, or None for a key that was never written."""


@runtime_checkable
class ListingSessionStore(Protocol):
    """What a store must offer beside, so that the latest session can be continued."""

    async def list_sessions(self, project_key: str) -> Sequence[tuple[str, Number]]:
        """Return each session's id, and when it last changed, in milliseconds."""


class FullSessionStore(SessionStore, ListingSessionStore, Protocol):
    """A store that offers everything there is to offer."""

    async def list_session_summaries(self, project_key: str) -> Sequence[SessionSummaryEntry]:
        """Return what is known of each session."""

    async def delete(self, key: SessionKey) -> None:
        """Remove a session's lines, and those of its sub-agents."""

    async def list_subkeys(self, key: SessionKey) -> Sequence[str]:
        """Return the subpaths under which there are lines of sub-agents."""
