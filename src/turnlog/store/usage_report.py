"""Reports of usage, wherever it comes from: what they are made of, what they say, and how they are built.

The JSON of a report is these values as they are. A `UsageSource` is an archive, or files as they are; each
answer is in it once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, tzinfo
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turnlog.instants import find_moment, from_microseconds, to_microseconds
from turnlog.store.usage_cells import (
    AMOUNTS,
    FULL,
    QUARTER,
    Days,
    Detail,
    Home,
    Span,
    UsageCell,
    find_day,
    name_day,
    name_month,
    name_week,
    slot_of,
)
from turnlog.transcripts.usage.prices import PriceTable, to_dollars

if TYPE_CHECKING:
    from turnlog.transcripts.segments import CallRecord


class Grouping(StrEnum):
    """What makes a row."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    SESSION = "session"
    PROJECT = "project"
    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    SKILL = "skill"
    MCP = "mcp"
    PERSON = "person"
    MACHINE = "machine"
    BLOCKS = "blocks"


class Breakdown(StrEnum):
    """What rows are divided by."""

    MODEL = "model"
    AGENT = "agent"
    SKILL = "skill"
    MCP = "mcp"
    PERSON = "person"
    MACHINE = "machine"


class CallTally(Struct, frozen=True, gc=False):
    """The outcomes of a tool's calls."""

    calls: int
    failed: int
    seconds: float
    """From call to result, of those that have one."""


class SessionNote(Struct, frozen=True, gc=False):
    """What is known about a session besides its usage."""

    project: str | None
    title: str | None
    reported_usd: Decimal | None
    """The cost that Claude Code reports."""


class BlockState(Struct, frozen=True, gc=False):
    """A block of five hours."""

    start: str
    """In UTC, as is the end."""
    end: str
    active: bool
    minutes_left: int
    tokens_per_minute: int
    """From the first answer to the last, or up to now; only while it is active."""
    projected_tokens: int
    """The projection for its end, at the current pace."""
    projected_usd: Decimal
    limit_used: float | None = None
    """The fraction of the limit used, if a limit was given."""
    limit_projected: float | None = None


