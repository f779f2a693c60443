"""All that a store answers, to compare: before with after, one store with another, one owner with the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from turnlog.store.identity import Place, Scope
from turnlog.store.interface import KnownSession, Store
from turnlog.store.lists import SessionOrder
from turnlog.store.search.hits import Hit
from turnlog.store.search.parsing import parse_query
from turnlog.store.usage.cells import merge_cells

__all__ = ["Answers", "collect_answers", "read_bytes", "sort_sources"]

Answers = dict[str, list[object]]
"""By the name of the query, what it found; a query that finds nothing has an empty list."""


_ANYTHING = parse_query("*e* OR *o*")
_MANY = 10_000


def collect_answers(store: Store, scope: Scope, sessions: Iterable[KnownSession] | None = None) -> Answers:
    """Ask a store everything, about the sessions that it knows or about others."""
    known = list(store.list_known(scope)) if sessions is None else list(sessions)
    sources = sorted({source.source for session in known for source in session.sources})
    keys = sorted(session.key for session in known)
    generations = [
        (source, generation)
        for session in known
        for source, newest in ((found.source, found.generation) for found in session.sources)
        for generation in range(newest + 1)
    ]
    answers: Answers = {
        "find_known": [sort_sources(found) for key in keys if (found := store.find_known(scope, key))],
        "list_known": [sort_sources(found) for found in store.list_known(scope)],
        "find_sessions": [found for key in keys for found in store.find_sessions(scope, key)],
        "list_sessions": [
            (order, found)
            for order in SessionOrder
            for found in store.list_sessions(scope, order=order).sessions
        ],
        "list_projects": [*store.list_projects(scope)],
        "find_marks": [(key, marks) for key in keys if (marks := store.find_marks(scope, key))],
        "list_tags": [*store.list_tags(scope).items()],
        "search": [*sorted(store.search(scope, _ANYTHING, limit=_MANY).hits, key=_by_place)],
        "list_lines": [
            (source, generation, fact)
            for source, generation in generations
            for fact in store.list_lines(scope, source, generation)
        ],
        "list_messages": [
            (key, source, row)
            for key in keys
            for source in (None, *sources)
            for row in store.list_messages(scope, key, source=source)
        ],
        "list_placements": [
            (key, row)
            for key in keys
            for source in sources
            for row in store.list_placements(scope, key, source)
        ],
        "list_calls": [
            (key, source, row)
            for key in keys
            for source in (None, *sources)
            for row in store.list_calls(scope, key, source=source)
        ],
        "list_turns": [(key, row) for key in keys for row in store.list_turns(scope, key)],
        "list_agents": [(key, row) for key in keys for row in store.list_agents(scope, key)],
        "list_sightings": [
            *(
                (key, source, row)
                for key in keys
                for source in (None, *sources)
                for row in store.list_sightings(scope, key, source=source)
            ),
            *sorted(store.list_sightings(scope), key=lambda row: (row.source, row.index)),
        ],
        "read_usage": [
            *merge_cells(store.read_usage(scope).list_cells()),
            *sorted(store.read_usage(scope).list_answers(), key=lambda answer: answer.message),
            *store.read_usage(scope).list_calls(),
            *store.read_usage(scope).list_reported(),
        ],
        "list_changes": [*store.list_changes(scope)],
        "find_last_change": [seq for seq in (store.find_last_change(scope),) if seq],
        "list_generations": [
            (source, *found) for source in sources for found in store.archive.list_generations(scope, source)
        ],
        "read": [
            (at, data)
            for source, generation in generations
            for at in (Place(source, generation, 0),)
            for data in _try_read(store, scope, at)
        ],
        "read_all": [
            (source, generation, data)
            for source, generation in generations
            if (data := read_bytes(store, scope, source, generation)) is not None
        ],
    }
    return answers


def read_bytes(store: Store, scope: Scope, source: str, generation: int) -> bytes | None:
    """Return the bytes of a whole generation; None if there is none."""
    try:
        data = b"".join(store.archive.read_all(scope, source, generation))
    except KeyError:
        return None
    return data if data or generation in dict(store.archive.list_generations(scope, source)) else None


def sort_sources(session: KnownSession) -> KnownSession:
    """Return what is known of a session with its files in one order, which stores need not keep."""
    return replace(session, sources=tuple(sorted(session.sources, key=lambda source: source.source)))


def _try_read(store: Store, scope: Scope, at: Place) -> Iterator[bytes]:
    try:
        yield store.archive.read(scope, at, 1)
    except KeyError:
        return


def _by_place(hit: Hit) -> tuple[str, int, int]:
    return hit.source or "", hit.line or 0, hit.ordinal
