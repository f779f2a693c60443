"""What a store must do.

`Archive` keeps bytes, `Store` keeps facts and derived rows; both are small, so that other engines can follow.
A store writes batches; all else are queries, and every query takes a `Scope`. `turnlog.testing.store_contract`
holds any store to what is said here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from turnlog.store.batch import SessionBatch
from turnlog.store.identity import Place, Scope, SourceKind
from turnlog.store.rows import AgentRow, CallRow, LineFact, MessageRow, SessionRow, SightingRow, TurnRow
from turnlog.transcripts.files.reader import Checkpoint

__all__ = [
    "Archive",
    "ChangeEntry",
    "ChangeKind",
    "KnownSession",
    "KnownSource",
    "SessionOrder",
    "Store",
    "StoredSession",
]


class KnownSource(Struct, frozen=True, gc=False, kw_only=True):
    """What the store knows of a file."""

    source: str
    kind: SourceKind
    path: str
    """Where it was last seen."""
    present: bool
    """Whether it was still there."""
    generation: int
    """The newest."""
    length: int
    """How many bytes of that generation the archive has."""
    consumed: int
    in_array: bool
    lines: int
    """How many lines that generation has."""
    checkpoint: Checkpoint | None
    agent_id: str | None = None
    run_id: str | None = None
    copied_from: str | None = None


class KnownSession(Struct, frozen=True, gc=False, kw_only=True):
    """What the store knows of a session's files."""

    key: str
    revision: int
    sources: tuple[KnownSource, ...]


class StoredSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session in the lists."""

    key: str
    revision: int
    project_folder: str
    path: str
    """Where its transcript was last seen."""
    present: bool
    """Whether its transcript still exists outside."""
    row: SessionRow


class SessionOrder(StrEnum):
    """How sessions are listed."""

    NEWEST = "newest"
    OLDEST = "oldest"
    TITLE = "title"
    COST = "cost"


class ChangeKind(StrEnum):
    """What happened."""

    SESSION_ADDED = "session-added"
    SESSION_CHANGED = "session-changed"
    SESSION_GONE = "session-gone"
    """Its files are no longer outside; here they are still."""
    SESSION_FORGOTTEN = "session-forgotten"
    HOOK_DELIVERED = "hook-delivered"


class ChangeEntry(Struct, frozen=True, gc=False, kw_only=True):
    """One entry of the feed."""

    seq: int
    kind: ChangeKind
    session: str
    """The session's key; for hook events the session's id."""
    revision: int
    at_ns: int


class Archive(Protocol):
    """Bytes by source, generation and range; each file can be given back byte for byte."""

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        """Return bytes; raises `KeyError` for what is not there, `ArchiveError` for what is damaged."""

    def read_all(self, scope: Scope, source: str, generation: int) -> Iterator[bytes]:
        """Yield the bytes of a whole generation, piece by piece."""

    def list_generations(self, scope: Scope, source: str) -> list[tuple[int, int]]:
        """Return the generations of a source, each with its length."""


class Store(Protocol):
    """Facts and derived rows, by session and revision."""

    @property
    def archive(self) -> Archive:
        """The bytes behind the rows."""

    def apply(self, batches: Sequence[SessionBatch]) -> int:
        """Write batches, all or nothing, and return the last `seq` of the feed.

        A batch whose files the store already has as they are changes nothing and makes no entry. Raises
        `StoreError` if a batch does not follow on what the store has (another writer was faster).
        """

    def find_known(self, scope: Scope, key: str) -> KnownSession | None:
        """Return what is known of a session's files."""

    def list_known(self, scope: Scope) -> Iterator[KnownSession]:
        """Yield what is known of all sessions' files, by their keys."""

    def find_sessions(self, scope: Scope, prefix: str) -> list[StoredSession]:
        """Return the sessions whose id or key begins with a prefix."""

    def list_sessions(
        self,
        scope: Scope,
        *,
        project: str | None = None,
        order: SessionOrder = SessionOrder.NEWEST,
        limit: int = 100,
        offset: int = 0,
    ) -> list[StoredSession]:
        """Return a page of sessions."""

    def list_lines(
        self, scope: Scope, source: str, generation: int, *, first: int = 0, count: int | None = None
    ) -> list[LineFact]:
        """Return lines of a generation, in order."""

    def list_messages(
        self, scope: Scope, key: str, *, first: int = 0, count: int | None = None
    ) -> list[MessageRow]:
        """Return a window of a session's messages."""

    def list_calls(self, scope: Scope, key: str) -> list[CallRow]:
        """Return a session's calls."""

    def list_turns(self, scope: Scope, key: str) -> list[TurnRow]:
        """Return a session's turns."""

    def list_agents(self, scope: Scope, key: str) -> list[AgentRow]:
        """Return a session's agents."""

    def list_sightings(self, scope: Scope, key: str | None = None) -> Iterator[SightingRow]:
        """Yield what files say about usage: of one session, or of all."""

    def list_changes(self, scope: Scope, after: int = 0, limit: int = 1000) -> list[ChangeEntry]:
        """Return entries of the feed, each once and in order."""

    def find_last_change(self, scope: Scope) -> int:
        """Return the last `seq` of the feed; 0 if nothing happened yet."""

    def close(self) -> None:
        """Let go of the store."""
