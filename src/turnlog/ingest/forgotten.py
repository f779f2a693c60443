"""What a sync must not bring back."""

from __future__ import annotations

import re

from turnlog.store.care import CaredStore
from turnlog.store.identity import LOCAL, Scope

__all__ = ["list_forgotten"]

# Any other name may well be another session's.
_UNIQUE = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


def list_forgotten(store: CaredStore, scope: Scope = LOCAL) -> frozenset[str]:
    """Return the keys of sessions that were forgotten, and those of their ids that are unique."""
    tombstones = store.list_tombstones(scope)
    ids = {each.session_id for each in tombstones if each.session_id and _UNIQUE.fullmatch(each.session_id)}
    return frozenset({each.key for each in tombstones} | ids)
