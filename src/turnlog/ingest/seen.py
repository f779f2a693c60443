"""One file of a session as it is after a look: what is in it, and what of that is new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from turnlog.ingest.contents import DERIVED_FROM, Content
from turnlog.store.batch import SourceBatch
from turnlog.store.interface import KnownSource
from turnlog.store.model import SourceKind
from turnlog.transcripts.files.fingerprints import Change, Checkpoint


class Seen(Struct, frozen=True):
    """One source as it is after this look."""

    source: str
    kind: SourceKind
    path: str
    generation: int
    run_id: str | None
    content: Content | None
    """What is in it; None if it was not read in this look."""
    batch: SourceBatch | None
    """What is new; None if nothing is."""


def choose(seen: Iterable[Seen]) -> Iterator[Seen]:
    """Yield what rows are derived from: of several transcripts the first, as that is the one that is there."""
    has_main = False
    for each in seen:
        if each.kind is SourceKind.TRANSCRIPT:
            if has_main:
                continue
            has_main = True
        if each.kind in DERIVED_FROM:
            yield each


def tells_of_lines(batch: SourceBatch) -> bool:
    """Tell whether rows may be others because of what is new of a file."""
    return batch.kind in DERIVED_FROM and batch.change is not Change.VANISHED


def keep(known: KnownSource, batch: SourceBatch | None, path: str | None = None) -> Seen:
    """Return a source whose bytes are as they were."""
    return Seen(known.source, known.kind, path or known.path, known.generation, known.run_id, None, batch)


def lose(known: KnownSource) -> Seen:
    """Return a source whose file is gone."""
    return keep(known, miss(known) if known.present else None)


def confirm(known: KnownSource, path: str) -> SourceBatch:
    """Return the news of a source of which nothing is new."""
    return restate(known, Change.UNCHANGED if known.present else Change.VANISHED, path, known.checkpoint)


def miss(known: KnownSource) -> SourceBatch:
    """Return the news of a file that is gone."""
    return restate(known, Change.VANISHED, known.path, known.checkpoint)


def restate(known: KnownSource, change: Change, path: str, checkpoint: Checkpoint | None) -> SourceBatch:
    """Return the news of a file that has the bytes that it had: it is gone, there again, or somewhere else."""
    return SourceBatch(
        source=known.source,
        kind=known.kind,
        path=path,
        generation=known.generation,
        change=change,
        start=known.length,
        length=known.length,
        consumed=known.consumed,
        in_array=known.in_array,
        checkpoint=checkpoint,
        agent_id=known.agent_id,
        run_id=known.run_id,
        copied_from=known.copied_from,
    )
