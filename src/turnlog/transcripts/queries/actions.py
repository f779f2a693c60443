"""The action log: all calls, events and hook events of a session, in one order.

Calls and events stand where their files have them. Files, and what hooks told, are put together by time: by the
latest time that a file had reached there, and the time at which a delivery came. Lines that tell of a hook
event which was delivered are left out; how long it took and whether it failed is then told with the delivery.

A page begins at the segment that has its first action, and reads on until it is full.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from heapq import merge, nsmallest
from itertools import islice
from operator import attrgetter

from msgspec import Struct

from turnlog.transcripts.actions import CALL_STATES, FAILED_HOOKS, TOLD_FAILURES, ActionState
from turnlog.transcripts.hooks.deliveries import DeliveryFilter, HookDelivery, match_lines
from turnlog.transcripts.kinds import CallState, Category
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.timeline import FIRST_EVENTS, SessionTimeline
from turnlog.transcripts.records import CallRecord, EventRecord

_ENDING_EVENTS = ("Stop", "StopFailure", "SessionEnd", "SessionStart")
"""Hook events after which no call of before is still running."""
_HOOKS = 2
"""The rank of what hooks told."""
_AT_ONCE = 1000


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


class Action(Struct, frozen=True, gc=False, kw_only=True):
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

    def accepts(self, action: Action) -> bool:
        """Tell whether an action is wanted."""
        took = action.duration_ms
        return (
            (self.categories is None or action.category in self.categories)
            and (self.states is None or action.state in self.states)
            and self.name in (None, action.name)
            and (self.min_ms is None or (took is not None and took >= self.min_ms))
        )


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


class _Told(Struct, frozen=True, gc=False):
    """What lines say of a delivery."""

    failed: bool
    took: int | None


_NOTHING = _Told(False, None)
_point = attrgetter("point")


class SessionActions(SessionTimeline):
    """All questions about one session, the action log among them."""

    def list_actions(
        self,
        where: ActionFilter = EVERY_ACTION,
        *,
        after: ActionPoint | None = None,
        after_ms: int | None = None,
        slowest: bool = False,
        count: int = 100,
    ) -> list[Action]:
        """Return the actions that are wanted, behind a point; the slowest first, if they are to be.

        Then only those whose duration is known are there, and `after_ms` is that of the action at the point.
        """
        if not slowest:
            found = self._list_from(0 if after is None else after.at)
            behind = (each for each in found if after is None or each.point > after)
            return list(islice(filter(where.accepts, behind), count))
        timed = (each for each in self._list_from(0) if each.duration_ms is not None and where.accepts(each))
        if after is not None and after_ms is not None:
            last = -after_ms, after
            timed = (each for each in timed if _rank_slowest(each) > last)
        return nsmallest(count, timed, key=_rank_slowest)

    def tally_actions(self, where: ActionFilter = EVERY_ACTION, *, spans: int = 120) -> ActionTally:
        """Return all actions at a glance, over time in no more than so many spans of the same length."""
        actions = list(self._list_from(0))
        hidden = [event.reached or 0 for each in self._hidden.values() for event in each.values()]
        times = [at for at in (*(each.point.at for each in actions), *hidden) if at > 0]
        first, last = min(times, default=0), max(times, default=0)
        width = max(-(-(last - first + 1) // spans), 1)
        numbers: Counter[int] = Counter()
        failures: Counter[int] = Counter()
        for each in actions:
            if each.point.at > 0:
                span = (each.point.at - first) // width
                numbers[span] += 1
                failures[span] += each.state == ActionState.FAILED
        return ActionTally(
            total=len(actions) if where == EVERY_ACTION else sum(map(where.accepts, actions)),
            counts=dict(sorted(Counter(each.category for each in actions).items())),
            names=dict(sorted(Counter(each.name for each in actions).items())),
            failed=sum(each.state == ActionState.FAILED for each in actions),
            spans=tuple(
                TimeSpan(first + at * width, first + (at + 1) * width, numbers[at], failures[at])
                for at in sorted(numbers)
            ),
        )

    def _list_from(self, at: int) -> Iterator[Action]:
        """Yield all actions in order, none left out that is at a time or later."""
        parts = [self._list_chapter(chapter, at) for chapter in self.chapters]
        return merge(*parts, self._list_hooks(at), key=_point)

    def _list_chapter(self, chapter: Chapter, at: int) -> Iterator[Action]:
        rank = 0 if chapter.facts.is_main else 1
        hidden = self._hidden.get(chapter.source, {})
        # A segment begins with what was reached before: its actions are no earlier than that.
        first = max(bisect_left(chapter.heads, at, key=lambda head: head.reached) - 1, 0)
        for head in chapter.heads[first:]:
            if not head.calls and not head.events:
                continue
            segment = chapter.load(head.number)
            found = [self._build_call(call, chapter.source, rank) for call in segment.calls]
            found += [
                _build_event(event, chapter.source, rank)
                for event in segment.events
                if event.line not in hidden
            ]
            found.sort(key=_point)
            yield from found

    def _list_hooks(self, at: int) -> Iterator[Action]:
        since, first = at * 1000, 0
        while True:
            which = DeliveryFilter(since_ns=since, first=first, count=_AT_ONCE, longest_context=0)
            hooks = self._hooks.list_hooks(which)
            yield from map(self._build_hook, hooks)
            if len(hooks) < _AT_ONCE:
                return
            # Go on within the last moment: there may be more of it than come at once.
            last = hooks[-1].received_ns
            first = sum(hook.received_ns == last for hook in hooks) + (first if last == since else 0)
            since = last

    @cached_property
    def _matched(self) -> tuple[dict[str, dict[int, EventRecord]], dict[int, _Told]]:
        """Lines that tell of deliveries, by file and number; and what they say, by the number of a delivery."""
        lines = [
            (chapter, event) for chapter in self.chapters for event in chapter.list_events(hooks_only=True)
        ]
        told = [event.told for _, event in lines]
        hooks = self.list_hooks_near(told) if told else []
        hidden: dict[str, dict[int, EventRecord]] = {}
        said: dict[int, _Told] = {}
        for at, number in match_lines(told, [hook.told for hook in hooks]).items():
            chapter, event = lines[at]
            hidden.setdefault(chapter.source, {})[event.line] = event
            known = said.get(hooks[number].id, _NOTHING)
            took = max((each for each in (known.took, event.duration_ms) if each is not None), default=None)
            said[hooks[number].id] = _Told(known.failed or event.state == ActionState.FAILED, took)
        return hidden, said

    @property
    def _hidden(self) -> dict[str, dict[int, EventRecord]]:
        return self._matched[0]

    @cached_property
    def _live(self) -> dict[str, ActionState]:
        """What is going on by the last that hooks told of calls without results, by the calls' ids."""
        ids = {
            call.id
            for chapter in self.chapters
            for call in chapter.list_calls()
            if call.state == CallState.UNRESOLVED and call.id is not None
        }
        last: dict[str, HookDelivery] = {}
        for hook in self._list_hooks_about(ids):
            last[hook.tool_use_id or ""] = hook
        ended = self._hooks.find_last_hook(_ENDING_EVENTS) if last else None
        found: dict[str, ActionState] = {}
        for id, hook in last.items():
            if hook.event_name in FIRST_EVENTS and (ended is None or ended <= hook.received_ns):
                waits = hook.event_name == "PermissionRequest"
                found[id] = ActionState.WAITING if waits else ActionState.RUNNING
        return found

    def _build_call(self, call: CallRecord, source: str, rank: int) -> Action:
        took, state = None, CALL_STATES[CallState(call.state)]
        if call.started is not None and call.ended is not None and call.ended >= call.started:
            took = (call.ended - call.started) // 1000
        if call.state == CallState.UNRESOLVED and call.id is not None:
            state = self._live.get(call.id, state)
        return Action(
            kind=ActionKind.CALL,
            point=ActionPoint(call.reached or 0, rank, source, call.line, call.block + 1),
            number=call.index,
            category=call.category,
            state=state.value,
            name=call.name,
            duration_ms=took,
        )

    def _build_hook(self, hook: HookDelivery) -> Action:
        told = self._matched[1].get(hook.id, _NOTHING)
        failed = told.failed or hook.event_name in FAILED_HOOKS
        return Action(
            kind=ActionKind.HOOK,
            point=ActionPoint(
                hook.received_ns // 1000, _HOOKS, f"{hook.received_ns % 1000:03}{hook.delivery_id}"
            ),
            number=hook.id,
            category=(Category.ERROR if hook.event_name in TOLD_FAILURES else Category.HOOK).value,
            state=(ActionState.FAILED if failed else ActionState.NOTE).value,
            name=hook.event_name,
            duration_ms=told.took,
        )


def _build_event(event: EventRecord, source: str, rank: int) -> Action:
    return Action(
        kind=ActionKind.EVENT,
        point=ActionPoint(event.reached or 0, rank, source, event.line, 0),
        number=event.line,
        category=event.category,
        state=event.state,
        name=event.name,
        duration_ms=event.duration_ms,
    )


def _rank_slowest(action: Action) -> tuple[int, ActionPoint]:
    return -(action.duration_ms or 0), action.point
