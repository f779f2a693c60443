"""A whole session: its chapters, turns and agents, what hooks told of it, and the log of its actions.

A hook event stands under the message that made the call which it is about, in any file of the session that has
that message. Any other stands under the last message that is not later: the last one of its file whose
`reached` is not behind the time at which the event came. It is of the file of the sub-agent in which it
happened, if that has one; the start and the end of a sub-agent are of the main conversation. So its place
follows from what is there, whatever came first.

The action log has all calls, events and hook events in one order. Calls and events stand where their files
have them. Files, and what hooks told, are put together by time: by the latest time that a file had reached
there, and the time at which a delivery came. Lines that tell of a hook event which was delivered are left out;
how long it took and whether it failed is then told with the delivery.

A page begins at the segment that has its first action, and reads on until it is full.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from heapq import merge, nsmallest
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from turnlog.transcripts.actions import CALL_STATES, FAILED_HOOKS, TOLD_FAILURES, ActionState
from turnlog.transcripts.hooks import NEAR, DeliveryFilter, HookDelivery, HookMention, match_lines
from turnlog.transcripts.kinds import CallState, Category
from turnlog.transcripts.queries.chapters import EVERY_CALL, CallFilter, Chapter, ChapterFacts, SegmentReader
from turnlog.transcripts.segments import (
    AGENTS,
    PART,
    TURNS,
    AgentRecord,
    CallRecord,
    EventRecord,
    MessageRecord,
    TurnRecord,
)


class SessionReader(SegmentReader, Protocol):
    """Where all that is kept of one session is."""

    def list_chapters(self) -> Sequence[ChapterFacts]:
        """Return its files of lines: the transcript's first, then by source."""

    def count_outline(self, kind: str) -> int:
        """Return how many parts there are of turns or agents."""

    def load_outline(self, kind: str, numbers: range) -> list[bytes]:
        """Return parts of turns or agents, packed."""


class CallPage(Struct, frozen=True, gc=False):
    """Some calls next to each other, each with its chapter."""

    calls: tuple[tuple[Chapter, CallRecord], ...]
    total: int
    """How many are wanted in all."""


class TurnCall(Struct, frozen=True, gc=False, array_like=True):
    """A call, and the turn in which it was made."""

    turn: int
    call: CallRecord


