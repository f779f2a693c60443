"""What is written at once: all that one look at a session's files gave.

A batch is made without the store's help but for what it says of earlier looks, in any process; it is applied as
a whole or not at all, and applying it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct

from turnlog.store.identity import SourceKind
from turnlog.store.rows import (
    AgentRow,
    CallRow,
    LineFact,
    MessageRow,
    PlacementRow,
    SessionRow,
    SightingRow,
    TurnRow,
)
from turnlog.transcripts.files.fingerprints import Change, Checkpoint

__all__ = ["ChapterRows", "DerivedRows", "Frame", "SessionBatch", "Several", "SourceBatch"]


if TYPE_CHECKING:
    _Item = TypeVar("_Item")
    Several: TypeAlias = Sequence[_Item]
else:

    class Several:
        """`Several[X]`: any sequence of them; those of a large session may lie outside of memory."""

        def __class_getitem__(cls, item: Any) -> Any:
            return tuple[item, ...]


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
    frames: Several[Frame] = ()
    """The new bytes; those before `sealed` in frames of full size."""
    sealed: int = 0
    """Up to where the frames are of full size and stay as they are; behind it the file may still grow."""
    consumed: int = 0
    """Up to where lines were made of it."""
    in_array: bool = False
    checkpoint: Checkpoint | None = None
    """By which the next look tells what changed; of a file that is gone, as it was."""
    lines: Several[LineFact] = ()
    """The new lines."""
    texts: Several[bytes] = ()
    """What is searched of lines, packed (`turnlog.store.search.packing`)."""
    texts_from: int | None = None
    """The first line that `texts` are of: what there is of lines before it stays. None if they say nothing."""
    agent_id: str | None = None
    run_id: str | None = None
    copied_from: str | None = None
    """The source of which the file was a copy when it was first seen."""


class ChapterRows(Struct, frozen=True, gc=False):
    """What follows from one file of lines; each kind in the order of `index`, without gaps if it is all."""

    source: str
    """A source of the session; all rows have the same."""
    messages: Several[MessageRow] = ()
    calls: Several[CallRow] = ()
    placements: Several[PlacementRow] = ()
    sightings: Several[SightingRow] = ()
    sizes: tuple[int, int, int, int] | None = None
    """None if these are all of its rows. Else how many there are of each kind from now on: then only those are
    here that are new or may differ from what there was at the batch's `base_revision`; the others stay."""


class DerivedRows(Struct, frozen=True, gc=False, kw_only=True):
    """What follows from a session's facts; turns and agents in the order of `index`, from 0 without gaps."""

    session: SessionRow
    turns: tuple[TurnRow, ...] = ()
    agents: tuple[AgentRow, ...] = ()
    chapters: tuple[ChapterRows, ...] = ()
    """Those that may have changed: one that is not named stays as it is, an empty one is emptied."""
    sizes: tuple[int, int] | None = None
    """As of a chapter: how many turns and agents there are, if not all of them are here."""

    @property
    def is_partial(self) -> bool:
        """Whether it says only what is new, compared with some revision."""
        return self.sizes is not None or any(chapter.sizes is not None for chapter in self.chapters)


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
    derivation: int = 0
    """By which version of the rules they were derived; kept with them."""
    base_revision: int | None = None
    """The session's revision that the look was based on, 0 if it was not known; None if any will do."""
