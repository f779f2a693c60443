"""Reading what a store must not forget when a backup takes its place (`turnlog.store.remembering`)."""

from __future__ import annotations

from turnlog.store.clickhouse.store import ClickHouseStore
from turnlog.store.identity import Scope
from turnlog.store.packing import unpack_text
from turnlog.store.people import SessionAccess, Visibility
from turnlog.store.remembering import Memory, Said

__all__ = ["read_memory"]

_OWNERS = "SELECT owner FROM @tombstones UNION SELECT owner FROM @machines UNION SELECT owner FROM @rules"
_ACCESS = """
SELECT key, origin, person, chosen, rule, shared FROM sessions FINAL WHERE owner = {owner:String} ORDER BY key
"""


def read_memory(store: ClickHouseStore) -> Memory:
    """Return what a store must not forget."""
    told = {owner for (owner,) in store._control.read(lambda execute: execute(_OWNERS))}
    kept = {unpack_text(owner) for (owner,) in store._engine.query("SELECT DISTINCT owner FROM sessions")}
    owners = sorted(told | kept)
    return Memory(
        {owner: store.list_tombstones(Scope(owner)) for owner in owners},
        store.list_backups(),
        {owner: _read_said(store, Scope(owner)) for owner in owners},
    )


def _read_said(store: ClickHouseStore, scope: Scope) -> Said:
    rows = store._engine.query(_ACCESS, {"owner": scope.owner})
    access = [
        SessionAccess(
            key=unpack_text(key),
            origin=unpack_text(origin),
            person=unpack_text(person),
            chosen=None if chosen is None else _show(chosen),
            rule=unpack_text(rule),
            visibility=_show(shared),
        )
        for key, origin, person, chosen, rule, shared in rows
    ]
    return Said(store.list_machines(scope), store.list_rules(scope), access)


def _show(shared: bool) -> Visibility:
    return Visibility.TEAM if shared else Visibility.PRIVATE
