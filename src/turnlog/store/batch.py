"""What is written at once: all that one look at a session's files gave.

A batch is made without the store's help but for what it says of earlier looks, in any process; it is applied as
a whole or not at all, and applying it again changes nothing.
"""

from __future__ import annotations

from msgspec import Struct

from turnlog.store.identity import SourceKind
from turnlog.store.rows import (
    AgentRow,
    CallRow,
    LineFact,
    MessageRow,
    SessionRow,
    SightingRow,
    TurnRow,
)
from turnlog.transcripts.files.reader import Change, Checkpoint

__all__ = ["DerivedRows", "Frame", "SessionBatch", "SourceBatch"]


class Frame(Struct, frozen=True, gc=False, array_like=True):
    """A stretch of a file, compressed so that it can be read alone."""

    start: int
    length: int
    """Of the bytes as they were."""
    data: bytes
    digest: bytes
    """Of the bytes as they were."""


class SourceBatch(Struct, frozen=True, gc=False, kw_only=True):
    """What is new of one file."""

    source: str
    kind: SourceKind
    path: str
    generation: int
    change: Change
    start: int
    """Where the new bytes begin: at the length that the archive has of this generation."""
    length: int
    """How long the file is now, as far as it was read."""
    frames: tuple[Frame, ...] = ()
    """The new bytes; those before `sealed` in frames of full size."""
    sealed: int = 0
    """Up to where the frames are of full size and stay as they are; behind it the file may still grow."""
    consumed: int = 0
    """Up to where lines were made of it."""
    in_array: bool = False
    checkpoint: Checkpoint | None = None
    """By which the next look tells what changed; of a file that is gone, as it was."""
    lines: tuple[LineFact, ...] = ()
    """The new lines."""
    agent_id: str | None = None
    run_id: str | None = None
    copied_from: str | None = None
    """The source of which the file was a copy when it was first seen."""


class DerivedRows(Struct, frozen=True, gc=False, kw_only=True):
    """All that follows from a session's facts; each kind in the order of `index`, from 0 without gaps."""

    session: SessionRow
    messages: tuple[MessageRow, ...] = ()
    calls: tuple[CallRow, ...] = ()
    turns: tuple[TurnRow, ...] = ()
    agents: tuple[AgentRow, ...] = ()
    sightings: tuple[SightingRow, ...] = ()


class SessionBatch(Struct, frozen=True, gc=False, kw_only=True):
    """What one look at a session gave."""

    key: str
    """The source that is the session's transcript, there or not."""
    owner: str
    origin: str
    session_id: str
    """As its file is called; what the lines say is in the derived row."""
    project_folder: str
    seen_ns: int
    sources: tuple[SourceBatch, ...]
    """The files of which something is new, those that vanished included."""
    derived: DerivedRows | None = None
    """None if nothing is new."""
