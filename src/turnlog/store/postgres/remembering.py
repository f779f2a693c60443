"""What a store remembers when a backup takes its place.

That is what was forgotten since then, which backups there are, and what was said about people: whose the
machines are, the rules, and which sessions are shared. Else what was made private since then would be shared
again.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from psycopg import Connection

from turnlog.store.care import Backup, Tombstone
from turnlog.store.identity import Scope
from turnlog.store.people import Machine, ProjectRule, SessionAccess, Visibility
from turnlog.store.postgres.access import list_access, list_rules
from turnlog.store.postgres.backup import list_backups
from turnlog.store.postgres.people import list_machines
from turnlog.store.postgres.store import PostgresStore
from turnlog.store.postgres.tombstones import list_tombstones

__all__ = ["Memory", "carry_over", "read_memory"]


class _Said(Struct, frozen=True):
    """What was said about people."""

    machines: list[Machine]
    rules: list[ProjectRule]
    access: list[SessionAccess]


class Memory(Struct, frozen=True):
    """What must not be forgotten, by owner."""

    tombstones: dict[str, list[Tombstone]] = {}
    backups: list[Backup] = []
    said: dict[str, _Said] = {}


def read_memory(connection: Connection, *, has_people: bool) -> Memory:
    """Return what a store that is up to date must not forget; without people, it was none a moment ago."""
    query = "SELECT owner FROM tombstones UNION SELECT owner FROM sessions UNION SELECT owner FROM rules"
    owners = sorted(owner for (owner,) in connection.execute(query))
    return Memory(
        {owner: list_tombstones(connection, Scope(owner)) for owner in owners},
        list_backups(connection),
        {owner: _read_said(connection, Scope(owner)) for owner in owners if has_people},
    )


def carry_over(store: PostgresStore, memory: Memory) -> int:
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


def _read_said(connection: Connection, scope: Scope) -> _Said:
    access = list_access(connection, scope.owner, "true", {})
    return _Said(
        list_machines(connection, scope), list_rules(connection, scope.owner), [row.access for row in access]
    )


def _say(store: PostgresStore, scope: Scope, said: _Said) -> None:
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
