"""A store in memory: slow, and so plain that it can be seen to be right.

It proves that the contracts do not rest on SQL, and says what any other store should answer. All of it is
copied for each call of `apply`, and put in place when everything went well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from decimal import Decimal
from typing import TypeVar

from store.memory_state import Generation, Session, State, apply_batch
from turnlog.store.batch import DerivedRows, SessionBatch
from turnlog.store.identity import Place, Scope
from turnlog.store.interface import ChangeEntry, KnownSession, KnownSource, SessionOrder, StoredSession
from turnlog.store.rows import AgentRow, CallRow, LineFact, MessageRow, SightingRow, TurnRow

__all__ = ["MemoryStore", "Shared"]

_Row = TypeVar("_Row", LineFact, MessageRow)


class Shared:
    """What all handles of one store look at."""

    def __init__(self) -> None:
        self.state = State()
        self.writes = 0


class MemoryStore:
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

    def apply(self, batches: Sequence[SessionBatch]) -> int:
        state = deepcopy(self._shared.state)
        writes = sum([apply_batch(state, batch) for batch in batches])
        self._shared.state = state
        self._shared.writes += writes
        return state.entries[-1][1].seq if state.entries else 0

    def find_known(self, scope: Scope, key: str) -> KnownSession | None:
        return next((found for found in self.list_known(scope) if found.key == key), None)

    def list_known(self, scope: Scope) -> Iterator[KnownSession]:
        sessions = _sessions(self._shared, scope)
        return iter([_know(sessions[key]) for key in sorted(sessions)])

    def find_sessions(self, scope: Scope, prefix: str) -> list[StoredSession]:
        return [
            session
            for session in self.list_sessions(scope, limit=1 << 30)
            if session.key.startswith(prefix)
            or _sessions(self._shared, scope)[session.key].session_id.startswith(prefix)
            or (session.row.session_id or "").startswith(prefix)
        ]

    def list_sessions(
        self,
        scope: Scope,
        *,
        project: str | None = None,
        order: SessionOrder = SessionOrder.NEWEST,
        limit: int = 100,
        offset: int = 0,
    ) -> list[StoredSession]:
        found = [_store(session) for _, session in sorted(_sessions(self._shared, scope).items())]
        found = [session for session in found if project is None or session.row.project == project]
        found.sort(key=lambda session: _rank(session, order))
        return found[offset : offset + limit]

    def list_lines(
        self, scope: Scope, source: str, generation: int, *, first: int = 0, count: int | None = None
    ) -> list[LineFact]:
        found = _generations(self._shared, scope, source)
        lines = found[generation].lines if generation < len(found) else []
        return _window(lines, first, count)

    def list_messages(
        self, scope: Scope, key: str, *, first: int = 0, count: int | None = None
    ) -> list[MessageRow]:
        return _window([*_rows(self._shared, scope, key).messages], first, count)

    def list_calls(self, scope: Scope, key: str) -> list[CallRow]:
        return [*_rows(self._shared, scope, key).calls]

    def list_turns(self, scope: Scope, key: str) -> list[TurnRow]:
        return [*_rows(self._shared, scope, key).turns]

    def list_agents(self, scope: Scope, key: str) -> list[AgentRow]:
        return [*_rows(self._shared, scope, key).agents]

    def list_sightings(self, scope: Scope, key: str | None = None) -> Iterator[SightingRow]:
        keys = sorted(_sessions(self._shared, scope)) if key is None else [key]
        return iter([row for name in keys for row in _rows(self._shared, scope, name).sightings])

    def list_changes(self, scope: Scope, after: int = 0, limit: int = 1000) -> list[ChangeEntry]:
        own = [entry for owner, entry in self._shared.state.entries if owner == scope.owner]
        return [entry for entry in own if entry.seq > after][:limit]

    def find_last_change(self, scope: Scope) -> int:
        return max((entry.seq for entry in self.list_changes(scope, limit=1 << 30)), default=0)


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
    return shared.state.owners.get(scope.owner, {})


def _generations(shared: Shared, scope: Scope, source: str) -> list[Generation]:
    for session in _sessions(shared, scope).values():
        if source in session.sources:
            return session.sources[source].generations
    return []


def _rows(shared: Shared, scope: Scope, key: str) -> DerivedRows:
    session = _sessions(shared, scope).get(key)
    return DerivedRows(session=None) if session is None or session.derived is None else session.derived  # type: ignore[arg-type]


def _window(rows: list[_Row], first: int, count: int | None) -> list[_Row]:
    return rows[first:] if count is None else rows[first : first + count]


def _know(session: Session) -> KnownSession:
    return KnownSession(
        key=session.key,
        revision=session.revision,
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
    )


def _store(session: Session) -> StoredSession:
    transcript = session.sources.get(session.key)
    assert session.derived is not None
    return StoredSession(
        key=session.key,
        revision=session.revision,
        project_folder=session.project_folder,
        path=transcript.path if transcript else "",
        present=transcript is not None and transcript.present,
        row=session.derived.session,
    )


def _rank(session: StoredSession, order: SessionOrder) -> tuple[bool, object]:
    """Return by what a session is sorted; those that lack it come last."""
    row = session.row
    if order is SessionOrder.TITLE:
        return row.title is None, (row.title or "").casefold()
    if order is SessionOrder.COST:
        return row.cost is None, -Decimal(row.cost or 0)
    if order is SessionOrder.OLDEST:
        return row.last_time is None, row.last_time or 0
    return row.last_time is None, -(row.last_time or 0)
