"""What all contracts need: a store, and a way to fill it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec.structs import replace

from turnlog.errors import StoreError
from turnlog.store.batch import ChapterRows, DerivedRows, SessionBatch, SourceBatch
from turnlog.store.identity import LOCAL, Scope
from turnlog.store.interface import KnownSession, KnownSource, Store
from turnlog.testing.builders import ORIGIN, make_batch, make_key

__all__ = ["ContractBase", "expect_rows", "find_source", "keep", "refused", "shift_source"]


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
    rows: DerivedRows | None = None,
    moved: Mapping[str, str] | None = None,
) -> SessionBatch:
    """Bring a store up to date with the files of a session, and return the batch that did it."""
    known = store.find_known(Scope(owner), make_key(session_id, origin=origin))
    batch = make_batch(
        files, session_id=session_id, known=known, owner=owner, origin=origin, rows=rows, moved=moved or {}
    )
    store.apply([batch])
    return batch


def find_source(session: KnownSession | None, path: str) -> KnownSource:
    """Return the file of a session whose path ends so."""
    assert session is not None
    [found] = [source for source in session.sources if source.path.endswith(f"/{path}")]
    return found


def expect_rows(store: Store, key: str, rows: DerivedRows) -> None:
    """Expect exactly these derived rows, if every chapter is among them."""
    assert store.list_turns(LOCAL, key) == [*rows.turns]
    assert store.list_agents(LOCAL, key) == [*rows.agents]
    for chapter in rows.chapters:
        source = chapter.source
        assert store.list_messages(LOCAL, key, source=source) == [*chapter.messages]
        assert store.list_calls(LOCAL, key, source=source) == [*chapter.calls]
        assert store.list_placements(LOCAL, key, source) == [*chapter.placements]
        assert [*store.list_sightings(LOCAL, key, source=source)] == [*chapter.sightings]
    calls = sorted(store.list_calls(LOCAL, key), key=lambda row: (row.source, row.index))
    assert calls == [row for chapter in _by_source(rows) for row in chapter.calls]
    sightings = sorted(store.list_sightings(LOCAL, key), key=lambda row: (row.source, row.index))
    assert sightings == [row for chapter in _by_source(rows) for row in chapter.sightings]
    [session] = [found for found in store.find_sessions(LOCAL, key) if found.key == key]
    assert session.row == rows.session


def _by_source(rows: DerivedRows) -> list[ChapterRows]:
    return sorted(rows.chapters, key=lambda chapter: chapter.source)


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
