"""Two stores that are told the same about usage: whatever came first, both tell the same of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count

from turnlog.store.care import CaredStore
from turnlog.store.identity import Scope
from turnlog.store.usage.building import build_report
from turnlog.store.usage.cells import merge_cells
from turnlog.store.usage.grouping import UsageQuery
from turnlog.store.usage.recounting import RecountedUsage, list_differences
from turnlog.store.usage.report import Grouping, UsageReport
from turnlog.testing.builders import make_key
from usage_sightings import SESSIONS, Files, say

__all__ = ["NOW", "Stores", "compare_orders", "compare_steps", "owners", "report"]

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
Stores = tuple[CaredStore, CaredStore]
owners = (Scope(f"owner-{number}") for number in count())
"""Each is somebody new: what others have done makes no difference."""


def report(store: CaredStore, scope: Scope, by: Grouping) -> UsageReport:
    return build_report(store.read_usage(scope), UsageQuery(zone=UTC, now=NOW, by=by))


def compare_steps(stores: Stores, steps: Sequence[tuple[str, str, Files | None]]) -> None:
    """Tell both stores the same, step by step, and compare what they tell."""
    scopes = {"local": next(owners), "guest": next(owners)}
    forgotten = set()
    for number, (name, session, said) in enumerate(steps):
        scope = scopes[name]
        if said is None:
            done = [store.forget(scope, [make_key(session)]).sessions for store in stores]
            assert done[0] == done[1]
            forgotten |= {(name, session)} if done[0] else set()
        elif (name, session) not in forgotten:
            for store in stores:
                say(store, scope.owner, session, said, number + 1)
    for scope in scopes.values():
        _check(stores[0], scope, stores[1], scope)


def compare_orders(store: CaredStore, said: dict[str, Files], order: Sequence[str]) -> None:
    """Tell a store of sessions in two orders, and compare what it tells."""
    one, other = next(owners), next(owners)
    for session in SESSIONS:
        say(store, one.owner, session, said[session], 1)
    for session in order:
        say(store, other.owner, session, said[session], 1)
    _check(store, one, store, other)


def _check(store: CaredStore, scope: Scope, other: CaredStore, other_scope: Scope) -> None:
    """Check that two owners are told the same, and that it is what there is to be told."""
    usage = store.read_usage(scope)
    assert list_differences(usage, RecountedUsage(store, scope)) == []
    assert merge_cells(usage.list_cells()) == merge_cells(other.read_usage(other_scope).list_cells())
    for by in Grouping:
        assert report(store, scope, by) == report(other, other_scope, by)
