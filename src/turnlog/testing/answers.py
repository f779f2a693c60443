"""All that a store answers, to compare: before with after, one store with another, one owner with the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.interface import KnownSession, Store, find_known, find_sessions, read_all
from turnlog.store.lists import SessionFilter, SessionOrder
from turnlog.store.model import Place, Scope
from turnlog.store.search.language import parse_query
from turnlog.store.search.paging import Hit
from turnlog.store.usage.cells import merge_cells

Answers = dict[str, list[object]]
"""By the name of the query, what it found; a query that finds nothing has an empty list."""


_ANYTHING = parse_query("*e* OR *o*")
_MANY = 10_000
_BEGINNINGS = ("session-1-main-0", "session-1-main-1", "session-2-main-0")
"""The uuids of first lines, as `make_lines` makes them."""
_ANSWERS = ("msg-session-1-main-1", "msg-session-1-main-3", "msg-session-2-main-1")
"""The ids of answers, as it makes them."""


def collect_answers(store: Store, scope: Scope, sessions: Iterable[KnownSession] | None = None) -> Answers:
    """Ask a store everything, about the sessions that it knows or about others."""
    known = list(store.list_known(scope)) if sessions is None else list(sessions)
    asking = _Asking(
        store,
        scope,
        keys=sorted(session.key for session in known),
        sources=sorted({source.source for session in known for source in session.sources}),
        generations=[
            (source.source, generation)
            for session in known
            for source in session.sources
            for generation in range(source.generation + 1)
        ],
    )
    opened = {"open_session": [found for each in known for found in list_records(store, scope, each)]}
    return asking.ask_lists() | opened | asking.ask_usage() | asking.ask_archive()


def list_records(store: Store, scope: Scope, known: KnownSession) -> list[object]:
    """Return all that is kept of one session, and the bytes of its lines."""
    with store.open_session(scope, known.key) as session:
        found: list[object] = []
        for file in session.files:
            lines = [*file.list_lines()]
            found += [file.facts, *file.heads, *lines, *file.list_messages(), *file.list_calls()]
            found += [*file.list_events(), *file.list_sightings(), *file.list_branches()]
            found += [*file.read_raw(line.number for line in lines).items()]
        return [*found, *session.list_turns(), *session.list_agents()]


class _Asking(Struct, frozen=True):
    """A store, and what it is asked about."""

    store: Store
    scope: Scope
    keys: list[str]
    sources: list[str]
    generations: list[tuple[str, int]]

    def ask_lists(self) -> Answers:
        """Ask for sessions as a whole, and what happened to them."""
        store, scope, keys = self.store, self.scope, self.keys
        return {
            "list_known": [
                *(sort_sources(found) for found in store.list_known(scope)),
                *(sort_sources(found) for key in keys if (found := find_known(store, scope, key))),
            ],
            "find_sessions": [found for key in keys for found in find_sessions(store, scope, key)],
            "list_sessions": [
                (order, found)
                for order in SessionOrder
                for found in store.list_sessions(scope, order=order).sessions
            ]
            + [
                (uuid, found.key)
                for uuid in _BEGINNINGS
                for found in store.list_sessions(scope, SessionFilter(heads=(uuid,))).sessions
            ],
            "list_facets": _list_facets(store, scope),
            "list_projects": [*store.list_projects(scope)],
            "search": [*sorted(store.search(scope, _ANYTHING, limit=_MANY).hits, key=_by_place)],
            "read_feed": [*store.read_feed(scope, 0).entries, *filter(None, [store.read_feed(scope).last])],
        }

    def ask_usage(self) -> Answers:
        """Ask for what was used."""
        store, scope, usage = self.store, self.scope, self.store.read_usage(self.scope)
        return {
            "find_answers": [*store.read_usage(scope).find_answers(_ANSWERS)],
            "read_usage": [
                *merge_cells(usage.list_cells()),
                *sorted(usage.list_answers(), key=lambda answer: answer.message),
                *usage.list_calls(),
                *usage.list_reported(),
            ],
        }

    def ask_archive(self) -> Answers:
        """Ask for bytes."""
        store, scope = self.store, self.scope
        return {
            "list_generations": [
                (source, *found)
                for source in self.sources
                for found in store.archive.list_generations(scope, source)
            ],
            "read": [
                (at, data)
                for source, generation in self.generations
                for at in (Place(source, generation, 0),)
                for data in _try_read(store, scope, at)
            ],
            "read_all": [
                (source, generation, data)
                for source, generation in self.generations
                if (data := read_bytes(store, scope, source, generation)) is not None
            ],
        }


def read_bytes(store: Store, scope: Scope, source: str, generation: int) -> bytes | None:
    """Return the bytes of a whole generation; None if there is none."""
    try:
        data = b"".join(read_all(store.archive, scope, source, generation))
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


def _list_facets(store: Store, scope: Scope) -> list[object]:
    found = store.list_facets(scope)
    return [*found.models, *found.branches, *found.tags]


def _by_place(hit: Hit) -> tuple[str, int, int]:
    return hit.source or "", hit.line or 0, hit.ordinal
