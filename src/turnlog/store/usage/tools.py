"""What tools took: their calls, and the answers that made them.

An answer's tokens and cost are split evenly among its calls, what cannot be split goes to the first; answers
without calls have a row of their own. So the parts add up to the whole. A call that stands in several files
counts once, as the file tells it that has its result, then the smallest. Calls of answers that are not counted
(what the program wrote in a model's place) are not counted either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.usage.cells import UsageCell
from turnlog.store.usage.report import CallTally, UsageRow
from turnlog.store.usage.tallies import Tally
from turnlog.transcripts.records import CallRecord

__all__ = [
    "FAILED",
    "AnswerCell",
    "CallUse",
    "build_call_use",
    "build_tool_rows",
    "choose_calls",
    "split_cell",
]

_COUNTS = (
    "messages", "incomplete", "unpriced", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h",
    "web_searches", "cost", "saved",
)  # fmt: skip


FAILED = frozenset({"failed", "interrupted", "rejected"})
"""States of calls that came to nothing."""


class AnswerCell(Struct, frozen=True, gc=False):
    """One answer, by its `message.id` or what stands for it."""

    message: str
    cell: UsageCell


class CallUse(Struct, frozen=True, gc=False, kw_only=True):
    """A call of a tool, as one file tells it."""

    message: str | None
    """The answer that made it."""
    id: str | None
    name: str
    failed: bool
    started: int | None
    ended: int | None
    source: str
    order: int
    """Which call of its file it is."""
    person: str | None = None
    """Whose file it is."""


def build_call_use(source: str, call: CallRecord, person: str | None) -> CallUse:
    """Return a call as its file tells it."""
    return CallUse(
        message=call.answer,
        id=call.id,
        name=call.name,
        failed=call.state in FAILED,
        started=call.started,
        ended=call.ended,
        source=source,
        order=call.index,
        person=person,
    )


def build_tool_rows(answers: Iterable[AnswerCell], calls: Iterable[CallUse]) -> tuple[UsageRow, ...]:
    """Return a row for each tool, and one without a name for answers that call none."""
    tallies: dict[str | None, Tally] = {}
    made = choose_calls(calls)
    used: dict[str, list[CallUse]] = {}
    for answer in answers:
        own = made.get((answer.cell.home.person, answer.message), [])
        names: list[str | None] = [call.name for call in own]
        names = names or [None]
        for name, part in zip(names, split_cell(answer.cell, len(names)), strict=True):
            tallies.setdefault(name, Tally()).add(part)
        for call in own:
            used.setdefault(call.name, []).append(call)
    return tuple(
        tallies[name].build_row(name, tool=None if name is None else _tally_calls(used[name]))
        for name in sorted(tallies, key=lambda name: (name is None, name or ""))
    )


def choose_calls(calls: Iterable[CallUse]) -> dict[tuple[str | None, str], list[CallUse]]:
    """Return the calls of each person's answers, each once and in order."""
    chosen: dict[tuple[str | None, str, str], CallUse] = {}
    for call in calls:
        if call.message is not None:
            key = call.person, call.message, call.id or f"{call.source} {call.order}"
            known = chosen.get(key)
            chosen[key] = call if known is None else min(call, known, key=_by_worth)
    made: dict[tuple[str | None, str], list[CallUse]] = {}
    for (person, message, _), call in chosen.items():
        made.setdefault((person, message), []).append(call)
    return {answer: sorted(own, key=_by_order) for answer, own in made.items()}


def split_cell(cell: UsageCell, count: int) -> list[UsageCell]:
    """Return equal parts of a cell; what cannot be split is in the first."""
    if count == 1:
        return [cell]
    shares = {name: divmod(getattr(cell, name), count) for name in _COUNTS}
    part = replace(cell, **{name: share for name, (share, _) in shares.items()})
    return [replace(cell, **{name: sum(share) for name, share in shares.items()}), *([part] * (count - 1))]


def _by_worth(call: CallUse) -> tuple[bool, str, int]:
    return call.ended is None, call.source, call.order


def _by_order(call: CallUse) -> tuple[int, str, str]:
    return call.order, call.source, call.id or ""


def _tally_calls(calls: Sequence[CallUse]) -> CallTally:
    times = [call.ended - call.started for call in calls if call.ended is not None and call.started is not None]
    return CallTally(
        calls=len(calls),
        failed=sum(call.failed for call in calls),
        seconds=sum(time for time in times if time > 0) / 1_000_000,
    )
