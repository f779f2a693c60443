"""Where hook events stand among the messages of a chapter, given what was looked up of both."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from turnlog.store.clickhouse.chapters import Look
from turnlog.store.packing import pack_text
from turnlog.store.timeline import PARENTS_EVENTS

__all__ = [
    "ABOVE",
    "SPEAKING",
    "Call",
    "Event",
    "Span",
    "build_spans",
    "hears",
    "locate_events",
    "place_events",
]

ABOVE = -1
"""Stands for the index of a message above the first."""
SPEAKING = "number, received_ns, digest, delivery_id, event_name, tool_use_id, agent_id"
"""What makes an `Event` of a delivery."""
_END = (1 << 63) - 1
_PARENTS = frozenset(map(pack_text, PARENTS_EVENTS))


class Span(Struct, frozen=True, gc=False, order=True):
    """The time from a message on, in nanoseconds: until the next one was reached."""

    since: int
    at: int
    """The index of the message."""
    until: int


class Call(Struct, frozen=True, gc=False, order=True):
    """A call of a message."""

    source: int
    index: int
    id: bytes
    message: int


class Event(Struct, frozen=True, gc=False):
    """What of a delivery says where it stands."""

    number: int
    received_ns: int
    digest: int
    delivery_id: bytes
    name: bytes
    call: bytes | None
    agent_id: bytes | None

    @property
    def speaker(self) -> bytes | None:
        """The sub-agent whose event it is."""
        return None if self.name in _PARENTS else self.agent_id


def build_spans(reached: Mapping[int, int | None], messages: Iterable[int], above: bool) -> list[Span]:
    """Return the time under messages, given when they and those behind them were reached; in order."""
    times = {at: _in_ns(time or 0) for at, time in reached.items()}
    spans = [Span(times[at], at, times.get(at + 1, _END)) for at in messages if at in times]
    if above:
        spans.append(Span(-_END, ABOVE, times.get(0, _END)))
    return sorted(spans)


def hears(look: Look | None, chapter: int | None, event: Event) -> bool:
    """Tell whether an event is of a chapter: of the transcript is what no sub-agent with a file says."""
    if look is None:
        return chapter is None
    if chapter == look.main:
        return event.speaker is None or all(file.agent_id != event.speaker for file in look.files)
    here = (file.agent_id for file in look.files if file.number == chapter)
    return event.speaker is not None and event.speaker in here


def place_events(
    events: Iterable[Event],
    calls: Iterable[Call],
    chapter: int | None,
    messages: Collection[int],
    spans: Sequence[Span],
) -> Iterator[tuple[int, bool, Event]]:
    """Yield events that may stand under messages of a chapter: which, and whether that is for their call."""
    callers: dict[bytes, list[Call]] = {}
    for call in sorted(calls):
        callers.setdefault(call.id, []).append(call)
    starts = [span.since for span in spans]
    for event in events:
        own = callers.get(event.call, ()) if event.call is not None else ()
        if own:
            first = next((call.message for call in own if call.source == chapter), None)
            if first is not None and first in messages:
                yield first, True, event
            continue
        place = bisect_right(starts, event.received_ns)
        if place and event.received_ns < spans[place - 1].until:
            yield spans[place - 1].at, False, event


def locate_events(
    events: Iterable[Event], calls: Iterable[Call], look: Look | None
) -> list[tuple[Event, int | None, int | None]]:
    """Return events with their files, and the messages that made the calls which they are about."""
    files = () if look is None else look.files
    main = None if look is None else look.main
    names = {file.number: file.name for file in files}
    callers: dict[bytes | None, Call] = {}
    for call in sorted(calls, key=lambda each: (each.source != main, names.get(each.source, ""), each.index)):
        callers.setdefault(call.id, call)
    speakers: dict[bytes | None, int] = {}
    for file in sorted(files, key=lambda each: each.name):
        speakers.setdefault(file.agent_id, file.number)
    speakers.pop(None, None)
    found: list[tuple[Event, int | None, int | None]] = []
    for event in events:
        called = callers.get(event.call)
        if called is not None:
            found.append((event, called.source, called.message))
        else:
            found.append((event, speakers.get(event.speaker, main), None))
    return found


def _in_ns(microseconds: int) -> int:
    """Return a time in nanoseconds: one that is too far away is the last that there is."""
    return max(min(microseconds * 1000, _END), -_END)
