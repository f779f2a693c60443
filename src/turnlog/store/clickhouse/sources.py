"""What is there of files, and what a batch makes of it.

The rows of files and of their newest generations are held while a write goes on, and published at its end,
those that changed. Lines are staged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from turnlog.store.batch import SourceBatch
from turnlog.store.checkpoints import encode_checkpoint
from turnlog.store.clickhouse.connection import Engine
from turnlog.store.clickhouse.ids import number
from turnlog.store.clickhouse.schema import GENERATIONS, SOURCES
from turnlog.store.clickhouse.tails import Ending, NewBytes
from turnlog.store.interface import BEGINNING
from turnlog.store.packing import Cells, pack_text, pack_uuid
from turnlog.store.rows import LineFact

__all__ = ["File", "Generation", "Source", "describe", "go_on", "list_files", "pack_lines"]

_SOURCES = f"""
SELECT {", ".join(SOURCES.names)} FROM sources FINAL WHERE session IN {{sessions:Array(UInt128)}}
"""
_NEWEST = f"""
SELECT {", ".join(GENERATIONS.names)} FROM generations FINAL WHERE session IN {{sessions:Array(UInt128)}}
ORDER BY session, source, generation DESC LIMIT 1 BY session, source
"""
_ELSEWHERE = "SELECT DISTINCT session FROM sources WHERE source IN {sources:Array(UInt128)}"


class Source(Struct, frozen=True):
    """A row of `sources`; text that comes from data is packed."""

    session: int
    source: int
    write: int
    born: date
    name: bytes
    kind: bytes
    agent_id: bytes | None
    run_id: bytes | None
    copied_from: bytes | None
    path: bytes
    present: bool
    generation: int

    @property
    def cells(self) -> Cells:
        """The row as it is inserted."""
        return astuple(self)


class Generation(Struct, frozen=True):
    """A row of `generations`."""

    session: int
    source: int
    generation: int
    write: int
    born: date
    length: int = 0
    sealed: int = 0
    consumed: int = 0
    in_array: bool = False
    lines: int = 0
    checkpoint: bytes | None = None
    tail: list[Any] = []

    @property
    def cells(self) -> Cells:
        """The row as it is inserted."""
        return astuple(self)


class File(Struct, frozen=True):
    """A file, and its newest generation."""

    source: Source
    newest: Generation

    @property
    def ends(self) -> tuple[int, int]:
        """The number and the length of the newest generation."""
        return self.newest.generation, self.newest.length


def list_files(engine: Engine, sessions: Sequence[int], sources: Iterable[int]) -> dict[int, File]:
    """Return all files of sessions, and of those that have some files, by their numbers."""
    found = [Source(*row) for row in engine.query(_SOURCES, {"sessions": sessions})]
    missing = sorted({*sources}.difference(each.source for each in found))
    others = engine.query(_ELSEWHERE, {"sources": missing}) if missing else []
    if others:
        elsewhere = [session for (session,) in others]
        found += (Source(*row) for row in engine.query(_SOURCES, {"sessions": elsewhere}))
    if not found:
        return {}
    rows = engine.query(_NEWEST, {"sessions": sorted({each.session for each in found})})
    newest = {row[1]: Generation(*row) for row in rows}
    return {each.source: File(each, newest[each.source]) for each in found if each.source in newest}


def describe(session: int, born: date, source: int, batch: SourceBatch, known: File | None) -> Source:
    """Return the row of a file that is there, with what a batch says of it."""
    agent_id, run_id = pack_text(batch.agent_id), pack_text(batch.run_id)
    copied_from = pack_text(batch.copied_from)
    if known is not None:
        # A later look may not know any more what the first one found.
        former = known.source
        agent_id = former.agent_id if agent_id is None else agent_id
        run_id = former.run_id if run_id is None else run_id
        copied_from = former.copied_from if copied_from is None else copied_from
    return Source(
        session, source, 0, born, pack_text(batch.source), pack_text(batch.kind), agent_id, run_id, copied_from,
        pack_text(batch.path), True, batch.generation,
    )  # fmt: skip


def go_on(
    session: int, born: date, source: int, batch: SourceBatch, known: File | None, added: NewBytes
) -> Generation:
    """Return the row of the newest generation, with what a batch adds to it; its frames are gathered."""
    if known is not None and known.newest.generation == batch.generation:
        before = known.newest
    else:
        before = Generation(session, source, batch.generation, 0, born)
    ending = added.append(
        source, batch.generation, Ending.read(before.sealed, before.tail), batch.frames, batch.sealed
    )
    return replace(
        before,
        length=batch.length,
        sealed=ending.sealed,
        consumed=batch.consumed,
        in_array=batch.in_array,
        lines=before.lines + len(batch.lines),
        checkpoint=encode_checkpoint(batch.checkpoint),
        tail=ending.cells,
    )


def pack_lines(owner: str, generation: Generation, lines: Iterable[LineFact]) -> Iterator[list[Any]]:
    """Yield lines as rows, but for the number of the write."""
    before = generation.session, generation.source, generation.generation
    for line in lines:
        parent = pack_uuid(line.parent_uuid)
        twin = None if parent is None or line.number >= BEGINNING else number(owner, parent)
        yield [
            *before, line.number, 0, generation.born, line.offset, line.length, pack_text(line.dialect),
            pack_text(line.type), pack_uuid(line.uuid), parent, pack_text(line.session_id),
            pack_text(line.agent_id), pack_text(line.message_id), line.time, line.is_sidechain, line.problems,
            twin,
        ]  # fmt: skip
