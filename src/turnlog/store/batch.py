"""What is written at once: all that one look at a session's files gave.

A batch is made without the store's help but for what it says of earlier looks, in any process; it is applied as
a whole or not at all, and applying it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct

from turnlog.store.model import SessionRow, SourceKind
from turnlog.transcripts.segments import PackedSegment, SightingRecord
from turnlog.transcripts.session_files import Change, Checkpoint

_Item = TypeVar("_Item")

if TYPE_CHECKING:
    Several: TypeAlias = Collection[_Item]
else:

    class Several:
        """`Several[X]`: any collection of them, such as `Generated`."""

        def __class_getitem__(cls, item: Any) -> Any:
            return tuple[item, ...]


class Generated(Collection[_Item]):
    """What would take much memory at once, so that it is made again whenever somebody goes through it."""

    def __init__(self, generate: Callable[[], Iterator[_Item]]) -> None:
        self._generate = generate

    def __iter__(self) -> Iterator[_Item]:
        return self._generate()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, item: object) -> bool:
        return any(each == item for each in self)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Collection) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class Frame(Struct, frozen=True, gc=False, array_like=True):
    """A stretch of a file, compressed so that it can be read alone."""

    start: int
    length: int
    """Of the bytes as they were."""
    data: bytes
    digest: bytes
    """Of the bytes as they were."""


class TextFact(Struct, frozen=True, gc=False, array_like=True):
    """One text of a line: a passage, as an index takes it."""

    number: int
    """Which line of its generation it is in."""
    ordinal: int
    """Which passage of the line it is."""
    block: int
    """Of which block of the line."""
    kind: int
    """Of `turnlog.store.search.texts.KINDS`."""
    is_error: bool
    time: int
    """Microseconds since 1970: of the line, else of the last line before it that has one; 0 if none has."""
    cells: Several[str]
    offset: int = 0
    """Where its line begins, and how long that is; 0 for what is in no file."""
    length: int = 0


class TextRun(Struct, frozen=True, gc=False, array_like=True):
    """Some texts of a generation, as the index keeps them."""

    first_cell: int
    last_cell: int
    newest: int
    """The latest time of a text."""
    oldest: int
    texts: bytes

    @property
    def own_cells(self) -> range:
        """The numbers from the first to the last one."""
        return range(self.first_cell, self.last_cell + 1)


class IndexedTexts(Struct, frozen=True, gc=False):
    """Texts that are in a shard of the index already (`Sharding`)."""

    runs: tuple[TextRun, ...]


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
    lines: int = 0
    """How many are new."""
    texts: Several[TextFact] = ()
    """What is searched of lines; it may be gone through again."""
    indexed: IndexedTexts | None = None
    """The same, if it is in a shard of the index; then there are no `texts`."""
    texts_from: int | None = None
    """The first line that `texts` are of: what there is of lines before it stays. None if they say nothing."""
    agent_id: str | None = None
    run_id: str | None = None
    copied_from: str | None = None
    """The source of which the file was a copy when it was first seen."""


class ChapterBatch(Struct, frozen=True, gc=False):
    """The segments of one file that are new or may differ from what there is; the others stay."""

    source: str
    """A source of the session."""
    count: int
    """How many the file has from now on."""
    segments: tuple[PackedSegment, ...] = ()


class OutlineBatch(Struct, frozen=True, gc=False):
    """The parts of a session's turns or agents that are new or may differ; the others stay."""

    kind: str
    count: int
    """How many parts there are from now on."""
    parts: tuple[tuple[int, bytes], ...] = ()
    """By their numbers."""


class Derived(Struct, frozen=True, gc=False, kw_only=True):
    """What follows from a session's lines."""

    session: SessionRow
    outline: tuple[OutlineBatch, ...] = ()
    chapters: tuple[ChapterBatch, ...] = ()
    """Those that may have changed: one that is not named stays as it is, one without segments is emptied."""
    usage: Several[tuple[str, SightingRecord]] = ()
    """What all files of the session say about some answers, each with its source; if it is not partial, about
    all answers. A partial one cannot take back what was said of an answer: a file that grows does not."""
    is_partial: bool = False
    """Whether it says only what is new, compared with the revision that the batch is based on."""


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
    derived: Derived | None = None
    """None if nothing is new."""
    derivation: int = 0
    """By which version of the rules they were derived; kept with them."""
    shard: bytes | None = None
    """A piece of the index, with texts of this batch and of others that are written with it (`Sharding`)."""
    base_revision: int | None = None
    """The session's revision that the look was based on, 0 if it was not known; None if any will do."""
