"""A store in memory, just enough to look at sessions again and again."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.store.batch import ChapterRows, DerivedRows, SessionBatch, SourceBatch
from turnlog.store.frames import open_frame
from turnlog.store.identity import Place, Scope
from turnlog.store.interface import KnownSession, KnownSource
from turnlog.store.rows import LineFact
from turnlog.testing.merging import merge_rows
from turnlog.transcripts.files.reader import Change


class MemoryStore:
    """What was applied of one session; it checks that each batch follows on what is there."""

    def __init__(self) -> None:
        self.key = ""
        self.sources: dict[str, KnownSource] = {}
        self.bytes: dict[tuple[str, int], bytes] = {}
        self.lines: dict[tuple[str, int], list[LineFact]] = {}
        self.derived: DerivedRows | None = None
        self.chapters: dict[str, ChapterRows] = {}
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
            self.derived = merge_rows(self.derived, batch.derived)
            self.derivation = batch.derivation
            self.chapters.update((chapter.source, chapter) for chapter in self.derived.chapters)

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        return self.bytes[at.source, at.generation][at.offset : at.offset + length]

    def read_all(self, scope: Scope, source: str, generation: int) -> Iterator[bytes]:
        data = self.bytes[source, generation]
        yield from (data[at : at + 1000] for at in range(0, len(data), 1000))

    def list_generations(self, scope: Scope, source: str) -> list[tuple[int, int]]:
        return [(generation, len(data)) for (name, generation), data in self.bytes.items() if name == source]

    def _apply(self, batch: SourceBatch) -> None:
        key = batch.source, batch.generation
        data, lines = self.bytes.setdefault(key, b""), self.lines.setdefault(key, [])
        assert batch.start == len(data)
        for frame in batch.frames:
            assert frame.start == len(data)
            data += open_frame(frame)
        assert [line.number for line in batch.lines] == [*range(len(lines), len(lines) + len(batch.lines))]
        assert batch.length == len(data) >= batch.consumed
        lines += batch.lines
        self.bytes[key] = data
        self.sources[batch.source] = KnownSource(
            source=batch.source,
            kind=batch.kind,
            path=batch.path,
            present=batch.change is not Change.VANISHED,
            generation=batch.generation,
            length=batch.length,
            consumed=batch.consumed,
            in_array=batch.in_array,
            lines=len(lines),
            checkpoint=batch.checkpoint,
            agent_id=batch.agent_id,
            run_id=batch.run_id,
            copied_from=batch.copied_from,
        )
