"""Turns as the API tells them, with their calls as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from turnlog.server.shapes.conversations import StripBar, Turn
from turnlog.server.views.limits import sayable
from turnlog.server.views.moments import dollars, moment, took_ms
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.lines.kinds import Category
from turnlog.transcripts.queries.sessions import TurnCall
from turnlog.transcripts.records import CallRecord, MessageRecord, TurnRecord

MOST_BARS = 60


def view_turn(
    row: TurnRecord, prompt: MessageRecord, title: str, calls: Sequence[CallRecord], edited: bool
) -> Turn:
    """Return a turn."""
    return Turn(
        index=row.index,
        prompt=row.prompt,
        prompt_uuid=sayable(prompt.id),
        title=title,
        messages=row.messages,
        calls=row.calls,
        agents=row.agents,
        files_changed=row.files_changed,
        started_at=moment(row.started),
        ended_at=moment(row.ended),
        duration_ms=row.duration_ms,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cost_usd=dollars(row.cost),
        failed=sum(call.state == CallState.FAILED for call in calls),
        strip=build_strip(calls),
        edited=edited,
    )


def group_turn_calls(calls: Sequence[TurnCall]) -> dict[int, list[CallRecord]]:
    """Return the calls of each turn; they come by turn."""
    return {turn: [each.call for each in group] for turn, group in groupby(calls, lambda each: each.turn)}


def is_edited(prompt: MessageRecord, parents: Mapping[int, MessageRecord]) -> bool:
    """Tell whether a prompt opens a branch: then others were typed in the same place."""
    above = None if prompt.parent is None else parents.get(prompt.parent)
    return above is not None and above.branch != prompt.branch


def build_strip(calls: Sequence[CallRecord], most: int = MOST_BARS) -> tuple[StripBar, ...]:
    """Return calls as bars; where there are more than so many, runs of the same length share one."""
    bars = min(len(calls), most)
    edges = [len(calls) * number // bars for number in range(bars + 1)] if bars else [0]
    return tuple(_merge(calls[start:end]) for start, end in pairwise(edges))


def _merge(calls: Sequence[CallRecord]) -> StripBar:
    times = [took_ms(call.started, call.ended) for call in calls]
    longest = max(range(len(calls)), key=lambda at: -1 if times[at] is None else times[at] or 0)
    return StripBar(
        ms=times[longest],
        failed=any(call.state == CallState.FAILED for call in calls),
        category=Category(calls[longest].category),
    )
