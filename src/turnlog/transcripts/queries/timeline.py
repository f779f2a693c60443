"""What hooks told, put between the messages of a session, and the lines that tell of hooks as well.

A hook event stands under the message that made the call which it is about, in any file of the session that has
that message. Any other stands under the last message that is not later: the last one of its file whose
`reached` is not behind the time at which the event came. It is of the file of the sub-agent in which it
happened, if that has one; the start and the end of a sub-agent are of the main conversation. So its place
follows from what is there, whatever came first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from turnlog.transcripts.hooks.deliveries import NEAR, DeliveryFilter, HookDelivery, Told
from turnlog.transcripts.queries.chapters import Chapter
from turnlog.transcripts.queries.sessions import SessionReader, SessionRecords
from turnlog.transcripts.records import EventRecord

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


class SessionTimeline(SessionRecords):
    """Questions about a session and its hooks."""

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

    def list_hooks_near(self, lines: Iterable[Told]) -> list[HookDelivery]:
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


def _join_times(told: Iterable[Told]) -> Iterator[tuple[int, int, set[str]]]:
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
