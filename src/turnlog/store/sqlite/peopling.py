"""The part of the embedded store that knows whose sessions are whose."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import apsw

from turnlog.store.identity import Scope
from turnlog.store.people import Machine, ProjectRule, SessionAccess, Visibility
from turnlog.store.sqlite import people
from turnlog.store.sqlite.connection import translate
from turnlog.store.sqlite.queries import Queries
from turnlog.store.sqlite.usage_writing import UsageKeeper

__all__ = ["Peopling"]


class Peopling:
    """What `SqliteStore` does for people."""

    _path: Path
    _usage: UsageKeeper

    def note_machine(
        self, scope: Scope, origin: str, *, person: str | None, host: str, user: str, at_ns: int
    ) -> Machine:
        """Remember that something came from a machine, and whose it is; its sessions are theirs from now on."""
        with self._writing() as connection:
            affect = self._usage.affect
            people.note_machine(connection, scope, origin, person, host, user, at_ns, affect)
            [machine] = people.list_machines(connection, Scope(scope.owner), origin)
        if scope.viewer is None:
            return machine
        return next((each for each in self.list_machines(scope) if each.origin == origin), machine)

    def list_machines(self, scope: Scope) -> list[Machine]:
        """Return machines by host, user and origin."""
        with translate(self._path):
            return people.list_machines(self._ask(scope).connection, scope)

    def assign_machine(self, scope: Scope, origin: str, person: str | None) -> int:
        """Say whose a machine is, whatever was said before, and return how many sessions are affected."""
        with self._writing() as connection:
            return people.assign_machine(connection, scope, origin, person, self._usage.affect)

    def find_access(self, scope: Scope, key: str) -> SessionAccess | None:
        """Return who may see a session; None if it is not there."""
        with translate(self._path):
            return people.find_access(self._ask(scope).connection, scope, key)

    def list_visible(self, scope: Scope, names: Collection[str]) -> set[str]:
        """Return which of some sessions may be seen: by keys, or ids for those that only hooks told of."""
        with translate(self._path):
            return people.list_visible(self._ask(scope).connection, scope, names)

    def set_visibility(
        self, scope: Scope, keys: Sequence[str], chosen: Visibility | None
    ) -> list[SessionAccess]:
        """Say who sees sessions, and return those of which it was not so before."""
        with self._writing() as connection:
            return people.set_visibility(connection, scope, keys, chosen, self._usage.affect)

    def list_rules(self, scope: Scope) -> list[ProjectRule]:
        """Return the rules for projects, by pattern; everybody may know them."""
        with translate(self._path):
            return people.list_rules(self._ask(scope).connection, scope)

    def set_rule(self, scope: Scope, pattern: str, visibility: Visibility | None) -> int:
        """Set or (with None) remove a rule, and return how many sessions others see, or don't, by that."""
        with self._writing() as connection:
            return people.set_rule(connection, scope, pattern, visibility, self._usage.affect)

    def weigh_rule(self, scope: Scope, pattern: str, visibility: Visibility | None) -> int:
        """Return what `set_rule` would; nothing is changed."""
        with translate(self._path):
            return people.weigh_rule(self._ask().connection, Scope(scope.owner), pattern, visibility)

    def _writing(self) -> AbstractContextManager[apsw.Connection]:
        raise NotImplementedError

    def _ask(self, scope: Scope | None = None) -> Queries:
        raise NotImplementedError
