"""Where usage comes from: an archive, or files as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.usage.cells import Home, UsageCell, slot_of
from turnlog.store.usage.report import CallTally, ReportedCost, Tally, UsageRow
from turnlog.transcripts.usage.prices import PriceTable

if TYPE_CHECKING:  # a report of files needs no records
    from turnlog.transcripts.segments import CallRecord

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


NO_SLOT = -(1 << 62)
"""Stands for the quarter of an hour of answers without a time."""


class UsageGroup(Struct, frozen=True, gc=False):
    """What answers are counted by, besides the time."""

    home: Home
    session: str
    model: str | None
    agent: str | None
    skill: str | None
    mcp_server: str | None
    terms: str


def build_stored_cell(group: UsageGroup, slot: int, amounts: Sequence[Any]) -> UsageCell:
    """Return a cell of its row: messages, incomplete, unpriced, tokens, searches, cost, saved, first, last."""
    (
        messages, incomplete, unpriced, input, output, cache_read, cache_write_5m, cache_write_1h, web_searches,
        cost, saved, first, last,
    ) = amounts  # fmt: skip
    return UsageCell(
        slot=None if slot == NO_SLOT else slot, session=group.session, home=group.home, model=group.model,
        agent=group.agent, skill=group.skill, mcp_server=group.mcp_server, terms=group.terms, messages=messages,
        incomplete=incomplete, unpriced=unpriced, input=input, output=output, cache_read=cache_read,
        cache_write_5m=cache_write_5m, cache_write_1h=cache_write_1h, web_searches=web_searches, cost=cost,
        saved=saved, first=first, last=last,
    )  # fmt: skip


def build_answer(group: UsageGroup, time: int | None, flags: int, counts: Sequence[int]) -> UsageCell:
    """Return the cell of one answer; its flags are 1 for incomplete and 2 for unpriced."""
    slot = slot_of(time)
    amounts = (1, flags & 1, flags >> 1, *counts, time, time)
    return build_stored_cell(group, NO_SLOT if slot is None else slot, amounts)


def choose_reported(found: Iterable[ReportedCost]) -> list[ReportedCost]:
    """Return what the program says of each session once, by id; of copies, the one that has run furthest."""
    best: dict[str, ReportedCost] = {}
    for reported in found:
        known = best.get(reported.session)
        if known is None or _by_amount(reported) > _by_amount(known):
            best[reported.session] = reported
    return [best[session] for session in sorted(best)]


def _by_amount(reported: ReportedCost) -> tuple[Decimal, Decimal]:
    return reported.cost_usd, reported.computed_usd


class _Counts(Struct, frozen=True, gc=False):
    types: dict[str, int] = {}


class _Summary(Struct, frozen=True, gc=False):
    """What matters of `transcripts.Summary`."""

    id: str | None = None
    counts: _Counts = _Counts()
    cost: Decimal | None = None
    reported_cost: Decimal | None = None


_decode = msgspec.json.Decoder(_Summary).decode


def read_reported(summary: bytes) -> ReportedCost | None:
    """Return what a summary (`transcripts.Summary` as JSON) has of it; None if nothing."""
    try:
        found = _decode(summary)
    except msgspec.DecodeError:  # not a summary of ours
        return None
    if found.reported_cost is None or found.id is None:
        return None
    source: Literal["cost-state", "result"] = "cost-state" if "cost-state" in found.counts.types else "result"
    return ReportedCost(found.id, source, found.reported_cost, found.cost or Decimal(0))


class AnswerUse(Struct, frozen=True, gc=False, kw_only=True):
    """What one answer of the model used, as it is counted."""

    message_id: str
    """The API's id, or what stands for it."""
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: int | None
    """In pico-dollars; None if its model has no price."""


class UsageSource(Protocol):
    """All that reports of usage are made of; every answer is in it once."""

    def list_cells(self) -> list[UsageCell]:
        """Return what answers used, in cells of any size."""

    def list_answers(self) -> list[AnswerCell]:
        """Return what each answer used."""

    def list_calls(self) -> list[CallUse]:
        """Return the calls of all files."""

    def list_reported(self) -> list[ReportedCost]:
        """Return what Claude Code itself says that sessions cost, each session once."""

    def find_prices(self) -> PriceTable | None:
        """Return by which prices the costs are; None if nothing had to be priced."""

    def count_files(self) -> int:
        """Return how many files it comes from."""


class StoredUsage(UsageSource, Protocol):
    """The usage of an archive, which can be asked about answers one by one."""

    def find_answers(self, ids: Sequence[str]) -> list[AnswerUse]:
        """Return what answers used, those that are known, in the order of their ids."""

    def find_version(self, key: str) -> int:
        """Return a number that is another one as soon as `find_answers` tells otherwise of a session's answers.

        Answers stand in several sessions, and each counts once: what it used may change with a session that
        is not this one, whose revision stays as it is.
        """
