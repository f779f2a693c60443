"""What all contracts need: a store, and a way to fill it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import SkipTest

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import Derived, SessionBatch, SourceBatch
from turnlog.store.interface import CaredStore, KnownSession, KnownSource, Store, find_known, find_sessions
from turnlog.store.model import LOCAL, Scope
from turnlog.testing.builders import ORIGIN, make_batch, make_key
from turnlog.testing.memory_session import FileRecords, unpack_records
from turnlog.testing.row_builders import list_usage, make_chapter
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.segments import AGENTS, TURNS


class ContractBase(ABC):
    """A store under test; `tmp_path` is a folder that belongs to one test alone."""

    @abstractmethod
    def make_store(self, tmp_path: Path) -> Store:
        """Return an empty store."""

    @abstractmethod
    def reopen(self, tmp_path: Path) -> Store:
        """Return another handle on the store that was made for the same `tmp_path`, closed meanwhile or not."""

    @contextmanager
    def opened(self, tmp_path: Path) -> Iterator[Store]:
        """Yield an empty store, and close it behind the test."""
        with closing(self.make_store(tmp_path)) as store:
            yield store

    @contextmanager
    def reopened(self, tmp_path: Path) -> Iterator[Store]:
        """Yield another handle on the same store, and close it behind the test."""
        with closing(self.reopen(tmp_path)) as store:
            yield store


def keep(
    store: Store,
    files: Mapping[str, bytes],
    *,
    session_id: str = "session-1",
    owner: str = LOCAL.owner,
    origin: str = ORIGIN,
    derived: Derived | None = None,
    moved: Mapping[str, str] | None = None,
) -> SessionBatch:
    """Bring a store up to date with the files of a session, and return the batch that did it."""
    known = find_known(store, Scope(owner), make_key(session_id, origin=origin))
    batch = make_batch(
        files,
        session_id=session_id,
        known=known,
        owner=owner,
        origin=origin,
        derived=derived,
        moved=moved or {},
    )
    store.apply([batch])
    return batch


def get_derived(batch: SessionBatch) -> Derived:
    """Return what follows from the lines of a batch that has any."""
    assert batch.derived is not None
    return batch.derived


def unpack_files(derived: Derived) -> dict[str, FileRecords]:
    """Return the records of all files that are named, by source."""
    return {chapter.source: unpack_records(chapter.segments) for chapter in derived.chapters}


def replace_records(derived: Derived, files: Mapping[str, FileRecords]) -> Derived:
    """Return the same with other records of some files."""
    records = unpack_files(derived) | {**files}
    chapters = tuple(make_chapter(source, each) for source, each in records.items())
    return replace(derived, chapters=chapters, usage=list_usage(records))


def find_source(session: KnownSession | None, path: str) -> KnownSource:
    """Return the file of a session whose path ends so."""
    assert session is not None
    [found] = [source for source in session.sources if source.path.endswith(f"/{path}")]
    return found


def expect_derived(store: Store, key: str, derived: Derived) -> None:
    """Expect exactly these records, if every chapter is among them."""
    with store.open_session(LOCAL, key) as session:
        parts = {each.kind: [data for _, data in each.parts] for each in derived.outline}
        turns = [turn for data in parts.get(TURNS.name, ()) for turn in TURNS.unpack(data)]
        agents = [agent for data in parts.get(AGENTS.name, ()) for agent in AGENTS.unpack(data)]
        assert session.list_turns() == turns
        assert session.count_turns() == len(turns)
        assert session.list_agents() == agents
        assert {file.source for file in session.files} >= {chapter.source for chapter in derived.chapters}
        for file in session.files:
            segments = [
                each
                for chapter in derived.chapters
                if chapter.source == file.source
                for each in chapter.segments
            ]
            assert [*file.heads] == [each.head for each in segments]
            assert read_file(file) == unpack_records(segments)
    [found] = [found for found in find_sessions(store, LOCAL, key) if found.key == key]
    assert found.row == derived.session


def read_records(store: Store, key: str, source: str | None = None, scope: Scope = LOCAL) -> FileRecords:
    """Return all records of a session's file: of its transcript, if none is named."""
    with store.open_session(scope, key) as session:
        files = {file.source: file for file in session.files}
        return read_file(session.main if source is None else files.get(source))


def read_file(file: Chapter | None) -> FileRecords:
    """Return all records of a file; of one that is not there, none."""
    if file is None:
        return FileRecords()
    return FileRecords(
        lines=tuple(file.list_lines()),
        messages=tuple(file.list_messages()),
        calls=tuple(file.list_calls()),
        events=tuple(file.list_events()),
        sightings=tuple(file.list_sightings()),
    )


@contextmanager
def refused() -> Iterator[None]:
    """Expect that a store refuses."""
    try:
        yield
    except StoreError:
        return
    raise AssertionError("the store took what it should refuse")


def shift_source(source: SourceBatch, shift: int = 0, jump: int = 0) -> SourceBatch:
    """Return a batch that is right in itself, but for another place."""
    return replace(
        source,
        generation=source.generation + jump,
        start=source.start + shift,
        length=source.length + shift,
        frames=tuple(replace(frame, start=frame.start + shift) for frame in source.frames),
    )


class CareBase(ContractBase):
    """A store under test that can be taken care of.

    How a store is damaged is its own affair: `spoil_records` and `spoil_bytes` do it behind its back. Where
    they are not written, the contracts that need them are skipped.
    """

    @abstractmethod
    def make_store(self, tmp_path: Path) -> CaredStore:
        """Return an empty store."""

    @abstractmethod
    def reopen(self, tmp_path: Path) -> CaredStore:
        """Return another handle on the store that was made for the same `tmp_path`, closed meanwhile or not."""

    def spoil_records(self, tmp_path: Path, key: str) -> None:
        """Make the segments of a session contradict each other, in a store which is closed."""
        raise SkipTest("nobody says how the records of this store are damaged")

    def spoil_bytes(self, tmp_path: Path, source: str) -> None:
        """Change archived bytes of a source in a store, which is closed, so that they cannot be read."""
        raise SkipTest("nobody says how the bytes of this store are damaged")

    @contextmanager
    def cared(self, tmp_path: Path) -> Iterator[CaredStore]:
        """Yield an empty store, and close it behind the test."""
        with closing(self.make_store(tmp_path)) as store:
            yield store

    @contextmanager
    def cared_again(self, tmp_path: Path) -> Iterator[CaredStore]:
        """Yield another handle on the same store, and close it behind the test."""
        with closing(self.reopen(tmp_path)) as store:
            yield store
