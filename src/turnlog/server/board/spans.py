"""When a session worked and when it waited, as intervals. Nothing here asks anybody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from turnlog.server.board.columns import Column

_KINDS = {Column.NEEDS_YOU: "waiting", Column.WORKING: "working", Column.DONE: "done"}


class SpanKind(StrEnum):
    """A session's state during a period."""

    WORKING = "working"
    WAITING = "waiting"
    DONE = "done"


class Moment(Struct, frozen=True, gc=False):
    """From when on a session stood in a column."""

    at_ns: int
    column: Column


class Interval(Struct, frozen=True, gc=False):
    """A period in which a session's state did not change."""

    start_ns: int
    end_ns: int
    kind: SpanKind


def build_intervals(moments: Iterable[Moment], now_ns: int) -> list[Interval]:
    """Return what lies between moments, the last until now; what did not change is one."""
    found: list[Interval] = []
    previous: Moment | None = None
    for moment in [*moments, Moment(now_ns, Column.DONE)]:
        if previous is not None and moment.at_ns > previous.at_ns:
            kind = SpanKind(_KINDS[previous.column])
            if found and found[-1].kind is kind and found[-1].end_ns == previous.at_ns:
                found[-1] = Interval(found[-1].start_ns, moment.at_ns, kind)
            else:
                found.append(Interval(previous.at_ns, moment.at_ns, kind))
        # Deliveries that were late may be older than what came before them.
        previous = moment if previous is None else Moment(max(moment.at_ns, previous.at_ns), moment.column)
    return found


def clip(intervals: Iterable[Interval], since_ns: int) -> list[Interval]:
    """Return what of intervals lies behind a time."""
    return [
        Interval(max(each.start_ns, since_ns), each.end_ns, each.kind)
        for each in intervals
        if each.end_ns > since_ns
    ]


def sum_waits(intervals: Sequence[Interval]) -> int:
    """Return how long was waited in all, in nanoseconds."""
    return sum(each.end_ns - each.start_ns for each in intervals if each.kind is SpanKind.WAITING)
