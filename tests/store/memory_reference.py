"""A store in memory: slow, and so plain that it can be seen to be right.

It proves that the contracts do not rest on SQL, and says what any other store should answer. All of it is
copied for each call of `apply`, and put in place when everything went well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy

from memory_session import MemorySession
from store.memory_lists import list_facets, list_projects, list_sessions
from store.memory_marks import mark, undo_mark
from store.memory_people import MemoryPeople, Shared
from store.memory_search import search
from store.memory_seeing import see
from store.memory_state import Generation, Session, apply_batch
from turnlog.store.batch import SessionBatch
from turnlog.store.interface import Feed, KnownSession, KnownSource, Maintenance, PresentFile, PresentFiles
from turnlog.store.lists import (
    EVERYTHING_SHOWN,
    Facets,
    MarkChange,
    MarkedSession,
    ProjectOrder,
    SessionFilter,
    SessionOrder,
    SessionPage,
    StoredProject,
)
from turnlog.store.model import Place, Scope, SourceKind
from turnlog.store.search.language import Query
from turnlog.store.search.paging import SearchOrder, SearchPage
from turnlog.store.usage_recount import RecountedUsage
from turnlog.transcripts.queries.chapters import ChapterFacts
from turnlog.transcripts.queries.sessions import SessionActions

_LINES = (SourceKind.TRANSCRIPT, SourceKind.AGENT, SourceKind.JOURNAL)


class MemoryStore(MemoryPeople):
    """A handle."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self.archive = MemoryArchive(shared)

    @property
    def writes(self) -> int:
        """How many things were written so far."""
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

    def maintain(
        self, work: Maintenance = Maintenance.SETTLE, between: Callable[[], object] = lambda: None
    ) -> bool:
        return True

    def apply(self, batches: Sequence[SessionBatch]) -> int:
        state = deepcopy(self._shared.state)
        writes = sum([apply_batch(state, batch) for batch in batches])
        self._shared.state = state
        self._shared.writes += writes
        return state.entries[-1][1].seq if state.entries else 0

    def list_known(
        self, scope: Scope, origin: str | None = None, *, key: str | None = None
    ) -> Iterator[KnownSession]:
        sessions = _sessions(self._shared, scope)
        known = [_know(sessions[key]) for key in sorted(sessions)]
        return iter([each for each in known if origin in (None, each.origin) and key in (None, each.key)])

    def find_present(self, scope: Scope, origin: str) -> PresentFiles:
        known = [*self.list_known(scope)]
        files = {
            source.path: PresentFile(each.key, source.checkpoint)
            for each in known
            if each.origin in ("", origin)
            for source in each.sources
            if source.present
        }
        return PresentFiles(files, min((each.derivation for each in known), default=None))

    def list_sessions(
        self,
        scope: Scope,
        asked: SessionFilter = EVERYTHING_SHOWN,
        *,
        order: SessionOrder = SessionOrder.NEWEST,
        limit: int = 100,
        cursor: str | None = None,
        grouped: bool = False,
        summaries: bool = False,
    ) -> SessionPage:
        state = see(self._shared.state, scope)
        return list_sessions(state, scope.owner, asked, order, limit, cursor, grouped, summaries)

    def list_projects(
        self, scope: Scope, *, text: str | None = None, order: ProjectOrder = ProjectOrder.NEWEST
    ) -> list[StoredProject]:
        return list_projects(see(self._shared.state, scope), scope.owner, text, order)

    def list_facets(self, scope: Scope, asked: SessionFilter = EVERYTHING_SHOWN) -> Facets:
        return list_facets(see(self._shared.state, scope), scope.owner, asked)

    def mark(self, scope: Scope, keys: Sequence[str], change: MarkChange) -> list[MarkedSession]:
        state = deepcopy(self._shared.state)
        done = mark(state, scope, keys, change)
        self._shared.state = state
        return done

    def undo_mark(self, scope: Scope) -> list[MarkedSession]:
        return undo_mark(self._shared.state, scope)

    @contextmanager
    def open_session(self, scope: Scope, key: str, *, hooks: str | None = None) -> Iterator[SessionActions]:
        session = _sessions(self._shared, scope).get(key)
        yield SessionActions(MemorySession({}, {}) if session is None else _open(session))

    def read_usage(self, scope: Scope) -> RecountedUsage:
        return RecountedUsage(self, scope)

    def read_feed(self, scope: Scope, after: int | None = None, limit: int = 1000) -> Feed:
        own = [entry for owner, entry in see(self._shared.state, scope).entries if owner == scope.owner]
        asked = [] if after is None else [entry for entry in own if entry.seq > after]
        last = max((entry.seq for entry in own), default=0)
        return Feed(self._shared.epoch, last, tuple(asked[:limit]))

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


def _open(session: Session) -> MemorySession:
    """Return all that is kept of a session, its transcript first."""
    derived = session.derived
    segments = {} if derived is None else {each.source: each.segments for each in derived.chapters}
    outline = (
        {} if derived is None else {each.kind: [data for _, data in each.parts] for each in derived.outline}
    )
    main = _find_transcript(session, {source for source, own in segments.items() if own})
    files = sorted(session.sources.values(), key=lambda each: (each.source != main, each.source))
    return MemorySession(
        {
            ChapterFacts(
                source=each.source,
                generation=len(each.generations) - 1,
                is_main=each.source == main,
                is_conversation=each.kind is not SourceKind.JOURNAL,
                agent_id=each.agent_id,
                path=each.path,
            ): segments.get(each.source, ())
            for each in files
            if each.kind in _LINES
        },
        outline,
        files={
            (each.source, number): generation.data
            for each in files
            for number, generation in enumerate(each.generations)
        },
    )


def _find_transcript(session: Session, read: set[str]) -> str | None:
    """Return the transcript: of several, the one that is read."""
    found = [source.source for source in session.sources.values() if source.kind is SourceKind.TRANSCRIPT]
    return min(found, key=lambda source: (source not in read, source != session.key, source), default=None)


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
                lines=source.generations[-1].lines,
                checkpoint=source.checkpoint,
                agent_id=source.agent_id,
                run_id=source.run_id,
                copied_from=source.copied_from,
            )
            for _, source in sorted(session.sources.items())
        ),
        origin=session.origin,
    )
