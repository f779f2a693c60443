"""What a viewer sees of a store in memory: a state that has nothing else."""

from __future__ import annotations

from msgspec.structs import replace

from store.memory_state import Session, State
from turnlog.store.catalogue.people import AccessState, RuleMatcher
from turnlog.store.interface import ChangeEntry, ChangeKind
from turnlog.store.model import ProjectRule, Scope, Viewer


def find_state(state: State, owner: str, session: Session) -> AccessState:
    """Return who may see a session."""
    machine = state.machines.get((owner, session.origin))
    rules = RuleMatcher(
        ProjectRule(pattern, each) for (whose, pattern), each in state.rules.items() if whose == owner
    )
    project = None if session.derived is None else session.derived.session.project
    person = None if machine is None else machine.person
    return rules.build_state(person, state.chosen.get((owner, session.key)), project)


def is_own(state: State, scope: Scope, key: str) -> bool:
    """Tell whether a session is there, and may be changed within a scope."""
    session = state.owners.get(scope.owner, {}).get(key)
    if session is None or scope.viewer is None:
        return session is not None
    person = find_state(state, scope.owner, session).person
    return person is not None and person == scope.viewer.person


def see(state: State, scope: Scope) -> State:
    """Return a state with only what may be seen within a scope."""
    if scope.viewer is None:
        return state
    owner, viewer = scope.owner, scope.viewer
    sessions = state.owners.get(owner, {})
    access = {key: find_state(state, owner, session) for key, session in sessions.items()}
    seen = {
        key: each for key, each in sessions.items() if _is_seen(viewer, access[key]) or key == viewer.session
    }
    origins = {session.origin for session in seen.values()}
    return State(
        owners={owner: {key: _mask(session, access, seen) for key, session in seen.items()}},
        entries=[
            (whose, entry)
            for whose, entry in state.entries
            if whose == owner and _tells(state, viewer, entry, seen)
        ],
        marks=[entry for entry in state.marks if entry.owner == owner and entry.session in seen],
        audiences=state.audiences,
        machines={
            place: machine
            for place, machine in state.machines.items()
            if place[0] == owner and (_is_whose(viewer, machine.person) or place[1] in origins)
        },
        rules=state.rules,
        chosen=state.chosen,
    )


def _is_seen(viewer: Viewer, access: AccessState) -> bool:
    return _is_whose(viewer, access.person) or (viewer.team and access.shared)


def _is_whose(viewer: Viewer, person: str | None) -> bool:
    return person is not None and person == viewer.person


def _tells(state: State, viewer: Viewer, entry: ChangeEntry, seen: dict[str, Session]) -> bool:
    if entry.kind is not ChangeKind.SESSION_ACCESS:
        return entry.session in seen
    person, former, shared = state.audiences[entry.seq]
    return (
        _is_whose(viewer, person)
        or _is_whose(viewer, former)
        or (viewer.team and shared)
        or entry.session == viewer.session
    )


def _mask(session: Session, access: dict[str, AccessState], seen: dict[str, Session]) -> Session:
    """Return a session that names no other that is hidden, or somebody else's."""
    sources = {
        name: replace(source, copied_from=None)
        if source.copied_from not in seen or access[source.copied_from].person != access[session.key].person
        else source
        for name, source in session.sources.items()
    }
    return replace(session, sources=sources)