class UsageRow(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What some answers used and cost together."""

    name: str | None
    """None if there is no name."""
    messages: int
    incomplete: int
    """How many were recorded before they ended: their output, and so the cost, is a lower bound."""
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    cost_usd: Decimal
    saved_usd: Decimal
    """What the cache saved: the price of its reads as plain input, minus the extra cost of writes."""
    unpriced: dict[str, int]
    """Messages not included in the cost because their model has no price, by model."""
    estimated: dict[str, int]
    """Messages priced at the standard rate although served under other terms, by those terms."""
    first: str | None
    """The first time in it, in UTC."""
    last: str | None
    breakdown: tuple[UsageRow, ...] = ()
    session: SessionNote | None = None
    tool: CallTally | None = None
    block: BlockState | None = None


class ReportedCost(Struct, frozen=True, gc=False):
    """The cost that Claude Code reports for a session, and the cost computed from its lines."""

    session: str
    source: Literal["cost-state", "result"]
    cost_usd: Decimal
    computed_usd: Decimal
    """Computed from all its lines, including those that another session owns."""


class UsageReport(Struct, frozen=True, gc=False, kw_only=True):
    """Tokens and cost."""

    by: Grouping
    breakdown: Breakdown | None
    timezone: str
    since: date | None
    until: date | None
    available: Span | None
    """From the first day with answers to the last one, where the days asked for have none; None otherwise."""
    files: int
    rows: tuple[UsageRow, ...]
    others: UsageRow | None
    """All omitted rows combined; None if there are none."""
    left_out: int
    """How many rows were omitted."""
    total: UsageRow
    reported: tuple[ReportedCost, ...]
    prices: PriceTable | None
    """None if nothing had to be priced."""


NO_MODEL = "(no model)"


class Tally:
    """What some cells come to, so far."""

    __slots__ = (
        "cache_read", "cache_write_1h", "cache_write_5m", "cost", "estimated", "first", "incomplete", "input",
        "last", "messages", "output", "saved", "unpriced", "web_searches",
    )  # fmt: skip

    def __init__(self, cells: Iterable[UsageCell] = ()) -> None:
        self.messages = self.incomplete = self.input = self.output = self.cache_read = 0
        self.cache_write_5m = self.cache_write_1h = self.web_searches = self.cost = self.saved = 0
        self.first: int | None = None
        self.last: int | None = None
        self.unpriced: dict[str, int] = {}
        self.estimated: dict[str, int] = {}
        for cell in cells:
            self.add(cell)

    @property
    def tokens(self) -> int:
        """All tokens, cached or not."""
        return self.input + self.output + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def add(self, cell: UsageCell) -> None:
        """Take a cell in."""
        self.messages += cell.messages
        self.incomplete += cell.incomplete
        self.input += cell.input
        self.output += cell.output
        self.cache_read += cell.cache_read
        self.cache_write_5m += cell.cache_write_5m
        self.cache_write_1h += cell.cache_write_1h
        self.web_searches += cell.web_searches
        self.cost += cell.cost
        self.saved += cell.saved
        if cell.first is not None and (self.first is None or cell.first < self.first):
            self.first = cell.first
        if cell.last is not None and (self.last is None or cell.last > self.last):
            self.last = cell.last
        if cell.unpriced:
            model = cell.model or NO_MODEL
            self.unpriced[model] = self.unpriced.get(model, 0) + cell.unpriced
        if cell.terms and cell.messages:
            for term in cell.terms.split(" "):
                self.estimated[term] = self.estimated.get(term, 0) + cell.messages

    def build_row(
        self,
        name: str | None,
        *,
        breakdown: tuple[UsageRow, ...] = (),
        session: SessionNote | None = None,
        tool: CallTally | None = None,
        block: BlockState | None = None,
    ) -> UsageRow:
        """Return it as a row of a report."""
        return UsageRow(
            name=name,
            messages=self.messages,
            incomplete=self.incomplete,
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write_5m=self.cache_write_5m,
            cache_write_1h=self.cache_write_1h,
            web_searches=self.web_searches,
            cost_usd=to_dollars(self.cost),
            saved_usd=to_dollars(self.saved),
            unpriced=dict(sorted(self.unpriced.items())),
            estimated=dict(sorted(self.estimated.items())),
            first=time_text(self.first),
            last=time_text(self.last),
            breakdown=breakdown,
            session=session,
            tool=tool,
            block=block,
        )


def time_text(time: int | None) -> str | None:
    """Return a time in microseconds since 1970 as ISO 8601 has it, in UTC; None for one beyond the calendar."""
    moment = find_moment(time)
    return None if moment is None else f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


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
    return {
        answer: sorted(own, key=lambda call: (call.order, call.source, call.id or ""))
        for answer, own in made.items()
    }


def split_cell(cell: UsageCell, count: int) -> list[UsageCell]:
    """Return equal parts of a cell; what cannot be split is in the first."""
    if count == 1:
        return [cell]
    shares = {name: divmod(getattr(cell, name), count) for name in AMOUNTS}
    part = replace(cell, **{name: share for name, (share, _) in shares.items()})
    return [replace(cell, **{name: sum(share) for name, share in shares.items()}), *([part] * (count - 1))]


def _by_worth(call: CallUse) -> tuple[bool, str, int]:
    return call.ended is None, call.source, call.order


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

    def list_cells(self, detail: Detail = FULL) -> list[UsageCell]:
        """Return what answers used, in cells of any size that tell apart what they have to."""

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


_HOUR = 3_600_000_000 // QUARTER
_BLOCK = 5 * _HOUR
_MINUTE = 60_000_000
Block = tuple[str, BlockState, list[UsageCell]]


class Limit(Struct, frozen=True, gc=False):
    """How much a block may use: tokens of all kinds, or money in pico-dollars."""

    tokens: int | None = None
    cost: int | None = None


def build_blocks(
    cells: Iterable[UsageCell], zone: tzinfo, now: datetime, limit: Limit | None
) -> Iterator[Block]:
    """Yield the blocks by time, each with its name in a time zone; cells without a time are in none."""
    current = to_microseconds(now)
    for start, group in _gather(cells):
        yield _name(start, zone), _build_state(start, group, current, limit), group


def _gather(cells: Iterable[UsageCell]) -> Iterator[tuple[int, list[UsageCell]]]:
    timed = sorted(((cell.slot, cell) for cell in cells if cell.slot is not None), key=lambda item: item[0])
    start, group = 0, list[UsageCell]()
    for slot, cell in timed:
        if group and slot >= start + _BLOCK:
            yield start, group
            group = []
        if not group:
            start = slot // _HOUR * _HOUR
        group.append(cell)
    if group:
        yield start, group


def _build_state(start: int, cells: list[UsageCell], now: int, limit: Limit | None) -> BlockState:
    begin, end = start * QUARTER, (start + _BLOCK) * QUARTER
    active = begin <= now < end
    tally = Tally(cells)
    tokens, cost, rate = tally.tokens, tally.cost, 0
    left = end - now if active else 0
    if active:
        elapsed = max(now - (tally.first or begin), _MINUTE)
        rate = tokens * _MINUTE // elapsed
        tokens += tokens * left // elapsed
        cost += cost * left // elapsed
    return BlockState(
        start=time_text(begin) or "",
        end=time_text(end) or "",
        active=active,
        minutes_left=-(-left // _MINUTE),
        tokens_per_minute=rate,
        projected_tokens=tokens,
        projected_usd=to_dollars(cost),
        limit_used=_part(tally.tokens, tally.cost, limit),
        limit_projected=_part(tokens, cost, limit),
    )


def _part(tokens: int, cost: int, limit: Limit | None) -> float | None:
    if limit is None:
        return None
    parts = [used / most for used, most in ((tokens, limit.tokens), (cost, limit.cost)) if most]
    return round(max(parts), 4) if parts else None


def _name(start: int, zone: tzinfo) -> str:
    try:
        moment = from_microseconds(start * QUARTER)
        return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M")
    except OverflowError:
        return time_text(start * QUARTER) or ""


_BY_TIME = frozenset({Grouping.DAILY, Grouping.WEEKLY, Grouping.MONTHLY, Grouping.BLOCKS})
_OTHERS = "others"


def cut_rows(
    rows: Sequence[UsageRow], by: Grouping, most: int
) -> tuple[tuple[UsageRow, ...], tuple[UsageRow, ...]]:
    """Return the rows that matter most, in the order that they are in, and the others."""
    if len(rows) <= most:
        return tuple(rows), ()
    ranked = range(len(rows)) if by in _BY_TIME else sorted(range(len(rows)), key=lambda at: _rank(rows[at]))
    kept = set(ranked[len(rows) - most :])
    return (
        tuple(row for at, row in enumerate(rows) if at in kept),
        tuple(row for at, row in enumerate(rows) if at not in kept),
    )


def cut_reported(reported: Iterable[ReportedCost], most: int) -> list[ReportedCost]:
    """Return what the program itself says, in the order that it is in, of the sessions that matter most."""
    listed = list(reported)
    kept = sorted(listed, key=lambda each: each.cost_usd, reverse=True)[:most]
    names = {each.session for each in kept}
    return [each for each in listed if each.session in names]


_SUMMED = (
    "messages", "incomplete", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h",
    "web_searches", "cost_usd", "saved_usd",
)  # fmt: skip


def sum_rows(rows: Sequence[UsageRow]) -> UsageRow | None:
    """Return rows as one; None if there are none."""
    if not rows:
        return None
    tools = [row.tool for row in rows if row.tool is not None]
    return UsageRow(
        name=_OTHERS,
        **{name: sum(getattr(row, name) for row in rows) for name in _SUMMED},
        unpriced=_add(row.unpriced for row in rows),
        estimated=_add(row.estimated for row in rows),
        first=min((row.first for row in rows if row.first is not None), default=None),
        last=max((row.last for row in rows if row.last is not None), default=None),
        tool=_sum_tools(tools) if tools else None,
    )


def _rank(row: UsageRow) -> tuple[Decimal, int, int, str]:
    tokens = row.input + row.output + row.cache_read + row.cache_write_5m + row.cache_write_1h
    return row.cost_usd, tokens, 0 if row.tool is None else row.tool.calls, row.name or ""


def _sum_tools(tools: Sequence[CallTally]) -> CallTally:
    return CallTally(
        sum(tool.calls for tool in tools),
        sum(tool.failed for tool in tools),
        sum(tool.seconds for tool in tools),
    )


def _add(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))


_Namer = Callable[[UsageCell], str | None]
_ATTRIBUTES: dict[str, _Namer] = {
    "session": lambda cell: cell.session,
    "project": lambda cell: cell.home.project,
    "model": lambda cell: cell.model,
    "agent": lambda cell: cell.agent,
    "skill": lambda cell: cell.skill,
    "mcp": lambda cell: cell.mcp_server,
    "person": lambda cell: cell.home.person,
    "machine": lambda cell: cell.home.machine,
}
_PERIODS: Mapping[str, Callable[[date], str]] = {"daily": name_day, "weekly": name_week, "monthly": name_month}
"""How days are named, in the groupings by time."""


class UsageQuery(Struct, frozen=True, kw_only=True, dict=True):
    """What is asked for."""

    zone: tzinfo
    """Whose days, weeks and months count."""
    now: datetime
    zone_name: str = "local"
    by: Grouping = Grouping.DAILY
    breakdown: Breakdown | None = None
    span: Span = Span()
    project: str | None = None
    """A part of the path of the projects that count."""
    limit: Limit | None = None
    """Of a block."""
    most: int | None = None
    """How many rows there may be: the dearest, or of times the newest. None for all."""

    @cached_property
    def days(self) -> Days:
        """The days of the zone, each found once."""
        return Days(self.zone)

    @property
    def is_narrowed(self) -> bool:
        """Whether not everything counts."""
        return self.span != Span() or self.project is not None


def select(cells: Iterable[UsageCell], query: UsageQuery) -> list[UsageCell]:
    """Return the cells that count."""
    days, span, project = query.days, query.span, query.project
    found = list(cells) if span == Span() else [cell for cell in cells if span.has(days[cell.slot])]
    if project is None:
        return found
    return [cell for cell in found if cell.home.project is not None and project in cell.home.project]


def build_rows(
    cells: Iterable[UsageCell], query: UsageQuery, reported: Mapping[str, Decimal]
) -> tuple[UsageRow, ...]:
    """Return the rows of all groupings but by tool; `reported` are the sessions' own figures."""
    if query.by is Grouping.BLOCKS:
        blocks = build_blocks(cells, query.zone, query.now, query.limit)
        return tuple(_build_row(name, group, query, block=state) for name, state, group in blocks)
    groups = _group(cells, _namer(query))
    if query.by is Grouping.SESSION:
        return tuple(
            _build_row(name, group, query, session=_note(group, reported.get(name or "")))
            for name, group in _by_time(groups)
        )
    return tuple(_build_row(name, groups[name], query) for name in sorted(groups, key=_by_name))


def _namer(query: UsageQuery) -> _Namer:
    name = _PERIODS.get(query.by)
    if name is None:
        return _ATTRIBUTES[query.by]
    days, names = query.days, _Names(name)
    return lambda cell: names[days[cell.slot]]


class _Names(dict[date | None, str | None]):
    """What days are called; there are few."""

    def __init__(self, name: Callable[[date], str]) -> None:
        super().__init__({None: None})
        self._name = name

    def __missing__(self, day: date | None) -> str | None:
        assert day is not None
        name = self[day] = self._name(day)
        return name


def _group(cells: Iterable[UsageCell], name_of: _Namer) -> dict[str | None, list[UsageCell]]:
    groups: dict[str | None, list[UsageCell]] = {}
    for cell in cells:
        name = name_of(cell)
        group = groups.get(name)
        if group is None:
            group = groups[name] = []
        group.append(cell)
    return groups


def _build_row(
    name: str | None,
    cells: list[UsageCell],
    query: UsageQuery,
    *,
    session: SessionNote | None = None,
    block: BlockState | None = None,
) -> UsageRow:
    parts: tuple[UsageRow, ...] = ()
    if query.breakdown is not None:
        groups = _group(cells, _ATTRIBUTES[query.breakdown])
        parts = tuple(Tally(groups[part]).build_row(part) for part in sorted(groups, key=_by_name))
    return Tally(cells).build_row(name, breakdown=parts, session=session, block=block)


def _note(cells: list[UsageCell], reported: Decimal | None) -> SessionNote:
    # An answer is owned by one file, so a session's cells may have several homes: its newest speaks for it.
    home = max(cells, key=lambda cell: (cell.last is not None, cell.last or 0, cell.home.key)).home
    return SessionNote(home.project, home.title, reported)


def _by_time(groups: Mapping[str | None, list[UsageCell]]) -> list[tuple[str | None, list[UsageCell]]]:
    """Return sessions by the time of their last answer; those without any come first."""
    last = {
        name: max((cell.last for cell in group if cell.last is not None), default=None)
        for name, group in groups.items()
    }
    return sorted(
        groups.items(), key=lambda item: (last[item[0]] is not None, last[item[0]] or 0, item[0] or "")
    )


def _by_name(name: str | None) -> tuple[bool, str]:
    return name is None, name or ""


def build_report(source: UsageSource, query: UsageQuery) -> UsageReport:
    """Return what is asked for; the rows and the others add up to the total."""
    reported = source.list_reported()
    if query.by is Grouping.TOOL:
        rows, cells = _build_by_tool(source, query)
    else:
        cells = _list_cells(source, query)
        rows = build_rows(cells, query, {each.session: each.cost_usd for each in reported})
    total = Tally(cells).build_row("total")
    if query.is_narrowed:
        sessions = {cell.session for cell in cells}
        reported = [each for each in reported if each.session in sessions]
    others, left_out = None, 0
    if query.most is not None:
        reported = cut_reported(reported, query.most)
        rows, rest = cut_rows(rows, query.by, query.most)
        others, left_out = sum_rows(rest), len(rest)
    return UsageReport(
        by=query.by,
        breakdown=query.breakdown,
        timezone=query.zone_name,
        since=query.span.since,
        until=query.span.until,
        available=None if total.messages or query.span == Span() else _find_available(source, query),
        files=source.count_files(),
        rows=rows,
        others=others,
        left_out=left_out,
        total=total,
        reported=tuple(reported),
        prices=source.find_prices(),
    )


def _find_available(source: UsageSource, query: UsageQuery) -> Span | None:
    """Return from when to when there are answers, whichever days are asked for; None if there are none."""
    everything = replace(query, by=Grouping.MONTHLY, breakdown=None, span=Span(), most=None)
    tally = Tally(_list_cells(source, everything))
    first, last = find_moment(tally.first), find_moment(tally.last)
    if first is None or last is None:
        return None
    return Span(find_day(first, query.zone), find_day(last, query.zone))


_FIELDS: Mapping[str, frozenset[str]] = {
    "session": frozenset({"session", "home"}),
    "project": frozenset({"project"}),
    "person": frozenset({"person"}),
    "machine": frozenset({"machine"}),
    "agent": frozenset({"agent"}),
    "skill": frozenset({"skill"}),
    "mcp": frozenset({"mcp_server"}),
}
"""What has to be told apart for rows of a grouping."""


def _find_detail(query: UsageQuery) -> Detail:
    """Return what has to be told apart."""
    fields = _FIELDS.get(query.by, frozenset()) | _FIELDS.get(query.breakdown or "", frozenset())
    if query.project is not None:
        fields |= {"project"}
    if query.is_narrowed:  # so are the sessions' own figures
        fields |= {"session"}
    if query.by is Grouping.BLOCKS:  # which begin with an hour, days need not
        return Detail(fields, length=_HOUR if query.span == Span() else 1)
    return Detail(fields, query.days if query.by in _PERIODS or query.span != Span() else None, length=0)


def _list_cells(source: UsageSource, query: UsageQuery) -> list[UsageCell]:
    """Return all cells that count."""
    cells = select(source.list_cells(_find_detail(query)), query)
    if query.by is Grouping.BLOCKS:  # what bears no time is in no block
        return [cell for cell in cells if cell.slot is not None]
    return cells


def _build_by_tool(source: UsageSource, query: UsageQuery) -> tuple[tuple[UsageRow, ...], list[UsageCell]]:
    """Return the rows, and all cells that count."""
    answers = source.list_answers()
    cells = select((answer.cell for answer in answers), query)
    if len(cells) < len(answers):
        kept = set(map(id, cells))
        answers = [answer for answer in answers if id(answer.cell) in kept]
    return build_tool_rows(answers, source.list_calls()), cells
