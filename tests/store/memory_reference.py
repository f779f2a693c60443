"""A store in memory: slow, and so plain that it can be seen to be right.

It proves that the contracts do not rest on SQL, and says what any other store should answer. All of it is
copied for each call of `apply`, and put in place when everything went well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import TypeVar

from store.memory_lists import find_sessions, list_facets, list_projects, list_sessions
from store.memory_marks import find_marks, list_tags, mark, undo_mark
from store.memory_people import MemoryPeople, Shared
from store.memory_search import search
from store.memory_seeing import see
from store.memory_state import Generation, Session, apply_batch
from store.memory_windows import MemoryWindows
from turnlog.store.batch import ChapterRows, SessionBatch
from turnlog.store.identity import Place, Scope, SourceKind
from turnlog.store.interface import BEGINNING, ChangeEntry, KnownSession, KnownSource, Twin
from turnlog.store.lists import (
    EVERYTHING_SHOWN,
    Facets,
    ProjectOrder,
    SessionFilter,
    SessionOrder,
    SessionPage,
    StoredProject,
    StoredSession,
)
from turnlog.store.marks import MarkChange, MarkedSession, Marks
from turnlog.store.rows import AgentRow, CallRow, LineFact, MessageRow, PlacementRow, SightingRow, TurnRow
from turnlog.store.search.hits import SearchOrder, SearchPage
from turnlog.store.search.language import Query
from turnlog.store.usage.recounting import RecountedUsage

__all__ = ["MemoryStore", "Shared"]

_Row = TypeVar("_Row", LineFact, MessageRow, PlacementRow, TurnRow)


class MemoryStore(MemoryPeople, MemoryWindows):
    """A handle."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self.archive = MemoryArchive(shared)

    @property
    def writes(self) -> int:
        """How many rows were written so far."""
        return self._shared.writes

    def close(self) -> None:
        pass

    def search(
        self,
        scope: Scope,
        query: Query,
        *,
        order: SearchOrder = SearchOrder.NEWEST,
        limit: int = 20,
        cursor: str | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> SearchPage:
        return search(self, scope, query, order, limit, cursor, cancelled)

    def settle(self) -> None:
        pass

    def apply(self, batches: Sequence[SessionBatch]) -> int:
        state = deepcopy(self._shared.state)
        writes = sum([apply_batch(state, batch) for batch in batches])
        self._shared.state = state
        self._shared.writes += writes
        return state.entries[-1][1].seq if state.entries else 0

    def find_known(self, scope: Scope, key: str) -> KnownSession | None:
        return next((found for found in self.list_known(scope) if found.key == key), None)

    def list_known(self, scope: Scope, origin: str | None = None) -> Iterator[KnownSession]:
        sessions = _sessions(self._shared, scope)
        known = [_know(sessions[key]) for key in sorted(sessions)]
        return iter([each for each in known if origin in (None, each.origin)])

    def list_twins(self, scope: Scope, uuid: str) -> list[Twin]:
        found = (_find_twin(session, uuid) for _, session in sorted(_sessions(self._shared, scope).items()))
        return [twin for twin in found if twin is not None]

    def find_sessions(self, scope: Scope, prefix: str) -> list[StoredSession]:
        return find_sessions(see(self._shared.state, scope), scope.owner, prefix)

    def list_sessions(
        self,
        scope: Scope,
        asked: SessionFilter = EVERYTHING_SHOWN,
        *,
        order: SessionOrder = SessionOrder.NEWEST,
        limit: int = 100,
        cursor: str | None = None,
        grouped: bool = False,
    ) -> SessionPage:
        return list_sessions(see(self._shared.state, scope), scope.owner, asked, order, limit, cursor, grouped)

    def list_projects(
        self, scope: Scope, *, text: str | None = None, order: ProjectOrder = ProjectOrder.NEWEST
    ) -> list[StoredProject]:
        return list_projects(see(self._shared.state, scope), scope.owner, text, order)

    def list_facets(self, scope: Scope, asked: SessionFilter = EVERYTHING_SHOWN) -> Facets:
        return list_facets(see(self._shared.state, scope), scope.owner, asked)

    def find_marks(self, scope: Scope, key: str) -> Marks | None:
        return find_marks(see(self._shared.state, scope), scope.owner, key)

    def list_tags(self, scope: Scope) -> dict[str, int]:
        return list_tags(see(self._shared.state, scope), scope.owner)

    def mark(self, scope: Scope, keys: Sequence[str], change: MarkChange) -> list[MarkedSession]:
        state = deepcopy(self._shared.state)
        done = mark(state, scope, keys, change)
        self._shared.state = state
        return done

    def undo_mark(self, scope: Scope) -> list[MarkedSession]:
        return undo_mark(self._shared.state, scope)

    def list_lines(
        self, scope: Scope, source: str, generation: int, *, first: int = 0, count: int | None = None
    ) -> list[LineFact]:
        found = _generations(self._shared, scope, source)
        lines = found[generation].lines if generation < len(found) else []
        return _window(lines, first, count)

    def list_messages(
        self, scope: Scope, key: str, *, source: str | None = None, first: int = 0, count: int | None = None
    ) -> list[MessageRow]:
        session = _sessions(self._shared, scope).get(key)
        source = _find_transcript(session) if source is None and session is not None else source
        rows = [row for chapter in _chapters(session) if chapter.source == source for row in chapter.messages]
        return _window(rows, first, count)

    def list_chapters(self, scope: Scope, key: str) -> list[str]:
        return [chapter.source for chapter in _chapters(_sessions(self._shared, scope).get(key))]

    def list_placements(
        self, scope: Scope, key: str, source: str, *, first: int = 0, count: int | None = None
    ) -> list[PlacementRow]:
        chapters = _chapters(_sessions(self._shared, scope).get(key))
        rows = [row for chapter in chapters if chapter.source == source for row in chapter.placements]
        return _window(rows, first, count)

    def list_calls(self, scope: Scope, key: str, *, source: str | None = None) -> list[CallRow]:
        chapters = _chapters(_sessions(self._shared, scope).get(key))
        return [row for chapter in chapters if source in (None, chapter.source) for row in chapter.calls]

    def list_turns(self, scope: Scope, key: str, *, first: int = 0, count: int | None = None) -> list[TurnRow]:
        session = _sessions(self._shared, scope).get(key)
        turns = [] if session is None or session.derived is None else [*session.derived.turns]
        return _window(turns, first, count)

    def list_agents(self, scope: Scope, key: str) -> list[AgentRow]:
        session = _sessions(self._shared, scope).get(key)
        return [] if session is None or session.derived is None else [*session.derived.agents]

    def list_sightings(
        self, scope: Scope, key: str | None = None, *, source: str | None = None
    ) -> Iterator[SightingRow]:
        sessions = _sessions(self._shared, scope)
        found = [sessions[name] for name in sorted(sessions) if key in (None, name)]
        chapters = [chapter for session in found for chapter in _chapters(session)]
        return iter(
            [row for chapter in chapters if source in (None, chapter.source) for row in chapter.sightings]
        )

    def read_usage(self, scope: Scope) -> RecountedUsage:
        return RecountedUsage(self, scope)

    def list_changes(self, scope: Scope, after: int = 0, limit: int = 1000) -> list[ChangeEntry]:
        own = [entry for owner, entry in see(self._shared.state, scope).entries if owner == scope.owner]
        return [entry for entry in own if entry.seq > after][:limit]

    def find_last_change(self, scope: Scope) -> int:
        return max((entry.seq for entry in self.list_changes(scope, limit=1 << 30)), default=0)

    def find_epoch(self) -> str:
        return self._shared.epoch

    def listen(self) -> None:
        return


class MemoryArchive:
    """The bytes."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def read(self, scope: Scope, at: Place, length: int) -> bytes:
        data = self._find(scope, at.source, at.generation)
        if at.offset + length > len(data):
            raise KeyError(at)
        return data[at.offset : at.offset + length]

    def read_all(self, scope: Scope, source: str, generation: int) -> Iterator[bytes]:
        return iter([self._find(scope, source, generation)])

    def list_generations(self, scope: Scope, source: str) -> list[tuple[int, int]]:
        return [(at, len(found.data)) for at, found in enumerate(_generations(self._shared, scope, source))]

    def _find(self, scope: Scope, source: str, generation: int) -> bytes:
        found = _generations(self._shared, scope, source)
        if generation >= len(found):
            raise KeyError(source, generation)
        return found[generation].data


def _sessions(shared: Shared, scope: Scope) -> dict[str, Session]:
    return see(shared.state, scope).owners.get(scope.owner, {})


def _generations(shared: Shared, scope: Scope, source: str) -> list[Generation]:
    for session in _sessions(shared, scope).values():
        if source in session.sources:
            return session.sources[source].generations
    return []


def _chapters(session: Session | None) -> list[ChapterRows]:
    """Return the chapters of a session, the transcript's first."""
    if session is None:
        return []
    kinds = {source.source: source.kind for source in session.sources.values()}
    return sorted(
        session.chapters.values(),
        key=lambda chapter: (kinds[chapter.source] is not SourceKind.TRANSCRIPT, chapter.source),
    )


def _find_transcript(session: Session) -> str | None:
    """Return the transcript: of several, the one that is read."""
    found = [source.source for source in session.sources.values() if source.kind is SourceKind.TRANSCRIPT]
    found.sort(key=lambda source: (not _has_messages(session, source), source != session.key))
    return found[0] if found else None


def _has_messages(session: Session, source: str) -> bool:
    return source in session.chapters and bool(session.chapters[source].messages)


def _window(rows: list[_Row], first: int, count: int | None) -> list[_Row]:
    return rows[first:] if count is None else rows[first : first + count]


def _find_twin(session: Session, uuid: str) -> Twin | None:
    source = session.sources.get(_find_transcript(session) or "")
    lines = source.generations[-1].lines if source is not None else []
    at = next((line.number for line in lines if line.parent_uuid == uuid), BEGINNING)
    if source is None or at >= BEGINNING or all(line.uuid != uuid for line in lines[:at]):
        return None
    told = lines[at].session_id
    return Twin(key=session.key, session_id=session.session_id, told_id=told, copied_from=source.copied_from)


def _know(session: Session) -> KnownSession:
    return KnownSession(
        key=session.key,
        revision=session.revision,
        session_id=session.session_id,
        project_folder=session.project_folder,
        derivation=session.derivation,
        sources=tuple(
            KnownSource(
                source=source.source,
                kind=source.kind,
                path=source.path,
                present=source.present,
                generation=len(source.generations) - 1,
                length=len(source.generations[-1].data),
                consumed=source.generations[-1].consumed,
                in_array=source.generations[-1].in_array,
                lines=len(source.generations[-1].lines),
                checkpoint=source.checkpoint,
                agent_id=source.agent_id,
                run_id=source.run_id,
                copied_from=source.copied_from,
            )
            for _, source in sorted(session.sources.items())
        ),
        origin=session.origin,
    )
