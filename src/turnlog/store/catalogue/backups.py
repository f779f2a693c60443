"""Copies of a store, remembered; and what a store must not forget when one is put in its place.

What was forgotten since a copy was made is forgotten in it, too, and the list of copies goes on. So does what
was said about people: whose the machines are, the rules, and which sessions are shared. Else what was made
private since then would be shared again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct

from turnlog.store.catalogue.database import Connection, Database, pack_text, unpack_text
from turnlog.store.catalogue.feed import renew_epoch
from turnlog.store.catalogue.forgetting import bury, list_tombstones
from turnlog.store.catalogue.people import list_access, list_machines, list_rules
from turnlog.store.identity import LOCAL
from turnlog.store.maintenance import Backup, CaredStore, Tombstone
from turnlog.store.people import Machine, ProjectRule, SessionAccess, Visibility


def record_backup(connection: Connection, backup: Backup) -> None:
    """Remember that a copy was made, in the transaction of the caller."""
    connection.execute(
        "INSERT INTO backups VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET at_ns = excluded.at_ns",
        (pack_text(backup.path), backup.at_ns),
    )


def list_backups(connection: Connection) -> list[Backup]:
    """Return the copies that were made, by time."""
    rows = connection.execute("SELECT path, at_ns FROM backups ORDER BY at_ns, path")
    return [Backup(unpack_text(path), at_ns, _size_of(unpack_text(path))) for path, at_ns in rows]


class Memory(Struct, frozen=True):
    """What a store must not forget."""

    tombstones: Sequence[Tombstone] = ()
    backups: Sequence[Backup] = ()
    machines: Sequence[Machine] = ()
    rules: Sequence[ProjectRule] | None = None
    """None if the store could not be read."""
    access: Sequence[SessionAccess] = ()


def read_memory(connection: Connection) -> Memory:
    """Return what the present store must not forget."""
    return Memory(
        list_tombstones(connection, LOCAL),
        list_backups(connection),
        list_machines(connection, LOCAL),
        list_rules(connection, LOCAL),
        list_access(connection, LOCAL),
    )


def carry_over(database: Database, store: CaredStore, memory: Memory) -> int:
    """Bring a copy up to what is remembered; return how many of its sessions are forgotten by that."""
    forgotten = store.forget(LOCAL, [each.key for each in memory.tombstones]).sessions

    def remember(connection: Connection) -> None:
        for tombstone in memory.tombstones:
            bury(connection, LOCAL, tombstone)
        for backup in memory.backups:
            record_backup(connection, backup)
        renew_epoch(connection)

    database.write(remember)
    if memory.rules is not None:
        _carry_people_over(store, memory, memory.rules)
    return forgotten


def _carry_people_over(store: CaredStore, memory: Memory, rules: Sequence[ProjectRule]) -> None:
    for machine in memory.machines:
        store.save_machine(LOCAL, machine.origin, host=machine.host, user=machine.user, at_ns=machine.last_ns)
        store.save_machine(LOCAL, machine.origin, person=machine.person, reassign=True)
    for former in store.list_rules(LOCAL):
        if former not in rules:
            store.set_rule(LOCAL, former.pattern, None)
    for rule in rules:
        store.set_rule(LOCAL, rule.pattern, rule.visibility)
    for chosen in (None, *Visibility):
        store.set_visibility(LOCAL, [each.key for each in memory.access if each.chosen is chosen], chosen)


def _size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return None
