"""A store in memory, just enough to look at sessions again and again."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager

import pytest

from turnlog.errors import StoreError
from turnlog.store import interface
from turnlog.store.batch import ChapterBatch, Derived, OutlineBatch, SessionBatch, SourceBatch
from turnlog.store.frames import open_frame
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.model import LOCAL, Place, Scope, SourceKind
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.queries.sessions import SessionRecords
from turnlog.transcripts.segments import LineRecord, Segment, SegmentHead, unpack_segment
from turnlog.transcripts.session_files import Change


@contextmanager
def small_pieces() -> Iterator[None]:
    """Let files be read from archives in many pieces, none of which ends where a line does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interface, "FRAME_SIZE", 1000)
        yield


class MemoryStore:
    """What was applied of one session; it checks that each batch follows on what is there."""

    def __init__(self) -> None:
        self.key = ""
        self.sources: dict[str, KnownSource] = {}
        self.bytes: dict[tuple[str, int], bytes] = {}
        self.counts: dict[tuple[str, int], int] = {}
        """How many lines there are, by source and generation."""
        self.derived: Derived | None = None
        self.applied = 0
        self.derivation = 0
        self.session_id = self.project_folder = ""

    @property
    def known(self) -> KnownSession | None:
        if not self.sources:
            return None
        return KnownSession(
            key=self.key,
            revision=self.applied,
            session_id=self.session_id,
            project_folder=self.project_folder,
            derivation=self.derivation,
            sources=tuple(self.sources.values()),
        )

    @property
    def chapters(self) -> dict[str, ChapterBatch]:
        """The segments of each file."""
        return {} if self.derived is None else {each.source: each for each in self.derived.chapters}

    def apply(self, batch: SessionBatch | None) -> None:
        if batch is None:
            return
        assert self.key in ("", batch.key)
        self.key = batch.key
        self.session_id, self.project_folder = batch.session_id, batch.project_folder
        self.applied += 1
        for source in batch.sources:
            self._apply(source)
        if batch.derived is not None:
            assert not batch.derived.is_partial or batch.base_revision == self.applied - 1
            self.derived = merge_derived(self.derived, batch.derived)
            self.derivation = batch.derivation
            for file in self.open().files:
                assert file.count_lines == self.sources[file.source].lines

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        return self.bytes[at.source, at.generation][at.offset : at.offset + length]

    def list_generations(self, scope: Scope, source: str) -> list[tuple[int, int]]:
        return [(generation, len(data)) for (name, generation), data in self.bytes.items() if name == source]

    def open(self) -> SessionRecords:
        """Return all that there is, to be asked as any store's."""
        return SessionRecords(self)

    def list_lines(self, source: str) -> list[LineRecord]:
        """Return the lines of a file's newest generation."""
        return [line for file in self.open().files if file.source == source for line in file.list_lines()]

    def list_chapters(self) -> list[ChapterFacts]:
        return [
            ChapterFacts(
                source=source,
                generation=self.sources[source].generation,
                is_main=self.sources[source].kind is SourceKind.TRANSCRIPT,
                is_conversation=self.sources[source].kind is not SourceKind.JOURNAL,
                agent_id=self.sources[source].agent_id,
                path=self.sources[source].path,
            )
            for source in self.chapters
        ]

    def list_heads(self, source: str) -> list[SegmentHead]:
        return [packed.head for packed in self.chapters[source].segments]

    def load_segment(self, source: str, number: int) -> Segment:
        return unpack_segment(self.chapters[source].segments[number].data)

    def read_bytes(self, source: str, generation: int, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        return [self.read(LOCAL, Place(source, generation, offset), length) for offset, length in spans]

    def count_outline(self, kind: str) -> int:
        return len(self.load_outline(kind))

    def load_outline(self, kind: str, numbers: range | None = None) -> list[bytes]:
        outlines = () if self.derived is None else self.derived.outline
        parts = [part for outline in outlines if outline.kind == kind for part in outline.parts]
        return [data for number, data in parts if numbers is None or number in numbers]

    def _apply(self, batch: SourceBatch) -> None:
        key = batch.source, batch.generation
        data = self.bytes.setdefault(key, b"")
        assert batch.start == len(data)
        for frame in batch.frames:
            assert frame.start == len(data)
            data += open_frame(frame)
        assert batch.length == len(data) >= batch.consumed
        self.bytes[key] = data
        self.counts[key] = self.counts.get(key, 0) + batch.lines
        self.sources[batch.source] = KnownSource(
            source=batch.source,
            kind=batch.kind,
            path=batch.path,
            present=batch.change is not Change.VANISHED,
            generation=batch.generation,
            length=batch.length,
            consumed=batch.consumed,
            in_array=batch.in_array,
            lines=self.counts[key],
            checkpoint=batch.checkpoint,
            agent_id=batch.agent_id,
            run_id=batch.run_id,
            copied_from=batch.copied_from,
        )


def merge_derived(before: Derived | None, new: Derived) -> Derived:
    """Return all that follows from a session's lines: what is new, and of what there was before all that stays.

    Usage is in the order of answers. Raises `StoreError` if something would be missing.
    """
    chapters = {} if before is None else {chapter.source: chapter for chapter in before.chapters}
    for chapter in new.chapters:
        chapters[chapter.source] = _merge_chapter(chapters.get(chapter.source), chapter)
    outlines = {} if before is None else {outline.kind: outline for outline in before.outline}
    for outline in new.outline:
        outlines[outline.kind] = _merge_outline(outlines.get(outline.kind), outline)
    said = {each.message_id for _, each in new.usage}
    kept = before.usage if before is not None and new.is_partial else ()
    usage = [*(each for each in kept if each[1].message_id not in said), *new.usage]
    return Derived(
        session=new.session,
        outline=tuple(outlines.values()),
        chapters=tuple(chapters.values()),
        usage=tuple(sorted(usage, key=lambda each: (each[1].message_id, each[0], each[1].offset))),
    )


def _merge_chapter(before: ChapterBatch | None, new: ChapterBatch) -> ChapterBatch:
    known = {} if before is None else {packed.head.number: packed for packed in before.segments}
    known |= {packed.head.number: packed for packed in new.segments}
    _expect_all(known, new.count)
    return ChapterBatch(new.source, new.count, tuple(known[number] for number in range(new.count)))


def _merge_outline(before: OutlineBatch | None, new: OutlineBatch) -> OutlineBatch:
    known = dict(() if before is None else before.parts) | dict(new.parts)
    _expect_all(known, new.count)
    return OutlineBatch(new.kind, new.count, tuple((number, known[number]) for number in range(new.count)))


def _expect_all(known: Container[int], count: int) -> None:
    missing = [number for number in range(count) if number not in known]
    if missing:
        raise StoreError(f"Expected {count} parts without gaps, part {missing[0]} is missing")
