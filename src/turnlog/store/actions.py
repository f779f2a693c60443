"""The action log: all calls, events and hook events of a session, in one order.

Calls and events stand where their files have them. Files, and what hooks told, are put together by time: by the
latest time that a file had reached there, and the time at which a delivery came. Lines that tell of a hook
event which was delivered are left out; how long it took and whether it failed is then told with the delivery.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from turnlog.store.identity import Scope

__all__ = [
    "ENDING_EVENTS",
    "EVERY_ACTION",
    "ActionFilter",
    "ActionKind",
    "ActionOutline",
    "ActionPoint",
    "ActionStore",
    "ActionTally",
    "TimeSpan",
]

ENDING_EVENTS = ("Stop", "StopFailure", "SessionEnd", "SessionStart")
"""Hook events after which no call of before is still running."""


class ActionKind(StrEnum):
    """What tells of an action."""

    CALL = "call"
    EVENT = "event"
    HOOK = "hook"


class ActionPoint(Struct, frozen=True, gc=False, array_like=True, order=True):
    """Where an action stands among the others; they are ordered by all of it."""

    at: int
    """In microseconds since 1970; 0 if it is not known."""
    rank: int
    """0 in the transcript, 1 in an agent's file, 2 for what a hook told."""
    name: str
    """Of the file, or the id of the delivery."""
    line: int = 0
    part: int = 0
    """Within the line: 0 for an event, from 1 on for its calls."""


class ActionOutline(Struct, frozen=True, gc=False, kw_only=True):
    """What of an action is ordered and filtered by."""

    kind: ActionKind
    point: ActionPoint
    number: int
    """The index of the call, the number of the event's line, or the number of the delivery."""
    category: str
    state: str
    name: str
    duration_ms: int | None = None


class ActionFilter(Struct, frozen=True, gc=False, kw_only=True):
    """Which actions are wanted; None is any."""

    categories: tuple[str, ...] | None = None
    states: tuple[str, ...] | None = None
    """`transcripts.actions.ActionState`."""
    name: str | None = None
    min_ms: int | None = None


EVERY_ACTION = ActionFilter()


class TimeSpan(Struct, frozen=True, gc=False, array_like=True):
    """How much happened in a stretch of time, in microseconds since 1970."""

    since: int
    until: int
    """Not any more in it."""
    actions: int
    failed: int


class ActionTally(Struct, frozen=True, gc=False, kw_only=True):
    """All actions of a session at a glance."""

    total: int
    """Of those that are wanted."""
    counts: Mapping[str, int]
    """By category, wanted or not."""
    names: Mapping[str, int]
    """By name, wanted or not."""
    failed: int
    spans: tuple[TimeSpan, ...]
    """Those with any; actions without a time are in none."""


class ActionStore(Protocol):
    """What is asked of the action log."""

    def list_actions(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        where: ActionFilter = EVERY_ACTION,
        *,
        after: ActionPoint | None = None,
        after_ms: int | None = None,
        slowest: bool = False,
        count: int = 100,
    ) -> list[ActionOutline]:
        """Return the actions that are wanted, behind a point; the slowest first, if they are to be.

        Then only those whose duration is known are there, and `after_ms` is that of the action at the point.
        """

    def tally_actions(
        self,
        scope: Scope,
        key: str,
        session_id: str,
        where: ActionFilter = EVERY_ACTION,
        *,
        spans: int = 120,
    ) -> ActionTally:
        """Return all actions at a glance, over time in no more than so many spans of the same length."""
