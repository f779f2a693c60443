"""One file of a session: windows of its messages, its calls and its lines, found by number, id, byte or time.

The heads of all segments are at hand, a few numbers each. Whatever is asked, only those segments are loaded
that may have it, and of these only the sections that are looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from msgspec import Struct

from turnlog.transcripts.segments import (
    SEGMENT,
    BranchPart,
    CallRecord,
    EventRecord,
    LineRecord,
    MessageRecord,
    Segment,
    SegmentHead,
    SightingRecord,
)

_GAP = 2
"""Bytes between lines next to each other."""
_READ_AT_ONCE = 1 << 20
"""Bytes that are read together."""


class MessageFilter(Struct, frozen=True, gc=False, kw_only=True):
    """Which messages of a chapter are wanted; None is any."""

    lanes: tuple[str, ...] | None = None
    roles: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    branch: int | None = None
    agent_id: str | None = None
    """Of the sub-agent that they are of."""
    active: bool | None = None
    """Those on the way to the newest message, or the others."""

    def accepts(self, message: MessageRecord) -> bool:
        """Tell whether a message is wanted."""
        return (
            (self.lanes is None or message.lane in self.lanes)
            and (self.roles is None or message.role in self.roles)
            and (self.categories is None or message.category in self.categories)
            and self.branch in (None, message.branch)
            and self.agent_id in (None, message.agent_id)
            and self.active in (None, message.active)
        )


EVERY_MESSAGE = MessageFilter()


class CallFilter(Struct, frozen=True, gc=False, kw_only=True):
    """Which calls are wanted; None is any."""

    categories: tuple[str, ...] | None = None
    states: tuple[str, ...] | None = None
    name: str | None = None
    """Of the tool."""

    def accepts(self, call: CallRecord) -> bool:
        """Tell whether a call is wanted."""
        return (
            (self.categories is None or call.category in self.categories)
            and (self.states is None or call.state in self.states)
            and self.name in (None, call.name)
        )


EVERY_CALL = CallFilter()


class ChapterFacts(Struct, frozen=True, gc=False, kw_only=True):
    """Which file a chapter is."""

    source: str
    generation: int
    is_main: bool
    """Whether it is the transcript."""
    is_conversation: bool = True
    """Whether it has messages; the journal of a workflow has none."""
    agent_id: str | None = None
    path: str = ""
    """Where it was last seen."""


class SegmentReader(Protocol):
    """Where the segments and the bytes of one session are, all of one state."""

    def list_heads(self, source: str) -> Sequence[SegmentHead]:
        """Return the heads of a file's segments, in order."""

    def load_segment(self, source: str, number: int) -> Segment:
        """Return a segment; raises `KeyError` for one that is not there."""

    def read_bytes(self, source: str, generation: int, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return bytes of a file, by offset and length; raises `KeyError` for what is not there."""


class Chapter:
    """The records of one file."""

    def __init__(self, facts: ChapterFacts, reader: SegmentReader) -> None:
        self.facts = facts
        self.source = facts.source
        self._reader = reader
        self.heads = reader.list_heads(facts.source)
        self._firsts = [head.message for head in self.heads]
        self._first_calls = [head.call for head in self.heads]
        self._loaded: tuple[int, Segment] | None = None
        last = self.heads[-1] if self.heads else None
        self.count_lines = 0 if last is None else last.line + last.lines
        self.count_messages = 0 if last is None else last.message + last.messages
        self.count_calls = 0 if last is None else last.call + last.calls

    # Lines

    def get_line(self, number: int) -> LineRecord:
        """Return a line by its number; raises `KeyError` if there is none."""
        if not 0 <= number < self.count_lines:
            raise KeyError(number)
        return self.load(number // SEGMENT).lines[number % SEGMENT]

    def peek_line(self, number: int) -> LineRecord:
        """Return a line as `get_line` does, for who wants one line of each of many files."""
        if not 0 <= number < self.count_lines:
            raise KeyError(number)
        return self.load(number // SEGMENT).peek_line(number % SEGMENT)

    def list_lines(self, first: int = 0, count: int | None = None) -> Iterator[LineRecord]:
        """Yield lines in order, from a number on."""
        end = self.count_lines if count is None else min(first + count, self.count_lines)
        for number in range(first // SEGMENT, -(-end // SEGMENT)):
            start = number * SEGMENT
            yield from self.load(number).lines[max(first - start, 0) : end - start]

    def find_line(self, offset: int) -> LineRecord | None:
        """Return the line that begins at a byte; None if none does."""
        number = bisect_right(self.heads, offset, key=lambda head: head.offset) - 1
        if number < 0:
            return None
        lines = self.load(number).lines
        at = bisect_right(lines, offset, key=lambda line: line.offset) - 1
        return lines[at] if at >= 0 and lines[at].offset == offset else None

    def list_flawed(self) -> Iterator[LineRecord]:
        """Yield the lines in which something is wrong or unknown, in order."""
        for head in self.heads:
            if head.problems:
                yield from (line for line in self.load(head.number).lines if line.problems)

    def measure(self, numbers: Iterable[int]) -> int:
        """Return how many bytes some lines have together."""
        return sum(self.get_line(number).length for number in numbers)

    def read_raw(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """Return lines as they stand, in order; raises `KeyError` for bytes that are no longer there."""
        lines = [self.get_line(number) for number in sorted(set(numbers))]
        spans: list[tuple[int, int]] = []
        places: list[tuple[int, int]] = []
        for line in lines:
            start = spans[-1][0] if spans else 0
            end = line.offset + line.length
            # Lines next to each other are read together.
            if spans and 0 <= line.offset - sum(spans[-1]) <= _GAP and end - start <= _READ_AT_ONCE:
                spans[-1] = start, end - start
            else:
                spans.append((line.offset, line.length))
            places.append((len(spans) - 1, line.offset - spans[-1][0]))
        read = self.read_bytes(spans)
        return {
            line.number: read[span][at : at + line.length]
            for line, (span, at) in zip(lines, places, strict=True)
        }

    def read_bytes(self, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return bytes by offset and length; raises as `read_raw`."""
        return self._reader.read_bytes(self.source, self.facts.generation, spans)

    # Messages

    def list_messages(self, first: int = 0, count: int | None = None) -> Iterator[MessageRecord]:
        """Yield messages in order, from an index on."""
        end = self.count_messages if count is None else min(first + count, self.count_messages)
        if first >= end:
            return
        for head in self.heads[self._find_segment(first) :]:
            if head.message >= end:
                return
            if head.messages:
                own = self.load(head.number).messages
                yield from own[max(first - head.message, 0) : end - head.message]

    def list_after(self, first: int, count: int, where: MessageFilter = EVERY_MESSAGE) -> list[MessageRecord]:
        """Return the messages from an index on that are wanted, in order."""
        return list(islice(filter(where.accepts, self.list_messages(max(first, 0))), count))

    def list_before(self, last: int, count: int, where: MessageFilter = EVERY_MESSAGE) -> list[MessageRecord]:
        """Return the last messages before an index that are wanted, in order."""
        last = min(last, self.count_messages)
        heads = reversed(self.heads[: self._find_segment(last - 1) + 1] if last > 0 else ())
        parts = (self.load(head.number).messages[: last - head.message] for head in heads if head.messages)
        messages = (message for own in parts for message in reversed(own))
        return list(islice(filter(where.accepts, messages), count))[::-1]

    def list_at(self, indexes: Iterable[int]) -> list[MessageRecord]:
        """Return the messages that have some indexes, in order; those that are not there are left out."""
        wanted = sorted({at for at in indexes if 0 <= at < self.count_messages})
        return [self._get_message(at) for at in wanted]

    def find_message(self, id: str) -> MessageRecord | None:
        """Return the first message with an id."""
        for head in self.heads:
            if head.messages:
                segment = self.load(head.number)
                if segment.may_have_message(id):
                    found = next((message for message in segment.messages if message.id == id), None)
                    if found is not None:
                        return found
        return None

    def find_reached(self, at: int) -> MessageRecord | None:
        """Return the last message that was reached at a time, in microseconds since 1970."""
        number = bisect_right(self.heads, at, key=lambda head: head.reached) - 1
        while number >= 0:
            messages = self.load(number).messages if self.heads[number].messages else []
            place = bisect_right(messages, at, key=lambda message: message.reached or 0) - 1
            if place >= 0:
                return messages[place]
            number -= 1
        return None

    def list_branches(self) -> list[BranchPart]:
        """Return the branches, by their numbers."""
        found: dict[int, BranchPart] = {}
        for head in self.heads:
            for part in self.load(head.number).branches if head.messages else ():
                known = found.get(part.index)
                if known is not None:
                    whole, active = known.messages + part.messages, known.active or part.active
                    part = BranchPart(part.index, known.first, part.last, known.parent, whole, active)
                found[part.index] = part
        return [found[index] for index in sorted(found)]

    # Calls

    def list_calls(self, where: CallFilter = EVERY_CALL, *, since: int = 0) -> Iterator[CallRecord]:
        """Yield the calls that are wanted, in order: all that messages from one on made, and some before."""
        for head in self.heads[self._find_segment(since) :] if since > 0 else self.heads:
            if head.calls:
                yield from filter(where.accepts, self.load(head.number).calls)

    def list_calls_of(self, messages: Iterable[MessageRecord]) -> dict[int, list[CallRecord]]:
        """Return the calls that messages made, by the messages' indexes."""
        callers = {message.index: message for message in messages if message.calls}
        segments = {
            line // SEGMENT for message in callers.values() for line in message.lines[: message.own_lines]
        }
        found: dict[int, list[CallRecord]] = {}
        for number in sorted(segments):
            for call in self.load(number).calls:
                if call.message in callers:
                    found.setdefault(call.message or 0, []).append(call)
        return found

    def list_calls_at(self, indexes: Iterable[int]) -> list[CallRecord]:
        """Return the calls that have some indexes, in order; those that are not there are left out."""
        wanted = sorted({at for at in indexes if 0 <= at < self.count_calls})
        return [self._get_call(at) for at in wanted]

    def find_calls(self, ids: Collection[str], near: int = 0) -> Iterator[CallRecord]:
        """Yield the calls that have any of some ids, of which each has one; `near` is when they may have been.

        The segments that had reached this time, in microseconds since 1970, are looked at first.
        """
        wanted = set(ids)
        middle = bisect_right(self.heads, near, key=lambda head: head.reached) - 1
        for head in sorted(self.heads, key=lambda head: abs(head.number - middle)) if wanted else ():
            if head.calls:
                segment = self.load(head.number)
                if any(map(segment.may_have_call, wanted)):
                    found = [call for call in segment.calls if call.id in wanted]
                    yield from found
                    wanted.difference_update([call.id or "" for call in found])
            if not wanted:
                return

    def list_events(self, first: int = 0, *, hooks_only: bool = False) -> Iterator[EventRecord]:
        """Yield what happened by lines, in order; from a segment on, and only what tells of hook events."""
        for head in self.heads[first:]:
            if head.hooks if hooks_only else head.events:
                events = self.load(head.number).events
                yield from (event for event in events if event.hook is not None) if hooks_only else events

    def list_events_at(self, lines: Iterable[int]) -> list[EventRecord]:
        """Return what happened by some lines, in order."""
        wanted = set(lines)
        segments = sorted({line // SEGMENT for line in wanted if 0 <= line < self.count_lines})
        return [event for number in segments for event in self.load(number).events if event.line in wanted]

    # Usage

    def list_sightings(self) -> Iterator[SightingRecord]:
        """Yield what the file says about usage, in order."""
        for head in self.heads:
            if head.sightings:
                yield from self.load(head.number).sightings

    def load(self, number: int) -> Segment:
        """Return a segment by its number; mostly it is the one of before."""
        known = self._loaded
        if known is None or known[0] != number:
            known = self._loaded = number, self._reader.load_segment(self.source, number)
        return known[1]

    def _find_segment(self, message: int) -> int:
        """Return the number of the segment that has a message."""
        return bisect_right(self._firsts, message) - 1

    def _get_message(self, index: int) -> MessageRecord:
        head = self.heads[self._find_segment(index)]
        return self.load(head.number).messages[index - head.message]

    def _get_call(self, index: int) -> CallRecord:
        head = self.heads[bisect_right(self._first_calls, index) - 1]
        return self.load(head.number).calls[index - head.call]
