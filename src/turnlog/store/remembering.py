"""What a store remembers when a backup takes its place.

That is what was forgotten since then, which backups there are, and what was said about people: whose the
machines are, the rules, and which sessions are shared. Else what was made private since then would be shared
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from turnlog.store.care import Backup, CaredStore, Tombstone
from turnlog.store.identity import Scope
from turnlog.store.people import Machine, ProjectRule, SessionAccess, Visibility

__all__ = ["Memory", "RestorableStore", "Said", "carry_over"]


class Said(Struct, frozen=True):
    """What was said about people."""

    machines: list[Machine]
    rules: list[ProjectRule]
    access: list[SessionAccess]


class Memory(Struct, frozen=True):
    """What must not be forgotten, by owner."""

    tombstones: dict[str, list[Tombstone]] = {}
    backups: list[Backup] = []
    said: dict[str, Said] = {}


class RestorableStore(CaredStore, Protocol):
    """A store that can be told what another one knew."""

    def bury(self, scope: Scope, tombstones: Sequence[Tombstone]) -> None:
        """Add tombstones that another copy of this store has."""

    def record_backup(self, backup: Backup) -> None:
        """Remember that a copy was made."""

    def renew_epoch(self) -> None:
        """Give the feed another name: what was numbered before means nothing here."""


def carry_over(store: RestorableStore, memory: Memory) -> int:
    """Tell a restored store; return how many of its sessions were forgotten since."""
    forgotten = 0
    for owner, buried in memory.tombstones.items():
        forgotten += store.forget(Scope(owner), [each.key for each in buried]).sessions
        store.bury(Scope(owner), buried)
    for backup in memory.backups:
        store.record_backup(backup)
    for owner, said in memory.said.items():
        _say(store, Scope(owner), said)
    store.renew_epoch()
    return forgotten


def _say(store: RestorableStore, scope: Scope, said: Said) -> None:
    for machine in said.machines:
        names = {"host": machine.host, "user": machine.user}
        store.note_machine(scope, machine.origin, person=None, at_ns=machine.last_ns, **names)
        store.assign_machine(scope, machine.origin, machine.person)
    for former in store.list_rules(scope):
        if former not in said.rules:
            store.set_rule(scope, former.pattern, None)
    for rule in said.rules:
        store.set_rule(scope, rule.pattern, rule.visibility)
    for chosen in (None, *Visibility):
        store.set_visibility(scope, _list_keys(said.access, chosen), chosen)


def _list_keys(access: Iterable[SessionAccess], chosen: Visibility | None) -> list[str]:
    return [each.key for each in access if each.chosen is chosen]
