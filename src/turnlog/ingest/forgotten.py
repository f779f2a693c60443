"""What was forgotten: what a sync must not bring back, and where copies of it are left."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from turnlog.store.interface import CaredStore, Tombstone
from turnlog.store.model import LOCAL, Scope
from turnlog.store.opening import find_in_backup

# Any other name may well be another session's.
_UNIQUE = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


class Holding(Struct, frozen=True, gc=False):
    """Copies of a store, by what they have of some sessions."""

    holding: tuple[str, ...]
    """The paths of those that have some."""
    unknown: tuple[str, ...]
    """Of those that may: they are not where they were made, or cannot be read."""


def list_forgotten(store: CaredStore, scope: Scope = LOCAL) -> frozenset[str]:
    """Return the keys of sessions that were forgotten, and those of their ids that are unique."""
    tombstones = store.list_tombstones(scope)
    ids = {each.session_id for each in tombstones if each.session_id and _UNIQUE.fullmatch(each.session_id)}
    return frozenset({each.key for each in tombstones} | ids)


def find_tombstones(store: CaredStore, name: str, scope: Scope = LOCAL) -> list[Tombstone]:
    """Return what is left of the sessions whose id or key begins with a name; what has it in full is meant."""
    found = [
        each
        for each in store.list_tombstones(scope)
        if each.key.startswith(name) or (each.session_id or "").startswith(name)
    ]
    exact = [each for each in found if name in (each.key, each.session_id)]
    return exact or found


def list_holding(store: CaredStore, keys: Sequence[str], scope: Scope = LOCAL) -> Holding:
    """Return the backups that have some of a few sessions."""
    found = [(backup.path, find_in_backup(backup, scope, keys)) for backup in store.list_backups()]
    return Holding(
        tuple(path for path, held in found if held), tuple(path for path, held in found if held is None)
    )
