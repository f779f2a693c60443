"""From the conversation in one file to its segments, kept up as it grows.

The records follow from the lines alone: whatever the pieces in which they came, the same lines give the same
segments. Of a conversation that has grown, those segments are built anew that have something which is new or
may be another than it was; of the last one, which is built again and again, only what is new.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import TypeVar

from turnlog.instants import to_microseconds
from turnlog.messages import Line
from turnlog.messages.envelope import Envelope, read_microseconds
from turnlog.transcripts.actions import read_event
from turnlog.transcripts.agents import Agent
from turnlog.transcripts.calls import find_file
from turnlog.transcripts.conversation.conversation import Conversation
from turnlog.transcripts.conversation.messages import Message, Rule
from turnlog.transcripts.conversation.timeline import Growth
from turnlog.transcripts.segments import (
    SEGMENT,
    AgentRecord,
    CallRecord,
    EventRecord,
    LineRecord,
    MessageRecord,
    PackedSegment,
    SectionBuilders,
    Segment,
    SegmentHead,
    SegmentRecords,
    SightingRecord,
    TurnRecord,
    pack_segment,
)
from turnlog.transcripts.summary import type_name
from turnlog.transcripts.usage.prices import Bill
from turnlog.transcripts.usage.sightings import name_answer
from turnlog.transcripts.usage.tokens import Sighting

_NEVER = -(1 << 63)
"""Before all times."""
_MOST = (1 << 63) - 1
_offset = attrgetter("offset")
_type_name = lru_cache(maxsize=None)(type_name)
R = TypeVar("R")


class SegmentBuilder:
    """The segments of one file's conversation."""

    def __init__(
        self,
        conversation: Conversation,
        *,
        agent_id: str | None = None,
        turn_of: Sequence[int] = (),
        sightings: Iterable[Sighting] = (),
    ) -> None:
        """Take a conversation; `agent_id` is of messages whose lines name no agent.

        `turn_of` says of which turn messages are, -1 if of none, and must be kept up, too. `sightings` are what
        the file says about usage.
        """
        self.conversation = conversation
        self.turn_of = turn_of
        self._agent_id = agent_id
        self._reached = array("q")
        """For each line the latest time that it or one above it has, or `_NEVER`."""
        self._times = array("q")
        """For each line its own time, or `_NEVER`."""
        self._messages = array("q")
        """For each message the line by which its segment is told: no earlier than that of the one before."""
        self._calls = array("q")
        self._sightings = sorted(sightings, key=_offset)
        self._of_answer: dict[str, list[Sighting]] | None = None
        """Known when somebody asks for what is new."""
        self._last = _Records()
        self._follow(0, 0)

    def __len__(self) -> int:
        """How many segments there are."""
        return -(-len(self.conversation.live_lines) // SEGMENT)

    def build(self, *, is_final: bool = False) -> Iterator[PackedSegment]:
        """Yield all segments, in order; if that `is_final`, let go of messages and calls as they are packed."""
        for number in range(len(self)):
            yield self._pack(number, is_final=is_final)
            if is_final:
                messages, calls = self._slice(self._messages, number), self._slice(self._calls, number)
                self.conversation.release((number + 1) * SEGMENT, messages, calls)

    def hold(self) -> Iterator[tuple[SegmentHead, Segment]]:
        """Yield all segments, in order, for whoever asks in this process, and may never ask for most of them.

        What happened by the lines is not known yet: the heads say that any of them may tell of it.
        """
        for number in range(len(self)):
            lines = islice(self.conversation.live_lines, number * SEGMENT, (number + 1) * SEGMENT)
            count = len(self._range(number))
            problems = sum(bool(line.problems) for line in lines)
            yield self._build_head(number, count, count, problems), Segment.hold(self._build_sections(number))

    def extend(
        self, growth: Growth, moved: Iterable[int], seen: Mapping[str, Sequence[Sighting]]
    ) -> list[PackedSegment]:
        """Return the segments that are new or may differ, now that the conversation has grown.

        `moved` are messages that are in another turn, and `seen` is what the file says of some answers by now.
        """
        conversation = self.conversation
        changed = {own for own in (*growth.touched, *growth.flipped, *moved) if own < growth.message}
        # Those behind may have been there with other numbers, which their calls have, too.
        renewed = (*changed, *range(growth.message, len(conversation.live_messages)))
        called = {at for own in renewed for at in conversation.list_made(conversation.live_messages[own])}
        called.update(growth.calls)
        # A message that is gone was somewhere: from there on, segments begin with other messages.
        gone = self._messages[growth.message : growth.message + 1]
        self._follow(growth.message, min(growth.calls, default=len(self._calls)))
        numbers = {line // SEGMENT for line in (*growth.moved, *self._update_sightings(seen))}
        numbers |= {self._messages[own] // SEGMENT for own in changed}
        numbers |= {self._calls[at] // SEGMENT for at in called}
        numbers |= {*range(growth.line // SEGMENT, len(self))}
        for line in (*gone, *self._messages[growth.message : growth.message + 1]):
            numbers |= {*range(line // SEGMENT, len(self))}
        self._last.forget(growth, changed, called)
        return [self._pack(number) for number in sorted(numbers)]

    def list_changed(self, message: int) -> tuple[str, ...]:
        """Return the files that the calls of a message changed."""
        found = map(find_file, self.conversation.live_messages[message].calls)
        return tuple([path for path, changes in found if changes and path is not None])

    def _follow(self, message: int, call: int) -> None:
        """Note in which segments lines, messages and calls are, from a message and a call on."""
        conversation = self.conversation
        latest = self._reached[-1] if self._reached else _NEVER
        for line in islice(conversation.live_lines, len(self._reached), None):
            time = time_of(line)
            if time is None:
                time = _NEVER
            elif time > latest:
                latest = time
            self._times.append(time)
            self._reached.append(latest)
        find = conversation.find_line
        _number(
            self._messages, message, (find(each.lines[0]) or 0 for each in conversation.live_messages[message:])
        )
        _number(self._calls, call, (find(each.place.line) or 0 for each in conversation.live_calls[call:]))

    def _update_sightings(self, seen: Mapping[str, Sequence[Sighting]]) -> set[int]:
        """Take what the file says of some answers by now; return the lines for which that is new."""
        if self._of_answer is None:
            self._of_answer = {}
            for each in self._sightings:
                self._of_answer.setdefault(each.message, []).append(each)
        lines, changed = self.conversation.live_lines, set[int]()
        for message, new in seen.items():
            old = self._of_answer.get(message, [])
            self._of_answer[message] = [*new]
            for each in (each for each in old if each not in new):
                self._sightings.remove(each)
                changed.add(each.offset)
            for each in (each for each in new if each not in old):
                insort(self._sightings, each, key=_offset)
                changed.add(each.offset)
        return {min(bisect_left(lines, offset, key=_offset_of), len(lines) - 1) for offset in changed}

    def _slice(self, places: array[int], number: int) -> range:
        """Return which messages or calls are in a segment, by the lines where they stand."""
        first, end = bisect_left(places, number * SEGMENT), bisect_left(places, (number + 1) * SEGMENT)
        return range(first, len(places) if number == len(self) - 1 else end)

    def _pack(self, number: int, *, is_final: bool = False) -> PackedSegment:
        head, records = self._build(number, is_final=is_final)
        return PackedSegment(head, pack_segment(*records))

    def _build(self, number: int, *, is_final: bool) -> tuple[SegmentHead, SegmentRecords]:
        """Build a segment."""
        if number == len(self) - 1 and not is_final:
            kept, numbers = self._last, self._range(number)
            kept.begin(number)
            lines = [_recall(kept.lines, at, self._build_line) for at in numbers]
            said = [
                _recall(kept.messages, at, self._build_message) for at in self._slice(self._messages, number)
            ]
            made = [_recall(kept.calls, at, self._build_call) for at in self._slice(self._calls, number)]
            events = [event for at in numbers if (event := _recall(kept.events, at, self._build_event))]
            sightings = self._build_sightings(number)
        else:
            build = self._build_sections(number)
            lines, said, made, events, sightings = (each() for each in build.values())
        hooks = sum(event.hook is not None for event in events)
        problems = sum(line.problems > 0 for line in lines)
        return self._build_head(number, len(events), hooks, problems), (lines, said, made, events, sightings)

    def _build_head(self, number: int, events: int, hooks: int, problems: int) -> SegmentHead:
        numbers, reached = self._range(number), self._find_reached(number * SEGMENT)
        messages, calls = self._slice(self._messages, number), self._slice(self._calls, number)
        return SegmentHead(
            number=number,
            lines=len(numbers),
            message=messages.start,
            messages=len(messages),
            call=calls.start,
            calls=len(calls),
            events=events,
            hooks=hooks,
            sightings=len(self._list_sightings(number)),
            offset=_offset_of(self.conversation.live_lines[numbers.start]),
            reached=reached or 0,
            problems=problems,
        )

    def _build_sections(self, number: int) -> SectionBuilders:
        """Return what builds each section of a segment, in the order of its records."""
        numbers = self._range(number)
        messages, calls = self._slice(self._messages, number), self._slice(self._calls, number)
        return {
            "lines": lambda: [*map(self._build_line, numbers)],
            "messages": lambda: [*map(self._build_message, messages)],
            "calls": lambda: [*map(self._build_call, calls)],
            "events": lambda: [*filter(None, map(self._build_event, numbers))],
            "sightings": lambda: self._build_sightings(number),
        }

    def _range(self, number: int) -> range:
        """Return which lines are in a segment."""
        return range(number * SEGMENT, min((number + 1) * SEGMENT, len(self.conversation.live_lines)))

    def _build_sightings(self, number: int) -> list[SightingRecord]:
        return [*map(build_sighting, self._list_sightings(number))]

    def _list_sightings(self, number: int) -> list[Sighting]:
        lines, is_last = self.conversation.live_lines, number == len(self) - 1
        first = (
            0 if not number else bisect_left(self._sightings, _offset_of(lines[number * SEGMENT]), key=_offset)
        )
        if is_last:
            return self._sightings[first:]
        end = bisect_left(self._sightings, _offset_of(lines[(number + 1) * SEGMENT]), key=_offset)
        return self._sightings[first:end]

    def _find_reached(self, line: int) -> int | None:
        reached = self._reached[line]
        return None if reached == _NEVER else reached

    def _find_time(self, line: int) -> int | None:
        time = self._times[line]
        return None if time == _NEVER else time

    def _build_line(self, number: int) -> LineRecord:
        line, message = self.conversation.live_lines[number], self.conversation.live_placements[number].message
        return _build_line(line, number, self._find_time(number), message)

    def _build_event(self, number: int) -> EventRecord | None:
        line = self.conversation.live_lines[number]
        event = read_event(line)
        if event is None or (placement := self.conversation.live_placements[number]).rule is Rule.COPY:
            return None
        time, took = self._find_time(number), event.duration_ms
        return EventRecord(
            line=number,
            category=event.category._value_,
            name=event.name,
            state=event.state._value_,
            message=placement.message,
            # What a line says of how long it took is said at the end.
            time=None if time is None else time - 1000 * (took or 0),
            reached=self._find_reached(number),
            duration_ms=took,
            hook=event.hook,
            tool_use_id=event.tool_use_id,
        )

    def _build_message(self, number: int) -> MessageRecord:
        conversation = self.conversation
        message, tree = conversation.live_messages[number], conversation.live_tree
        turn = self.turn_of[number] if self.turn_of else -1
        category = message.category
        find = conversation.find_line
        lines = tuple([find(line) or 0 for line in (*message.lines, *message.folded)])
        return MessageRecord(
            index=number,
            id=message.id,
            lines=lines,
            own_lines=len(message.lines),
            rule=message.rule._value_,  # `value` is a property that is written in Python
            role=message.role._value_,
            types=tuple([each._value_ for each in message.types]),
            author=message.author._value_,
            lane=message.lane._value_,
            is_sidechain=message.is_sidechain,
            parent=tree.edges.parents[number],
            turn=None if turn < 0 else turn,
            time=self._find_time(lines[0]),
            reached=self._find_reached(lines[0]),
            branch=tree.branch_of[number],
            active=number in tree.active_path,
            calls=len(message.calls),
            model=message.model,
            category=None if category is None else category._value_,
            agent_id=message.agent_id or self._agent_id,
            aborted=message.aborted,
        )

    def _build_call(self, index: int) -> CallRecord:
        conversation = self.conversation
        call = conversation.live_calls[index]
        line, result = call.place.line, call.result
        number = conversation.find_line(line) or 0
        answered = None if result is None else conversation.find_line(result.place.line)
        path, changes = find_file(call)
        return CallRecord(
            index=index,
            id=call.id,
            name=call.name,
            category=call.category._value_,
            state=call.state._value_,
            line=number,
            block=call.place.index,
            message=conversation.find_caller(call),
            result_line=answered,
            result_block=None if result is None else result.place.index,
            started=self._find_time(number),
            ended=None if answered is None else self._find_time(answered),
            reached=self._find_reached(number),
            answer=name_answer(line),
            path=path,
            changes_file=changes,
            agent_id=call.agent_id,
        )


class _Records:
    """What was built of the last segment, by number; what may differ by now is forgotten."""

    def __init__(self) -> None:
        self.number = -1
        self.lines: dict[int, LineRecord] = {}
        self.messages: dict[int, MessageRecord] = {}
        self.calls: dict[int, CallRecord] = {}
        self.events: dict[int, EventRecord | None] = {}

    def begin(self, number: int) -> None:
        """Forget what is of another segment."""
        if number != self.number:
            self.__init__()  # type: ignore[misc]
            self.number = number

    def forget(self, growth: Growth, messages: Iterable[int], calls: Iterable[int]) -> None:
        """Forget what a growth concerns."""
        for line in growth.moved:
            self.lines.pop(line, None)
            self.events.pop(line, None)
        for at in [at for at in self.messages if at >= growth.message]:
            del self.messages[at]
        for at in messages:
            self.messages.pop(at, None)
        for at in calls:
            self.calls.pop(at, None)


def pack_lines(lines: Sequence[Line]) -> Iterator[PackedSegment]:
    """Yield the segments of a file whose lines are no conversation."""
    for number in range(-(-len(lines) // SEGMENT)):
        first = number * SEGMENT
        part = enumerate(lines[first : first + SEGMENT], first)
        own = [_build_line(line, at, time_of(line), None) for at, line in part]
        head = SegmentHead(
            number=number, lines=len(own), message=0, messages=0, call=0, calls=0, events=0, hooks=0,
            sightings=0, offset=own[0].offset, reached=0, problems=sum(line.problems > 0 for line in own),
        )  # fmt: skip
        yield PackedSegment(head, pack_segment(own, (), (), (), ()))


def build_agent(
    index: int, agent: Agent, file: str | None, call: tuple[str, int] | None, lines: tuple[int, ...]
) -> AgentRecord:
    """Return the record of an agent.

    `file` is its own, `call` the chapter and index of what started it, `lines` are those in the transcript.
    """
    return AgentRecord(
        index=index,
        id=agent.id,
        state=agent.state.value,
        depth=agent.depth,
        inline=agent.inline,
        background=agent.background,
        file=file,
        parent_id=agent.parent_id,
        run_id=agent.run_id,
        type=agent.type,
        description=agent.description,
        call=None if call is None else call[1],
        call_source=None if call is None else call[0],
        linked_by=None if agent.linked_by is None else agent.linked_by.value,
        inherited=agent.inherited,
        lines=lines,
    )


def build_turn(
    index: int,
    prompt: Message,
    last: int,
    *,
    messages: int,
    calls: int,
    agents: int,
    files_changed: int,
    ended: int | None,
    told: timedelta | None,
    bill: Bill,
) -> TurnRecord:
    """Return the record of a turn; `told` is how long it took as the program says."""
    started, seconds = time_of(prompt.lines[0]), None if told is None else told.total_seconds()
    if seconds is None and started is not None and ended is not None:
        seconds = max(ended - started, 0) / 1_000_000
    unpriced = sum(totals.messages for totals in bill.unpriced.values())
    return TurnRecord(
        index=index,
        prompt=prompt.index,
        last=last,
        messages=messages,
        calls=calls,
        agents=agents,
        files_changed=files_changed,
        started=started,
        ended=ended,
        duration_ms=None if seconds is None else round(seconds * 1000),
        input_tokens=bounded(bill.totals.tokens.prompt),
        output_tokens=bounded(bill.totals.tokens.output),
        cost=None if unpriced and unpriced == bill.totals.messages else money(bill.cost),
    )


def build_sighting(seen: Sighting) -> SightingRecord:
    """Return what a file says about the usage of an answer, as it is kept."""
    tokens, terms, behalf = seen.tokens, seen.terms, seen.attribution
    return SightingRecord(
        message_id=seen.message,
        session_id=seen.session,
        offset=seen.offset,
        time=microseconds(seen.time),
        model=seen.model,
        input=bounded(tokens.input),
        output=bounded(tokens.output),
        cache_read=bounded(tokens.cache_read),
        cache_write_5m=bounded(tokens.cache_write_5m),
        cache_write_1h=bounded(tokens.cache_write_1h),
        web_searches=bounded(tokens.web_searches),
        ended=seen.ended,
        service_tier=terms.service_tier,
        speed=terms.speed,
        inference_geo=terms.inference_geo,
        agent=behalf.agent,
        agent_id=behalf.agent_id,
        skill=behalf.skill,
        plugin=behalf.plugin,
        mcp_server=behalf.mcp_server,
        mcp_tool=behalf.mcp_tool,
    )


def time_of(line: Line) -> int | None:
    """Return when a line was written, in microseconds since 1970; None if it does not say."""
    return read_microseconds(getattr(line.entry, "timestamp", None))


def microseconds(moment: datetime | None) -> int | None:
    """Return an instant in microseconds since 1970."""
    return None if moment is None else to_microseconds(moment)


def bounded(count: int) -> int:
    """Return a count that any engine can keep; one that is beyond all reason becomes the largest."""
    return count if -_MOST <= count <= _MOST else max(-_MOST, min(count, _MOST))


def money(amount: Decimal) -> str:
    """Return dollars, digit for digit."""
    return format(amount, "f")


def _build_line(line: Line, number: int, time: int | None, message: int | None) -> LineRecord:
    entry = line.entry
    uuid, parent, session = (
        (entry.uuid, entry.parent_uuid, entry.session_id)
        if isinstance(entry, Envelope)
        else (getattr(entry, name, None) for name in ("uuid", "parent_uuid", "session_id"))
    )
    return LineRecord(
        number=number,
        offset=_offset_of(line),
        length=line.length,
        type=_type_name(type(entry)),
        time=time,
        message=message,
        uuid=uuid if type(uuid) is str else None,
        parent_uuid=parent if type(parent) is str else None,
        session_id=session if type(session) is str else None,
        is_sidechain=getattr(entry, "is_sidechain", None) is True,
        problems=len(line.problems),
    )


def _offset_of(line: Line) -> int:
    if line.at is None:
        raise ValueError("a line without a place is nothing that can be kept")
    return line.at.offset


def _number(known: array[int], first: int, lines: Iterable[int]) -> None:
    """Replace numbers of lines from one on; none is before another."""
    del known[first:]
    latest = known[-1] if known else 0
    for line in lines:
        latest = max(latest, line)
        known.append(latest)


def _recall(kept: dict[int, R], at: int, build: Callable[[int], R]) -> R:
    if at not in kept:
        kept[at] = build(at)
    return kept[at]
