"""Reading what a store must not forget when a backup takes its place (`turnlog.store.remembering`)."""

from __future__ import annotations

from psycopg import Connection

from turnlog.store.identity import Scope
from turnlog.store.postgres.access import list_access, list_rules
from turnlog.store.postgres.backup import list_backups
from turnlog.store.postgres.people import list_machines
from turnlog.store.postgres.tombstones import list_tombstones
from turnlog.store.remembering import Memory, Said

__all__ = ["read_memory"]


def read_memory(connection: Connection, *, has_people: bool) -> Memory:
    """Return what a store that is up to date must not forget; without people, it was none a moment ago."""
    query = "SELECT owner FROM tombstones UNION SELECT owner FROM sessions UNION SELECT owner FROM rules"
    owners = sorted(owner for (owner,) in connection.execute(query))
    return Memory(
        {owner: list_tombstones(connection, Scope(owner)) for owner in owners},
        list_backups(connection),
        {owner: _read_said(connection, Scope(owner)) for owner in owners if has_people},
    )


def _read_said(connection: Connection, scope: Scope) -> Said:
    access = list_access(connection, scope.owner, "true", {})
    return Said(
        list_machines(connection, scope), list_rules(connection, scope.owner), [row.access for row in access]
    )
