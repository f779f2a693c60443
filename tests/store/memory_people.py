"""People in memory: what is said is kept, and what follows is found out whenever it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from secrets import token_hex
from time import time_ns

from msgspec.structs import replace

from store.memory_seeing import find_state, is_own, see
from store.memory_state import State
from turnlog.errors import TakenMachineError
from turnlog.store.catalogue.people import AccessState
from turnlog.store.interface import ChangeEntry, ChangeKind
from turnlog.store.model import Machine, ProjectRule, Scope, SessionAccess, Visibility


class Shared:
    """What all handles of one store look at."""

    def __init__(self) -> None:
        self.state = State()
        self.writes = 0
        self.epoch = token_hex(8)


class MemoryPeople:
    """What the store in memory does for people."""

    _shared: Shared

    def save_machine(
        self,
        scope: Scope,
        origin: str,
        *,
        person: str | None = None,
        host: str = "",
        user: str = "",
        at_ns: int | None = None,
        reassign: bool = False,
    ) -> Machine:
        state, place = self._shared.state, (scope.owner, origin)
        if reassign:
            saved = replace(state.machines[place], person=person)
        else:
            saved = self._note(place, person, host, user, time_ns() if at_ns is None else at_ns)
        self._change(scope, lambda: state.machines.update({place: saved}))
        return next(each for each in self.list_machines(Scope(scope.owner)) if each.origin == origin)

    def _note(self, place: tuple[str, str], person: str | None, host: str, user: str, at_ns: int) -> Machine:
        state, (_, origin) = self._shared.state, place
        known = state.machines.get(place) or Machine(origin=origin, first_ns=at_ns, last_ns=at_ns)
        if person is not None and known.person not in (None, person):
            raise TakenMachineError(origin)
        return Machine(
            origin=origin,
            person=known.person or person,
            host=host or known.host,
            user=user or known.user,
            first_ns=min(known.first_ns, at_ns),
            last_ns=max(known.last_ns, at_ns),
        )

    def list_machines(self, scope: Scope) -> list[Machine]:
        state = see(self._shared.state, scope)
        origins = [session.origin for session in state.owners.get(scope.owner, {}).values()]
        found = [
            replace(machine, sessions=origins.count(origin))
            for (owner, origin), machine in state.machines.items()
            if owner == scope.owner
        ]
        return sorted(found, key=lambda each: (each.host, each.user, each.origin))

    def list_access(self, scope: Scope, keys: Collection[str] | None = None) -> list[SessionAccess]:
        seen = see(self._shared.state, scope).owners.get(scope.owner, {})
        return [
            find_state(self._shared.state, scope.owner, session).describe(key, session.origin)
            for key, session in sorted(seen.items())
            if keys is None or key in keys
        ]

    def set_visibility(
        self, scope: Scope, keys: Sequence[str], chosen: Visibility | None
    ) -> list[SessionAccess]:
        state, done = self._shared.state, []
        for key in dict.fromkeys(keys):
            place = scope.owner, key
            if is_own(state, scope, key) and state.chosen.get(place) is not chosen:

                def choose(place: tuple[str, str] = place) -> None:
                    state.chosen.pop(place, None)
                    state.chosen.update({} if chosen is None else {place: chosen})

                self._change(scope, choose)
                done += self.list_access(Scope(scope.owner), [key])
        return done

    def list_rules(self, scope: Scope) -> list[ProjectRule]:
        rules = sorted(self._shared.state.rules.items())
        return [ProjectRule(pattern, each) for (owner, pattern), each in rules if owner == scope.owner]

    def set_rule(
        self, scope: Scope, pattern: str, visibility: Visibility | None, *, dry_run: bool = False
    ) -> int:
        if dry_run:
            before = deepcopy(self._shared.state)
            found = self.set_rule(scope, pattern, visibility)
            self._shared.state = before
            return found
        rules, place = self._shared.state.rules, (scope.owner, pattern)

        def change() -> None:
            rules.pop(place, None)
            rules.update({} if visibility is None else {place: visibility})

        return self._change(scope, change)

    def _change(self, scope: Scope, change: Callable[[], None]) -> int:
        """Change something; tell of sessions that others see by that, or whose they are; count the former."""
        before = self._list_states(scope.owner)
        change()
        shown = 0
        for key, now in sorted(self._list_states(scope.owner).items()):
            was = before[key]
            shown += now.shared != was.shared
            if (now.person, now.shared) != (was.person, was.shared):
                self._tell(scope.owner, key, was, now)
        return shown

    def _list_states(self, owner: str) -> dict[str, AccessState]:
        state = self._shared.state
        return {key: find_state(state, owner, session) for key, session in state.owners.get(owner, {}).items()}

    def _tell(self, owner: str, key: str, was: AccessState, now: AccessState) -> None:
        state = self._shared.state
        entry = ChangeEntry(
            seq=len(state.entries) + 1,
            kind=ChangeKind.SESSION_ACCESS,
            session=key,
            revision=state.owners[owner][key].revision,
            at_ns=0,
        )
        state.entries.append((owner, entry))
        state.audiences[entry.seq] = now.person, was.person, now.shared or was.shared
