"""From counts of actions to all of them at a glance, for every engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from turnlog.store.actions import ActionTally, TimeSpan

__all__ = ["ActionCount", "build_tally"]


class ActionCount(Struct, frozen=True, gc=False):
    """Actions of one category and name in one span of time."""

    category: str
    name: str
    span: int
    """Which one, from 0; below it for those without a time."""
    actions: int
    failed: int
    wanted: int


def build_tally(counts: Iterable[ActionCount], first: int, width: int) -> ActionTally:
    """Return actions at a glance; spans are `width` microseconds long, and begin with `first`."""
    categories: Counter[str] = Counter()
    names: Counter[str] = Counter()
    actions: Counter[int] = Counter()
    failures: Counter[int] = Counter()
    total = 0
    for count in counts:
        categories[count.category] += count.actions
        names[count.name] += count.actions
        actions[count.span] += count.actions
        failures[count.span] += count.failed
        total += count.wanted
    spans = tuple(
        TimeSpan(first + span * width, first + (span + 1) * width, actions[span], failures[span])
        for span in sorted(actions)
        if span >= 0
    )
    return ActionTally(
        total=total,
        counts=dict(sorted(categories.items())),
        names=dict(sorted(names.items())),
        failed=sum(failures.values()),
        spans=spans,
    )