class SessionRecords:
    """All questions about one session that need no clock, no hooks and no other session."""

    def __init__(self, reader: SessionReader) -> None:
        self._reader = reader

    @cached_property
    def files(self) -> tuple[Chapter, ...]:
        """All of its files of lines: the transcript's first, then by source."""
        return tuple(Chapter(facts, self._reader) for facts in self._reader.list_chapters())

    @cached_property
    def chapters(self) -> tuple[Chapter, ...]:
        """Those that are conversations."""
        return tuple(file for file in self.files if file.facts.is_conversation)

    @property
    def main(self) -> Chapter | None:
        """The transcript; None if there is none."""
        return next((chapter for chapter in self.chapters if chapter.facts.is_main), None)

    def list_conversations(self) -> list[Chapter]:
        """Return the chapters in the order in which they are read: the transcript, then by path."""
        return sorted(self.chapters, key=lambda each: (not each.facts.is_main, Path(each.facts.path)))

    def find_chapter(self, source: str | None) -> Chapter | None:
        """Return the chapter of a source; of None, the transcript."""
        if source is None:
            return self.main
        return next((chapter for chapter in self.chapters if chapter.source == source), None)

    def find_message(self, id: str) -> tuple[Chapter, MessageRecord] | None:
        """Return the message with an id: the transcript's, or else the first by source."""
        for chapter in self.chapters:
            found = chapter.find_message(id)
            if found is not None:
                return chapter, found
        return None

    def count_turns(self) -> int:
        """Return how many turns there are."""
        parts = self._reader.count_outline(TURNS.name)
        return (parts - 1) * PART + len(self._list_part(parts - 1)) if parts else 0

    def list_turns(self, first: int = 0, count: int | None = None) -> list[TurnRecord]:
        """Return turns in order, from one on."""
        parts = self._reader.count_outline(TURNS.name)
        end = parts * PART if count is None else min(first + count, parts * PART)
        numbers = range(first // PART, -(-end // PART))
        found = [turn for data in self._reader.load_outline(TURNS.name, numbers) for turn in TURNS.unpack(data)]
        start = numbers.start * PART
        return found[first - start : end - start]

    def list_prompts(self) -> list[int]:
        """Return the messages with which turns begin, turn by turn."""
        return [turn.prompt for turn in self.list_turns()]

    def list_agents(self) -> list[AgentRecord]:
        """Return all sub-agents, in order."""
        parts = range(self._reader.count_outline(AGENTS.name))
        return [
            agent for data in self._reader.load_outline(AGENTS.name, parts) for agent in AGENTS.unpack(data)
        ]

    def list_turn_calls(self, first: int, count: int) -> list[TurnCall]:
        """Return the calls that the transcript's messages of some turns made: by turn, and then in order."""
        main, turns = self.main, self.list_turns(first, count)
        if main is None or not turns:
            return []
        start, end = turns[0].prompt, max(turn.last for turn in turns) + 1
        wanted = range(first, first + count)
        callers = [
            each for each in main.list_messages(start, end - start) if each.calls and each.turn in wanted
        ]
        calls = main.list_calls_of(callers)
        found = [TurnCall(caller.turn or 0, call) for caller in callers for call in calls.get(caller.index, ())]
        return sorted(found, key=lambda each: (each.turn, each.call.index))

    def list_calls(
        self, where: CallFilter = EVERY_CALL, source: str | None = None
    ) -> Iterator[tuple[Chapter, CallRecord]]:
        """Yield the calls that are wanted, of one chapter or of all."""
        for chapter in self.chapters:
            if source in (None, chapter.source):
                yield from ((chapter, call) for call in chapter.list_calls(where))

    def find_calls(
        self, where: CallFilter = EVERY_CALL, *, source: str | None = None, first: int = 0, count: int = 100
    ) -> CallPage:
        """Return some of the calls that are wanted, in the order of `list_calls`."""
        found: list[tuple[Chapter, CallRecord]] = []
        total = 0
        for each in self.list_calls(where, source):
            if first <= total < first + count:
                found.append(each)
            total += 1
        return CallPage(tuple(found), total)

    def _list_part(self, number: int) -> list[TurnRecord]:
        [data] = self._reader.load_outline(TURNS.name, range(number, number + 1))
        return TURNS.unpack(data)


PARENTS_EVENTS = ("SubagentStart", "SubagentStop")
"""Events that name a sub-agent, but are of whoever started it."""
FIRST_EVENTS = ("PreToolUse", "PermissionRequest")
"""Events about a call that stand right behind the message which makes it."""
_LONGEST_CONTEXT = 60_000
"""Characters; a longer context is left out."""
_END = (1 << 63) - 1

_Placed = tuple[int | None, bool, HookDelivery]
"""The index of its message, and whether that made the call which it is about."""


class HookReader(SessionReader, Protocol):
    """A session and what hooks told of it: deliveries that are events by spec 002, in order of time."""

    def list_hooks(self, which: DeliveryFilter) -> list[HookDelivery]:
        """Return those that are asked for, without their payloads."""

    def find_last_hook(self, names: Collection[str]) -> int | None:
        """Return when the last of some events came, whether it is an event by spec 002 or not."""


class HooksUnder(Struct, frozen=True):
    """Hook events under some messages."""

    hooks: tuple[tuple[int | None, HookDelivery], ...]
    """Each with the index of its message, None above the first; in the order in which they stand."""
    total: int
    """How many there are, also those that are too many."""


class HookPlace(Struct, frozen=True, gc=False):
    """Where a hook event stands in a session."""

    source: str | None
    """The file; None if the session has none for it."""
    message: int | None


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


class SessionActions(SessionRecords):
    """All questions about one session, its hooks and the action log among them."""

    def __init__(self, reader: HookReader) -> None:
        super().__init__(reader)
        self._hooks = reader

    def list_hooks_at(self, ids: Collection[int]) -> list[HookDelivery]:
        """Return hook events by their numbers, with contexts that are not too long, by time."""
        which = DeliveryFilter(ids=ids, longest_context=_LONGEST_CONTEXT)
        return self._hooks.list_hooks(which) if ids else []

    def list_hooks_under(
        self, chapter: Chapter | None, messages: Iterable[int], *, above: bool = False, count: int = 1000
    ) -> HooksUnder:
        """Return the hook events that stand under messages of a chapter; with `above`, those before the first.

        No more than `count`: then those that came first. Without a chapter there is nothing but `above`.
        """
        wanted = set() if chapter is None else {row.index for row in chapter.list_at(messages)}
        placed = [] if chapter is None else [*self._list_called(chapter, wanted)]
        if above:
            first = [] if chapter is None else [*chapter.list_messages(0, 1)]
            end = (first[0].reached or 0) * 1000 if first else _END
            placed += [(None, False, hook) for hook in self._list_timed(chapter, -_END, end)]
        for indexes in _list_runs(wanted):
            placed += self._list_between(chapter, indexes) if chapter is not None else ()
        placed.sort(key=lambda each: (each[2].received_ns, each[2].delivery_id))
        whole = {hook.id: hook for hook in self.list_hooks_at([hook.id for *_, hook in placed[:count]])}
        kept = sorted(
            placed[:count], key=lambda each: (-1 if each[0] is None else each[0], _rank(each[2], each[1]))
        )
        return HooksUnder(tuple((at, whole[hook.id]) for at, _, hook in kept), len(placed))

    def find_hook_places(self, hooks: Sequence[HookDelivery]) -> dict[int, HookPlace]:
        """Return where hook events stand, by their numbers: in the transcript, or else in an agent's file."""
        called = self._find_called(hooks)
        places: dict[int, HookPlace] = {}
        for hook in hooks:
            place = called.get(hook.tool_use_id)
            if place is None:
                own = self._find_speaker(hook)
                message = None if own is None else own.find_reached(hook.received_ns // 1000)
                place = HookPlace(
                    None if own is None else own.source, None if message is None else message.index
                )
            places[hook.id] = place
        return places

    def list_hooks_near(self, lines: Iterable[HookMention]) -> list[HookDelivery]:
        """Return the hook events that lines may tell of: about the same call, or near in time."""
        told = list(lines)
        calls = {(each.event, each.tool_use_id) for each in told if each.tool_use_id is not None}
        found = {
            hook.id: hook
            for hook in self._list_hooks_about({id for _, id in calls if id is not None})
            if (hook.event_name, hook.tool_use_id) in calls
        }
        for since, until, events in _join_times(told):
            for hook in self._list_hooks_from(since * 1000, until * 1000):
                if hook.tool_use_id is None and hook.event_name in events:
                    found[hook.id] = hook
        return [found[number] for number in sorted(found)]

    def list_hook_lines(self, hooks: Sequence[HookDelivery]) -> list[tuple[Chapter, EventRecord]]:
        """Return the lines that may tell of hook events, by file and number."""
        calls = {(each.event_name, each.tool_use_id) for each in hooks if each.tool_use_id is not None}
        timed: dict[str, list[int]] = {}
        for each in hooks:
            if each.tool_use_id is None:
                timed.setdefault(each.event_name, []).append(each.received_ns // 1000)
        return [
            (chapter, event)
            for chapter in sorted(self.chapters, key=lambda each: each.source)
            for event in (chapter.list_events(hooks_only=True) if hooks else ())
            if (event.hook, event.tool_use_id) in calls
            or (
                event.time is not None
                and any(abs(event.time - at) <= NEAR for at in timed.get(event.hook or "", ()))
            )
        ]

    def find_turns(self, times: Iterable[int]) -> dict[int, int]:
        """Return the turn that was under way at times, in microseconds; before all prompts there is none."""
        main = self.main
        found: dict[int, int] = {}
        for at in set(times) if main is not None else ():
            message = main.find_reached(at) if main is not None else None
            while message is not None and message.turn is None and message.index > 0 and main is not None:
                [message] = main.list_at([message.index - 1])
            if message is not None and message.turn is not None:
                found[at] = message.turn
        return found

    def _list_called(self, chapter: Chapter, messages: set[int]) -> Iterator[_Placed]:
        """Yield the hook events about the calls of messages; an id is of one call in a file."""
        made = chapter.list_calls_of(chapter.list_at(messages))
        callers = {call.id: at for at, calls in made.items() for call in calls if call.id is not None}
        for hook in self._list_hooks_about(callers):
            yield callers[hook.tool_use_id or ""], True, hook

    def _list_between(self, chapter: Chapter, indexes: range) -> Iterator[_Placed]:
        """Yield the hook events that stand by their times under messages next to each other."""
        rows = [*chapter.list_messages(indexes.start, len(indexes) + 1)]
        times = [(row.reached or 0) * 1000 for row in rows]
        end = times.pop() if len(times) > len(indexes) else _END
        for hook in self._list_timed(chapter, times[0], end):
            yield indexes[bisect_right(times, hook.received_ns) - 1], False, hook

    def _list_timed(self, chapter: Chapter | None, since: int, until: int) -> list[HookDelivery]:
        """Return the events of a chapter that came in a time and are about no call that is shown."""
        hooks = self._list_hooks_from(since, until) if since < until else []
        own = [hook for hook in hooks if self._is_of(hook, chapter)]
        called = self._find_called(own)
        return [hook for hook in own if hook.tool_use_id not in called]

    def _list_hooks_from(self, since_ns: int, until_ns: int) -> list[HookDelivery]:
        """Return the events that came in a time, without their contexts."""
        which = DeliveryFilter(since_ns=since_ns, until_ns=until_ns, longest_context=0)
        return self._hooks.list_hooks(which)

    def _list_hooks_about(self, calls: Collection[str]) -> list[HookDelivery]:
        """Return the events about calls, without their contexts."""
        which = DeliveryFilter(tool_use_ids=calls, longest_context=0)
        return self._hooks.list_hooks(which) if calls else []

    def _find_called(self, hooks: Sequence[HookDelivery]) -> dict[str | None, HookPlace]:
        """Return where the calls are made that hook events are about, by their ids; those that are shown."""
        left = {hook.tool_use_id for hook in hooks if hook.tool_use_id is not None}
        near = min((hook.received_ns // 1000 for hook in hooks), default=0)
        found: dict[str | None, HookPlace] = {}
        for chapter in self.chapters if left else ():
            for call in chapter.find_calls(left, near):
                if call.message is not None:
                    found[call.id] = HookPlace(chapter.source, call.message)
            left.difference_update(id for id in found if id is not None)
        return found

    def _is_of(self, hook: HookDelivery, chapter: Chapter | None) -> bool:
        own = self._find_speaker(hook)
        return own is chapter or (own is not None and chapter is not None and own.source == chapter.source)

    def _find_speaker(self, hook: HookDelivery) -> Chapter | None:
        """Return the file in which an event happened: of its agent, or else the transcript."""
        agent = None if hook.event_name in PARENTS_EVENTS else hook.agent_id
        own = [each for each in self.chapters if agent is not None and each.facts.agent_id == agent]
        return own[0] if own else self.main

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


def _list_runs(numbers: Collection[int]) -> list[range]:
    """Return numbers as ranges of those next to each other."""
    runs: list[range] = []
    for number in sorted(numbers):
        if runs and runs[-1].stop == number:
            runs[-1] = range(runs[-1].start, number + 1)
        else:
            runs.append(range(number, number + 1))
    return runs


def _rank(fact: HookDelivery, is_of_call: bool) -> tuple[bool, int, str]:
    """Return what hook events under one message are ordered by."""
    return (not (is_of_call and fact.event_name in FIRST_EVENTS), fact.received_ns, fact.delivery_id)


def _join_times(told: Iterable[HookMention]) -> Iterator[tuple[int, int, set[str]]]:
    """Yield stretches of time, in microseconds, in which events may be that lines tell of."""
    spans = sorted((each.at - NEAR, each.event) for each in told if each.at is not None)
    held: tuple[int, int, set[str]] | None = None
    for since, event in spans:
        until = since + 2 * NEAR + 1
        if held is not None and since <= held[1]:
            held = held[0], until, held[2] | {event}
        else:
            if held is not None:
                yield held
            held = since, until, {event}
    if held is not None:
        yield held
