"""What the store in memory keeps, and how a batch changes it."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from turnlog.errors import ArchiveError, StoreError
from turnlog.store.batch import Derived, SessionBatch, SourceBatch
from turnlog.store.frames import open_frame
from turnlog.store.interface import ChangeEntry, ChangeKind
from turnlog.store.lists import Marks
from turnlog.store.model import Machine, SourceKind, Visibility
from turnlog.testing.batch_contract import merge_derived
from turnlog.transcripts.session_files import Change, Checkpoint


class Generation(Struct):
    data: bytes = b""
    lines: int = 0
    consumed: int = 0
    in_array: bool = False


class Source(Struct):
    source: str
    kind: SourceKind
    path: str
    present: bool = True
    checkpoint: Checkpoint | None = None
    agent_id: str | None = None
    run_id: str | None = None
    copied_from: str | None = None
    generations: list[Generation] = field(default_factory=list)


class Session(Struct):
    key: str
    session_id: str
    project_folder: str
    origin: str
    path: str = ""
    revision: int = 0
    sources: dict[str, Source] = field(default_factory=dict)
    derivation: int = 0
    derived: Derived | None = None


class MarkEntry(Struct):
    owner: str
    session: str
    operation: int
    undoes: int | None
    marks: Marks
    author: str | None = None


class State(Struct):
    owners: dict[str, dict[str, Session]] = field(default_factory=dict)
    entries: list[tuple[str, ChangeEntry]] = field(default_factory=list)
    marks: list[MarkEntry] = field(default_factory=list)
    audiences: dict[int, tuple[str | None, str | None, bool]] = field(default_factory=dict)
    """Of entries: whose session it is, whose it was, and whether others see or saw it."""
    machines: dict[tuple[str, str], Machine] = field(default_factory=dict)
    rules: dict[tuple[str, str], Visibility] = field(default_factory=dict)
    chosen: dict[tuple[str, str], Visibility] = field(default_factory=dict)


def apply_batch(state: State, batch: SessionBatch) -> int:
    """Write a batch, and return how many things that took."""
    sessions = state.owners.setdefault(batch.owner, {})
    is_new = batch.key not in sessions
    new = Session(batch.key, batch.session_id, batch.project_folder, batch.origin)
    session = sessions.setdefault(batch.key, new)
    if is_new:
        machine = Machine(origin=batch.origin, first_ns=batch.seen_ns, last_ns=batch.seen_ns)
        state.machines.setdefault((batch.owner, batch.origin), machine)
    was_there = any(source.present for source in session.sources.values())
    for other in sessions.values():
        for source in batch.sources:
            if other is not session and source.source in other.sources:
                _move_source(other, session, source.source)
    writes = sum([_apply_source(session, source) for source in batch.sources])
    if batch.derived is not None:
        if batch.derived.is_partial and batch.sources and not writes:
            return 0  # applied before
        if batch.derived.is_partial and batch.base_revision != session.revision:
            raise StoreError(f"{batch.key} is not in the revision {batch.base_revision}")
        writes += _replace_derived(session, batch.derived)
        session.derivation = batch.derivation
    if writes or is_new:
        if batch.base_revision not in (None, session.revision):
            raise StoreError(f"{batch.key} is not in the revision {batch.base_revision}")
        session.revision += 1
        is_gone = was_there and not any(source.present for source in session.sources.values())
        kind = ChangeKind.SESSION_GONE if is_gone else ChangeKind.SESSION_CHANGED
        seq = len(state.entries) + 1
        entry = ChangeEntry(
            seq=seq,
            kind=ChangeKind.SESSION_ADDED if is_new else kind,
            session=session.key,
            revision=session.revision,
            at_ns=batch.seen_ns,
        )
        state.entries.append((batch.owner, entry))
    return writes


def _move_source(former: Session, session: Session, source: str) -> None:
    """Let a file be another session's; its segments are told anew."""
    session.sources[source] = former.sources.pop(source)
    if former.derived is not None:
        chapters = tuple(chapter for chapter in former.derived.chapters if chapter.source != source)
        former.derived = replace(former.derived, chapters=chapters)


def _apply_source(session: Session, batch: SourceBatch) -> int:
    known = session.sources.get(batch.source)
    if known is not None and _has_all(known, batch):
        return 0
    if known is None:
        known = session.sources[batch.source] = Source(batch.source, batch.kind, "")
    is_new = (known.path, known.present) != (batch.path, batch.change is not Change.VANISHED)
    is_new = is_new or not _is_same_copy(known, batch) or known.kind is not batch.kind
    if batch.generation == len(known.generations):
        known.generations.append(Generation())
        is_new = True
    generation = known.generations[-1] if batch.generation == len(known.generations) - 1 else None
    if generation is None or batch.start != len(generation.data):
        raise StoreError(f"{batch.source} does not follow on what is there")
    generation.data += _open(batch)
    generation.lines += batch.lines
    generation.consumed = batch.consumed
    generation.in_array = batch.in_array
    known.kind = batch.kind
    known.path = batch.path
    known.present = batch.change is not Change.VANISHED
    known.checkpoint = batch.checkpoint
    known.agent_id = batch.agent_id or known.agent_id
    known.run_id = batch.run_id or known.run_id
    known.copied_from = batch.copied_from or known.copied_from
    return is_new + len(batch.frames) + batch.lines


def _has_all(known: Source, batch: SourceBatch) -> bool:
    newest = known.generations[-1]
    return (
        (known.path, known.present) == (batch.path, batch.change is not Change.VANISHED)
        and (len(known.generations) - 1, len(newest.data)) == (batch.generation, batch.length)
        and batch.checkpoint == known.checkpoint
        and _is_same_copy(known, batch)
        and known.kind is batch.kind
    )


def _is_same_copy(known: Source, batch: SourceBatch) -> bool:
    return batch.copied_from in (None, known.copied_from)


def _open(batch: SourceBatch) -> bytes:
    data = b""
    for frame in batch.frames:
        if frame.start != batch.start + len(data):
            raise StoreError(f"{batch.source} has frames that do not follow on each other")
        try:
            data += open_frame(frame)
        except ValueError as error:
            raise ArchiveError(str(error), batch.source, batch.generation, frame.start) from error
    if batch.start + len(data) != batch.length:
        raise StoreError(f"{batch.source} has frames of another length")
    return data


def _replace_derived(session: Session, derived: Derived) -> int:
    """Put what follows from the lines in the place of what did, and return how much differs."""
    before = session.derived
    for chapter in derived.chapters:
        if chapter.source not in session.sources:
            raise StoreError(f"{chapter.source} is no file of the session")
    session.derived = merge_derived(before, derived)
    if before is None:
        return 1 + len(_list_parts(session.derived))
    return int(before.session != derived.session) + len(_list_parts(before) ^ _list_parts(session.derived))


def _list_parts(derived: Derived) -> set[object]:
    """Return all segments and parts, each with where it stands."""
    segments = {(chapter.source, each) for chapter in derived.chapters for each in chapter.segments}
    return segments | {(each.kind, part) for each in derived.outline for part in each.parts}
